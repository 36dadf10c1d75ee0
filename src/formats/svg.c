/*
 * A flame graph as one SVG file: no other file, no network, works opened by itself or put into
 * an HTML page as it is.
 *
 *     cpu-clock: 11,234 samples, 11.2 s, coverage 99.8 %            the headline
 *     [] kernel [] program [] library [] JIT ...      [ search ]    legend and controls
 *     all                                                           the boxes: root on top, so
 * a python3                                                       deep graph begins where the
 *     main                             | other                      reader is and grows
 * downwards work          | parse    |
 *
 * A box's width is its share of the weight (of the samples where nothing has a weight). Places
 * are percentages, so the picture fills whatever width it gets; the script fits the texts
 * again. Boxes narrower than a tenth of a pixel of a 1200 pixel picture are left out, rows
 * below MAX_ROWS too; the boxes above them keep their whole width, so every sum stays right.
 */
#include "formats/export.h"

#include "base/cleanup.h"
#include "formats/escape.h"
#include "formats/flame.h"
#include "formats/plain_text.h"
#include "formats/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	WIDTH = 1200,	   /* pixels, where the texts of the file itself are fitted to */
	ROW = 16,	   /* pixels */
	TOP = 76,	   /* above the boxes */
	MAX_ROWS = 1000,   /* a browser draws 16,000 pixels well */
	NAME_CHARS = 1000, /* of a name in a title */
	CHAR_TENTHS = 73,  /* width of a character, tenths of a pixel */
	MIN_TENTHS = 1,	   /* narrower boxes are not drawn */
};

struct flame {
	const struct profile *profile;
	struct tree tree;
	uint64_t *starts; /* a node's left edge, in units of total() */
	uint64_t whole;
	bool by_samples;
	struct strbuf out;
	FILE *file;
};

static void flame_done(struct flame *flame)
{
	tree_done(&flame->tree);
	free(flame->starts);
	strbuf_done(&flame->out);
}

static bool keep_sample(void *ctx, const struct profile *profile, const struct sample *sample)
{
	(void)ctx;
	return export_keeps_event(profile, sample->event);
}

static uint64_t total(const struct flame *flame, uint32_t node)
{
	const struct tree_node *n = &flame->tree.nodes[node];

	return flame->by_samples ? n->total_samples : n->total_weight;
}

/* Parents stand before their children in the tree, so each one's place is known in time. */
static int lay_out(struct flame *flame)
{
	const struct tree *tree = &flame->tree;

	flame->starts = calloc(tree->node_count, sizeof(*flame->starts));
	if (!flame->starts)
		return -ENOMEM;
	flame->by_samples = !tree->nodes[0].total_weight;
	flame->whole = total(flame, 0);
	for (uint32_t i = 0; i < tree->node_count; i++) {
		uint64_t at = flame->starts[i];

		for (uint32_t c = 0; c < tree->nodes[i].child_count; c++) {
			uint32_t child = tree->children[tree->nodes[i].first_child + c];

			flame->starts[child] = at;
			at += total(flame, child);
		}
	}
	return 0;
}

/* "libc.so.6", "ld-linux.so.2 (deleted)": a shared library by its name. */
static bool is_library(const char *name)
{
	const char *so = strstr(name, ".so");

	return so && (!so[3] || so[3] == '.' || so[3] == ' ' || so[3] == '-');
}

static char node_class(const struct flame *flame, uint32_t node)
{
	uint32_t module = flame->tree.nodes[node].module;

	if (module == PROFILE_NONE)
		return 't';
	switch (flame->profile->modules[module].kind) {
	case MODULE_KERNEL:
	case MODULE_KMODULE:
		return 'k';
	case MODULE_ANON:
		return 'j';
	case MODULE_MARKER:
		return 'm';
	case MODULE_VDSO:
		return 'l';
	case MODULE_FILE:
		break;
	}
	return is_library(module_short_name(flame->profile, module)) ? 'l' : 'p';
}

static double percent(const struct flame *flame, uint64_t part)
{
	return flame->whole ? (double)part / (double)flame->whole * 100 : 100;
}

/* The part of a name that fits: whole, or cut with two dots behind; nothing below 3 characters.
 */
static void put_fitted(struct strbuf *out, const char *name, double pixels)
{
	int room = (int)((pixels - 6) * 10 / CHAR_TENTHS), used = 0;
	cleanup_with(strbuf_done) struct strbuf cut = {0};
	const char *p = name;
	uint32_t code;
	size_t len;

	for (; *p; p += len) {
		len = utf8_next(p, &code);
		used += code_is_plain(code) ? 1 + (code >= 0x1100) : 6;
		if (used > room - (p[len] ? 2 : 0))
			break;
		strbuf_add(&cut, p, len);
	}
	out->failed |= cut.failed;
	escape_xml(out, strbuf_text(&cut), NAME_CHARS);
	if (*p)
		strbuf_puts(out, "..");
}

static const char *node_name(const struct flame *flame, uint32_t node)
{
	const char *name = tree_name(&flame->tree, node);

	return !node ? "all" : *name ? name : "[unknown]";
}

static void put_title(struct flame *flame, uint32_t node)
{
	const struct tree_node *n = &flame->tree.nodes[node];
	const struct profile *profile = flame->profile;
	struct strbuf *out = &flame->out;

	strbuf_puts(out, "<title>");
	escape_xml(out, node_name(flame, node), NAME_CHARS);
	strbuf_putc(out, '\n');
	if (n->module != PROFILE_NONE)
		escape_xml(out, profile_text(profile, profile->modules[n->module].path),
			NAME_CHARS);
	else
		strbuf_puts(out, node ? "command" : "everything");
	strbuf_putc(out, '\n');
	text_count(out, n->total_samples);
	strbuf_puts(out, n->total_samples == 1 ? " sample, " : " samples, ");
	if (!flame->by_samples && profile->event_count && profile->events[0].weight_is_ns) {
		text_time(out, n->total_weight);
		strbuf_puts(out, ", ");
	}
	strbuf_printf(out, "%.2f %%", percent(flame, total(flame, node)));
	if (n->depth == MAX_ROWS - 1 && n->child_count)
		strbuf_puts(out, "\nwhat it calls is too deep to be drawn");
	strbuf_puts(out, "</title>");
}

static void put_box(struct flame *flame, uint32_t node)
{
	struct strbuf *out = &flame->out;
	double x = percent(flame, flame->starts[node]), w = percent(flame, total(flame, node));
	double pixels = w * WIDTH / 100;
	uint32_t y = flame->tree.nodes[node].depth * ROW;

	if (!flame->whole)
		x = 0;
	if (flame->tree.nodes[node].depth >= MAX_ROWS || pixels * 10 < MIN_TENTHS)
		return;
	strbuf_printf(out, "<g class=\"%c\">", node ? node_class(flame, node) : 't');
	put_title(flame, node);
	strbuf_printf(out, "<rect x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" height=\"%d\"/>", x, y,
		w, ROW);
	if (pixels * 10 >= 3 * CHAR_TENTHS + 60) {
		strbuf_printf(out, "<text x=\"%.4f%%\" y=\"%u\" dx=\"3\">", x, y + 12);
		put_fitted(out, node_name(flame, node), pixels);
		strbuf_puts(out, "</text>");
	}
	strbuf_puts(out, "</g>\n");
}

static void put_legend(struct strbuf *out)
{
	static const struct {
		char class;
		const char *text;
	} kinds[] = {{'k', "kernel"}, {'p', "program"}, {'l', "library"}, {'j', "JIT"},
		{'m', "marker"}, {'t', "command"}};
	int x = 10;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		strbuf_printf(out,
			"<rect class=\"%c\" x=\"%d\" y=\"32\" width=\"12\" height=\"12\"/>"
			"<text x=\"%d\" y=\"42\">%s</text>\n",
			kinds[i].class, x, x + 17, kinds[i].text);
		x += 31 + (int)strlen(kinds[i].text) * 8;
	}
}

static void put_head(struct flame *flame)
{
	const struct tree_node *root = &flame->tree.nodes[0];
	cleanup_with(strbuf_done) struct strbuf line = {0};
	uint32_t deepest = flame->tree.deepest, rows;
	struct strbuf *out = &flame->out;

	rows = deepest < MAX_ROWS ? deepest + 1 : MAX_ROWS;
	text_headline(flame->profile, root->total_samples, root->total_weight, &line);
	if (!root->total_samples)
		strbuf_puts(&line, " (nothing was sampled)");
	if (deepest >= MAX_ROWS)
		strbuf_printf(&line, "; %d of %u rows drawn", MAX_ROWS, deepest + 1);
	strbuf_printf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"wick-flame\" "
		"width=\"100%%\" "
		"height=\"%u\">\n<style>\n",
		TOP + rows * ROW + 10);
	strbuf_puts(out, flame_style);
	strbuf_puts(out, "</style>\n<text class=\"head\" x=\"10\" y=\"20\">");
	out->failed |= line.failed;
	escape_xml(out, strbuf_text(&line), NAME_CHARS);
	strbuf_puts(out, "</text>\n");
	put_legend(out);
	strbuf_puts(out, "<foreignObject x=\"50%\" y=\"25\" width=\"49.5%\" height=\"26\">"
			 "<div xmlns=\"http://www.w3.org/1999/xhtml\" class=\"ctl\">"
			 "<span class=\"found\"></span><button type=\"button\" "
			 "hidden=\"hidden\">reset zoom"
			 "</button><input type=\"search\" aria-label=\"search\" "
			 "placeholder=\"search (Ctrl-F)\"/></div></foreignObject>\n"
			 "<text class=\"info\" x=\"10\" y=\"64\">click a box to zoom, Esc to "
			 "go back</text>\n");
	strbuf_printf(out,
		"<svg class=\"boxes\" x=\"0.5%%\" y=\"%d\" width=\"99%%\" height=\"%u\">\n",
		TOP, rows * ROW);
}

/* The text goes out in pieces: a picture of a million boxes never stands in memory. */
static int send(struct flame *flame)
{
	if (flame->out.failed)
		return -ENOMEM;
	fwrite(strbuf_text(&flame->out), 1, flame->out.len, flame->file);
	strbuf_reset(&flame->out);
	return 0;
}

int svg_write(const struct profile *profile, FILE *out, struct error *err)
{
	struct tree_options options = {.comm = true, .keep = keep_sample};
	cleanup_with(flame_done) struct flame flame = {.profile = profile, .file = out};
	int rc = tree_build(profile, &options, &flame.tree);

	if (!rc)
		rc = lay_out(&flame);
	if (!rc) {
		put_head(&flame);
		rc = send(&flame);
	}
	for (uint32_t i = 0; !rc && i < flame.tree.node_count; i++) {
		put_box(&flame, i);
		rc = send(&flame);
	}
	if (rc < 0)
		return error_set(err, rc, "drawing the flame graph failed: %s", strerror(-rc));
	strbuf_puts(&flame.out, "</svg>\n<script><![CDATA[\n");
	strbuf_puts(&flame.out, flame_script);
	strbuf_puts(&flame.out, "]]></script>\n</svg>\n");
	rc = send(&flame);
	if (rc < 0)
		return error_set(err, rc, "drawing the flame graph failed: %s", strerror(-rc));
	return export_finish(out, err);
}
