#include "cli/input.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int input_set_path(void *ctx, const char *value, struct error *err)
{
	(void)err;
	((struct input *)ctx)->path = value;
	return 0;
}

int input_set_sysroot(void *ctx, const char *value, struct error *err)
{
	(void)err;
	((struct input *)ctx)->sysroot = value;
	return 0;
}

int input_set_no_inline(void *ctx, const char *value, struct error *err)
{
	(void)value;
	(void)err;
	((struct input *)ctx)->no_inlines = true;
	return 0;
}

int input_set_debug_dir(void *ctx, const char *value, struct error *err)
{
	(void)err;
	((struct input *)ctx)->debug_dir = value;
	return 0;
}

int input_set_debuginfod(void *ctx, const char *value, struct error *err)
{
	return fetching_set(value, &((struct input *)ctx)->debuginfod_s, err);
}

int input_set_no_demangle(void *ctx, const char *value, struct error *err)
{
	(void)value;
	(void)err;
	((struct input *)ctx)->no_demangle = true;
	return 0;
}

int input_operands(
	struct input *input, const struct cli_command *command, int operands, char **argv)
{
	if (operands > 1 || (operands && input->path)) {
		cli_say("one recording at a time; see `wick %s --help`", command->name);
		return -EXIT_USAGE;
	}
	if (operands)
		input->path = argv[1];
	if (!input->path)
		input->path = "perf.data";
	return 0;
}

struct progress {
	time_t started;
	bool shown;
};

/* Only when the work takes longer than a second. */
static void progress_show(void *ctx, const char *what, uint64_t done, uint64_t total)
{
	struct progress *progress = ctx;

	if (time(NULL) <= progress->started + 1)
		return;
	progress->shown = true;
	if (total)
		fprintf(stderr, "\r%s: %llu of %llu ", what, (unsigned long long)done,
			(unsigned long long)total);
	else
		fprintf(stderr, "\r%s: %llu MB ", what, (unsigned long long)done / 1000000);
}

static void say(void *ctx, const char *sentence)
{
	(void)ctx;
	cli_say("%s", sentence);
}

int input_load(
	const struct input *input, struct load_options *options, struct loaded *ret_loaded)
{
	struct progress progress = {time(NULL), false};
	struct error err = {.text = ""};
	struct fetching fetching;
	int rc;

	fetching_init(&fetching, input->debuginfod_s, -1);
	if (options->on_sample) /* there will be no quality block */
		fetching.options.say = say;
	options->downloads = &fetching.options;
	options->path = input->path;
	options->sysroot = input->sysroot;
	options->debug_dir = input->debug_dir;
	options->no_inlines = input->no_inlines;
	options->no_demangle = input->no_demangle;
	if (isatty(STDERR_FILENO) && !options->on_sample) {
		options->progress = progress_show;
		options->ctx = &progress;
	}
	rc = load_file(options, ret_loaded, &err);
	options->downloads = NULL;
	fetching_done(&fetching);
	if (progress.shown)
		fputs("\r\033[K", stderr);
	if (rc == -ENOENT && !strcmp(input->path, "perf.data"))
		return cli_fail("perf.data: there is none here; make one with `wick record "
				"COMMAND`, or "
				"name one with -i");
	if (rc == -EPIPE)
		return 0; /* whoever reads us has seen enough */
	return rc < 0 ? cli_fail("%s", err.text[0] ? err.text : strerror(-rc)) : 0;
}
