/* One object a function; see the header for the schema. */
#include "view/annotate_view.h"

#include "base/cleanup.h"
#include "view/figure.h"
#include "view/json_out.h"
#include "view/label.h"

#include <errno.h>
#include <inttypes.h>

static void put_hex(struct json_out *json, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_string(json, key, text);
}

static void put_figures(struct json_out *json, uint64_t samples, uint64_t weight, uint64_t of)
{
	json_u64(json, "samples", samples);
	json_u64(json, "weight", weight);
	json_double(json, "self_pct", 100 * figure_share(weight, of));
}

static void put_place(struct json_out *json, const struct annotate_view *view,
	const struct annotation *it, uint32_t index)
{
	if (index == PROFILE_NONE) {
		json_null(json, "file");
		json_null(json, "line");
		return;
	}
	json_string(json, "file", profile_text(view->profile, it->lines[index].file));
	json_u64(json, "line", it->lines[index].line);
}

static void put_line(struct json_out *json, const struct annotate_view *view,
	const struct annotation *it, uint32_t index)
{
	const struct annotated_line *line = &it->lines[index];
	cleanup_with(strbuf_done) struct strbuf text = {0};
	const struct source_file *source =
		view->sources ? source_file_get(view->sources, line->file,
					profile_text(view->profile, line->file))
			      : NULL;

	json_open_compact(json, NULL, '{');
	put_place(json, view, it, index);
	put_figures(json, line->samples, line->weight, it->weight);
	if (source && source_line(source, line->line, &text))
		json_string(json, "source", strbuf_text(&text));
	else
		json_null(json, "source");
	json_close(json, '}');
}

static void put_bytes(struct json_out *json, const struct annotate_view *view,
	const struct annotation *it, const struct annotated_instruction *one)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};

	for (uint32_t i = 0; it->excerpt && i < one->size; i++)
		strbuf_printf(&text, "%02x",
			view->excerpts->bytes[it->excerpt->first_byte + one->offset + i]);
	json_string(json, "bytes", strbuf_text(&text));
}

static void put_instruction(struct json_out *json, const struct annotate_view *view,
	const struct annotation *it, const struct annotated_instruction *one)
{
	json_open_compact(json, NULL, '{');
	put_hex(json, "address", one->vaddr);
	put_bytes(json, view, it, one);
	json_string(json, "text", one->size ? annotation_text(it, one) : "");
	put_place(json, view, it, one->line);
	put_figures(json, one->samples, one->weight, it->weight);
	json_close(json, '}');
}

static void put_head(
	struct json_out *json, const struct annotate_view *view, const struct annotation *it)
{
	const struct profile *profile = view->profile;
	const struct function *function = &profile->functions[it->function];

	json_string(json, "function", profile_text(profile, function->name));
	json_string(json, "linkage_name", profile_text(profile, function->linkage_name));
	json_string(json, "module", module_shown(profile, function->module));
	json_string(
		json, "path", profile_text(profile, profile->modules[function->module].path));
	put_hex(json, "address", it->excerpt ? it->excerpt->vaddr : function->addr);
	json_u64(json, "size", function->size);
	if (it->excerpt) {
		json_string(json, "code", it->excerpt->brought ? "recording" : "file");
	} else {
		json_null(json, "code");
		json_string(json, "why", it->why ? it->why : "");
	}
	json_bool(json, "cut", it->cut);
	json_u64(json, "samples", it->samples);
	json_u64(json, "weight", it->weight);
	json_double(json, "share_pct", 100 * figure_share(it->weight, view->hits->weight));
}

static int put_function(
	struct json_out *json, const struct annotate_view *view, const struct annotation *it)
{
	struct annotate_least least;
	int rc = annotate_least(&least, view, it);

	if (rc < 0)
		return rc;
	json_open(json, NULL, '{');
	put_head(json, view, it);
	json_open(json, "lines", '[');
	for (uint32_t i = 0; i < it->line_count; i++)
		if (it->lines[i].weight >= least.line)
			put_line(json, view, it, i);
	json_close(json, ']');
	json_open(json, "instructions", '[');
	for (uint32_t i = 0; i < it->instruction_count; i++)
		if (it->instructions[i].weight >= least.instruction)
			put_instruction(json, view, it, &it->instructions[i]);
	json_close(json, ']');
	json_close(json, '}');
	return 0;
}

int annotate_view_json(const struct annotate_view *view, FILE *out)
{
	struct json_out json = {.out = out};
	const struct profile *profile = view->profile;
	int rc = 0;

	json_open(&json, NULL, '{');
	json_string(&json, "schema", "wick-annotate/1");
	json_string(&json, "event",
		profile->event_count ? profile_text(profile, profile->events[0].name) : "");
	json_string(&json, "unit",
		profile->event_count && profile->events[0].weight_is_ns ? "ns" : "events");
	json_u64(&json, "samples", view->hits->samples);
	json_u64(&json, "weight", view->hits->weight);
	json_open(&json, "functions", '[');
	for (uint32_t i = 0; rc == 0 && i < view->count; i++)
		rc = put_function(&json, view, &view->at[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	fputc('\n', out);
	return rc;
}
