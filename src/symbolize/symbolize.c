/*
 * How: a module has a state that is made when its first frame asks: the symbol table and the
 * segments, which translate the frame's file offset to the table's vaddr. The file is closed
 * again at once.
 *
 *     frame.addr (foff) --segments--> vaddr --symtab--> symbol --> profile_function, one line
 *
 * A function's address is counted back from the frame's by the distance in the table, so it is
 * a file offset again, whatever the segments look like.
 */
#include "symbolize/symbolize.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "object/demangle.h"
#include "object/elf_symbols.h"
#include "symbolize/kernel_names.h"
#include "symbolize/module_file.h"
#include "symbolize/perf_map_file.h"
#include "symbolize/vdso_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES_MAX = 10 * 1000 * 1000, PROGRESS_STEP = 256 };

struct module_state {
	enum module_outcome outcome;
	struct symtab table;
	struct elf_segment *segments;
	uint32_t segment_count;
};

struct symbolizer {
	struct symbolizer_options options;
	char *kallsyms, *kernel_notes, *sysroot; /* copies of the options' strings */
	struct module_state *modules;		 /* by the profile's module id */
	uint32_t module_count, module_cap;
	struct kernel_names kernel;
	struct strbuf readable;
};

static int copy_string(const char *text, char **ret_copy)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? -ENOMEM : 0;
}

int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret_symbolizer)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->options = *options;
	if (copy_string(options->kallsyms, &s->kallsyms) < 0 ||
		copy_string(options->kernel_notes, &s->kernel_notes) < 0 ||
		copy_string(options->sysroot, &s->sysroot) < 0) {
		symbolizer_free(s);
		return -ENOMEM;
	}
	s->options.kallsyms = s->kallsyms;
	s->options.kernel_notes = s->kernel_notes;
	s->options.sysroot = s->sysroot;
	*ret_symbolizer = s;
	return 0;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	struct symbolizer *s = symbolizer;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->module_count; i++) {
		symtab_done(&s->modules[i].table);
		free(s->modules[i].segments);
	}
	free(s->modules);
	kernel_names_done(&s->kernel);
	strbuf_done(&s->readable);
	free(s->kallsyms);
	free(s->kernel_notes);
	free(s->sysroot);
	free(s);
}

enum module_outcome symbolizer_outcome(const struct symbolizer *symbolizer, uint32_t module)
{
	return module < symbolizer->module_count ? symbolizer->modules[module].outcome
						 : MODULE_NOT_TRIED;
}

/* Takes symbols and segments out of an open file. */
static int state_fill(struct module_state *state, struct elf *elf, const struct elf *debug)
{
	struct elf_symbols symbols = {0};
	int r = elf_symbols_load(elf, debug, &symbols);

	if (r < 0)
		return r;
	state->table = symbols.table; /* moved */
	state->segments = elf->segments;
	state->segment_count = elf->segment_count;
	elf->segments = NULL;
	elf->segment_count = 0;
	if (!state->table.count)
		state->outcome = MODULE_NO_SYMBOLS;
	else if (symbols.has_symtab)
		state->outcome = MODULE_NAMED;
	else
		state->outcome = MODULE_DYNSYM_ONLY;
	return 0;
}

static bool has_symtab(const struct elf *elf)
{
	return elf_section(elf, ".symtab") != NULL;
}

static int load_file(struct symbolizer *s, const struct profile *profile, uint32_t module,
	struct module_state *state)
{
	cleanup_with(module_file_close) struct module_file file = {.fd = -1, .elf.fd = -1};
	cleanup_with(module_file_close) struct module_file debug = {.fd = -1, .elf.fd = -1};
	const char *path = profile_text(profile, profile->modules[module].path);
	bool with_debug = false;

	state->outcome = module_file_open(&s->options, profile, module, &file);
	if (state->outcome != MODULE_NAMED)
		return 0;
	if (!has_symtab(&file.elf))
		with_debug = module_debug_file_open(&file, path, &debug);
	return state_fill(state, &file.elf, with_debug ? &debug.elf : NULL);
}

static int load_vdso(
	struct symbolizer *s, const struct module *module, struct module_state *state)
{
	struct vdso_image image = {0};
	struct elf elf;
	int r = 0;

	state->outcome = MODULE_FILE_MISSING;
	if (!vdso_image_read(module, s->options.live, &image))
		return 0;
	if (elf_open_bytes(image.bytes, image.len, &elf, NULL) < 0)
		state->outcome = MODULE_FILE_BROKEN;
	else if (module->build_id_bytes &&
		 memcmp(module->build_id, elf.build_id, module->build_id_bytes) != 0)
		state->outcome = MODULE_FILE_CHANGED;
	else
		r = state_fill(state, &elf, NULL);
	/* All that a vdso exports is all there is. */
	if (state->outcome == MODULE_DYNSYM_ONLY)
		state->outcome = MODULE_NAMED;
	elf_close(&elf);
	free(image.bytes);
	return r;
}

static int load_kernel(
	struct symbolizer *s, const struct module *module, struct module_state *state)
{
	int r = kernel_names_load(&s->kernel, &s->options, module);

	state->outcome = s->kernel.usable ? MODULE_NAMED : MODULE_HIDDEN;
	return r;
}

static int load_anonymous(
	struct symbolizer *s, const struct module *module, struct module_state *state)
{
	struct perf_map map = {0};
	int r = perf_map_file_read(&s->options, module->pid, &map);

	state->table = map.table; /* moved */
	state->outcome = state->table.count ? MODULE_NAMED : MODULE_NO_FILE;
	return r < 0 ? r : 0;
}

/* The module's state, loaded. 0, or -ENOMEM or -ENOSPC. */
static int state_get(struct symbolizer *s, const struct profile *profile, uint32_t id,
	struct module_state **ret_state)
{
	const struct module *module = &profile->modules[id];
	struct module_state *state;
	int r = array_reserve(&s->modules, &s->module_cap, (uint64_t)id + 1,
		sizeof(*s->modules), MODULES_MAX);

	if (r < 0)
		return r;
	while (s->module_count <= id)
		s->modules[s->module_count++] = (struct module_state){0};
	state = &s->modules[id];
	*ret_state = state;
	if (state->outcome != MODULE_NOT_TRIED)
		return 0;
	switch (module->kind) {
	case MODULE_FILE:
		return load_file(s, profile, id, state);
	case MODULE_VDSO:
		return load_vdso(s, module, state);
	case MODULE_KERNEL:
	case MODULE_KMODULE:
		return load_kernel(s, module, state);
	case MODULE_ANON:
		return load_anonymous(s, module, state);
	case MODULE_MARKER:
		state->outcome = MODULE_NO_FILE;
	}
	return 0;
}

struct hit {
	const char *name;
	uint64_t addr, size; /* counted as the frames of the module are */
};

static bool find(struct symbolizer *s, const struct profile *profile,
	const struct module *module, struct module_state *state, uint64_t addr, struct hit *ret)
{
	const struct symbol *symbol;
	struct kernel_hit hit;
	uint64_t vaddr;

	if (module->kind == MODULE_KERNEL || module->kind == MODULE_KMODULE) {
		if (!kernel_names_find(&s->kernel, module, profile_text(profile, module->path),
			    addr, &hit))
			return false;
		*ret = (struct hit){hit.name, hit.addr, hit.size};
		return true;
	}
	if (module->kind == MODULE_ANON)
		vaddr = addr;
	else if (!elf_foff_to_vaddr(state->segments, state->segment_count, addr, &vaddr))
		return false;
	symbol = symtab_find(&state->table, vaddr);
	if (!symbol)
		return false;
	*ret = (struct hit){symbol_name(&state->table, symbol), addr - (vaddr - symbol->addr),
		symbol->size};
	return true;
}

static int add_function(struct symbolizer *s, struct profile *profile, uint32_t module,
	const struct hit *hit, uint32_t *ret_function)
{
	struct function function = {.module = module, .addr = hit->addr, .size = hit->size};
	int r = profile_string(profile, hit->name, &function.linkage_name);

	if (r < 0)
		return r;
	function.name = function.linkage_name;
	if (!s->options.no_demangle) {
		strbuf_reset(&s->readable);
		if (demangle(hit->name, &s->readable))
			r = profile_string(profile, strbuf_text(&s->readable), &function.name);
		if (s->readable.failed)
			r = -ENOMEM;
	}
	return r < 0 ? r : profile_function(profile, &function, ret_function);
}

int symbolize_frame(struct symbolizer *symbolizer, struct profile *profile, uint32_t frame)
{
	const struct frame *f = &profile->frames[frame];
	const struct module *module = &profile->modules[f->module];
	struct module_state *state;
	struct line line = {0};
	struct hit hit;
	int r;

	if (f->resolved)
		return 0;
	if (module->kind == MODULE_MARKER)
		return profile_resolve(profile, frame, NULL, 0);
	r = state_get(symbolizer, profile, f->module, &state);
	if (r < 0)
		return r;
	if (!find(symbolizer, profile, module, state, frame_lookup_addr(f), &hit))
		return profile_resolve(profile, frame, NULL, 0);
	r = add_function(symbolizer, profile, f->module, &hit, &line.function);
	return r < 0 ? r : profile_resolve(profile, frame, &line, 1);
}

int symbolize_all(struct symbolizer *symbolizer, struct profile *profile,
	void (*progress)(void *ctx, uint32_t done, uint32_t total), void *ctx)
{
	int r = 0;

	for (uint32_t i = 0; i < profile->frame_count && r >= 0; i++) {
		if (progress && !(i % PROGRESS_STEP))
			progress(ctx, i, profile->frame_count);
		r = symbolize_frame(symbolizer, profile, i);
	}
	if (r >= 0 && progress)
		progress(ctx, profile->frame_count, profile->frame_count);
	return r;
}
