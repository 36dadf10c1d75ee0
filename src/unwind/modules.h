/* The files behind the target's dsos, and their tables. */
#pragma once

#include "object/cfi.h"
#include "object/elf.h"
#include "object/gopclntab.h"
#include "unwind/unwind.h"

enum module_state {
	MODULE_UNASKED,
	MODULE_OPEN,
	MODULE_REFUSED,
};

struct module {
	enum module_state state;
	bool cfi_tried, go_tried, starts_tried;
	struct elf elf;
	struct cfi *cfi;      /* NULL: none */
	struct gopclntab *go; /* NULL: none */
	uint64_t *starts;     /* of functions; for code without CFI */
	uint32_t start_count;
	size_t bytes;  /* of its tables, as counted in modules.bytes */
	uint64_t used; /* when: modules.clock */
};

struct modules {
	struct unwinder_options options;
	struct module *at; /* by dso id */
	uint32_t count, cap;
	uint64_t clock;
	size_t bytes, limit;
	uint64_t opened, refused, evicted;
};

void modules_init(struct modules *modules, const struct unwinder_options *options);
void modules_done(struct modules *modules);
void modules_forget(struct modules *modules, uint32_t dso);

/* The module of a dso, opened if need be; NULL: there is no file, or memory is out. */
struct module *modules_get(struct modules *modules, const struct target *target, uint32_t dso);

/*
 * Its call frame information; NULL: none. Tables of other modules may go to make room: their
 * `struct cfi *` and what rows of them point at are then invalid.
 */
struct cfi *modules_cfi(struct modules *modules, struct module *module);

struct gopclntab *modules_go(struct modules *modules, struct module *module);

/* Fills module->starts once. */
void modules_starts(struct modules *modules, struct module *module);

/* Counts again what a module holds: a look-up may have built an index. */
void modules_recount(struct modules *modules, struct module *module);
