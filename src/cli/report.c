/* wick report: the honest block, then where the time went. */
#include "base/cleanup.h"
#include "cli/input.h"
#include "view/report.h"
#include "view/term.h"

#include <errno.h>
#include <string.h>

struct options {
	struct input input;
	struct report_options report;
};

CLI_SET_TEXT(set_sort, struct options, report.sort)
CLI_SET_TEXT(set_callers, struct options, report.callers)
CLI_SET_TEXT(set_callees, struct options, report.callees)
CLI_SET_TEXT(set_thread, struct options, report.thread)
CLI_SET_TEXT(set_time, struct options, report.time)
CLI_SET_FLAG(set_tree, struct options, report.tree)
CLI_SET_FLAG(set_srcline, struct options, report.srcline)
CLI_SET_FLAG(set_modules, struct options, report.modules)

static int set_format(void *ctx, const char *value, struct error *err)
{
	static const char *const names[] = {"text", "json", "markdown"};
	static const enum report_format formats[] = {REPORT_TEXT, REPORT_JSON, REPORT_MARKDOWN};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!strcmp(value, names[i])) {
			((struct options *)ctx)->report.format = formats[i];
			return 0;
		}
	}
	return error_set(err, -EINVAL, "'%.40s' is not text, json or markdown", value);
}

static int set_limit(void *ctx, const char *value, struct error *err)
{
	uint64_t limit;
	int rc = cli_number(value, 0, UINT32_MAX - 1, &limit, err);

	if (rc == 0)
		((struct options *)ctx)->report.limit = (uint32_t)limit;
	return rc;
}

static int set_min_percent(void *ctx, const char *value, struct error *err)
{
	double share;
	int rc = cli_share(value, &share, err);

	if (rc == 0)
		((struct options *)ctx)->report.min_percent = share * 100;
	return rc;
}

static const struct cli_option report_table[] = {
	INPUT_FILE_OPTION,
	{'s', "sort", "KEYS",
		"rows by comm, pid, tid, thread, dso, symbol, srcline, comma separated",
		set_sort},
	{0, "tree", NULL, "the call tree from the root", set_tree},
	{0, "srcline", NULL,
		"file:line:column behind each function: calls and places for themselves",
		set_srcline},
	{0, "modules", NULL, "how well each module is named, and by which file", set_modules},
	{0, "callers", "FUNCTION", "who calls it: a name, a part of one, or /regex/",
		set_callers},
	{0, "callees", "FUNCTION", "what it calls", set_callees},
	{0, "thread", "LIST", "only these: tids, pids or names (with * and ?), comma separated",
		set_thread},
	{0, "time", "A..B", "only this time: seconds since the first sample, or 10%..20%",
		set_time},
	{0, "format", "FORMAT", "text, json or markdown", set_format},
	{0, "limit", "N", "at most so many rows; 0: all", set_limit},
	{0, "min-percent", "PERCENT", "branches of a tree below are left out; default 1",
		set_min_percent},
	INPUT_NAME_OPTIONS,
	{0, NULL, NULL, NULL, NULL},
};

static int report_main(int argc, char **argv);

const struct cli_command cli_report = {
	.name = "report",
	.summary = "where the time went, and how far that can be trusted",
	.synopsis = "[options] [FILE]",
	.description = "Prints how good the recording is, then its functions: self is the time "
		       "spent in a "
		       "function itself, total the time with everything it called.",
	.options = report_table,
	.run = report_main,
};

static int report_main(int argc, char **argv)
{
	struct load_options load = {.path = NULL};
	struct options options = {.input = {NULL, NULL}};
	struct error err = {.text = ""};
	struct loaded loaded = {.note_count = 0};
	int operands, rc, status;

	report_options_init(&options.report);
	rc = cli_parse(&cli_report, argc, argv, &options, &operands);
	if (rc)
		return rc < 0 ? -rc : cli_finish_stdout();
	rc = input_operands(&options.input, &cli_report, operands, argv);
	if (rc < 0)
		return -rc;
	status = input_load(&options.input, &load, &loaded);
	if (status)
		return status;
	options.report.width = term_columns(STDOUT_FILENO);
	options.report.colour = term_colour(STDOUT_FILENO);
	options.report.utf8 = term_utf8();
	options.report.notes = loaded.notes;
	options.report.namings = loaded.namings;
	options.report.naming_count = loaded.naming_count;
	options.report.note_count = loaded.note_count;
	rc = report_write(&loaded.profile, &options.report, stdout, &err);
	if (rc < 0 && rc != -EPIPE)
		status = cli_fail("%s", err.text[0] ? err.text : strerror(-rc));
	else
		status = cli_finish_stdout();
	loaded_done(&loaded);
	return status;
}
