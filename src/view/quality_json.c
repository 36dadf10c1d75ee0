/* The block for programs: the numbers by their names in struct quality, and the sentences. */
#include "view/quality_view.h"

#include "view/json_out.h"
#include "view/label.h"
#include "view/quality_json.h"

static const char *const stops[STOP_COUNT] = {
	[STOP_ROOT] = "root",
	[STOP_NO_USER] = "no_user",
	[STOP_NO_CHAIN] = "no_chain",
	[STOP_NOT_ROOT] = "not_root",
	[STOP_TRUNCATED_KERNEL] = "truncated_kernel",
	[STOP_COPY_EXHAUSTED] = "copy_exhausted",
	[STOP_NO_CFI] = "no_cfi",
	[STOP_BAD_CFI] = "bad_cfi",
	[STOP_UNREADABLE] = "unreadable",
	[STOP_DEPTH] = "depth",
	[STOP_LATE] = "late",
	[STOP_BEHIND] = "behind",
	[STOP_NO_COPY] = "no_copy",
	[STOP_SWITCHED] = "switched",
};

static const char *const levels[] = {
	[LEVEL_INFO] = "info",
	[LEVEL_GOOD] = "good",
	[LEVEL_WARN] = "warn",
	[LEVEL_BAD] = "bad",
};

static void json_share(struct json_out *json, const char *key, bool known, double value)
{
	if (known)
		json_double(json, key, value);
	else
		json_null(json, key);
}

static void json_number(void *json, const char *key, uint64_t value)
{
	if (value == QUALITY_UNKNOWN)
		json_null(json, key);
	else
		json_u64(json, key, value);
}

static void json_measured(struct json_out *json, const struct quality *q)
{
	json_string(json, "event", q->event);
	json_string(json, "why_event", q->why_event);
	json_string(json, "clock", q->clock);
	json_string(json, "cpu_clock", q->cpu_clock_name);
	json_string(json, "source", quality_source_key(q->source));
	json_string(json, "scope", quality_scope_key(q->scope));
	json_bool(json, "weight_is_ns", q->weight_is_ns);
	json_bool(json, "interrupted", q->interrupted);
	json_bool(json, "unfinished", q->unfinished);
	json_bool(json, "scaled", q->scaled);
	if (q->exit_status >= 0)
		json_i64(json, "exit_status", q->exit_status);
	else
		json_null(json, "exit_status");
	quality_numbers(q, json_number, json);
	json_open(json, "stacks", '{');
	for (unsigned i = 0; i < STOP_COUNT; i++)
		json_u64(json, stops[i], q->stops[i]);
	json_close(json, '}');
}

static void json_derived(struct json_out *json, const struct quality *q)
{
	double share = 0;
	uint64_t lost = 0;
	bool known = quality_coverage(q, &share);

	json_share(json, "coverage", known, share);
	known = quality_coverage_clock(q, &share);
	json_share(json, "coverage_clock", known, share);
	known = quality_hidden(q, &share);
	json_share(json, "hidden_share", known, share);
	known = quality_on_cpu(q, &share);
	json_share(json, "cpus", known, share);
	known = quality_lost(q, &lost, &share);
	json_share(json, "lost_share", known, share);
	known = quality_complete(q, &share);
	json_share(json, "complete_share", known, share);
}

static void json_modules(struct json_out *json, const struct quality_view *view)
{
	json_open(json, "modules", '[');
	for (uint32_t i = 0; i < view->note_count; i++) {
		const struct module_note *note = &view->notes[i];

		json_open_compact(json, NULL, '{');
		json_string(json, "module",
			view->profile ? module_shown(view->profile, note->module) : "");
		json_u64(json, "frames", note->frames);
		json_u64(json, "unnamed", note->unnamed);
		json_string(json, "why", note->why ? note->why : "");
		json_close(json, '}');
	}
	json_close(json, ']');
}

int quality_json_members(struct json_out *json, const struct quality_view *view)
{
	struct quality_view wide = *view;
	struct quality_lines lines;
	int rc;

	wide.utf8 = true;
	rc = quality_lines_make(&lines, &wide);
	if (rc < 0)
		return rc;
	json_derived(json, view->quality);
	json_measured(json, view->quality);
	json_modules(json, view);
	json_open(json, "sentences", '[');
	for (uint32_t i = 0; i < lines.count; i++) {
		json_open_compact(json, NULL, '{');
		json_string(json, "level", levels[lines.lines[i].level]);
		json_string(json, "about", lines.lines[i].about);
		json_string(json, "text", strbuf_text(&lines.lines[i].text));
		json_close(json, '}');
	}
	json_close(json, ']');
	quality_lines_done(&lines);
	return 0;
}

int quality_view_json(const struct quality_view *view, FILE *out)
{
	struct json_out json = {.out = out};
	int rc;

	json_open(&json, NULL, '{');
	json_string(&json, "schema", "wick-quality/1");
	rc = quality_json_members(&json, view);
	json_close(&json, '}');
	return rc;
}
