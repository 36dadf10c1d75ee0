/*
 *     spin(unsigned long)  in prog: 62.3 % of all, 3,112 samples of cpu-clock
 *
 *       Self  Samples  Line  /src/prog.c
 *                        10  static unsigned long spin(unsigned long n)
 *     45.2 %    1,406    12          for (i = 0; i < n; i++)
 *
 *       Self  Samples  Address  Instruction
 *                               prog.c:12           for (i = 0; i < n; i++)
 *      3.1 %       97     1149  add rax, rdx
 */
#include "view/annotate_view.h"

#include "base/cleanup.h"
#include "view/figure.h"
#include "view/label.h"
#include "view/paint.h"
#include "view/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { GAP_MOST = 6 }; /* source lines without code that are shown between two with code */

struct shown {
	const struct annotate_view *view;
	const struct annotation *it;
	struct strbuf text;
	FILE *out;
	struct annotate_least least;
};

/* Text from outside, made safe. */
static const char *safe(struct shown *s, const char *text)
{
	strbuf_reset(&s->text);
	printable_add(&s->text, text, s->view->utf8);
	return strbuf_text(&s->text);
}

/* "  3.1 %       97  ", blank where nothing stopped. */
static void put_self(struct shown *s, uint64_t samples, uint64_t weight)
{
	char percent[FIGURE_BYTES], count[FIGURE_BYTES];
	double share = figure_share(weight, s->it->weight);
	const char *colour = paint_share(s->view->colour, share);

	if (!samples) {
		fprintf(s->out, "%7s %9s  ", "", "");
		return;
	}
	fprintf(s->out, "%s%7s%s %9s  ", colour, figure_percent(share, percent),
		paint_off(s->view->colour, colour), figure_thousands(samples, count));
}

static const char *source_text(struct shown *s, uint32_t file, uint32_t line)
{
	cleanup_with(strbuf_done) struct strbuf raw = {0};
	const struct source_file *source =
		s->view->sources ? source_file_get(s->view->sources, file,
					   profile_text(s->view->profile, file))
				 : NULL;

	if (!source || !source_line(source, line, &raw))
		return NULL;
	return safe(s, strbuf_text(&raw));
}

static void put_head(struct shown *s)
{
	const struct annotate_view *view = s->view;
	const struct profile *profile = view->profile;
	const struct function *function = &profile->functions[s->it->function];
	char percent[FIGURE_BYTES], count[FIGURE_BYTES];

	fprintf(s->out, "%s%s%s", paint(view->colour, PAINT_BOLD),
		safe(s, profile_text(profile, function->name)), paint(view->colour, PAINT_OFF));
	fprintf(s->out, "  in %s: ", safe(s, module_shown(profile, function->module)));
	if (!s->it->samples)
		fputs("no sample stopped in it, only in what it called\n", s->out);
	else
		fprintf(s->out, "%s of all, %s samples of %s\n",
			figure_percent(
				figure_share(s->it->weight, view->hits->weight), percent),
			figure_thousands(s->it->samples, count),
			safe(s, profile->event_count
					? profile_text(profile, profile->events[0].name)
					: "samples"));
	if (!s->it->excerpt)
		fprintf(s->out, "its code is not there: %s\n",
			s->it->why ? s->it->why : "it was not looked for");
	else if (!s->it->known_machine)
		fputs("no disassembler for this code here: it is shown as numbers\n", s->out);
	if (s->it->cut)
		fprintf(s->out, "it is too large: only its first %s instructions are shown\n",
			figure_thousands(s->it->instruction_count, count));
}

/* One line of a file; those between two with code, too, when they are few. */
static void put_gap(struct shown *s, const struct annotated_line *line, uint32_t last)
{
	const char *text = NULL;
	uint32_t from = last + 1;

	if (!last || line->line - last > GAP_MOST + 1) {
		if (last)
			fprintf(s->out, "%19s%4s\n", "", "...");
		return;
	}
	for (; from < line->line; from++) {
		text = source_text(s, line->file, from);
		if (text)
			fprintf(s->out, "%19s%4u  %s\n", "", from, text);
	}
}

static void put_file_head(struct shown *s, uint32_t file)
{
	const char *path = profile_text(s->view->profile, file);
	const struct source_file *source = source_file_get(s->view->sources, file, path);

	fprintf(s->out, "\n%7s %9s  %4s  %s", "Self", "Samples", "Line", safe(s, path));
	if (source && source->why)
		fprintf(s->out, "  (%s)", source->why);
	fputc('\n', s->out);
}

static void put_lines(struct shown *s)
{
	uint32_t file = PROFILE_NONE, last = 0;

	for (uint32_t i = 0; i < s->it->line_count; i++) {
		const struct annotated_line *line = &s->it->lines[i];
		const char *text;

		if (line->weight < s->least.line)
			continue;
		if (line->file != file) {
			put_file_head(s, line->file);
			last = 0;
		}
		put_gap(s, line, last);
		put_self(s, line->samples, line->weight);
		text = source_text(s, line->file, line->line);
		fprintf(s->out, "%4u  %s\n", line->line, text ? text : "");
		file = line->file;
		last = line->line;
	}
}

static void put_line_head(struct shown *s, uint32_t index)
{
	const struct annotated_line *line = &s->it->lines[index];
	const char *path = profile_text(s->view->profile, line->file);
	const char *slash = strrchr(path, '/'), *text;

	fprintf(s->out, "%s%18s  %8s  %s:%u", paint(s->view->colour, PAINT_DIM), "", "",
		safe(s, slash ? slash + 1 : path), line->line);
	text = source_text(s, line->file, line->line);
	if (text)
		fprintf(s->out, "  %s", text);
	fprintf(s->out, "%s\n", paint(s->view->colour, PAINT_OFF));
}

static void put_instructions(struct shown *s)
{
	uint32_t line = PROFILE_NONE;
	bool skipped = false;

	fprintf(s->out, "\n%7s %9s  %8s  %s\n", "Self", "Samples", "Address",
		s->it->excerpt ? "Instruction" : "");
	for (uint32_t i = 0; i < s->it->instruction_count; i++) {
		const struct annotated_instruction *one = &s->it->instructions[i];

		if (one->weight < s->least.instruction) {
			skipped = true;
			continue;
		}
		if (skipped)
			fprintf(s->out, "%19s%8s\n", "", "...");
		skipped = false;
		if (s->view->sources && one->line != line && one->line != PROFILE_NONE)
			put_line_head(s, one->line);
		line = one->line;
		put_self(s, one->samples, one->weight);
		fprintf(s->out, "%8" PRIx64 "  %s\n", one->vaddr,
			one->size ? safe(s, annotation_text(s->it, one)) : "");
	}
	if (skipped)
		fprintf(s->out, "%19s%8s\n", "", "...");
}

int annotate_view_text(const struct annotate_view *view, FILE *out)
{
	struct shown s = {.view = view, .out = out};
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < view->count; i++) {
		s.it = &view->at[i];
		rc = annotate_least(&s.least, view, s.it);
		if (rc < 0)
			break;
		if (i)
			fputs("\n\n", out);
		put_head(&s);
		if (view->sources)
			put_lines(&s);
		if (s.it->instruction_count)
			put_instructions(&s);
	}
	rc = s.text.failed ? -ENOMEM : rc;
	strbuf_done(&s.text);
	return rc;
}
