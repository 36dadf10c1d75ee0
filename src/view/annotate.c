/*
 * A frame's samples belong to the function that was called there (its last line), its own
 * address says to which instruction. Lines come from the excerpt's table; where there is no
 * code, from the frames.
 *
 *     hits           addr samples |  addr samples | ...        sorted: function, address
 *     instructions   [offset, offset + size) text, line        those between have no samples
 *     lines          file:line                                 sorted, each once
 */
#include "view/annotate.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "formats/export.h"
#include "view/figure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- hits */

static uint32_t called_function(const struct profile *profile, uint32_t frame)
{
	const struct frame *at = &profile->frames[frame];

	return at->line_count ? profile->lines[at->first_line + at->line_count - 1].function
			      : PROFILE_NONE;
}

static int by_place(const void *a, const void *b)
{
	const struct annotate_hit *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

int annotate_hits_make(struct annotate_hits *hits, const struct profile *profile)
{
	struct annotate_hit *by_frame = calloc(profile->frame_count + 1u, sizeof(*by_frame));
	uint32_t n = 0;

	*hits = (struct annotate_hits){.at = by_frame};
	if (!by_frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->sample_count; i++) {
		const struct sample *sample = &profile->samples[i];
		struct annotate_hit *hit;

		if (!export_keeps_event(profile, sample->event))
			continue;
		hits->samples++;
		hits->weight = add_saturating(hits->weight, sample->weight);
		if (sample->stack >= profile->stack_count)
			continue;
		hit = &by_frame[profile->stacks[sample->stack].frame];
		hit->samples++;
		hit->weight = add_saturating(hit->weight, sample->weight);
	}
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		struct annotate_hit hit = by_frame[i];

		hit.function = called_function(profile, i);
		hit.frame = i;
		hit.addr = frame_lookup_addr(&profile->frames[i]);
		if (hit.samples && hit.function != PROFILE_NONE)
			by_frame[n++] = hit;
	}
	hits->count = n;
	qsort(by_frame, n, sizeof(*by_frame), by_place);
	return 0;
}

void annotate_hits_done(struct annotate_hits *hits)
{
	free(hits->at);
	*hits = (struct annotate_hits){0};
}

const struct annotate_hit *annotate_hits_of(
	const struct annotate_hits *hits, uint32_t function, uint32_t *ret_count)
{
	uint32_t low = 0, high = hits->count, end;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (hits->at[middle].function < function)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < hits->count && hits->at[end].function == function; end++)
		;
	*ret_count = end - low;
	return hits->at + low;
}

/* ---- instructions */

void annotation_done(struct annotation *annotation)
{
	free(annotation->lines);
	free(annotation->instructions);
	strbuf_done(&annotation->texts);
	*annotation = (struct annotation){0};
}

/* Past `most` it is said that there are more. */
static int add_instruction(
	struct annotation *a, const struct annotated_instruction *one, uint32_t most)
{
	int rc = array_reserve(&a->instructions, &a->instruction_cap,
		(uint64_t)a->instruction_count + 1, sizeof(*a->instructions), most);

	a->cut |= rc == -ENOSPC;
	if (rc == 0)
		a->instructions[a->instruction_count++] = *one;
	return rc;
}

static int disassemble(struct annotation *a, const struct excerpts *excerpts,
	enum disasm_syntax syntax, uint32_t most)
{
	const struct excerpt *excerpt = a->excerpt;
	const uint8_t *code = excerpts->bytes + excerpt->first_byte;
	struct annotated_instruction one = {.vaddr = excerpt->vaddr};
	struct instruction decoded;
	struct disasm *disasm;
	int rc = disasm_open(excerpt->machine, syntax, &disasm);

	if (rc < 0)
		return rc;
	a->known_machine = disasm_knows(disasm);
	while (rc == 0 && one.offset < excerpt->size) {
		disasm_next(disasm, code + one.offset, excerpt->size - one.offset, one.vaddr,
			&decoded);
		one.size = decoded.size;
		one.decoded = decoded.decoded;
		one.text = (uint32_t)a->texts.len;
		strbuf_add(&a->texts, decoded.text, strlen(decoded.text) + 1);
		rc = add_instruction(a, &one, most);
		one.offset += decoded.size;
		one.vaddr += decoded.size;
	}
	disasm_close(disasm);
	return a->cut ? 0 : rc;
}

/* The instruction that holds an offset, or NULL. */
static struct annotated_instruction *instruction_at(struct annotation *a, uint64_t offset)
{
	uint32_t low = 0, high = a->instruction_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (a->instructions[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || offset - a->instructions[low - 1].offset >= a->instructions[low - 1].size)
		return NULL;
	return &a->instructions[low - 1];
}

/* Where there is no code, an address with samples stands for an instruction. */
static int add_bare(struct annotation *a, const struct function *function,
	const struct annotate_hit *hit, uint32_t most)
{
	struct annotated_instruction one = {.vaddr = hit->addr,
		.offset = (uint32_t)(hit->addr - function->addr),
		.samples = hit->samples,
		.weight = hit->weight};

	int rc = add_instruction(a, &one, most);

	return a->cut ? 0 : rc;
}

static int count_hits(struct annotation *a, const struct function *function,
	const struct annotate_hit *hits, uint32_t count, uint32_t most)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		struct annotated_instruction *one = NULL;

		a->samples += hits[i].samples;
		a->weight = add_saturating(a->weight, hits[i].weight);
		if (a->excerpt)
			one = instruction_at(a, hits[i].addr - function->addr);
		if (one) {
			one->samples += hits[i].samples;
			one->weight = add_saturating(one->weight, hits[i].weight);
		} else if (!a->excerpt) {
			rc = add_bare(a, function, &hits[i], most);
		}
	}
	return rc;
}

/* Compilers fill up to the next function's start: that is nobody's code. */
static void drop_padding(struct annotation *a)
{
	while (a->instruction_count) {
		const struct annotated_instruction *last =
			&a->instructions[a->instruction_count - 1];
		const char *text = annotation_text(a, last);

		if (last->samples || !last->decoded ||
			(!strstr(text, "nop") && strcmp(text, "int3") != 0 &&
				strcmp(text, "xchg ax, ax") != 0))
			break;
		a->instruction_count--;
	}
}

/* ---- lines */

static int by_line(const void *a, const void *b)
{
	const struct annotated_line *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* The line of an instruction; line 0: of none. */
static struct annotated_line line_of(const struct annotation *a, const struct profile *profile,
	const struct excerpts *excerpts, const struct annotate_hit *hit, uint32_t offset)
{
	const struct code_row *row =
		a->excerpt ? excerpt_row(excerpts, a->excerpt, offset) : NULL;
	struct annotated_line line = {.line = row ? row->line : 0};

	if (row)
		line.file = row->file;
	if (!line.line && hit) {
		const struct frame *frame = &profile->frames[hit->frame];
		const struct line *inner = &profile->lines[frame->first_line];

		line = (struct annotated_line){.file = inner->file, .line = inner->line};
	}
	return line;
}

/* The hit in an instruction; hits and instructions are in the same order. */
static const struct annotate_hit *hit_in(const struct annotated_instruction *one,
	uint64_t start, const struct annotate_hit *hits, uint32_t count, uint32_t *at)
{
	uint64_t end = start + one->offset + (one->size ? one->size : 1);

	while (*at < count && hits[*at].addr < start + one->offset)
		++*at;
	return *at < count && hits[*at].addr < end ? &hits[*at] : NULL;
}

static int make_lines(struct annotation *a, const struct profile *profile,
	const struct excerpts *excerpts, const struct annotate_hit *hits, uint32_t count)
{
	uint64_t start = profile->functions[a->function].addr;
	cleanup_free struct annotated_line *of = calloc(a->instruction_count + 1u, sizeof(*of));
	uint32_t n = 0, at = 0;

	a->lines = calloc(a->instruction_count + 1u, sizeof(*a->lines));
	if (!of || !a->lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->instruction_count; i++) {
		const struct annotated_instruction *one = &a->instructions[i];

		of[i] = line_of(a, profile, excerpts, hit_in(one, start, hits, count, &at),
			one->offset);
		if (of[i].line)
			a->lines[n++] = of[i];
	}
	qsort(a->lines, n, sizeof(*a->lines), by_line);
	for (uint32_t i = 0; i < n; i++)
		if (!i || by_line(&a->lines[a->line_count - 1], &a->lines[i]) != 0)
			a->lines[a->line_count++] = a->lines[i];
	for (uint32_t i = 0; i < a->instruction_count; i++) {
		struct annotated_instruction *one = &a->instructions[i];
		struct annotated_line *line =
			bsearch(&of[i], a->lines, a->line_count, sizeof(*a->lines), by_line);

		one->line = line ? (uint32_t)(line - a->lines) : PROFILE_NONE;
		if (!line)
			continue;
		line->samples += one->samples;
		line->weight = add_saturating(line->weight, one->weight);
	}
	return 0;
}

int annotation_make(struct annotation *annotation, const struct profile *profile,
	const struct excerpts *excerpts, const struct annotate_hits *hits, uint32_t function,
	enum disasm_syntax syntax, uint32_t most)
{
	const struct function *of = &profile->functions[function];
	const struct excerpt *excerpt = excerpts_find(excerpts, of->module, of->addr);
	const struct annotate_hit *own;
	uint32_t count;
	int rc = 0;

	*annotation = (struct annotation){.function = function};
	own = annotate_hits_of(hits, function, &count);
	if (excerpt && excerpt->size)
		annotation->excerpt = excerpt;
	else if (excerpt)
		annotation->why = excerpt->why;
	if (annotation->excerpt)
		rc = disassemble(annotation, excerpts, syntax, most);
	if (rc == 0)
		rc = count_hits(annotation, of, own, count, most);
	if (rc == 0 && annotation->excerpt)
		drop_padding(annotation);
	if (rc == 0)
		rc = make_lines(annotation, profile, excerpts, own, count);
	if (rc == 0 && annotation->texts.failed)
		rc = -ENOMEM;
	if (rc < 0)
		annotation_done(annotation);
	return rc < 0 ? -ENOMEM : 0;
}
