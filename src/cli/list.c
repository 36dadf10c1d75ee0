/* wick list: the events that can be used here, each tried by opening it. */
#include "perf/listing.h"

#include "base/cleanup.h"
#include "cli/command.h"
#include "view/json_out.h"
#include "view/paint.h"
#include "view/term.h"

#include <errno.h>
#include <string.h>

enum { NAME_COLUMNS = 28, NARROW = 60, TRACEPOINTS_TRIED = 32 };
enum list_format { LIST_TEXT, LIST_JSON, LIST_NAMES };

struct options {
	const char *pattern;
	bool all;
	enum list_format format;
};

struct listing {
	const struct options *options;
	struct json_out json;
	unsigned width;
	bool colour;
	int kind;     /* of the last line; -1: none yet */
	char pmu[64]; /* whose fields were shown last */
	uint32_t shown, hidden;
};

CLI_SET_FLAG(set_all, struct options, all)

static int set_format(void *ctx, const char *value, struct error *err)
{
	static const char *const names[] = {"text", "json", "names"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!strcmp(value, names[i])) {
			((struct options *)ctx)->format = (enum list_format)i;
			return 0;
		}
	}
	return error_set(err, -EINVAL, "'%.40s' is not text, json or names", value);
}

static const struct cli_option list_table[] = {
	{'a', "all", NULL, "also the events that this machine or its kernel does not have",
		set_all},
	{0, "format", "FORMAT",
		"text, json, or names: one bare name a line, of what can be recorded",
		set_format},
	{0, NULL, NULL, NULL, NULL},
};

static int list_main(int argc, char **argv);

const struct cli_command cli_list = {
	.name = "list",
	.summary = "the events that can be used here",
	.synopsis = "[options] [PATTERN]",
	.description =
		"Lists what `wick record -e` takes: hardware, software and cache events, the "
		"events and fields of the machine's PMUs, and tracepoints. Each is tried by "
		"opening it, so the answer holds for this machine, kernel and user; what is "
		"refused is said, what does not exist here is left out (--all shows it).\n\n"
		"PATTERN is a part of the name, or the whole of it with *, ? and [...]. "
		"Tracepoints are counted by subsystem unless a pattern is given (sched: or "
		"syscalls:sys_enter_*).\n\n"
		"Raw events are written rNNN, NNN being the hexadecimal number that the CPU's "
		"manual gives (r1a8), or by the fields of a PMU: cpu/event=0xa8,umask=0x1/. "
		"Behind any event :u means user code only, :k the kernel only.",
	.options = list_table,
	.run = list_main,
};

static const char *const kind_titles[LIST_KINDS] = {
	[LIST_HARDWARE] = "Hardware events",
	[LIST_SOFTWARE] = "Software events",
	[LIST_CACHE] = "Cache events",
	[LIST_PMU] = "Named events of PMUs",
	[LIST_TRACEPOINT] = "Tracepoints",
};

static const char *const kind_ids[LIST_KINDS] = {
	"hardware", "software", "cache", "pmu", "tracepoint"};
static const char *const state_ids[] = {
	"works", "user-only", "untried", "refused", "counts-only", "unsupported"};

static const char *state_text(const struct list_event *event)
{
	switch (event->state) {
	case LIST_WORKS:
	case LIST_UNTRIED:
		return "";
	case LIST_USER_ONLY:
		return "user code only";
	case LIST_REFUSED:
		return "refused";
	case LIST_COUNTS_ONLY:
		return "counts, cannot be sampled";
	case LIST_UNSUPPORTED:
		break;
	}
	return "not on this machine";
}

static bool is_hidden(const struct options *options, const struct list_event *event)
{
	if (options->format == LIST_NAMES)
		return event->state > LIST_UNTRIED;
	return !options->all && event->state >= LIST_COUNTS_ONLY;
}

static void title(struct listing *listing, const char *text)
{
	printf("%s%s%s%s\n", listing->shown ? "\n" : "", paint(listing->colour, PAINT_BOLD),
		text, paint(listing->colour, PAINT_OFF));
	listing->shown++;
}

static void text_line(struct listing *listing, const struct list_event *event)
{
	bool narrow = listing->width && listing->width < NARROW;
	const char *state = state_text(event), *note = *state ? state : event->what;
	const char *colour =
		paint(listing->colour, event->state == LIST_USER_ONLY ? PAINT_YELLOW
				       : event->state == LIST_REFUSED ? PAINT_RED
				       : *state			      ? PAINT_DIM
								      : "");
	char name[400];
	int len, gap;

	if (listing->kind != (int)event->kind)
		title(listing, kind_titles[event->kind]);
	listing->kind = (int)event->kind;
	len = snprintf(
		name, sizeof(name), "%s, %s", event->name, event->alias ? event->alias : "");
	if (narrow || !event->alias || len > NAME_COLUMNS)
		len = snprintf(name, sizeof(name), "%s", event->name);
	gap = len < NAME_COLUMNS && !narrow ? NAME_COLUMNS - len + 2 : 2;
	if (note)
		printf("  %s%*s%s%s%s\n", name, gap, "", colour, note,
			paint_off(listing->colour, colour));
	else
		printf("  %s\n", name);
}

static void json_event(struct listing *listing, const struct list_event *event)
{
	struct json_out *json = &listing->json;

	json_open_compact(json, NULL, '{');
	json_string(json, "name", event->name);
	if (event->alias)
		json_string(json, "alias", event->alias);
	json_string(json, "kind", kind_ids[event->kind]);
	json_string(json, "state", state_ids[event->state]);
	if (event->code)
		json_string(json, "why", strerror(-event->code));
	if (event->what)
		json_string(json, "what", event->what);
	json_close(json, '}');
}

static int on_event(void *ctx, const struct list_event *event)
{
	struct listing *listing = ctx;

	if (is_hidden(listing->options, event)) {
		listing->hidden++;
		return 0;
	}
	if (listing->options->format == LIST_JSON)
		json_event(listing, event);
	else if (listing->options->format == LIST_NAMES)
		printf("%s\n", event->name);
	else
		text_line(listing, event);
	return ferror(stdout) ? -EPIPE : 0;
}

static int on_field(void *ctx, const struct list_field *field)
{
	struct listing *listing = ctx;

	if (listing->options->format == LIST_JSON) {
		json_open_compact(&listing->json, NULL, '{');
		json_string(&listing->json, "pmu", field->pmu);
		json_u64(&listing->json, "type", field->type);
		json_string(&listing->json, "field", field->field);
		json_string(&listing->json, "bits", field->format);
		json_close(&listing->json, '}');
		return 0;
	}
	if (!listing->pmu[0])
		title(listing, "Fields of PMUs: -e PMU/FIELD=VALUE,.../");
	if (strcmp(listing->pmu, field->pmu) != 0)
		printf("  %s/\n", field->pmu);
	snprintf(listing->pmu, sizeof(listing->pmu), "%s", field->pmu);
	printf("      %-20s %s\n", field->field, field->format);
	return 0;
}

static int on_subsystem(void *ctx, const char *subsystem, uint32_t events)
{
	struct listing *listing = ctx;

	if (listing->options->format == LIST_JSON) {
		json_open_compact(&listing->json, NULL, '{');
		json_string(&listing->json, "subsystem", subsystem);
		json_u64(&listing->json, "events", events);
		json_close(&listing->json, '}');
		return 0;
	}
	if (listing->kind != LIST_TRACEPOINT)
		title(listing, "Tracepoints by subsystem: wick list SUBSYSTEM: shows them");
	listing->kind = LIST_TRACEPOINT;
	printf("  %-*s  %u\n", NAME_COLUMNS, subsystem, events);
	return 0;
}

/* ---- the whole */

static int events_run(struct listing *listing, const struct list_roots *roots)
{
	const char *pattern = listing->options->pattern;
	int rc = list_named(pattern, on_event, listing);

	if (rc >= 0)
		rc = list_pmu_events(roots, pattern, on_event, listing);
	if ((rc >= 0 || rc == -ENOENT) && (pattern || listing->options->format == LIST_NAMES))
		rc = list_tracepoints(roots, pattern,
			listing->options->format == LIST_NAMES ? 0 : TRACEPOINTS_TRIED,
			on_event, listing);
	return rc == -ENOENT || rc == -EACCES ? 0 : rc;
}

static void text_tail(const struct listing *listing, const struct list_roots *roots, int traces)
{
	const char *dim = paint(listing->colour, PAINT_DIM);
	const char *off = paint(listing->colour, PAINT_OFF);

	if (!listing->options->pattern && !roots->tracepoints)
		printf("\n%sNo tracepoints: tracefs is not mounted. As root:\n"
		       "  mount -t tracefs nodev /sys/kernel/tracing%s\n",
			dim, off);
	else if (!listing->options->pattern && traces == -EACCES)
		printf("\n%sTracepoints: only root may look into %s%s\n", dim,
			roots->tracepoints, off);
	if (listing->hidden) {
		printf("%s%s%u not shown, as they cannot be sampled here; --all shows them%s\n",
			listing->shown ? "\n" : "", dim, listing->hidden, off);
	}
}

static int text_run(struct listing *listing, const struct list_roots *roots)
{
	const char *pattern = listing->options->pattern;
	int traces = 0, rc = events_run(listing, roots);

	if (rc >= 0)
		rc = list_pmu_fields(roots, pattern, on_field, listing);
	if (!pattern && (rc >= 0 || rc == -ENOENT))
		traces = list_subsystems(roots, on_subsystem, listing);
	text_tail(listing, roots, traces);
	return rc == -ENOENT ? 0 : rc;
}

static int json_run(struct listing *listing, const struct list_roots *roots)
{
	struct json_out *json = &listing->json;
	int rc, fields, traces;

	json->out = stdout;
	json_open(json, NULL, '{');
	json_string(json, "schema", "wick-list-1");
	json_open(json, "events", '[');
	rc = events_run(listing, roots);
	json_close(json, ']');
	json_open(json, "fields", '[');
	fields = list_pmu_fields(roots, listing->options->pattern, on_field, listing);
	json_close(json, ']');
	json_open(json, "subsystems", '[');
	traces = list_subsystems(roots, on_subsystem, listing);
	json_close(json, ']');
	json_u64(json, "hidden", listing->hidden);
	json_string(json, "tracefs",
		traces == -ENOENT   ? "absent"
		: traces == -EACCES ? "refused"
				    : "works");
	json_close(json, '}');
	rc = rc < 0 ? rc : fields;
	return rc == -ENOENT ? 0 : rc;
}

static int list_main(int argc, char **argv)
{
	struct options options = {.pattern = NULL};
	struct listing listing = {.options = &options, .kind = -1};
	struct list_roots roots;
	int operands, rc;

	rc = cli_parse(&cli_list, argc, argv, &options, &operands);
	if (rc)
		return rc < 0 ? -rc : cli_finish_stdout();
	if (operands > 1) {
		cli_say("one PATTERN, not %d; see `wick list --help`", operands);
		return EXIT_USAGE;
	}
	options.pattern = operands ? argv[1] : NULL;
	listing.width = term_columns(STDOUT_FILENO);
	listing.colour = term_colour(STDOUT_FILENO);
	list_roots_find(&roots);
	rc = options.format == LIST_JSON    ? json_run(&listing, &roots)
	     : options.format == LIST_NAMES ? events_run(&listing, &roots)
					    : text_run(&listing, &roots);
	if (rc < 0 && rc != -EPIPE)
		return cli_fail("the events cannot be listed: %s", strerror(-rc));
	rc = cli_finish_stdout();
	if (!rc && options.pattern && !listing.shown && options.format == LIST_TEXT)
		return cli_fail("no event that can be used here matches '%s'%s",
			options.pattern,
			listing.hidden ? "; --all shows those that cannot" : "");
	return rc;
}
