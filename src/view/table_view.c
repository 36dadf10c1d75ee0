/*
 * A table is a list of columns, each with a function of a row. Widths are worked out over the
 * rows that are shown; where the terminal is too narrow, columns leave in the order of how
 * little they are missed, until the last one (the name) has room.
 *
 *      Self  Self time   Total  Total time  Samples  Module     Function
 *    62.4 %     3.09 s  62.4 %      3.09 s    3,079  spin       inner(int)
 *     0.3 %    14.9 ms   100 %      4.95 s       15  spin       main
 */
#include "view/table_view.h"

#include "view/prose.h"

#include "view/figure.h"
#include "view/markdown.h"
#include "view/paint.h"
#include "view/printable.h"
#include "view/shorten.h"
#include "view/srcline.h"

#include <errno.h>
#include <string.h>

#define ROWS_DEFAULT 30
#define NAME_ROOM_MAX                                                                          \
	60 /* columns that the last column should have: 2/5 of all, at most this */
#define TEXT_COLUMN_WHOLE 40 /* a text column is padded to this much where nothing is cut */
#define COLUMNS_MAX	  12

static const struct {
	const char *word;
	enum sort_key keys[2];
	unsigned count;
} sort_words[] = {
	{"comm", {SORT_COMM}, 1},
	{"command", {SORT_COMM}, 1},
	{"pid", {SORT_PID}, 1},
	{"tid", {SORT_TID}, 1},
	{"thread", {SORT_COMM, SORT_TID}, 2},
	{"dso", {SORT_DSO}, 1},
	{"module", {SORT_DSO}, 1},
	{"symbol", {SORT_SYMBOL}, 1},
	{"sym", {SORT_SYMBOL}, 1},
	{"function", {SORT_SYMBOL}, 1},
	{"srcline", {SORT_SRCLINE}, 1},
};

static void sort_keys_add(struct sort_keys *keys, enum sort_key key)
{
	static const unsigned thread_keys[] = {TALLY_COMM, TALLY_PID, TALLY_TID};

	for (unsigned i = 0; i < keys->count; i++)
		if (keys->order[i] == key)
			return;
	keys->order[keys->count++] = key;
	if (key == SORT_DSO)
		keys->identity |= LABEL_BY_MODULE;
	else if (key == SORT_SYMBOL)
		keys->identity |= LABEL_BY_NAME;
	else if (key == SORT_SRCLINE)
		keys->identity |= LABEL_BY_LINE;
	else
		keys->thread_keys |= thread_keys[key];
}

int sort_keys_parse(struct sort_keys *keys, const char *text, bool srcline, struct error *err)
{
	*keys = (struct sort_keys){0};
	if (!text)
		text = "dso,symbol";
	for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		size_t len = strcspn(at, ",");
		bool found = false;

		for (size_t i = 0; i < sizeof(sort_words) / sizeof(sort_words[0]); i++) {
			if (strlen(sort_words[i].word) != len ||
				strncmp(sort_words[i].word, at, len) != 0)
				continue;
			for (unsigned k = 0; k < sort_words[i].count; k++)
				sort_keys_add(keys, sort_words[i].keys[k]);
			found = true;
		}
		if (!found)
			return error_set(err, -EINVAL,
				"--sort %s: the keys are comm, pid, tid, thread, dso, "
				"symbol and srcline, separated by commas",
				text);
	}
	if (srcline) {
		sort_keys_add(keys, SORT_SRCLINE);
		keys->identity |= LABEL_BY_COLUMN;
	}
	return 0;
}

void name_show(struct strbuf *out, const struct shown_name *name, size_t columns, bool utf8)
{
	const char *suffix = name->suffix;
	size_t around = strlen(name->prefix) + strlen(suffix);
	struct strbuf safe = {0};

	printable_add(&safe, name->name, utf8);
	if (columns > 0 && columns < around + 12) { /* the name is more important */
		suffix = "";
		around = strlen(name->prefix);
	}
	strbuf_puts(out, name->prefix);
	if (columns > 0)
		shorten_add(
			out, strbuf_text(&safe), columns > around ? columns - around : 1, utf8);
	else
		strbuf_puts(out, strbuf_text(&safe));
	strbuf_puts(out, suffix);
	out->failed |= safe.failed;
	strbuf_done(&safe);
}

void label_show(struct strbuf *out, const struct label_table *labels, uint32_t label,
	size_t columns, bool utf8)
{
	const struct shown_name name = {label_name(labels, label), label_prefix(labels, label),
		label_suffix(labels, label)};

	name_show(out, &name, columns, utf8);
}

enum column_kind {
	COLUMN_SELF_SHARE,
	COLUMN_SELF,
	COLUMN_TOTAL_SHARE,
	COLUMN_TOTAL,
	COLUMN_SAMPLES,
	COLUMN_KEY,
};

struct column {
	enum column_kind kind;
	enum sort_key key;
	const char *title;
	size_t width;	 /* 0: not shown */
	unsigned leaves; /* the order in which columns leave; 0: never */
};

struct columns {
	struct column at[COLUMNS_MAX];
	unsigned count;
};

static void add_column(
	struct columns *columns, enum column_kind kind, const char *title, unsigned leaves)
{
	columns->at[columns->count++] =
		(struct column){kind, SORT_KEYS, title, strlen(title), leaves};
}

static struct columns make_columns(const struct table_view *view)
{
	static const char *const titles[] = {
		"Command", "PID", "TID", "Module", "Function", "Line"};
	struct columns columns = {0};

	add_column(&columns, COLUMN_SELF_SHARE, view->labels ? "Self" : "Share", 0);
	add_column(&columns, COLUMN_SELF,
		view->labels  ? view->is_ns ? "Self time" : "Self count"
		: view->is_ns ? "Time"
			      : "Count",
		3);
	if (view->labels) {
		add_column(&columns, COLUMN_TOTAL_SHARE, "Total", 5);
		add_column(
			&columns, COLUMN_TOTAL, view->is_ns ? "Total time" : "Total count", 2);
	}
	add_column(&columns, COLUMN_SAMPLES, "Samples", 1);
	for (unsigned i = 0; i < view->keys->count; i++) {
		enum sort_key key = view->keys->order[i];

		add_column(
			&columns, COLUMN_KEY, titles[key], i + 1 < view->keys->count ? 4 : 0);
		columns.at[columns.count - 1].key = key;
	}
	return columns;
}

static bool is_text(const struct column *column)
{
	return column->kind == COLUMN_KEY && column->key != SORT_PID && column->key != SORT_TID;
}

/* "src/foo.c:12:5"; "[unknown]" where there is none. */
static void srcline_show(struct strbuf *out, const struct table_view *view, uint32_t label)
{
	const struct label *it = &view->labels->labels[label];
	struct strbuf text = {0};

	srcline_add(&text, profile_text(view->profile, it->file), it->line, it->column);
	printable_add(out, text.len ? strbuf_text(&text) : "[unknown]", view->options->utf8);
	out->failed |= text.failed;
	strbuf_done(&text);
}

static void key_cell(struct strbuf *out, const struct table_view *view,
	const struct column *column, const struct tally_row *row, size_t room)
{
	bool utf8 = view->options->utf8;
	struct strbuf safe = {0};

	switch (column->key) {
	case SORT_PID:
		strbuf_printf(out, "%d", view->profile->threads[row->thread].pid);
		return;
	case SORT_TID:
		strbuf_printf(out, "%d", view->profile->threads[row->thread].tid);
		return;
	case SORT_SYMBOL:
		label_show(out, view->labels, row->label, room, utf8);
		return;
	case SORT_SRCLINE:
		srcline_show(&safe, view, row->label);
		break;
	case SORT_COMM:
		printable_add(&safe,
			profile_text(view->profile, view->profile->threads[row->thread].comm),
			utf8);
		break;
	default:
		printable_add(&safe, label_module(view->labels, row->label), utf8);
	}
	if (room > 0)
		shorten_middle(out, strbuf_text(&safe), room, utf8);
	else
		strbuf_puts(out, strbuf_text(&safe));
	out->failed |= safe.failed;
	strbuf_done(&safe);
}

/* What stands in a cell, in at most `room` columns (0: whole). */
static void cell(struct strbuf *out, const struct table_view *view, const struct column *column,
	const struct tally_row *row, size_t room)
{
	uint64_t all = view->tally->weight;
	char buf[FIGURE_BYTES];

	switch (column->kind) {
	case COLUMN_SELF_SHARE:
		strbuf_puts(out, figure_percent(figure_share(row->self, all), buf));
		break;
	case COLUMN_SELF:
		strbuf_puts(out, figure_weight(row->self, view->is_ns, buf));
		break;
	case COLUMN_TOTAL_SHARE:
		strbuf_puts(out, figure_percent(figure_share(row->total, all), buf));
		break;
	case COLUMN_TOTAL:
		strbuf_puts(out, figure_weight(row->total, view->is_ns, buf));
		break;
	case COLUMN_SAMPLES:
		strbuf_puts(out, figure_thousands(row->self_samples, buf));
		break;
	case COLUMN_KEY:
		key_cell(out, view, column, row, room);
		break;
	}
}

/* Markers stand at the roots of stacks and are nobody's self: the block above has said them. */
static bool row_is_shown(const struct table_view *view, const struct tally_row *row)
{
	return row->self > 0 || row->self_samples > 0 || !view->labels ||
	       view->labels->labels[row->label].kind != LABEL_MARKER;
}

static uint32_t row_limit(const struct table_view *view)
{
	uint32_t limit = view->options->limit;

	if (limit == REPORT_LIMIT_DEFAULT)
		limit = view->options->format == REPORT_JSON ? 0 : ROWS_DEFAULT;
	return limit ? limit : UINT32_MAX;
}

/* `text` is room for a cell. */
static void measure(struct columns *columns, const struct table_view *view, struct strbuf *text)
{
	uint32_t shown = 0, limit = row_limit(view);

	for (uint32_t i = 0; i < view->tally->count && shown < limit; i++) {
		const struct tally_row *row = &view->tally->rows[i];

		if (!row_is_shown(view, row))
			continue;
		shown++;
		for (unsigned c = 0; c + 1 < columns->count;
			c++) { /* the last takes what is left */
			struct column *column = &columns->at[c];
			size_t width;

			strbuf_reset(text);
			cell(text, view, column, row, 0);
			width = printable_columns(strbuf_text(text));
			column->width = width > column->width ? width : column->width;
		}
	}
}

static size_t taken(const struct columns *columns)
{
	size_t sum = 0;

	for (unsigned c = 0; c + 1 < columns->count; c++)
		sum += columns->at[c].width ? columns->at[c].width + 2 : 0;
	return sum;
}

static void fit(struct columns *columns, unsigned width)
{
	size_t cap = width > 0 ? (width / 5 > 8 ? width / 5 : 8) : TEXT_COLUMN_WHOLE;
	struct column *last = &columns->at[columns->count - 1];
	size_t room = width / 5 * 2 < NAME_ROOM_MAX ? width / 5 * 2 : NAME_ROOM_MAX;

	for (unsigned c = 0; c + 1 < columns->count; c++)
		if (is_text(&columns->at[c]) && columns->at[c].width > cap)
			columns->at[c].width = cap;
	if (width == 0) {
		last->width = is_text(last) ? SIZE_MAX : last->width;
		return;
	}
	for (unsigned leave = 1; leave <= 5 && taken(columns) + room > width; leave++)
		for (unsigned c = columns->count - 1; c-- > 0 && taken(columns) + room > width;)
			if (columns->at[c].leaves == leave)
				columns->at[c].width = 0;
	if (is_text(last))
		last->width = width > taken(columns) + 4 ? width - taken(columns) : 4;
}

static void print_cell(const struct columns *columns, unsigned c, const char *text, FILE *out)
{
	const struct column *column = &columns->at[c];
	size_t width = printable_columns(text);
	size_t pad = column->width > width ? column->width - width : 0;
	bool last = c + 1 == columns->count;

	if (!is_text(column))
		fprintf(out, "%*s%s", (int)pad, "", text);
	else
		fprintf(out, "%s%*s", text, last ? 0 : (int)pad, "");
	if (!last)
		fputs("  ", out);
}

static void print_row(const struct columns *columns, const struct table_view *view,
	const struct tally_row *row, struct strbuf *text, FILE *out)
{
	bool colour = view->options->colour;
	double share = figure_share(row->self, view->tally->weight);

	for (unsigned c = 0; c < columns->count; c++) {
		const struct column *column = &columns->at[c];
		bool number = column->kind != COLUMN_KEY,
		     key = !number && column->key != SORT_SYMBOL;
		const char *code = column->kind == COLUMN_SELF_SHARE
					   ? paint_share(colour, share)
				   : key && column->key == SORT_DSO ? paint(colour, PAINT_DIM)
								    : "";

		if (column->width == 0)
			continue;
		strbuf_reset(text);
		cell(text, view, column, row,
			view->options->width > 0 && !number ? column->width : 0);
		fputs(code, out);
		print_cell(columns, c, strbuf_text(text), out);
		fputs(paint_off(colour, code), out);
	}
	putc('\n', out);
}

static void print_rest(const struct table_view *view, uint64_t rows, uint64_t self, FILE *out)
{
	char n[FIGURE_BYTES], p[FIGURE_BYTES];

	if (rows > 0)
		prose_printf(out, view->options->width,
			"... and %s more with %s together (--limit 0 shows all)",
			figure_thousands(rows, n),
			figure_percent(figure_share(self, view->tally->weight), p));
}

/* A buffer that has failed stays so: one question at the end of a table is enough. */
static int text_done(struct strbuf *text)
{
	bool failed = text->failed;

	strbuf_done(text);
	return failed ? -ENOMEM : 0;
}

int table_view_text(const struct table_view *view, FILE *out)
{
	struct columns columns = make_columns(view);
	uint32_t shown = 0, limit = row_limit(view);
	uint64_t rest = 0, rest_self = 0;
	struct strbuf text = {0};

	measure(&columns, view, &text);
	fit(&columns, view->options->width);
	fputs(paint(view->options->colour, PAINT_BOLD), out);
	for (unsigned c = 0; c < columns.count; c++) {
		const struct column *column = &columns.at[c];

		if (column->width == 0)
			continue;
		strbuf_reset(&text);
		shorten_middle(&text, column->title, column->width, view->options->utf8);
		print_cell(&columns, c, strbuf_text(&text), out);
	}
	fprintf(out, "%s\n", paint(view->options->colour, PAINT_OFF));
	for (uint32_t i = 0; i < view->tally->count; i++) {
		const struct tally_row *row = &view->tally->rows[i];

		if (!row_is_shown(view, row))
			continue;
		if (shown++ < limit) {
			print_row(&columns, view, row, &text, out);
		} else {
			rest++;
			rest_self = add_saturating(rest_self, row->self);
		}
	}
	print_rest(view, rest, rest_self, out);
	return text_done(&text);
}

int table_view_markdown(const struct table_view *view, FILE *out)
{
	struct columns columns = make_columns(view);
	uint32_t shown = 0, limit = row_limit(view);
	uint64_t rest = 0, rest_self = 0;
	struct strbuf text = {0};

	for (unsigned c = 0; c < columns.count; c++)
		fprintf(out, "| %s ", columns.at[c].title);
	fputs("|\n", out);
	for (unsigned c = 0; c < columns.count; c++)
		fputs(is_text(&columns.at[c]) ? "|---" : "|--:", out);
	fputs("|\n", out);
	for (uint32_t i = 0; i < view->tally->count; i++) {
		const struct tally_row *row = &view->tally->rows[i];

		if (!row_is_shown(view, row))
			continue;
		if (shown++ >= limit) {
			rest++;
			rest_self = add_saturating(rest_self, row->self);
			continue;
		}
		for (unsigned c = 0; c < columns.count; c++) {
			strbuf_reset(&text);
			cell(&text, view, &columns.at[c], row, 0);
			fputs("| ", out);
			if (is_text(&columns.at[c]))
				markdown_code(out, strbuf_text(&text));
			else
				fputs(strbuf_text(&text), out);
			putc(' ', out);
		}
		fputs("|\n", out);
	}
	if (rest > 0)
		putc('\n', out);
	print_rest(view, rest, rest_self, out);
	return text_done(&text);
}

static void row_json(
	const struct table_view *view, const struct tally_row *row, struct json_out *json)
{
	static const char *const kinds[] = {"function", "unknown", "marker", "no_stack"};
	uint64_t all = view->tally->weight;
	const struct profile *profile = view->profile;

	json_open_compact(json, NULL, '{');
	if (view->keys->thread_keys & TALLY_COMM)
		json_string(json, "comm",
			profile_text(profile, profile->threads[row->thread].comm));
	if (view->keys->thread_keys & TALLY_PID)
		json_i64(json, "pid", profile->threads[row->thread].pid);
	if (view->keys->thread_keys & TALLY_TID)
		json_i64(json, "tid", profile->threads[row->thread].tid);
	if (view->labels) {
		const struct label *label = &view->labels->labels[row->label];

		if (view->keys->identity & LABEL_BY_NAME) {
			json_string(json, "name", label_name(view->labels, row->label));
			json_string(json, "kind", kinds[label->kind]);
			json_bool(json, "inlined", label->inlined && !label->called);
		}
		if (view->keys->identity & LABEL_BY_LINE) {
			json_string(json, "file", profile_text(view->profile, label->file));
			json_u64(json, "line", label->line);
			if (view->keys->identity & LABEL_BY_COLUMN)
				json_u64(json, "column", label->column);
		}
		if (view->keys->identity & LABEL_BY_MODULE) {
			json_string(json, "module", label_module(view->labels, row->label));
			json_string(json, "path",
				label->module == PROFILE_NONE || label->kind == LABEL_MARKER
					? ""
					: profile_text(profile,
						  profile->modules[label->module].path));
		}
		json_bool(json, "kernel", label->kernel);
	}
	json_u64(json, "self", row->self);
	json_u64(json, "total", row->total);
	json_double(json, "self_pct", figure_share(row->self, all) * 100);
	json_double(json, "total_pct", figure_share(row->total, all) * 100);
	json_u64(json, "self_samples", row->self_samples);
	json_u64(json, "total_samples", row->total_samples);
	json_close(json, '}');
}

void table_view_json(const struct table_view *view, struct json_out *json)
{
	uint32_t limit = row_limit(view);

	for (uint32_t i = 0; i < view->tally->count && i < limit; i++)
		row_json(view, &view->tally->rows[i], json);
}
