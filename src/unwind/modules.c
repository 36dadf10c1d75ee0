/*
 * Modules by dso id. A file is asked for when the first address inside it is met, its tables
 * are read when the first rule is needed. When all tables together pass the limit, those of the
 * module that was used longest ago are given up; they are read again when they are needed.
 */
#include "unwind/modules.h"

#include "base/array.h"
#include "unwind/starts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_LIMIT = 256 << 20 };

void modules_init(struct modules *modules, const struct unwinder_options *options)
{
	*modules = (struct modules){.options = *options};
	modules->limit = options->tables_limit ? options->tables_limit : DEFAULT_LIMIT;
}

static void tables_drop(struct modules *modules, struct module *module)
{
	cfi_free(module->cfi);
	gopclntab_free(module->go);
	free(module->starts);
	module->cfi = NULL;
	module->go = NULL;
	module->starts = NULL;
	module->start_count = 0;
	module->cfi_tried = module->go_tried = module->starts_tried = false;
	modules->bytes -= module->bytes;
	module->bytes = 0;
}

static void module_close(struct modules *modules, uint32_t dso)
{
	struct module *module = &modules->at[dso];

	if (module->state == MODULE_OPEN) {
		tables_drop(modules, module);
		if (modules->options.close_module)
			modules->options.close_module(modules->options.ctx, dso, &module->elf);
		else
			elf_close(&module->elf);
	}
	*module = (struct module){.state = MODULE_UNASKED};
}

void modules_forget(struct modules *modules, uint32_t dso)
{
	for (uint32_t i = 0; i < modules->count; i++)
		if (dso == TARGET_NONE || i == dso)
			module_close(modules, i);
}

void modules_done(struct modules *modules)
{
	modules_forget(modules, TARGET_NONE);
	free(modules->at);
	*modules = (struct modules){0};
}

static int module_open(struct modules *modules, const struct target *target, uint32_t dso)
{
	struct module *module = &modules->at[dso];
	int rc = -ENOENT;

	if (target->dsos[dso].key.kind != DSO_ANON && modules->options.open_module)
		rc = modules->options.open_module(
			modules->options.ctx, target, dso, &module->elf);
	module->state = rc < 0 ? MODULE_REFUSED : MODULE_OPEN;
	if (rc >= 0)
		modules->opened++;
	else if (target->dsos[dso].key.kind != DSO_ANON)
		modules->refused++;
	return rc;
}

struct module *modules_get(struct modules *modules, const struct target *target, uint32_t dso)
{
	uint32_t had = modules->cap;

	if (dso >= target->dso_count)
		return NULL;
	if (array_reserve(&modules->at, &modules->cap, dso + 1ull, sizeof(*modules->at),
		    TARGET_DSOS_LIMIT) < 0)
		return NULL;
	if (modules->cap > had)
		memset(modules->at + had, 0, (modules->cap - had) * sizeof(*modules->at));
	if (dso >= modules->count)
		modules->count = dso + 1;
	if (modules->at[dso].state == MODULE_UNASKED)
		module_open(modules, target, dso);
	modules->at[dso].used = ++modules->clock;
	return modules->at[dso].state == MODULE_OPEN ? &modules->at[dso] : NULL;
}

/* Gives up tables until there is room; never those of `keep`. */
static void make_room(struct modules *modules, const struct module *keep)
{
	while (modules->bytes > modules->limit) {
		struct module *oldest = NULL;

		for (uint32_t i = 0; i < modules->count; i++) {
			struct module *m = &modules->at[i];

			if (m->bytes && m != keep && (!oldest || m->used < oldest->used))
				oldest = m;
		}
		if (!oldest)
			return;
		tables_drop(modules, oldest);
		modules->evicted++;
	}
}

void modules_recount(struct modules *modules, struct module *module)
{
	size_t now = (module->cfi ? cfi_bytes(module->cfi) : 0) +
		     (module->go ? gopclntab_bytes(module->go) : 0) +
		     module->start_count * sizeof(*module->starts);

	modules->bytes += now - module->bytes;
	module->bytes = now;
	if (modules->bytes > modules->limit)
		make_room(modules, module);
}

struct cfi *modules_cfi(struct modules *modules, struct module *module)
{
	if (!module->cfi_tried) {
		module->cfi_tried = true;
		if (!module->elf.big_endian && module->elf.is64)
			cfi_open(&module->elf, modules->limit, &module->cfi);
		modules_recount(modules, module);
	}
	return module->cfi;
}

struct gopclntab *modules_go(struct modules *modules, struct module *module)
{
	if (!module->go_tried) {
		module->go_tried = true;
		gopclntab_open(&module->elf, modules->limit, &module->go);
		modules_recount(modules, module);
	}
	return module->go;
}

void modules_starts(struct modules *modules, struct module *module)
{
	if (module->starts_tried)
		return;
	module->starts_tried = true;
	function_starts(&module->elf, &module->starts, &module->start_count);
	modules_recount(modules, module);
}
