/*
 * How: a module has a state that is made when its first frame asks: the symbol table and the
 * segments, which translate the frame's file offset to the table's vaddr. The file is closed
 * again at once. Debug information is another thing (debug_pool.h): it may be closed and
 * opened again.
 *
 *     frame.addr (foff) --segments--> vaddr --symtab--> symbol --> the function that was called
 *                                     `--DWARF---> what is inlined there, and the lines
 *
 * A function's address is counted back from the frame's by the distance in the table, so it is
 * a file offset again, whatever the segments look like.
 */
#include "symbolize/symbolize.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "object/elf_symbols.h"
#include "object/mini_debug.h"
#include "symbolize/debug_pool.h"
#include "symbolize/function_ranges.h"
#include "symbolize/kernel_names.h"
#include "symbolize/module_file.h"
#include "symbolize/naming.h"
#include "symbolize/perf_map_file.h"
#include "symbolize/vdso_image.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MODULES_MAX = 10 * 1000 * 1000,
	PROGRESS_STEP = 256,
	NAMELESS_MODULE_MOST = 60, /* bytes of a file's name */
};

struct module_state {
	enum module_outcome outcome;
	struct symtab table;
	struct elf_segment *segments;
	uint32_t segment_count;
	uint32_t misses, read_again_at; /* of a live program's perf map */
	struct function_ranges ranges;	/* of a file whose symbols do not name everything */
};

struct symbolizer {
	struct symbolizer_options options;
	char *kallsyms, *kernel_notes, *kernel_cache, *sysroot, *debug_dir,
		*debug_cache;	      /* copies of the options' */
	struct module_state *modules; /* by the profile's module id */
	uint32_t module_count, module_cap;
	struct kernel_names kernel;
	struct naming naming;
	struct debug_pool debug;
	uint32_t left; /* frames whose inlined functions and lines the budget left out */
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
		copy_string(options->kernel_cache, &s->kernel_cache) < 0 ||
		copy_string(options->sysroot, &s->sysroot) < 0 ||
		copy_string(options->debug_dir, &s->debug_dir) < 0 ||
		copy_string(options->debug_cache, &s->debug_cache) < 0) {
		symbolizer_free(s);
		return -ENOMEM;
	}
	s->options.kallsyms = s->kallsyms;
	s->options.kernel_notes = s->kernel_notes;
	s->options.kernel_cache = s->kernel_cache;
	s->options.sysroot = s->sysroot;
	s->options.debug_dir = s->debug_dir;
	s->options.debug_cache = s->debug_cache;
	s->naming.no_demangle = options->no_demangle;
	*ret_symbolizer = s;
	return 0;
}

void symbolizer_forget_files(struct symbolizer *symbolizer)
{
	struct symbolizer *s = symbolizer;

	for (uint32_t i = 0; i < s->module_count; i++) {
		symtab_done(&s->modules[i].table);
		free(s->modules[i].segments);
		function_ranges_done(&s->modules[i].ranges);
		s->modules[i] = (struct module_state){0};
	}
	debug_pool_done(&s->debug);
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	struct symbolizer *s = symbolizer;

	if (!s)
		return;
	symbolizer_forget_files(s);
	free(s->modules);
	kernel_names_done(&s->kernel);
	naming_done(&s->naming);
	free(s->kallsyms);
	free(s->kernel_notes);
	free(s->kernel_cache);
	free(s->sysroot);
	free(s->debug_dir);
	free(s->debug_cache);
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

/* With the small symbol table that a stripped file may carry in itself. */
static int state_fill_mini(struct module_state *state, struct elf *elf)
{
	cleanup_free uint8_t *bytes = NULL;
	struct elf mini = {.fd = -1};
	size_t len;
	int r = mini_debug_load(elf, &bytes, &len);
	bool usable = !r && !elf_open_bytes(bytes, len, &mini, NULL) &&
		      mini.machine == elf->machine && mini.is64 == elf->is64;

	if (r != -ENOMEM)
		r = state_fill(state, elf, usable ? &mini : NULL);
	elf_close(&mini);
	return r;
}

static int load_file(struct symbolizer *s, const struct profile *profile, uint32_t module,
	struct module_state *state)
{
	cleanup_with(module_file_close) struct module_file file = {.fd = -1, .elf.fd = -1};
	cleanup_with(module_file_close) struct module_file debug = {.fd = -1, .elf.fd = -1};
	const char *path = profile_text(profile, profile->modules[module].path);

	state->outcome = module_file_open(&s->options, profile, module, &file);
	if (state->outcome != MODULE_NAMED)
		return 0;
	if (has_symtab(&file.elf))
		return state_fill(state, &file.elf, NULL);
	if (module_debug_file_open(&s->options, &file, path, &debug))
		return state_fill(state, &file.elf, &debug.elf);
	return state_fill_mini(state, &file.elf);
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

static int load_kallsyms(
	struct symbolizer *s, const struct module *module, struct module_state *state)
{
	int r = kernel_names_load(&s->kernel, &s->options, module);

	state->outcome = s->kernel.usable ? MODULE_NAMED : MODULE_HIDDEN;
	return r;
}

/* The record that told of it has named it; nothing else knows it any more. */
static bool is_ksymbol(const struct profile *profile, const struct module *module)
{
	return module->kind == MODULE_KMODULE && module->ino &&
	       module_is_ksymbol(profile_text(profile, module->path));
}

static int load_kernel(struct symbolizer *s, const struct profile *profile,
	const struct module *module, struct module_state *state)
{
	if (is_ksymbol(profile, module)) {
		state->outcome = MODULE_NAMED;
		return 0;
	}
	return load_kallsyms(s, module, state);
}

static enum module_outcome map_outcome(const struct perf_map_read *read)
{
	if (read->map.cut)
		return MODULE_MAP_CUT;
	if (read->map.bad_lines > read->map.lines / 2)
		return MODULE_MAP_BAD;
	if (read->map.table.count)
		return MODULE_NAMED;
	return read->refused	  ? MODULE_MAP_REFUSED
	       : read->unreadable ? MODULE_MAP_CLOSED
				  : MODULE_NO_FILE;
}

static int load_anonymous(
	struct symbolizer *s, const struct module *module, struct module_state *state)
{
	struct perf_map_read read;
	int r = perf_map_file_read(&s->options, module->pid, &read);

	symtab_done(&state->table);
	state->table = read.map.table; /* moved */
	state->outcome = map_outcome(&read);
	return r < 0 ? r : 0;
}

/*
 * A live program goes on compiling: what its map lacks may be there by now. It is read again at
 * the first miss, and then each time that the misses have doubled, so that code without names
 * does not cost a reading each.
 */
static int read_again(
	struct symbolizer *s, const struct module *module, struct module_state *state)
{
	if (!s->options.live || module->kind != MODULE_ANON ||
		++state->misses < state->read_again_at)
		return 0;
	state->read_again_at = 2 * state->misses;
	return load_anonymous(s, module, state) < 0 ? -ENOMEM : 1;
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
		return load_kernel(s, profile, module, state);
	case MODULE_ANON:
		return load_anonymous(s, module, state);
	case MODULE_MARKER:
		state->outcome = MODULE_NO_FILE;
	}
	return 0;
}

struct hit {
	struct naming_key key; /* linkage_name NULL: no symbol */
	uint64_t vaddr;	       /* what was asked for, as the file counts; 0: in no file */
};

static void find_kernel(struct symbolizer *s, const struct profile *profile,
	const struct module *module, uint64_t addr, struct hit *ret)
{
	const char *path = profile_text(profile, module->path);
	struct kernel_hit hit;

	if (is_ksymbol(profile, module))
		ret->key = (struct naming_key){path, NULL, module->ino,
			module->map_start == module->ino ? module->map_end - module->ino : 0};
	else if (kernel_names_find(&s->kernel, module, path, addr, &hit))
		ret->key = (struct naming_key){hit.name, NULL, hit.addr, hit.size};
}

static void find(struct symbolizer *s, const struct profile *profile,
	const struct module *module, struct module_state *state, uint64_t addr, struct hit *ret)
{
	const struct symbol *symbol;
	uint64_t vaddr = addr;

	if (module->kind == MODULE_KERNEL || module->kind == MODULE_KMODULE) {
		find_kernel(s, profile, module, addr, ret);
		return;
	}
	if (module->kind != MODULE_ANON) {
		if (!elf_foff_to_vaddr(state->segments, state->segment_count, addr, &vaddr))
			return;
		ret->vaddr = vaddr;
	}
	symbol = symtab_find(&state->table, vaddr);
	if (symbol)
		ret->key = (struct naming_key){symbol_name(&state->table, symbol), NULL,
			addr - (vaddr - symbol->addr), symbol->size};
}

/* How a step of DWARF is named; a function that was called by its symbol where it has one. */
static struct naming_key step_key(const struct module_state *state,
	const struct debug_step *step, bool called, const struct hit *hit)
{
	struct naming_key key = {step->linkage_name, step->name, 0, 0};

	if (called && hit->key.linkage_name)
		return hit->key;
	if (step->vaddr)
		elf_vaddr_to_foff(
			state->segments, state->segment_count, step->vaddr, &key.addr);
	if (!key.linkage_name && !key.name)
		key.name = "(unnamed)";
	return key;
}

static int line_make(struct symbolizer *s, struct profile *profile, uint32_t module,
	const struct naming_key *key, const struct debug_step *step, struct line *ret_line)
{
	int r = naming_function(&s->naming, profile, module, key, &ret_line->function);

	if (r >= 0 && step && step->file && step->line) {
		ret_line->line = step->line;
		ret_line->column = step->column;
		r = profile_string(profile, step->file, &ret_line->file);
	}
	return r;
}

/* The steps of DWARF at an address: their number (0: none), or a negative errno. */
static int steps_get(struct symbolizer *s, const struct profile *profile, uint32_t module,
	uint64_t vaddr, const struct debug_step **ret_steps)
{
	struct debug_info *info;
	int r;

	if (s->options.no_inlines || profile->modules[module].kind != MODULE_FILE || !vaddr)
		return 0;
	r = debug_pool_get(&s->debug, &s->options, profile, module, vaddr, &info);
	return r > 0 ? debug_info_find(info, vaddr, ret_steps) : r;
}

/*
 * A function that nothing names is known by where it begins: "[libfoo.so+0x1240]", and has no
 * linkage name. 0: not even that is known.
 */
static int nameless_make(struct symbolizer *s, struct profile *profile, uint32_t module,
	struct module_state *state, uint64_t vaddr, struct line *ret_line)
{
	struct function function = {.module = module};
	const struct cfi_range *range;
	char text[NAMELESS_MODULE_MOST + 32];
	int r;

	if (profile->modules[module].kind != MODULE_FILE || !vaddr)
		return 0;
	r = function_ranges_load(&state->ranges, &s->options, profile, module);
	range = r < 0 ? NULL : function_ranges_find(&state->ranges, vaddr);
	if (!range || !elf_vaddr_to_foff(state->segments, state->segment_count, range->start,
			      &function.addr))
		return r;
	function.size = range->end - range->start;
	snprintf(text, sizeof(text), "[%.*s+0x%" PRIx64 "]", NAMELESS_MODULE_MOST,
		module_short_name(profile, module), range->start);
	r = profile_string(profile, text, &function.name);
	if (r == 0)
		r = profile_string(profile, "", &function.linkage_name);
	if (r == 0)
		r = profile_function(profile, &function, &ret_line->function);
	return r < 0 ? r : 1;
}

static int resolve_found(struct symbolizer *s, struct profile *profile, uint32_t frame,
	struct module_state *state, const struct hit *hit)
{
	uint32_t module = profile->frames[frame].module;
	struct line lines[DEBUG_STEPS_MAX] = {{0}};
	const struct debug_step *steps = NULL;
	int n = steps_get(s, profile, module, hit->vaddr, &steps), r = 0;

	if (n == -EAGAIN) {
		s->left++;
		n = 0;
	}

	/* A line alone names nothing. */
	if (n >= 0 && !hit->key.linkage_name &&
		(!n || (n == 1 && !steps[0].name && !steps[0].linkage_name))) {
		r = nameless_make(s, profile, module, state, hit->vaddr, &lines[0]);
		return r < 0 ? r : profile_resolve(profile, frame, lines, (uint32_t)r);
	}
	if (n < 0)
		return n;
	for (int i = 0; i < n && r >= 0; i++) {
		struct naming_key key = step_key(state, &steps[i], i + 1 == n, hit);

		r = line_make(s, profile, module, &key, &steps[i], &lines[i]);
	}
	if (!n)
		r = line_make(s, profile, module, &hit->key, NULL, &lines[n++]);
	return r < 0 ? r : profile_resolve(profile, frame, lines, (uint32_t)n);
}

int symbolize_frame(struct symbolizer *symbolizer, struct profile *profile, uint32_t frame)
{
	const struct frame *f = &profile->frames[frame];
	const struct module *module = &profile->modules[f->module];
	struct module_state *state;
	struct hit hit = {.vaddr = 0};
	int r;

	if (f->resolved)
		return 0;
	if (module->kind == MODULE_MARKER)
		return profile_resolve(profile, frame, NULL, 0);
	r = state_get(symbolizer, profile, f->module, &state);
	if (r < 0)
		return r;
	find(symbolizer, profile, module, state, frame_lookup_addr(f), &hit);
	if (!hit.key.linkage_name) {
		r = read_again(symbolizer, module, state);
		if (r < 0)
			return r;
		if (r > 0)
			find(symbolizer, profile, module, state, frame_lookup_addr(f), &hit);
	}
	return resolve_found(symbolizer, profile, frame, state, &hit);
}

const char *symbolizer_symbol(
	struct symbolizer *symbolizer, const struct profile *profile, uint32_t frame)
{
	const struct frame *f = &profile->frames[frame];
	const struct module *module = &profile->modules[f->module];
	struct module_state *state;
	struct hit hit = {.vaddr = 0};

	if (module->kind == MODULE_MARKER ||
		state_get(symbolizer, profile, f->module, &state) < 0)
		return NULL;
	find(symbolizer, profile, module, state, frame_lookup_addr(f), &hit);
	return hit.key.linkage_name;
}

const char *symbolizer_debug_file(const struct symbolizer *symbolizer, uint32_t module)
{
	return debug_pool_from(&symbolizer->debug, module);
}

const struct symbolizer_options *symbolizer_options(const struct symbolizer *symbolizer)
{
	return &symbolizer->options;
}

struct lines_ctx {
	uint64_t vaddr;
	int (*row)(void *ctx, uint64_t offset, const char *file, uint32_t line);
	void *ctx;
};

static int lines_row(void *ctx, const struct debug_line *line)
{
	const struct lines_ctx *to = ctx;

	return to->row(to->ctx, line->vaddr - to->vaddr, line->file, line->line);
}

int symbolizer_lines(struct symbolizer *symbolizer, const struct profile *profile,
	uint32_t module, uint64_t addr, uint64_t size,
	int (*row)(void *ctx, uint64_t offset, const char *file, uint32_t line), void *ctx)
{
	struct lines_ctx to = {.row = row, .ctx = ctx};
	struct module_state *state;
	struct debug_info *info;
	int r;

	if (symbolizer->options.no_inlines || profile->modules[module].kind != MODULE_FILE)
		return 0;
	r = state_get(symbolizer, profile, module, &state);
	if (r < 0 || !elf_foff_to_vaddr(state->segments, state->segment_count, addr, &to.vaddr))
		return r;
	r = debug_pool_get(
		&symbolizer->debug, &symbolizer->options, profile, module, to.vaddr, &info);
	if (r == -EAGAIN) /* beyond the budget */
		return 0;
	return r > 0 ? debug_info_lines(info, to.vaddr, to.vaddr + size, lines_row, &to) : r;
}

bool symbolizer_left(const struct symbolizer *symbolizer, uint32_t module)
{
	return debug_pool_left(&symbolizer->debug, module);
}

struct order {
	uint64_t addr;
	uint32_t module, frame, hits;
};

static int by_address(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_hits(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	return x->hits != y->hits ? (x->hits < y->hits ? 1 : -1) : by_address(a, b);
}

static struct order *frames_sort(
	const struct profile *profile, int (*compare)(const void *, const void *))
{
	struct order *order = malloc(((size_t)profile->frame_count + 1) * sizeof(*order));

	if (!order)
		return NULL;
	for (uint32_t i = 0; i < profile->frame_count; i++)
		order[i] = (struct order){profile->frames[i].addr, profile->frames[i].module, i,
			profile->frames[i].hits};
	qsort(order, profile->frame_count, sizeof(*order), compare);
	return order;
}

int symbolize_all(struct symbolizer *symbolizer, struct profile *profile,
	void (*progress)(void *ctx, uint32_t done, uint32_t total), void *ctx)
{
	/* By module and address: each file is opened once, and walked once. */
	cleanup_free struct order *order = frames_sort(profile, by_address);
	uint32_t total = profile->frame_count;
	int r = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; r >= 0 && i < total; i++) {
		if (progress && !(i % PROGRESS_STEP))
			progress(ctx, i, total);
		r = symbolize_frame(symbolizer, profile, order[i].frame);
		if (i + 1 == total || order[i + 1].module != order[i].module)
			debug_pool_close(&symbolizer->debug, order[i].module);
	}
	if (r >= 0 && progress)
		progress(ctx, total, total);
	return r;
}

int symbolize_within(struct symbolizer *symbolizer, struct profile *profile,
	const struct symbolize_budget *budget, uint32_t *ret_left)
{
	cleanup_free struct order *order = frames_sort(profile, by_hits);
	uint32_t left_before = symbolizer->left;
	int r = order ? 0 : -ENOMEM;

	debug_pool_limit(&symbolizer->debug, budget->cpu_ns, budget->bytes);
	for (uint32_t i = 0; r >= 0 && i < profile->frame_count; i++)
		r = symbolize_frame(symbolizer, profile, order[i].frame);
	*ret_left = symbolizer->left - left_before;
	return r;
}
