/*
 * The layout is that of docs/FORMATS.md. Functions and frames stand in the order of their
 * modules and addresses, which are stored as distances; a string is stored once, where it is
 * first used. So most numbers are small, and what repeats is close together for the packing.
 */
#include "profile/names_internal.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct writer {
	const struct names_source *source;
	const struct profile *profile;
	struct strbuf strings, body; /* body: everything behind the strings */
	uint32_t string_count;
	/* Numbers in the file by the profile's (the codes') ids; strings start from 1. */
	uint32_t *string_numbers, *code_strings, *module_numbers, *function_numbers;
	uint32_t *frames, *functions, *modules; /* ids in the file's order */
	uint32_t frame_count, function_count, module_count;
};

static void writer_done(struct writer *w)
{
	strbuf_done(&w->strings);
	strbuf_done(&w->body);
	free(w->string_numbers);
	free(w->code_strings);
	free(w->module_numbers);
	free(w->function_numbers);
	free(w->frames);
	free(w->functions);
	free(w->modules);
}

/* The number of a string in the file; 0 is "", which is not stored. */
static uint32_t string_number(
	struct writer *w, uint32_t *numbers, const struct strings *strings, uint32_t id)
{
	const char *text = strings_get(strings, id);

	if (!*text)
		return 0;
	if (!numbers[id]) {
		numbers[id] = ++w->string_count;
		names_put(&w->strings, strlen(text));
		strbuf_puts(&w->strings, text);
	}
	return numbers[id];
}

static void put_string(struct writer *w, uint32_t id)
{
	names_put(&w->body, string_number(w, w->string_numbers, &w->profile->strings, id));
}

static void put_code_string(struct writer *w, uint32_t id)
{
	names_put(&w->body, string_number(w, w->code_strings, &w->source->codes->strings, id));
}

/* A text that is no string of a table. */
static void put_text(struct writer *w, const char *text)
{
	if (*text) {
		w->string_count++;
		names_put(&w->strings, strlen(text));
		strbuf_puts(&w->strings, text);
	}
	names_put(&w->body, *text ? w->string_count : 0);
}

/* ---- what goes into the file, and in which order */

static int by_place(uint32_t module_a, uint64_t addr_a, uint32_t module_b, uint64_t addr_b)
{
	if (module_a != module_b)
		return module_a < module_b ? -1 : 1;
	return addr_a < addr_b ? -1 : addr_a > addr_b;
}

static int compare_frames(const void *a, const void *b, void *ctx)
{
	const struct writer *w = ctx;
	const struct frame *x = &w->profile->frames[*(const uint32_t *)a];
	const struct frame *y = &w->profile->frames[*(const uint32_t *)b];
	int order = by_place(x->module, x->addr, y->module, y->addr);

	return order ? order : (int)x->caller - (int)y->caller;
}

static int compare_functions(const void *a, const void *b, void *ctx)
{
	const struct writer *w = ctx;
	const struct function *x = &w->profile->functions[*(const uint32_t *)a];
	const struct function *y = &w->profile->functions[*(const uint32_t *)b];

	return by_place(x->module, x->addr, y->module, y->addr);
}

static int make_tables(struct writer *w)
{
	const struct profile *p = w->profile;
	const struct codes *codes = w->source->codes;

	w->string_numbers = calloc(p->strings.count + 1u, sizeof(uint32_t));
	w->code_strings = calloc(codes ? codes->strings.count + 1u : 1, sizeof(uint32_t));
	w->module_numbers = calloc(p->module_count + 1u, sizeof(uint32_t));
	w->function_numbers = calloc(p->function_count + 1u, sizeof(uint32_t));
	w->frames = calloc(p->frame_count + 1u, sizeof(uint32_t));
	w->functions = calloc(p->function_count + 1u, sizeof(uint32_t));
	w->modules = calloc(p->module_count + 1u, sizeof(uint32_t));
	return w->string_numbers && w->code_strings && w->module_numbers &&
			       w->function_numbers && w->frames && w->functions && w->modules
		       ? 0
		       : -ENOMEM;
}

static bool is_wanted(const struct profile *p, const struct frame *frame)
{
	return frame->line_count && p->modules[frame->module].kind != MODULE_MARKER;
}

/* Marks with 1 what is used, lists it, sorts it; then the numbers are the positions. */
static void choose(struct writer *w)
{
	const struct profile *p = w->profile;

	for (uint32_t i = 0; i < p->frame_count; i++) {
		const struct frame *frame = &p->frames[i];

		/* Why a module has no names is worth a line, too. */
		if (p->modules[frame->module].kind != MODULE_MARKER)
			w->module_numbers[frame->module] = 1;
		if (!is_wanted(p, frame))
			continue;
		w->frames[w->frame_count++] = i;
		for (uint32_t k = 0; k < frame->line_count; k++)
			w->function_numbers[p->lines[frame->first_line + k].function] = 1;
	}
	for (uint32_t i = 0; i < p->function_count; i++)
		if (w->function_numbers[i]) {
			w->module_numbers[p->functions[i].module] = 1;
			w->functions[w->function_count++] = i;
		}
	for (uint32_t i = 0; i < p->module_count; i++)
		if (w->module_numbers[i]) {
			w->module_numbers[i] = w->module_count;
			w->modules[w->module_count++] = i;
		}
	qsort_r(w->frames, w->frame_count, sizeof(uint32_t), compare_frames, w);
	qsort_r(w->functions, w->function_count, sizeof(uint32_t), compare_functions, w);
	for (uint32_t i = 0; i < w->function_count; i++)
		w->function_numbers[w->functions[i]] = i;
}

/* ---- the tables */

static void put_modules(struct writer *w)
{
	names_put(&w->body, w->module_count);
	for (uint32_t i = 0; i < w->module_count; i++) {
		const struct module *module = &w->profile->modules[w->modules[i]];

		names_put(&w->body, module->kind);
		put_string(w, module->path);
		names_put(&w->body, module->build_id_bytes);
		strbuf_add(&w->body, module->build_id, module->build_id_bytes);
		names_put(&w->body, module->ino);
		names_put(&w->body, (uint32_t)module->pid);
		names_put(&w->body, w->source->outcome
					    ? w->source->outcome(w->source->ctx, w->modules[i])
					    : 0);
	}
}

/* Where the last entry stood; distances are counted from there. */
struct place {
	uint32_t module;
	uint64_t addr;
};

static void put_place(struct writer *w, struct place *place, uint32_t module, uint64_t addr)
{
	uint32_t number = w->module_numbers[module];

	names_put(&w->body, number - place->module);
	if (number != place->module)
		*place = (struct place){number, 0};
	names_put(&w->body, addr - place->addr);
	place->addr = addr;
}

static void put_functions(struct writer *w)
{
	struct place place = {0, 0};

	names_put(&w->body, w->function_count);
	for (uint32_t i = 0; i < w->function_count; i++) {
		const struct function *function = &w->profile->functions[w->functions[i]];

		put_place(w, &place, function->module, function->addr);
		names_put(&w->body, function->size);
		put_string(w, function->name);
		if (function->linkage_name == function->name)
			names_put(&w->body, 0);
		else
			names_put(&w->body,
				string_number(w, w->string_numbers, &w->profile->strings,
					function->linkage_name) +
					1ull);
	}
}

static void put_frames(struct writer *w)
{
	struct place place = {0, 0};
	int64_t last_function = 0;

	names_put(&w->body, w->frame_count);
	for (uint32_t i = 0; i < w->frame_count; i++) {
		const struct frame *frame = &w->profile->frames[w->frames[i]];

		put_place(w, &place, frame->module, frame->addr);
		names_put(&w->body, (uint64_t)frame->line_count << 1 | frame->caller);
		for (uint32_t k = 0; k < frame->line_count; k++) {
			const struct line *line = &w->profile->lines[frame->first_line + k];
			int64_t function = w->function_numbers[line->function];

			names_put(&w->body, names_fold(function - last_function));
			last_function = function;
			put_string(w, line->file);
			names_put(&w->body, line->line);
		}
	}
}

static void put_codes(struct writer *w)
{
	const struct codes *codes = w->source->codes;
	uint64_t last_key = 0, last_ns = 0, count = 0;

	for (uint32_t i = 0; codes && i < codes->count; i++)
		count += codes->at[i].sampled;
	names_put(&w->body, count);
	for (uint32_t i = 0; codes && i < codes->count; i++) {
		const struct code *code = &codes->at[i];

		if (!code->sampled)
			continue;
		names_put(&w->body, (uint32_t)code->pid);
		put_code_string(w, code->path);
		put_code_string(w, code->name);
		names_put(&w->body, names_fold((int64_t)(code->key - last_key)));
		names_put(&w->body, code->addr);
		names_put(&w->body, code->size);
		names_put(&w->body, names_fold((int64_t)(code->start_ns - last_ns)));
		names_put(&w->body, code->end_ns - code->start_ns);
		last_key = code->key;
		last_ns = code->start_ns;
		names_put(&w->body, code->row_count);
		for (uint32_t k = 0; k < code->row_count; k++) {
			const struct code_row *row = &codes->rows[code->first_row + k];

			names_put(&w->body, row->offset);
			put_code_string(w, row->file);
			names_put(&w->body, row->line);
		}
	}
}

/*
 * What a reader that knows nothing of it leaves unread: the columns of the lines of frames and
 * of rows, in the order in which these stand above, and the modules' debug files.
 */
static void put_additions(struct writer *w)
{
	const struct codes *codes = w->source->codes;

	for (uint32_t i = 0; i < w->frame_count; i++) {
		const struct frame *frame = &w->profile->frames[w->frames[i]];

		for (uint32_t k = 0; k < frame->line_count; k++)
			names_put(&w->body, w->profile->lines[frame->first_line + k].column);
	}
	for (uint32_t i = 0; codes && i < codes->count; i++)
		for (uint32_t k = 0; codes->at[i].sampled && k < codes->at[i].row_count; k++)
			names_put(&w->body, codes->rows[codes->at[i].first_row + k].column);
	for (uint32_t i = 0; i < w->module_count; i++)
		put_text(w, w->source->debug_file
				    ? w->source->debug_file(w->source->ctx, w->modules[i])
				    : "");
}

int names_write(const struct names_source *source, struct strbuf *ret_bytes)
{
	cleanup_with(writer_done) struct writer w = {
		.source = source, .profile = source->profile};
	cleanup_with(strbuf_done) struct strbuf plain = {0};
	int rc = make_tables(&w);

	if (rc < 0)
		return rc;
	choose(&w);
	put_modules(&w);
	put_functions(&w);
	put_frames(&w);
	put_codes(&w);
	put_additions(&w);
	names_put(&plain, w.string_count);
	strbuf_add(&plain, w.strings.text, w.strings.len);
	strbuf_add(&plain, w.body.text, w.body.len);
	if (plain.failed || w.strings.failed || w.body.failed)
		return -ENOMEM;
	if (plain.len > NAMES_BYTES_MAX)
		return -EFBIG;
	strbuf_reset(ret_bytes);
	strbuf_puts(ret_bytes, NAMES_MAGIC NAMES_VERSION);
	return names_pack(&plain, ret_bytes);
}
