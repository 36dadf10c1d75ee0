/*
 * One row a module:
 *
 *     Frames  Named  Lines  Module       Names and lines from
 *     12,345  100 %  98.2 % libc.so.6    /usr/lib/debug/.build-id/93/ac61....debug
 *         17   12 %    0 %  libfoo.so    stripped: only exported functions have names; ...
 *
 * Frames are counted once for each sample that they stand in.
 */
#include "view/modules_view.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "view/figure.h"
#include "view/label.h"
#include "view/markdown.h"
#include "view/printable.h"

#include <errno.h>

static uint32_t shown(const struct modules_view *view)
{
	return view->limit && view->limit < view->count ? view->limit : view->count;
}

/* Where the lines came from, or what would bring names. */
static const char *source(const struct modules_view *view, const struct module_naming *module)
{
	if (module->why && module->why[0] && module->named < module->frames)
		return module->why;
	if (module->debug_file)
		return profile_text(view->profile, module->debug_file);
	return module->lined ? "the recording" : "its symbols; no debug information";
}

static const char *share(uint64_t part, const struct module_naming *module, char *buf)
{
	return figure_percent(figure_share(part, module->frames), buf);
}

int modules_view_text(const struct modules_view *view, FILE *out)
{
	char frames[FIGURE_BYTES], named[FIGURE_BYTES], lined[FIGURE_BYTES];
	cleanup_with(strbuf_done) struct strbuf cell = {0};

	fprintf(out, "%12s  %6s  %6s  %-22s  %s\n", "Frames", "Named", "Lines", "Module",
		"Names and lines from");
	for (uint32_t i = 0; i < shown(view); i++) {
		const struct module_naming *module = &view->modules[i];

		strbuf_reset(&cell);
		printable_add(&cell, module_shown(view->profile, module->module), view->utf8);
		fprintf(out, "%12s  %6s  %6s  %-22s  ",
			figure_thousands(module->frames, frames),
			share(module->named, module, named),
			share(module->lined, module, lined), strbuf_text(&cell));
		strbuf_reset(&cell);
		printable_add(&cell, source(view, module), view->utf8);
		fprintf(out, "%s\n", strbuf_text(&cell));
	}
	if (shown(view) < view->count)
		fprintf(out, "... and %u more (--limit 0 shows all)\n",
			view->count - shown(view));
	return cell.failed ? -ENOMEM : 0;
}

int modules_view_markdown(const struct modules_view *view, FILE *out)
{
	char frames[FIGURE_BYTES], named[FIGURE_BYTES], lined[FIGURE_BYTES];
	cleanup_with(strbuf_done) struct strbuf cell = {0};

	fputs("| Frames | Named | Lines | Module | Names and lines from |\n"
	      "|---:|---:|---:|---|---|\n",
		out);
	for (uint32_t i = 0; i < shown(view); i++) {
		const struct module_naming *module = &view->modules[i];

		fprintf(out, "| %s | %s | %s | ", figure_thousands(module->frames, frames),
			share(module->named, module, named),
			share(module->lined, module, lined));
		strbuf_reset(&cell);
		printable_add(&cell, module_shown(view->profile, module->module), true);
		markdown_code(out, strbuf_text(&cell));
		fputs(" | ", out);
		strbuf_reset(&cell);
		printable_add(&cell, source(view, module), true);
		markdown_text(out, strbuf_text(&cell));
		fputs(" |\n", out);
	}
	return cell.failed ? -ENOMEM : 0;
}

void modules_view_json(const struct modules_view *view, struct json_out *json)
{
	json_open(json, "modules", '[');
	for (uint32_t i = 0; i < shown(view); i++) {
		const struct module_naming *module = &view->modules[i];
		const struct module *it = &view->profile->modules[module->module];

		json_open_compact(json, NULL, '{');
		json_string(json, "module", profile_text(view->profile, it->path));
		json_u64(json, "frames", module->frames);
		json_u64(json, "named", module->named);
		json_u64(json, "lined", module->lined);
		json_string(
			json, "debug_file", profile_text(view->profile, module->debug_file));
		json_string(json, "from", source(view, module));
		json_close(json, '}');
	}
	json_close(json, ']');
}
