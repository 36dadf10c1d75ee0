/* wick export: a recording for other programs, the format chosen by the file's name. */
#include "base/cleanup.h"
#include "cli/input.h"
#include "cli/output.h"
#include "formats/export.h"
#include "view/page.h"

#include <errno.h>
#include <string.h>

struct options {
	struct input input;
	const char *output;
	bool no_source;
};

CLI_SET_TEXT(set_output, struct options, output)
CLI_SET_FLAG(set_no_source, struct options, no_source)

static const struct cli_option export_table[] = {
	INPUT_FILE_OPTION,
	{'o', "output", "FILE",
		"what to write; its ending chooses the format: .folded, .svg, .html, or "
		".data: a copy of the recording that carries its names",
		set_output},
	{0, "no-source", NULL, "leave the source lines of hot functions out of a .html page",
		set_no_source},
	INPUT_NAME_OPTIONS,
	{0, NULL, NULL, NULL, NULL},
};

static int export_main(int argc, char **argv);

const struct cli_command cli_export = {
	.name = "export",
	.summary = "write a recording as a flame graph or for other programs",
	.synopsis = "[-i FILE] -o FILE.{folded,svg,html,data}",
	.description =
		"Writes the recording in another format: folded stacks, a flame graph "
		"as one SVG "
		"file, or the interactive page of `wick view`. Written as .data it is the same "
		"recording, also of perf's own, with the names of its functions inside: "
		"it reads the same on another machine.",
	.options = export_table,
	.run = export_main,
};

static int formats_say(const char *path)
{
	char list[256] = "";

	for (size_t i = 0; export_at(i); i++) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
			export_at(i)->suffixes[0]);
	}
	cli_say("'%.200s': the ending names no format that can be written; there are %s, "
		".html, .data",
		path, list);
	return EXIT_USAGE;
}

static bool ends_with(const char *path, const char *end)
{
	size_t len = strlen(path), n = strlen(end);

	return len > n && !strcmp(path + len - n, end);
}

static bool is_data(const char *path)
{
	return ends_with(path, ".data");
}

static bool is_page(const char *path)
{
	return ends_with(path, ".html") || ends_with(path, ".htm");
}

static int write_page(const struct loaded *loaded, const struct options *options, FILE *out,
	struct error *err)
{
	const char *input = options->input.path, *slash = strrchr(input, '/');
	const struct page_recording recording = {
		loaded, slash ? slash + 1 : input, options->input.sysroot, options->no_source};

	return page_write(&recording, 1, out, err);
}

static int export_write(const struct exporter *exporter, const struct loaded *loaded,
	const struct options *options)
{
	struct error err = {.text = ""};
	const char *path = options->output;
	cleanup_fclose FILE *out = NULL;
	int rc, status = output_open(path, &options->input.path, 1, true, &out);

	if (status)
		return status;
	rc = exporter ? exporter->write(&loaded->profile, out, &err)
		      : write_page(loaded, options, out, &err);
	if (rc < 0)
		return cli_fail("%s: %s", path, err.text[0] ? err.text : strerror(-rc));
	return 0;
}

static int export_main(int argc, char **argv)
{
	struct load_options load = {.path = NULL};
	struct options options = {.output = NULL};
	const struct exporter *exporter;
	struct loaded loaded = {.note_count = 0};
	int operands, rc, status;

	rc = cli_parse(&cli_export, argc, argv, &options, &operands);
	if (rc)
		return rc < 0 ? -rc : cli_finish_stdout();
	rc = input_operands(&options.input, &cli_export, operands, argv);
	if (rc < 0)
		return -rc;
	if (!options.output) {
		cli_say("-o FILE is missing: what shall be written? See `wick export --help`");
		return EXIT_USAGE;
	}
	exporter = export_find(options.output);
	if (is_data(options.output))
		load.copy_to = options.output;
	else if (!exporter && !is_page(options.output))
		return formats_say(options.output);
	load.code = is_page(options.output);
	if (load.copy_to && !strcmp(options.input.path, "-"))
		return cli_fail(
			"-: a copy needs to read the recording twice; put it into a file");
	status = output_check(options.output, &options.input.path, 1);
	if (status)
		return status;
	status = input_load(&options.input, &load, &loaded);
	if (!status && !load.copy_to)
		status = export_write(exporter, &loaded, &options);
	loaded_done(&loaded);
	return status;
}
