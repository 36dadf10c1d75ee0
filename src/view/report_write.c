/*
 * Options are understood first, so that a wrong one costs no half report. Then, for each event
 * that has samples: a tally and its table, or trees. The three formats share all of that and
 * differ in what they call to write it.
 */
#include "view/report.h"

#include "base/cleanup.h"
#include "formats/tree.h"
#include "view/modules_view.h"
#include "view/figure.h"
#include "view/json_out.h"
#include "view/markdown.h"
#include "view/paint.h"
#include "view/printable.h"
#include "view/prose.h"
#include "view/quality_json.h"
#include "view/selection.h"
#include "view/srcline.h"
#include "view/table_view.h"
#include "view/tally.h"
#include "view/tree_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TREES_DEFAULT 10 /* of callers or callees, one a matching function */

struct event_sum {
	uint64_t weight, samples;
};

struct report {
	const struct profile *profile;
	const struct report_options *options;
	struct selection selection;
	struct sort_keys keys;
	struct label_table labels;
	uint32_t *found; /* labels that callers or callees mean */
	uint32_t found_count;
	struct event_sum *sums; /* by event */
	struct json_out json;
	FILE *out;
};

/* What a tree's callbacks need to know. */
struct tree_ctx {
	const struct report *report;
	uint16_t event;
	uint32_t focus; /* label */
};

void report_options_init(struct report_options *options)
{
	*options = (struct report_options){
		.format = REPORT_TEXT, .limit = REPORT_LIMIT_DEFAULT, .min_percent = -1};
}

static bool keep_sample(void *ctx, const struct profile *profile, const struct sample *sample)
{
	const struct tree_ctx *it = ctx;

	(void)profile;
	return sample->event == it->event && selection_has(&it->report->selection, sample);
}

static bool is_focus(void *ctx, const struct profile *profile, const struct tree_step *step)
{
	const struct tree_ctx *it = ctx;
	const struct label_table *labels = &it->report->labels;

	(void)profile;
	return step->frame != PROFILE_NONE &&
	       labels->ids[labels->first[step->frame] + step->line] == it->focus;
}

static void step_name(void *ctx, const struct profile *profile, const struct tree_step *step,
	struct strbuf *out)
{
	const struct tree_ctx *it = ctx;
	const struct frame *frame = &profile->frames[step->frame];

	strbuf_puts(out, frame_name(profile, step->frame, step->line));
	if (it->report->options->srcline && step->line < frame->line_count) {
		const struct line *at = &profile->lines[frame->first_line + step->line];

		strbuf_putc(out, SRCLINE_MARK);
		srcline_add(out, profile_text(profile, at->file), at->line, at->column);
	}
	if (step->line + 1u < profile->frames[step->frame].line_count)
		strbuf_puts(out, " (inlined)");
}

static uint32_t event_count(const struct report *report)
{
	return report->profile->event_count;
}

/* What was selected of each event, in one pass. 0 or -ENOMEM. */
static int sum_events(struct report *report)
{
	const struct profile *profile = report->profile;

	report->sums = calloc((size_t)profile->event_count + 1, sizeof(*report->sums));
	for (uint32_t i = 0; report->sums && i < profile->sample_count; i++) {
		const struct sample *sample = &profile->samples[i];
		struct event_sum *sum = &report->sums[sample->event];

		if (!selection_has(&report->selection, sample))
			continue;
		sum->weight = add_saturating(sum->weight, sample->weight);
		sum->samples++;
	}
	return report->sums ? 0 : -ENOMEM;
}

static void print_safe(const struct report *report, const char *text)
{
	struct strbuf safe = {0};

	printable_add(&safe, text, report->options->utf8);
	if (report->options->format == REPORT_MARKDOWN)
		markdown_text(report->out, strbuf_text(&safe));
	else
		fputs(strbuf_text(&safe), report->out);
	strbuf_done(&safe);
}

/* What was selected, where that is not everything; and which event, where there are several. */
static void print_heading(const struct report *report, uint16_t event)
{
	const struct report_options *options = report->options;
	const struct profile_event *it = &report->profile->events[event];
	const char *strong = options->format == REPORT_MARKDOWN ? "**" : "";
	char n[FIGURE_BYTES], w[FIGURE_BYTES];

	putc('\n', report->out);
	if (event_count(report) < 2)
		return;
	fprintf(report->out, "%s%s", strong, paint(options->colour, PAINT_BOLD));
	print_safe(report, profile_text(report->profile, it->name));
	fprintf(report->out, "%s%s: %s samples, %s\n", paint(options->colour, PAINT_OFF),
		strong, figure_thousands(report->sums[event].samples, n),
		figure_weight(report->sums[event].weight, it->weight_is_ns, w));
	if (options->format == REPORT_MARKDOWN)
		putc('\n', report->out);
}

/* A word of the user's, made safe, behind other text. */
static void add_word(
	const struct report *report, struct strbuf *text, const char *before, const char *word)
{
	if (!word)
		return;
	strbuf_puts(text, before);
	printable_add(text, word, report->options->utf8);
}

static void print_selection(const struct report *report)
{
	const struct report_options *options = report->options;
	cleanup_with(strbuf_done) struct strbuf text = {0};
	char n[FIGURE_BYTES], all[FIGURE_BYTES];

	if (!report->selection.filtered)
		return;
	strbuf_puts(&text, "Only");
	add_word(report, &text, " thread ", options->thread);
	add_word(report, &text, options->thread ? ", time " : " time ", options->time);
	strbuf_printf(&text, ": %s of %s samples; percentages are shares of these",
		figure_thousands(report->selection.samples, n),
		figure_thousands(report->profile->sample_count, all));
	putc('\n', report->out);
	prose_print(report->out, strbuf_text(&text), options->width, 2);
}

static int table_write(struct report *report, uint16_t event)
{
	const struct label_table *labels = report->keys.identity ? &report->labels : NULL;
	struct table_view view = {report->profile, report->options, &report->keys, labels, NULL,
		report->profile->events[event].weight_is_ns};
	struct tally tally;
	int rc = tally_make(&tally, report->profile, &report->selection, labels,
		report->keys.thread_keys, event);

	if (rc < 0)
		return rc;
	view.tally = &tally;
	if (report->options->format == REPORT_JSON) {
		table_view_json(&view, &report->json);
	} else {
		print_heading(report, event);
		if (report->options->format == REPORT_TEXT)
			rc = table_view_text(&view, report->out);
		else
			rc = table_view_markdown(&view, report->out);
	}
	tally_done(&tally);
	return rc;
}

static int tree_make(const struct report *report, uint16_t event, uint32_t focus, bool upwards,
	struct tree *ret_tree)
{
	struct tree_ctx ctx = {report, event, focus};
	const struct tree_options options = {
		.order = upwards ? TREE_LEAF_FIRST : TREE_ROOT_FIRST,
		.sort = TREE_BY_WEIGHT,
		.ctx = &ctx,
		.keep = keep_sample,
		.focus = focus != PROFILE_NONE ? is_focus : NULL,
		.label = report->options->format == REPORT_JSON && !report->options->srcline
				 ? NULL
				 : step_name,
	};

	return tree_build(report->profile, &options, ret_tree);
}

static int tree_print(const struct tree_view *view, struct report *report)
{
	int rc;

	if (report->options->format == REPORT_JSON) {
		tree_view_json(view, &report->json);
		return 0;
	}
	if (report->options->format == REPORT_MARKDOWN)
		fputs("```text\n", report->out);
	rc = tree_view_text(view, report->out);
	if (report->options->format == REPORT_MARKDOWN)
		fputs("```\n", report->out);
	return rc;
}

static int whole_tree_write(struct report *report, uint16_t event)
{
	struct tree_view view = {.profile = report->profile,
		.options = report->options,
		.all = report->sums[event].weight,
		.is_ns = report->profile->events[event].weight_is_ns};
	struct tree tree;
	int rc = tree_make(report, event, PROFILE_NONE, false, &tree);

	if (rc < 0)
		return rc;
	view.tree = &tree;
	if (report->options->format != REPORT_JSON)
		print_heading(report, event);
	rc = tree_print(&view, report);
	tree_done(&tree);
	return rc;
}

/* One function's tree, with its headline or as a JSON object. */
static int focus_write(
	struct report *report, uint16_t event, const struct tally_row *row, bool upwards)
{
	uint64_t weight = report->sums[event].weight;
	unsigned width = report->options->width;
	bool is_ns = report->profile->events[event].weight_is_ns;
	struct tree_view view = {
		report->profile, report->options, NULL, weight, is_ns, upwards};
	struct strbuf name = {0};
	char p[FIGURE_BYTES], w[FIGURE_BYTES];
	struct tree tree;
	int rc = tree_make(report, event, row->label, upwards, &tree);

	if (rc < 0)
		return rc;
	view.tree = &tree;
	if (report->options->format == REPORT_JSON) {
		json_open(&report->json, NULL, '{');
		json_string(&report->json, "function", label_name(&report->labels, row->label));
		json_string(&report->json, "module", label_module(&report->labels, row->label));
		json_u64(&report->json, "total", row->total);
		json_double(&report->json, "total_pct", figure_share(row->total, weight) * 100);
		json_open(&report->json, "nodes", '[');
		tree_view_json(&view, &report->json);
		json_close(&report->json, ']');
		json_close(&report->json, '}');
	} else {
		/* room for the rest of the line */
		label_show(&name, &report->labels, row->label,
			width > 60 ? width - 34 : width / 2, report->options->utf8);
		fprintf(report->out, "\n%s of ", upwards ? "Callers" : "Callees");
		print_safe(report, strbuf_text(&name));
		fprintf(report->out, ": %s, %s\n",
			figure_percent(figure_share(row->total, weight), p),
			figure_weight(row->total, is_ns, w));
		if (report->options->format == REPORT_MARKDOWN)
			putc('\n', report->out);
		rc = tree_print(&view, report);
	}
	strbuf_done(&name);
	tree_done(&tree);
	return rc;
}

static bool is_found(const struct report *report, uint32_t label)
{
	for (uint32_t i = 0; i < report->found_count; i++)
		if (report->found[i] == label)
			return true;
	return false;
}

static int by_total(const void *a, const void *b)
{
	const struct tally_row *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return (x->label > y->label) - (x->label < y->label);
}

/* The trees of all functions that were meant, the heaviest first. */
static int focused_write(struct report *report, uint16_t event)
{
	bool upwards = report->options->callers != NULL;
	uint32_t limit = report->options->limit, n = 0;
	struct tally tally;
	int rc = tally_make(
		&tally, report->profile, &report->selection, &report->labels, 0, event);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < tally.count; i++)
		if (is_found(report, tally.rows[i].label))
			tally.rows[n++] = tally.rows[i];
	if (n > 0)
		qsort(tally.rows, n, sizeof(*tally.rows), by_total);
	limit = limit == REPORT_LIMIT_DEFAULT ? TREES_DEFAULT : limit ? limit : UINT32_MAX;
	if (report->options->format != REPORT_JSON && event_count(report) > 1)
		print_heading(report, event);
	if (report->options->format != REPORT_JSON && n == 0) {
		putc('\n', report->out);
		prose_printf(report->out, report->options->width,
			"No selected sample has it in its stack.");
	}
	for (uint32_t i = 0; i < n && i < limit && rc == 0; i++)
		rc = focus_write(report, event, &tally.rows[i], upwards);
	if (report->options->format != REPORT_JSON && n > limit)
		fprintf(report->out, "\n... and %u more functions with this in their name\n",
			n - limit);
	tally_done(&tally);
	return rc;
}

static const char *json_member(
	const struct report_options *options, const struct sort_keys *keys)
{
	if (options->callers)
		return "callers";
	if (options->callees)
		return "callees";
	if (options->tree)
		return "tree";
	return keys->identity & LABEL_BY_NAME && !keys->thread_keys ? "functions" : "rows";
}

/* An event's part of the report. JSON: its object, with the rows or nodes as an array in it. */
static int event_write(struct report *report, uint16_t event)
{
	const struct report_options *options = report->options;
	const struct profile_event *it = &report->profile->events[event];
	struct json_out *json = &report->json;
	const struct event_sum *sum = &report->sums[event];
	int rc = 0;

	if (options->format == REPORT_JSON) {
		json_open(json, NULL, '{');
		json_string(json, "event", profile_text(report->profile, it->name));
		json_string(json, "unit", it->weight_is_ns ? "ns" : "events");
		json_u64(json, "weight", sum->weight);
		json_u64(json, "samples", sum->samples);
		json_open(json, json_member(options, &report->keys), '[');
	}
	if (sum->samples == 0) {
		rc = 0; /* nothing of it was selected */
	} else if (options->callers || options->callees) {
		rc = focused_write(report, event);
	} else if (options->tree) {
		rc = whole_tree_write(report, event);
	} else {
		rc = table_write(report, event);
	}
	if (options->format == REPORT_JSON) {
		json_close(json, ']');
		json_close(json, '}');
	}
	return rc;
}

/* In place of the events' tables. */
static int modules_write(struct report *report)
{
	const struct report_options *options = report->options;
	const struct modules_view view = {report->profile, options->namings,
		options->naming_count,
		options->limit == REPORT_LIMIT_DEFAULT ? 0 : options->limit, options->utf8};

	if (options->format == REPORT_JSON) {
		modules_view_json(&view, &report->json);
		return 0;
	}
	putc('\n', report->out);
	return options->format == REPORT_MARKDOWN ? modules_view_markdown(&view, report->out)
						  : modules_view_text(&view, report->out);
}

static int events_write(struct report *report)
{
	struct json_out *json = report->options->format == REPORT_JSON ? &report->json : NULL;
	int rc = 0;

	if (json)
		json_open(json, "events", '[');
	for (uint32_t i = 0; i < report->profile->event_count && rc == 0; i++)
		rc = event_write(report, (uint16_t)i);
	if (json)
		json_close(json, ']');
	return rc;
}

static int report_body(struct report *report, const struct quality_view *quality)
{
	const struct report_options *options = report->options;
	struct json_out *json = &report->json;
	int rc;

	if (options->format == REPORT_JSON) {
		json_open(json, NULL, '{');
		json_string(json, "schema", "wick-report/1");
		json_open(json, "quality", '{');
		rc = quality_json_members(json, quality);
		json_close(json, '}');
		json_u64(json, "selected_samples", report->selection.samples);
	} else if (options->format == REPORT_MARKDOWN) {
		rc = quality_view_markdown(quality, report->out);
		print_selection(report);
	} else {
		rc = quality_view_text(quality, report->out);
		print_selection(report);
	}
	if (rc == 0)
		rc = options->modules ? modules_write(report) : events_write(report);
	if (options->format == REPORT_JSON)
		json_close(json, '}');
	return rc;
}

/* Everything that can be wrong with the options. */
static int report_prepare(struct report *report, struct error *err)
{
	const struct report_options *options = report->options;
	unsigned views = options->tree + options->modules + (options->callers != NULL) +
			 (options->callees != NULL);
	const char *wanted = options->callers ? options->callers : options->callees;
	int rc;

	if (views > 1 || (views == 1 && options->sort))
		return error_set(err, -EINVAL,
			"--tree, --modules, --callers, --callees and --sort exclude each "
			"other");
	rc = sort_keys_parse(&report->keys, options->sort, options->srcline && views == 0, err);
	if (rc == 0)
		rc = selection_init(&report->selection, report->profile, options->thread,
			options->time, err);
	if (rc == 0 && sum_events(report) < 0)
		rc = error_set(err, -ENOMEM, "out of memory while preparing the report");
	if (rc < 0 || !report->keys.identity)
		return rc;
	rc = label_table_init(&report->labels, report->profile, report->keys.identity);
	if (rc < 0)
		return error_set(err, rc, "out of memory while preparing the report");
	return wanted ? label_find(&report->labels, wanted, &report->found,
				&report->found_count, err)
		      : 0;
}

static int finish(FILE *out, struct error *err)
{
	int cause = 0;

	errno = 0;
	if (fflush(out) != 0)
		cause = errno;
	if (cause == 0 && !ferror(out))
		return 0;
	cause = cause ? cause : EIO;
	return error_set(err, -cause, "writing the report failed: %s", strerror(cause));
}

int report_write(const struct profile *profile, const struct report_options *options, FILE *out,
	struct error *err)
{
	struct report report = {
		.profile = profile, .options = options, .out = out, .json = {.out = out}};
	const struct quality_view quality = {&profile->quality, profile, options->notes,
		options->note_count, options->width, options->colour, options->utf8};
	int rc = report_prepare(&report, err);

	if (rc == 0) {
		rc = report_body(&report, &quality);
		if (rc < 0)
			error_set(err, rc, "the report could not be made: %s", strerror(-rc));
		else
			rc = finish(out, err);
	}
	free(report.found);
	free(report.sums);
	label_table_done(&report.labels);
	selection_done(&report.selection);
	return rc;
}
