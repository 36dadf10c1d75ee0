/*
 * The modules' debug information, opened when it is first asked for. What was not used for the
 * longest time is closed when all of it together holds more than DEBUG_POOL_BYTES, and opened
 * again when it is needed. Where somebody waits, a limit can be set: what lies beyond it is
 * left, and that is remembered.
 */
#pragma once

#include "symbolize/module_debug.h"

struct debug_slot {
	struct module_debug *debug; /* NULL: closed */
	char *from;		    /* of the first opening; NULL: there is none */
	uint64_t used;		    /* when: the pool's tick */
	bool missing;		    /* tried, without success: never again */
	bool left;		    /* asked for beyond the limit */
	bool too_large;		    /* for what was left of the limit: not tried again */
};

struct debug_pool {
	struct debug_slot *slots; /* by module id */
	uint32_t count, cap;
	uint64_t tick;
	bool limited;
	uint64_t walk_end_ns, cpu_end_ns; /* of the calling thread's CPU clock */
	uint64_t bytes_max;		  /* held at a time */
};

#define DEBUG_POOL_BYTES ((uint64_t)1 << 30)

/*
 * From now on so much CPU time of this thread, and so many bytes held at a time. In the last
 * quarter of the time nothing new is opened or walked: more addresses of what was walked are
 * quickly found. One step may go past the limit: a unit's walk; a file is opened only where its
 * size promises to fit.
 */
void debug_pool_limit(struct debug_pool *pool, uint64_t cpu_ns, uint64_t bytes);

/*
 * For what is at `vaddr` of a module: 1 and *ret_info (valid until the next call); 0: there is
 * none; -EAGAIN: there is some, beyond the limit; or -ENOMEM, -ENOSPC.
 */
int debug_pool_get(struct debug_pool *pool, const struct symbolizer_options *options,
	const struct profile *profile, uint32_t module, uint64_t vaddr,
	struct debug_info **ret_info);

/* Closes one; it may be opened again. */
void debug_pool_close(struct debug_pool *pool, uint32_t module);

/* Was some of it left? */
bool debug_pool_left(const struct debug_pool *pool, uint32_t module);

const char *debug_pool_from(const struct debug_pool *pool, uint32_t module); /* "": nowhere */
void debug_pool_done(struct debug_pool *pool);
