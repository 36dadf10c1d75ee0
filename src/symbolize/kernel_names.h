/* Names for kernel addresses, of the kernel that runs now, for recordings of the same kernel.
 */
#pragma once

#include "object/kallsyms.h"
#include "symbolize/kernel_cache.h"
#include "symbolize/symbolize.h"

struct kernel_names {
	bool tried;
	bool cached;	     /* only the kernel proper is there, out of the cache */
	char *path;	     /* of kallsyms, and the cache's key, for reading the rest */
	struct kernel_id id; /* of the running kernel */
	bool usable; /* the running kernel is the recorded one, and shows its addresses */
	struct kallsyms kallsyms;
};

struct kernel_hit {
	const char *name;
	uint64_t addr, size; /* run-time address while recording */
};

/* Takes a zeroed struct. */
void kernel_names_done(struct kernel_names *names);

/* Reads kallsyms when it was not tried before. 0 or -ENOMEM; whether it worked is `usable`. */
int kernel_names_load(struct kernel_names *names, const struct symbolizer_options *options,
	const struct module *module);

/*
 * The function at a run-time address in the kernel (module->kind KERNEL; its modules too) or in
 * the module that module->path names. The names live as long as `names`.
 */
bool kernel_names_find(struct kernel_names *names, const struct module *module,
	const char *path, uint64_t addr, struct kernel_hit *ret_hit);
