/*
 * The functions in which the most samples stopped, annotated one after another until the page
 * has enough. Texts are copied: an annotation is gone when the next one is made.
 */
#include "view/page_code.h"

#include "base/cleanup.h"
#include "view/annotate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	GAP_MOST = 6, /* source lines without code that are shown between two with code */
	INSTRUCTION_MOST = 16,			    /* bytes */
	DISASSEMBLED_MOST = 16 * PAGE_INSTRUCTIONS, /* also of functions that are passed over */
};

void page_code_done(struct page_code *code)
{
	free(code->at);
	arena_done(&code->arena);
	*code = (struct page_code){0};
}

struct making {
	struct page_code *code;
	const struct loaded *loaded;
	struct annotate_hits hits;
	struct source_files sources;
	bool no_source;
	uint32_t instructions; /* so far */
	uint32_t disassembled;
};

static void making_done(struct making *m)
{
	annotate_hits_done(&m->hits);
	source_files_done(&m->sources);
}

/* A source line as the page has it, or NULL. */
static const char *source_copy(struct making *m, uint32_t file, uint32_t line, bool *failed)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	const struct source_file *source =
		m->no_source ? NULL
			     : source_file_get(&m->sources, file,
				       profile_text(&m->loaded->profile, file));
	const char *copy;

	if (!source || !source_line(source, line, &text))
		return NULL;
	copy = arena_strndup(&m->code->arena, strbuf_text(&text), text.len);
	*failed |= !copy;
	return copy;
}

/* Lines with code, and the few between two of them. `numbers`: theirs by the annotation's. */
static uint32_t put_lines(struct making *m, const struct annotation *a,
	struct viewer_line *lines, uint32_t *numbers, bool *failed)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->line_count; i++) {
		const struct annotated_line *line = &a->lines[i];
		const struct annotated_line *last = i ? line - 1 : NULL;
		const char *file = profile_text(&m->loaded->profile, line->file);
		bool close = last && last->file == line->file &&
			     line->line - last->line <= GAP_MOST + 1;

		for (uint32_t at = close ? last->line + 1 : line->line; at < line->line; at++) {
			const char *text = source_copy(m, line->file, at, failed);

			if (text)
				lines[n++] = (struct viewer_line){
					.file = file, .text = text, .line = at};
		}
		numbers[i] = n;
		lines[n++] = (struct viewer_line){.file = file,
			.text = source_copy(m, line->file, line->line, failed),
			.line = line->line,
			.samples = line->samples,
			.weight = line->weight};
	}
	return n;
}

/* Where there is no code, a size reaches to the next sampled address. */
static uint32_t shown_size(const struct annotation *a, uint32_t i)
{
	const struct annotated_instruction *one = &a->instructions[i];

	if (one->size || i + 1 == a->instruction_count)
		return one->size;
	return (uint32_t)(one[1].vaddr - one->vaddr);
}

static void put_instructions(struct making *m, const struct annotation *a,
	const uint32_t *numbers, struct viewer_instruction *all, bool *failed)
{
	for (uint32_t i = 0; i < a->instruction_count; i++) {
		const struct annotated_instruction *one = &a->instructions[i];
		const char *text = one->size ? annotation_text(a, one) : "";

		all[i] = (struct viewer_instruction){
			.text = arena_strndup(&m->code->arena, text, strlen(text)),
			.size = shown_size(a, i),
			.line = one->line == PROFILE_NONE ? PROFILE_NONE : numbers[one->line],
			.samples = one->samples,
			.weight = one->weight};
		*failed |= !all[i].text;
	}
}

static const char *note_of(const struct annotation *a)
{
	if (!a->excerpt)
		return a->why ? a->why
			      : "its code is neither in the recording nor to be found here";
	return a->known_machine ? NULL : "this wick has no disassembler for this code";
}

static int put_function(struct making *m, const struct annotation *a)
{
	const struct function *function = &m->loaded->profile.functions[a->function];
	cleanup_free uint32_t *numbers = calloc(a->line_count + 1u, sizeof(*numbers));
	struct arena *arena = &m->code->arena;
	struct viewer_line *lines = arena_alloc(
		arena, ((size_t)a->line_count * (GAP_MOST + 1) + 1) * sizeof(*lines));
	struct viewer_instruction *all =
		arena_alloc(arena, ((size_t)a->instruction_count + 1) * sizeof(*all));
	struct viewer_code *code = &m->code->at[m->code->count];
	bool failed = !numbers || !lines || !all;

	if (failed)
		return -ENOMEM;
	*code = (struct viewer_code){.function = a->function,
		.address = a->excerpt		  ? a->excerpt->vaddr
			   : a->instruction_count ? a->instructions[0].vaddr
						  : function->addr,
		.note = note_of(a),
		.samples = a->samples,
		.weight = a->weight,
		.lines = lines,
		.instructions = all,
		.instruction_count = a->instruction_count};
	code->line_count = put_lines(m, a, lines, numbers, &failed);
	put_instructions(m, a, numbers, all, &failed);
	m->instructions += a->instruction_count;
	m->code->count++;
	return failed ? -ENOMEM : 0;
}

struct heat {
	uint32_t function;
	uint64_t samples, weight;
};

static int hottest_first(const void *a, const void *b)
{
	const struct heat *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return (x->function > y->function) - (x->function < y->function);
}

/* The functions of all hits, which are sorted by them. */
static uint32_t heats_make(const struct annotate_hits *hits, struct heat *heats)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < hits->count; i++) {
		const struct annotate_hit *hit = &hits->at[i];

		if (!n || heats[n - 1].function != hit->function)
			heats[n++] = (struct heat){.function = hit->function};
		heats[n - 1].samples += hit->samples;
		heats[n - 1].weight += hit->weight;
	}
	qsort(heats, n, sizeof(*heats), hottest_first);
	return n;
}

static bool is_too_large(const struct making *m, uint32_t function)
{
	const struct function *of = &m->loaded->profile.functions[function];
	const struct excerpt *excerpt =
		excerpts_find(&m->loaded->excerpts, of->module, of->addr);

	return excerpt && excerpt->size > INSTRUCTION_MOST * PAGE_INSTRUCTIONS;
}

/* Where the page has no room for it, it is passed over: the next one may be small. */
static int add_function(struct making *m, uint32_t function)
{
	cleanup_with(annotation_done) struct annotation one;
	int rc = annotation_make(&one, &m->loaded->profile, &m->loaded->excerpts, &m->hits,
		function, DISASM_INTEL, PAGE_INSTRUCTIONS - m->instructions);

	if (rc < 0)
		return rc;
	m->disassembled += one.instruction_count;
	return one.cut ? 0 : put_function(m, &one);
}

int page_code_make(struct page_code *ret_code, const struct loaded *loaded, const char *sysroot,
	bool no_source)
{
	cleanup_with(making_done) struct making m = {.code = ret_code,
		.loaded = loaded,
		.sources = {.root = sysroot},
		.no_source = no_source};
	int rc = annotate_hits_make(&m.hits, &loaded->profile);
	cleanup_free struct heat *heats = calloc(m.hits.count + 1u, sizeof(*heats));
	uint32_t count = 0;

	*ret_code = (struct page_code){.at = calloc(PAGE_FUNCTIONS, sizeof(*ret_code->at))};
	if (rc < 0 || !heats || !ret_code->at)
		return -ENOMEM;
	count = heats_make(&m.hits, heats);
	for (uint32_t i = 0; rc == 0 && i < count && ret_code->count < PAGE_FUNCTIONS &&
			     m.disassembled < DISASSEMBLED_MOST;
		i++)
		if (!is_too_large(&m, heats[i].function))
			rc = add_function(&m, heats[i].function);
	return rc;
}
