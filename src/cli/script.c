/* wick script: one sample after another, as perf script prints them. */
#include "cli/input.h"
#include "formats/script.h"

#include <errno.h>
#include <string.h>

struct options {
	struct input input;
	bool srcline, full_paths;
};

CLI_SET_FLAG(set_srcline, struct options, srcline)

/* perf's way to say it. */
static int set_fields(void *ctx, const char *value, struct error *err)
{
	if (strcmp(value, "+srcline") != 0)
		return error_set(
			err, -EINVAL, "'%.40s' is not +srcline; the other fields stay", value);
	((struct options *)ctx)->srcline = true;
	return 0;
}

CLI_SET_FLAG(set_full_paths, struct options, full_paths)

static const struct cli_option script_table[] = {
	INPUT_FILE_OPTION,
	{0, "srcline", NULL, "file:line below each function that has one", set_srcline},
	{'F', "fields", "+srcline", "the same", set_fields},
	{0, "full-source-path", NULL, "with the file's whole path", set_full_paths},
	INPUT_NAME_OPTIONS,
	{0, NULL, NULL, NULL, NULL},
};

static int script_main(int argc, char **argv);

const struct cli_command cli_script = {
	.name = "script",
	.summary = "print one sample after another, as perf script does",
	.synopsis = "[options] [FILE]",
	.description =
		"Prints each sample: a line with its thread, time and event, then one line a "
		"frame, "
		"the innermost first. Tools that fold the text of perf script fold this.",
	.options = script_table,
	.run = script_main,
};

static int on_sample(void *ctx, const struct profile *profile, const struct sample *sample)
{
	return script_sample(ctx, profile, sample) == -ENOMEM ? -ENOMEM
	       : ferror(stdout)				      ? -EPIPE
							      : 0;
}

static int script_main(int argc, char **argv)
{
	struct script script;
	struct load_options load = {.on_sample = on_sample, .ctx = &script};
	struct options options = {.input = {NULL, NULL}};
	struct input *input = &options.input;
	struct loaded loaded = {.note_count = 0};
	int operands, rc, status;

	rc = cli_parse(&cli_script, argc, argv, &options, &operands);
	if (rc)
		return rc < 0 ? -rc : cli_finish_stdout();
	rc = input_operands(input, &cli_script, operands, argv);
	if (rc < 0)
		return -rc;
	script_init(&script, stdout);
	script.srcline = options.srcline;
	script.full_paths = options.full_paths;
	status = input_load(input, &load, &loaded);
	rc = script_done(&script);
	if (!status && rc == -ENOMEM)
		status = cli_fail("%s: out of memory while printing the samples", input->path);
	if (!status)
		status = cli_finish_stdout();
	if (!status && loaded.profile.quality.truncated_at != QUALITY_UNKNOWN)
		cli_say("%s: the file ends too early, at byte %llu; what was there was printed",
			input->path, (unsigned long long)loaded.profile.quality.truncated_at);
	loaded_done(&loaded);
	return status;
}
