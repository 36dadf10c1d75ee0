/* wick diff: what changed between two recordings, as a table. */
#include "view/diff.h"

#include "base/cleanup.h"
#include "cli/input.h"
#include "view/term.h"

#include <errno.h>
#include <string.h>

struct options {
	struct input input;
	struct diff_options diff;
};

static int set_limit(void *ctx, const char *value, struct error *err)
{
	uint64_t limit;
	int rc = cli_number(value, 0, UINT32_MAX - 1, &limit, err);

	if (rc == 0)
		((struct options *)ctx)->diff.limit = (uint32_t)limit;
	return rc;
}

static int set_min_percent(void *ctx, const char *value, struct error *err)
{
	double share;
	int rc = cli_share(value, &share, err);

	if (rc == 0)
		((struct options *)ctx)->diff.min_percent = share * 100;
	return rc;
}

static const struct cli_option diff_table[] = {
	{0, "limit", "N", "at most so many rows; default 30; 0: all", set_limit},
	{0, "min-percent", "PERCENT", "smaller changes are left out; default 0.1",
		set_min_percent},
	INPUT_NAME_OPTIONS,
	{0, NULL, NULL, NULL, NULL},
};

static int diff_main(int argc, char **argv);

const struct cli_command cli_diff = {
	.name = "diff",
	.summary = "what changed between two recordings",
	.synopsis = "[options] BEFORE AFTER",
	.description = "Prints, for every function, its share of the time before and after, "
		       "the largest change first. The recordings may be of different length: "
		       "shares are compared. `wick view BEFORE AFTER` shows the same as a "
		       "picture.",
	.options = diff_table,
	.run = diff_main,
};

static int load_one(const struct options *options, const char *path, struct loaded *loaded)
{
	struct load_options load = {.path = NULL};
	struct input input = options->input;
	int status;

	input.path = path;
	status = input_load(&input, &load, loaded);
	if (!status && !loaded->profile.sample_count)
		return cli_fail("%s: there are no samples in it to compare", path);
	return status;
}

static int diff_main(int argc, char **argv)
{
	cleanup_with(loaded_done) struct loaded before = {.note_count = 0};
	cleanup_with(loaded_done) struct loaded after = {.note_count = 0};
	struct options options = {.diff = {.limit = 30, .min_percent = 0.1}};
	struct error err = {.text = ""};
	int operands, rc, status;

	rc = cli_parse(&cli_diff, argc, argv, &options, &operands);
	if (rc)
		return rc < 0 ? -rc : cli_finish_stdout();
	if (operands != 2) {
		cli_say("two recordings are compared; see `wick diff --help`");
		return EXIT_USAGE;
	}
	status = load_one(&options, argv[1], &before);
	if (!status)
		status = load_one(&options, argv[2], &after);
	if (status)
		return status;
	options.diff.width = term_columns(STDOUT_FILENO);
	options.diff.colour = term_colour(STDOUT_FILENO);
	options.diff.utf8 = term_utf8();
	rc = diff_write(&before.profile, &after.profile, &options.diff, stdout, &err);
	return rc < 0 ? cli_fail("%s", err.text[0] ? err.text : strerror(-rc))
		      : cli_finish_stdout();
}
