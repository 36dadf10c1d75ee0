/* Two tallies, joined by name and module through one index. */
#include "view/diff.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "view/label.h"
#include "view/paint.h"
#include "view/printable.h"
#include "view/table_view.h"
#include "view/tally.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_LIMIT = 1 << 24, NUMBER_COLUMNS = 39 };

struct diff_row {
	const struct label_table *labels; /* of one of the sides */
	uint32_t label;
	double self[2], total[2]; /* percent */
};

struct diff {
	struct label_table labels[2];
	struct tally tallies[2];
	struct diff_row *rows;
	uint32_t count, cap;
	struct hash_index index;
};

static void diff_done(struct diff *diff)
{
	for (int side = 0; side < 2; side++) {
		tally_done(&diff->tallies[side]);
		label_table_done(&diff->labels[side]);
	}
	free(diff->rows);
	hash_done(&diff->index);
}

/* The row of the same name and module, a new one where there is none. */
static int row_of(struct diff *diff, const struct label_table *labels, uint32_t label,
	struct diff_row **ret_row)
{
	const char *name = label_name(labels, label), *module = label_module(labels, label);
	uint32_t hash =
		hash_pair(hash_bytes(name, strlen(name)), hash_bytes(module, strlen(module)));
	struct hash_probe probe = hash_probe(&diff->index, hash);
	uint32_t id;
	int rc;

	while (hash_next(&diff->index, &probe, &id)) {
		const struct diff_row *row = &diff->rows[id];

		if (!strcmp(label_name(row->labels, row->label), name) &&
			!strcmp(label_module(row->labels, row->label), module)) {
			*ret_row = &diff->rows[id];
			return 0;
		}
	}
	rc = array_reserve(&diff->rows, &diff->cap, (uint64_t)diff->count + 1,
		sizeof(*diff->rows), ROW_LIMIT);
	if (rc == 0)
		rc = hash_add(&diff->index, hash, diff->count);
	if (rc < 0)
		return rc;
	*ret_row = &diff->rows[diff->count++];
	**ret_row = (struct diff_row){.labels = labels, .label = label};
	return 0;
}

static int add_side(struct diff *diff, const struct profile *profile, int side)
{
	struct label_table *labels = &diff->labels[side];
	struct tally *tally = &diff->tallies[side];
	struct selection selection = {.last_ns = UINT64_MAX};
	int rc = label_table_init(labels, profile, LABEL_BY_NAME | LABEL_BY_MODULE);

	if (rc == 0)
		rc = selection_init(&selection, profile, NULL, NULL, NULL);
	if (rc == 0)
		rc = tally_make(tally, profile, &selection, labels, 0, 0);
	for (uint32_t i = 0; rc == 0 && i < tally->count; i++) {
		const struct tally_row *from = &tally->rows[i];
		bool weights = tally->weight > 0;
		double all = weights ? (double)tally->weight : (double)tally->samples;
		struct diff_row *row;

		rc = row_of(diff, labels, from->label, &row);
		if (rc < 0 || all <= 0)
			break;
		row->self[side] +=
			100 * (double)(weights ? from->self : from->self_samples) / all;
		row->total[side] +=
			100 * (double)(weights ? from->total : from->total_samples) / all;
	}
	selection_done(&selection);
	return rc;
}

static double self_change(const struct diff_row *row)
{
	return row->self[1] - row->self[0];
}

static double total_change(const struct diff_row *row)
{
	return row->total[1] - row->total[0];
}

static int by_change(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	double self = fabs(self_change(y)) - fabs(self_change(x));
	double total = fabs(total_change(y)) - fabs(total_change(x));
	int names;

	if (fabs(self) > 1e-9)
		return self > 0 ? 1 : -1;
	if (fabs(total) > 1e-9)
		return total > 0 ? 1 : -1;
	names = strcmp(label_name(x->labels, x->label), label_name(y->labels, y->label));
	return names ? names
		     : strcmp(label_module(x->labels, x->label),
			       label_module(y->labels, y->label));
}

static void show_row(const struct diff_row *row, const struct diff_options *options, FILE *out)
{
	struct strbuf name = {0}, module = {0};
	double change = self_change(row);
	const char *colour = fabs(change) < 0.05 ? "" : change > 0 ? PAINT_RED : PAINT_CYAN;
	size_t room = options->width > NUMBER_COLUMNS + 40
			      ? options->width - NUMBER_COLUMNS - 22
		      : options->width ? 20
				       : 0;

	label_show(&name, row->labels, row->label, room, options->utf8);
	name_show(&module, &(struct shown_name){label_module(row->labels, row->label), "", ""},
		options->width ? 20 : 0, options->utf8);
	colour = paint(options->colour, colour);
	fprintf(out, "%s%+8.2f%s %7.2f %7.2f %+8.2f  %s  %s\n", colour, change,
		paint_off(options->colour, colour), row->self[0], row->self[1],
		total_change(row), strbuf_text(&name), strbuf_text(&module));
	strbuf_done(&name);
	strbuf_done(&module);
}

static void show(const struct diff *diff, const struct diff_options *options, FILE *out)
{
	uint32_t shown = 0, kept = 0;

	fprintf(out, "%8s %7s %7s %8s  %s\n", "change", "before", "after", "total",
		"function, module; percent of all, self");
	for (uint32_t i = 0; i < diff->count; i++) {
		const struct diff_row *row = &diff->rows[i];

		if (fabs(self_change(row)) < options->min_percent &&
			fabs(total_change(row)) < options->min_percent)
			continue;
		kept++;
		if (options->limit && shown >= options->limit)
			continue;
		show_row(row, options, out);
		shown++;
	}
	if (kept > shown)
		fprintf(out, "%u more rows; --limit 0 shows all\n", kept - shown);
	if (!kept)
		fprintf(out, "nothing changed by %g %% of all or more\n", options->min_percent);
}

static const char *event_of(const struct profile *profile)
{
	return profile->event_count ? profile_text(profile, profile->events[0].name)
				    : "samples";
}

static void show_name(const char *name, const struct diff_options *options, FILE *out)
{
	struct strbuf text = {0};

	printable_add(&text, name, options->utf8);
	fputs(strbuf_text(&text), out);
	strbuf_done(&text);
}

/* Different events count different things: their shares can be compared, with care. */
static void show_events(const struct profile *before, const struct profile *after,
	const struct diff_options *options, FILE *out)
{
	const char *colour = paint(options->colour, PAINT_RED);

	if (strcmp(event_of(before), event_of(after)) != 0) {
		fprintf(out, "%s!! BEFORE has ", colour);
		show_name(event_of(before), options, out);
		fputs(", AFTER has ", out);
		show_name(event_of(after), options, out);
		fprintf(out, ": shares of different things are compared%s\n",
			paint_off(options->colour, colour));
	}
	if (before->event_count > 1 || after->event_count > 1) {
		fputs("only the first event of each is compared: ", out);
		show_name(event_of(before), options, out);
		fputs(" and ", out);
		show_name(event_of(after), options, out);
		fputc('\n', out);
	}
}

int diff_write(const struct profile *before, const struct profile *after,
	const struct diff_options *options, FILE *out, struct error *err)
{
	cleanup_with(diff_done) struct diff diff = {.count = 0};
	int rc = add_side(&diff, before, 0);

	if (rc == 0)
		rc = add_side(&diff, after, 1);
	if (rc < 0)
		return error_set(err, rc, "out of memory while comparing");
	if (diff.count > 1)
		qsort(diff.rows, diff.count, sizeof(*diff.rows), by_change);
	show_events(before, after, options, out);
	show(&diff, options, out);
	return 0;
}
