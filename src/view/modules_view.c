/*
 * One row a module:
 *
 *     Samples      Frames  Named  Lines  Module     Names and lines from
 *         997      12,345  100 %  98.2 % libc.so.6  /usr/lib/debug/.build-id/93/ac61....debug
 *          17          17   12 %    0 %  libfoo.so  stripped: only exported functions have ...
 *
 * Samples are those in whose stacks it stands; frames are counted once for each of them.
 */
#include "view/modules_view.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "view/figure.h"
#include "view/label.h"
#include "view/markdown.h"
#include "view/printable.h"

#include <errno.h>
#include <string.h>

static uint32_t shown(const struct modules_view *view)
{
	return view->limit && view->limit < view->count ? view->limit : view->count;
}

static const char *symbols_of(const struct module *module, const char *path)
{
	switch (module->kind) {
	case MODULE_KERNEL:
	case MODULE_KMODULE:
		return "kallsyms";
	case MODULE_ANON:
		return strstr(path, ".dump") ? "its jitdump" : "its perf map";
	default:
		return "its symbols; no debug information";
	}
}

/* What is known by its build id can be found by it. */
static void add_build_id(struct strbuf *out, const struct module *module)
{
	if (module->kind != MODULE_FILE || !module->build_id_bytes)
		return;
	strbuf_puts(out, " [build id ");
	for (uint8_t i = 0; i < module->build_id_bytes; i++)
		strbuf_printf(out, "%02x", module->build_id[i]);
	strbuf_puts(out, ": --debuginfod may find it]");
}

/* Where the lines came from, or what would bring names. */
static void add_source(
	struct strbuf *out, const struct modules_view *view, const struct module_naming *module)
{
	const struct module *it = &view->profile->modules[module->module];
	const char *path = profile_text(view->profile, it->path);

	if (module->why && module->why[0] && module->named < module->frames) {
		strbuf_puts(out, module->why);
		add_build_id(out, it);
	} else if (module->debug_file && module->lined) {
		strbuf_puts(out, profile_text(view->profile, module->debug_file));
	} else if (module->lined && it->kind != MODULE_ANON) {
		strbuf_puts(out, "the recording");
	} else {
		strbuf_puts(out, symbols_of(it, path));
		add_build_id(out, it);
	}
}

/* The same, safe to show. */
static void show_source(struct strbuf *out, const struct modules_view *view,
	const struct module_naming *module, bool utf8)
{
	struct strbuf text = {0};

	add_source(&text, view, module);
	printable_add(out, strbuf_text(&text), utf8);
	out->failed |= text.failed;
	strbuf_done(&text);
}

static const char *share(uint64_t part, const struct module_naming *module, char *buf)
{
	return figure_percent(figure_share(part, module->frames), buf);
}

int modules_view_text(const struct modules_view *view, FILE *out)
{
	char samples[FIGURE_BYTES], frames[FIGURE_BYTES], named[FIGURE_BYTES];
	char lined[FIGURE_BYTES];
	cleanup_with(strbuf_done) struct strbuf cell = {0};

	fprintf(out, "%10s  %12s  %6s  %6s  %-22s  %s\n", "Samples", "Frames", "Named", "Lines",
		"Module", "Names and lines from");
	for (uint32_t i = 0; i < shown(view); i++) {
		const struct module_naming *module = &view->modules[i];

		strbuf_reset(&cell);
		printable_add(&cell, module_shown(view->profile, module->module), view->utf8);
		fprintf(out, "%10s  %12s  %6s  %6s  %-22s  ",
			figure_thousands(module->samples, samples),
			figure_thousands(module->frames, frames),
			share(module->named, module, named),
			share(module->lined, module, lined), strbuf_text(&cell));
		strbuf_reset(&cell);
		show_source(&cell, view, module, view->utf8);
		fprintf(out, "%s\n", strbuf_text(&cell));
	}
	if (shown(view) < view->count)
		fprintf(out, "... and %u more (--limit 0 shows all)\n",
			view->count - shown(view));
	return cell.failed ? -ENOMEM : 0;
}

int modules_view_markdown(const struct modules_view *view, FILE *out)
{
	char samples[FIGURE_BYTES], frames[FIGURE_BYTES], named[FIGURE_BYTES];
	char lined[FIGURE_BYTES];
	cleanup_with(strbuf_done) struct strbuf cell = {0};

	fputs("| Samples | Frames | Named | Lines | Module | Names and lines from |\n"
	      "|---:|---:|---:|---:|---|---|\n",
		out);
	for (uint32_t i = 0; i < shown(view); i++) {
		const struct module_naming *module = &view->modules[i];

		fprintf(out, "| %s | %s | %s | %s | ",
			figure_thousands(module->samples, samples),
			figure_thousands(module->frames, frames),
			share(module->named, module, named),
			share(module->lined, module, lined));
		strbuf_reset(&cell);
		printable_add(&cell, module_shown(view->profile, module->module), true);
		markdown_code(out, strbuf_text(&cell));
		fputs(" | ", out);
		strbuf_reset(&cell);
		show_source(&cell, view, module, true);
		markdown_text(out, strbuf_text(&cell));
		fputs(" |\n", out);
	}
	return cell.failed ? -ENOMEM : 0;
}

void modules_view_json(const struct modules_view *view, struct json_out *json)
{
	struct strbuf from = {0};

	json_open(json, "modules", '[');
	for (uint32_t i = 0; i < shown(view); i++) {
		const struct module_naming *module = &view->modules[i];
		const struct module *it = &view->profile->modules[module->module];

		json_open_compact(json, NULL, '{');
		json_string(json, "module", profile_text(view->profile, it->path));
		json_u64(json, "samples", module->samples);
		json_u64(json, "frames", module->frames);
		json_u64(json, "named", module->named);
		json_u64(json, "lined", module->lined);
		json_string(
			json, "debug_file", profile_text(view->profile, module->debug_file));
		strbuf_reset(&from);
		add_source(&from, view, module);
		json_string(json, "from", strbuf_text(&from));
		json_close(json, '}');
	}
	json_close(json, ']');
	strbuf_done(&from);
}
