/*
 * The modules' debug information, opened when it is first asked for. What was not used for the
 * longest time is closed when all of it together holds more than DEBUG_POOL_BYTES, and opened
 * again when it is needed.
 */
#pragma once

#include "symbolize/module_debug.h"

struct debug_slot {
	struct module_debug *debug; /* NULL: closed */
	char *from;		    /* of the first opening; NULL: there is none */
	uint64_t used;		    /* when: the pool's tick */
	bool missing;		    /* tried, without success: never again */
};

struct debug_pool {
	struct debug_slot *slots; /* by module id */
	uint32_t count, cap;
	uint64_t tick;
};

#define DEBUG_POOL_BYTES ((uint64_t)1 << 30)

/* 1 and *ret_info (valid until the next call); 0: there is none; or -ENOMEM, -ENOSPC. */
int debug_pool_get(struct debug_pool *pool, const struct symbolizer_options *options,
	const struct profile *profile, uint32_t module, struct debug_info **ret_info);

/* Closes one; it may be opened again. */
void debug_pool_close(struct debug_pool *pool, uint32_t module);

const char *debug_pool_from(const struct debug_pool *pool, uint32_t module); /* "": nowhere */
void debug_pool_done(struct debug_pool *pool);
