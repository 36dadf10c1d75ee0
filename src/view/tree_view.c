/*
 * Only where the tree branches does the indentation grow; a chain of single calls stands
 * straight below its caller, and a long one is folded, but for what has weight of its own:
 *
 *      Total    Self
 *      100 %          main  (app)
 *     98.2 %          run
 *                     ... 2,950 frames ...
 *     97.9 %   0.2 %  evaluate
 *     61.0 %  60.9 %  |-multiply
 *     36.7 %          `-parse
 *     36.7 %  36.0 %    next_token
 *
 * Branches below the least percentage are left out. The walk keeps a list of branches that wait
 * for their turn, so the depth of the tree costs no depth of calls.
 */
#include "view/tree_view.h"

#include "view/prose.h"

#include "base/array.h"
#include "view/figure.h"
#include "view/label.h"
#include "view/paint.h"
#include "view/printable.h"
#include "view/srcline.h"
#include "view/table_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS_WHOLE 60 /* of indentation where nothing is cut */
#define CHAIN_WHOLE  14 /* longer straight chains are folded */
#define CHAIN_ENDS   4	/* of which so many stay at each end */
#define NAME_ROOM    12 /* columns that a name should have */
#define NAME_LEAST   6
#define NARROW	     40 /* no column of self */
#define PENDING_MAX  (1u << 24)

struct pending { /* a branch that waits to be printed */
	uint32_t node;
	uint32_t level; /* of the branch it hangs on */
	bool last;	/* no sibling behind it */
};

struct walk {
	const struct tree_view *view;
	FILE *out;
	struct pending *pending;
	uint32_t count, cap;
	bool *open; /* by level: a line goes on downwards there */
	uint32_t open_cap;
	uint64_t least;	 /* weight of what is shown */
	uint64_t hidden; /* branches that are not */
	uint32_t levels_max;
	bool amounts, selves; /* these columns are there */
	struct strbuf text;
};

static bool shown(const struct walk *walk, uint32_t node)
{
	return walk->view->tree->nodes[node].total_weight >= walk->least;
}

static uint32_t child(const struct tree *tree, uint32_t node, uint32_t i)
{
	return tree->children[tree->nodes[node].first_child + i];
}

/* Children are sorted by weight: the shown ones come first. */
static uint32_t shown_children(const struct walk *walk, uint32_t node)
{
	const struct tree *tree = walk->view->tree;
	uint32_t n = 0;

	while (n < tree->nodes[node].child_count && shown(walk, child(tree, node, n)))
		n++;
	return n;
}

static void print_numbers(struct walk *walk, uint32_t node)
{
	const struct tree_view *view = walk->view;
	const struct tree_node *it = &view->tree->nodes[node];
	double total = figure_share(it->total_weight, view->all);
	double self = figure_share(it->self_weight, view->all);
	const char *code = paint_share(view->options->colour, view->upwards ? total : self);
	char buf[FIGURE_BYTES];

	if (view->upwards)
		fprintf(walk->out, "%s%6s%s  ", code, figure_percent(total, buf),
			paint_off(view->options->colour, code));
	else
		fprintf(walk->out, "%6s  ", figure_percent(total, buf));
	if (walk->amounts)
		fprintf(walk->out, "%10s  ", figure_weight(it->total_weight, view->is_ns, buf));
	if (walk->selves)
		fprintf(walk->out, "%s%6s%s  ", code,
			it->self_weight == 0 ? "" : figure_percent(self, buf),
			paint_off(view->options->colour, code));
}

static unsigned numbers_width(const struct walk *walk)
{
	return 8 + (walk->amounts ? 12 : 0) + (walk->selves ? 8 : 0);
}

/* The lines to the left: `levels` of them; a branch's own line ends in a connector. */
static unsigned print_lines(struct walk *walk, uint32_t levels, bool branch, bool last)
{
	bool utf8 = walk->view->options->utf8;
	uint32_t from = levels > walk->levels_max ? levels - walk->levels_max : 0;

	if (from > 0)
		fputs(utf8 ? "\u2026 " : ".. ", walk->out);
	for (uint32_t i = from; i < levels; i++) {
		if (branch && i + 1 == levels)
			fputs(last     ? utf8 ? "\u2514\u2500" : "`-"
				: utf8 ? "\u251c\u2500"
				       : "|-",
				walk->out);
		else
			fputs(!walk->open[i] ? "  " : utf8 ? "\u2502 " : "| ", walk->out);
	}
	return (levels - from) * 2 + (from > 0 ? utf8 ? 2 : 3 : 0);
}

/* The module is said where it is another than the caller's. */
static const char *module_to_say(const struct tree_view *view, uint32_t node)
{
	const struct tree_node *it = &view->tree->nodes[node];
	const struct tree_node *parent =
		it->parent == PROFILE_NONE ? it : &view->tree->nodes[it->parent];

	if (it->module == PROFILE_NONE ||
		view->profile->modules[it->module].kind == MODULE_MARKER ||
		(parent != it && parent->module == it->module))
		return "";
	return module_shown(view->profile, it->module);
}

static bool in_kernel(const struct tree_view *view, uint32_t node)
{
	uint32_t module = view->tree->nodes[node].module;

	return module != PROFILE_NONE &&
	       (view->profile->modules[module].kind == MODULE_KERNEL ||
		       view->profile->modules[module].kind == MODULE_KMODULE);
}

/* tree_name() with what report_write.c has put behind the name taken off again: the place, and
 * the mark of inlined functions. */
static void split_name(const struct tree_view *view, uint32_t node, struct strbuf *ret_name,
	struct strbuf *ret_srcline, struct shown_name *ret_shown)
{
	static const char mark[] = " (inlined)";
	const char *text = tree_name(view->tree, node), *place;
	size_t len = strlen(text), mark_len = sizeof(mark) - 1;
	bool inlined = len > mark_len && strcmp(text + len - mark_len, mark) == 0;

	len -= inlined ? mark_len : 0;
	place = view->options->srcline ? memrchr(text, SRCLINE_MARK, len) : NULL;
	if (place)
		strbuf_add(ret_srcline, place + 1, (size_t)(text + len - place - 1));
	strbuf_add(ret_name, text, place ? (size_t)(place - text) : len);
	*ret_shown = (struct shown_name){strbuf_text(ret_name),
		in_kernel(view, node) ? "[k] " : "", inlined ? mark : ""};
}

static void print_name(struct walk *walk, uint32_t node, unsigned before)
{
	const struct report_options *options = walk->view->options;
	const char *module = module_to_say(walk->view, node);
	unsigned room =
		options->width > before + NAME_LEAST ? options->width - before : NAME_LEAST;
	struct strbuf name = {0}, where = {0}, srcline = {0};
	struct shown_name show;
	size_t taken;

	split_name(walk->view, node, &name, &srcline, &show);
	if (srcline.len) {
		strbuf_puts(&where, "  ");
		printable_add(&where, srcline_short(strbuf_text(&srcline)), options->utf8);
	}
	if (*module) {
		strbuf_puts(&where, "  (");
		printable_add(&where, module, options->utf8);
		strbuf_puts(&where, ")");
	}
	taken = printable_columns(strbuf_text(&where));
	if (taken > 0 && (taken + NAME_ROOM > room || taken > room / 2))
		taken = 0; /* said where there is space left behind the name */
	strbuf_reset(&walk->text);
	name_show(&walk->text, &show, options->width == 0 ? 0 : room - taken, options->utf8);
	fputs(strbuf_text(&walk->text), walk->out);
	if (options->width == 0 || printable_columns(strbuf_text(&walk->text)) +
						   printable_columns(strbuf_text(&where)) <=
					   room)
		fprintf(walk->out, "%s%s%s", paint(options->colour, PAINT_DIM),
			strbuf_text(&where), paint(options->colour, PAINT_OFF));
	putc('\n', walk->out);
	walk->text.failed |= name.failed || where.failed || srcline.failed;
	strbuf_done(&name);
	strbuf_done(&srcline);
	strbuf_done(&where);
}

static void print_node(
	struct walk *walk, uint32_t node, uint32_t levels, bool branch, bool last)
{
	unsigned before = numbers_width(walk);

	print_numbers(walk, node);
	before += print_lines(walk, levels, branch, last);
	print_name(walk, node, before);
}

static void print_fold(struct walk *walk, uint32_t levels, uint64_t frames)
{
	char n[FIGURE_BYTES];

	fprintf(walk->out, "%*s", (int)numbers_width(walk), "");
	print_lines(walk, levels, false, false);
	fprintf(walk->out, "%s... %s frames ...%s\n",
		paint(walk->view->options->colour, PAINT_DIM), figure_thousands(frames, n),
		paint(walk->view->options->colour, PAINT_OFF));
}

/* From `node` down while there is one way only; returns the last node, counts those on the way.
 */
static uint32_t chain_end(struct walk *walk, uint32_t node, uint32_t *ret_length)
{
	uint32_t length = 1;

	for (;;) {
		uint32_t children = shown_children(walk, node);

		walk->hidden += walk->view->tree->nodes[node].child_count - children;
		if (children != 1)
			break;
		node = child(walk->view->tree, node, 0);
		length++;
	}
	*ret_length = length;
	return node;
}

/* A node in the middle of a long chain that may be folded away. */
static bool may_fold(const struct walk *walk, uint32_t node, uint32_t at, uint32_t length)
{
	double self = figure_share(walk->view->tree->nodes[node].self_weight, walk->view->all);

	return length > CHAIN_WHOLE && at >= CHAIN_ENDS && at + CHAIN_ENDS < length &&
	       (walk->view->upwards || self < 0.01);
}

static uint32_t print_chain(struct walk *walk, const struct pending *from, uint32_t levels)
{
	uint32_t length, node = from->node, folded = 0;
	uint32_t end = chain_end(walk, node, &length);

	for (uint32_t i = 0; i < length; i++) {
		if (may_fold(walk, node, i, length)) {
			folded++;
		} else {
			if (folded > 0)
				print_fold(walk, levels, folded);
			folded = 0;
			print_node(walk, node, levels, i == 0 && levels > 0, from->last);
		}
		if (i == 0 && levels > 0)
			walk->open[levels - 1] = !from->last;
		if (node != end)
			node = child(walk->view->tree, node, 0);
	}
	return end;
}

static int push_children(struct walk *walk, uint32_t node, uint32_t level)
{
	uint32_t children = shown_children(walk, node);
	int rc = array_reserve(&walk->pending, &walk->cap, (uint64_t)walk->count + children,
		sizeof(*walk->pending), PENDING_MAX);

	if (rc == 0)
		rc = array_reserve(&walk->open, &walk->open_cap, (uint64_t)level + 1,
			sizeof(bool), PENDING_MAX);
	if (rc < 0)
		return rc;
	walk->open[level] = false;
	for (uint32_t i = children; i-- > 0;)
		walk->pending[walk->count++] = (struct pending){
			child(walk->view->tree, node, i), level, i + 1 == children};
	return 0;
}

static void print_head(struct walk *walk)
{
	const struct tree_view *view = walk->view;

	fprintf(walk->out, "%s%6s  ", paint(view->options->colour, PAINT_BOLD),
		view->upwards ? "Share" : "Total");
	if (walk->amounts)
		fprintf(walk->out, "%10s  ", view->is_ns ? "Time" : "Count");
	if (walk->selves)
		fprintf(walk->out, "%6s  ", "Self");
	fprintf(walk->out, "%s%s\n", view->upwards ? "Called from" : "Function",
		paint(view->options->colour, PAINT_OFF));
}

static double least_percent(const struct report_options *options)
{
	if (options->min_percent >= 0)
		return options->min_percent;
	return options->format == REPORT_JSON ? 0 : 1;
}

/* Of what the tree is about, so that a light function's callers are shown, too. */
static uint64_t least_weight(const struct tree_view *view)
{
	double least =
		(double)view->tree->nodes[0].total_weight * least_percent(view->options) / 100;

	return least < 1 ? 0 : least < 1.8e19 ? (uint64_t)least : UINT64_MAX;
}

static int walk_tree(struct walk *walk)
{
	const struct tree_view *view = walk->view;
	bool several =
		shown_children(walk, 0) > 1; /* roots: they hang on a line of their own */
	int rc = push_children(walk, 0, several);

	walk->hidden += view->tree->nodes[0].child_count - walk->count;
	if (several && rc == 0) {
		print_numbers(walk, 0);
		fputs("all\n", walk->out);
	}
	while (rc == 0 && walk->count > 0) {
		struct pending next = walk->pending[--walk->count];
		uint32_t levels = next.level, end = print_chain(walk, &next, levels);

		if (walk->view->tree->nodes[end].child_count > 0 &&
			shown_children(walk, end) > 0)
			rc = push_children(walk, end, levels + 1);
	}
	return rc;
}

int tree_view_text(const struct tree_view *view, FILE *out)
{
	struct walk walk = {.view = view, .out = out, .least = least_weight(view)};
	unsigned width = view->options->width;
	char n[FIGURE_BYTES];
	int rc;

	walk.amounts = width == 0 || width >= 70;
	walk.selves = !view->upwards && (width == 0 || width >= NARROW);
	walk.levels_max = LEVELS_WHOLE;
	if (width > 0)
		walk.levels_max = width > numbers_width(&walk) + NAME_LEAST + 8
					  ? (width - numbers_width(&walk) - NAME_LEAST) / 4
					  : 1;
	print_head(&walk);
	rc = walk_tree(&walk);
	if (rc == 0 && view->tree->nodes[0].self_samples > 0)
		prose_printf(out, width, "... and samples without a stack: %s",
			figure_thousands(view->tree->nodes[0].self_samples, n));
	if (rc == 0 && walk.hidden > 0)
		prose_printf(out, width, "... and %s branches below %g %% each",
			figure_thousands(walk.hidden, n), least_percent(view->options));
	if (rc == 0 && view->tree->cut > 0)
		prose_printf(out, width,
			"... %s samples are counted where their path met the limit of the tree",
			figure_thousands(view->tree->cut, n));
	free(walk.pending);
	free(walk.open);
	rc = walk.text.failed ? -ENOMEM : rc;
	strbuf_done(&walk.text);
	return rc == -ENOSPC ? 0 : rc;
}

static void node_name_json(const struct tree_view *view, uint32_t node, struct json_out *json)
{
	struct strbuf name = {0}, srcline = {0};
	struct shown_name show;

	if (!view->options->srcline) {
		json_string(json, "name", tree_name(view->tree, node));
		return;
	}
	split_name(view, node, &name, &srcline, &show);
	json_string(json, "name", strbuf_text(&name));
	json_string(json, "srcline", strbuf_text(&srcline));
	strbuf_done(&name);
	strbuf_done(&srcline);
}

void tree_view_json(const struct tree_view *view, struct json_out *json)
{
	const struct tree *tree = view->tree;
	uint64_t least = least_weight(view);

	for (uint32_t i = 1; i < tree->node_count; i++) {
		const struct tree_node *node = &tree->nodes[i];

		if (node->total_weight < least) /* then so are all below it */
			continue;
		json_open_compact(json, NULL, '{');
		json_u64(json, "id", i);
		if (node->parent == 0)
			json_null(json, "parent");
		else
			json_u64(json, "parent", node->parent);
		node_name_json(view, i, json);
		json_string(json, "module",
			node->module == PROFILE_NONE
				? ""
				: module_shown(view->profile, node->module));
		json_bool(json, "kernel", in_kernel(view, i));
		json_u64(json, "self", node->self_weight);
		json_u64(json, "total", node->total_weight);
		json_double(
			json, "total_pct", figure_share(node->total_weight, view->all) * 100);
		json_u64(json, "self_samples", node->self_samples);
		json_u64(json, "total_samples", node->total_samples);
		json_close(json, '}');
	}
}
