/* wick view: the interactive page of a recording, or of two that are compared. */
#include "base/cleanup.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/serve.h"
#include "config.h"
#include "view/page.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

struct options {
	struct input input;
	const char *output;
	bool no_browser, no_source;
	bool http;
	uint16_t port;
};

CLI_SET_TEXT(set_output, struct options, output)
CLI_SET_FLAG(set_no_source, struct options, no_source)
CLI_SET_FLAG(set_no_browser, struct options, no_browser)

#if HAVE_LIBMICROHTTPD
static int set_http(void *ctx, const char *value, struct error *err)
{
	struct options *options = ctx;
	uint64_t port;
	int rc = cli_number(value, 0, UINT16_MAX, &port, err);

	options->http = true;
	if (rc == 0)
		options->port = (uint16_t)port;
	return rc;
}
#endif

static const struct cli_option view_table[] = {
	INPUT_FILE_OPTION,
	{'o', "output", "FILE",
		"the page to write; default: the recording's name with .html behind it, and "
		"a browser opens it where there is a desktop",
		set_output},
#if HAVE_LIBMICROHTTPD
	{0, "http", "PORT",
		"write no file, serve the page on this port of 127.0.0.1 until Ctrl-C; 0 takes "
		"a free one",
		set_http},
#endif
	{0, "no-browser", NULL, "write the page only", set_no_browser},
	{0, "no-source", NULL, "leave the source lines of hot functions out of the page",
		set_no_source},
	INPUT_NAME_OPTIONS,
	{0, NULL, NULL, NULL, NULL},
};

static int view_main(int argc, char **argv);

const struct cli_command cli_view = {
	.name = "view",
	.summary = "the interactive flame graph, as one HTML file",
	.synopsis = "[options] [FILE [FILE]]",
	.description =
		"Writes a page that stands alone: the flame graph, tables, a timeline of the "
		"threads, and how good the recording is. It needs no server and no network. "
		"Given two recordings it compares them: what takes a larger share in the "
		"second is red, what takes a smaller one is blue.",
	.options = view_table,
	.run = view_main,
};

struct recordings {
	struct loaded loaded[2];
	struct page_recording at[2];
	const char *paths[2];
	uint32_t count;
};

static void recordings_done(struct recordings *recordings)
{
	for (uint32_t i = 0; i < recordings->count; i++)
		loaded_done(&recordings->loaded[i]);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Takes the files named by -i and the operands. 0 or an exit status. */
static int load_all(
	const struct options *options, int operands, char **argv, struct recordings *recordings)
{
	const char **paths = recordings->paths;
	int first = options->input.path ? 1 : 0, count = first + operands;

	if (count > 2) {
		cli_say("two recordings at most; see `wick view --help`");
		return EXIT_USAGE;
	}
	paths[0] = options->input.path;
	for (int i = 0; i < operands; i++)
		paths[first + i] = argv[1 + i];
	if (!count)
		paths[count++] = "perf.data";
	for (int i = 0; i < count; i++) {
		struct load_options load = {.code = count == 1};
		struct input input = options->input;
		int status;

		input.path = paths[i];
		status = input_load(&input, &load, &recordings->loaded[i]);
		recordings->count++;
		if (status)
			return status;
		recordings->at[i] = (struct page_recording){&recordings->loaded[i],
			base_name(paths[i]), input.sysroot, options->no_source};
	}
	return 0;
}

/* Of a page whose name we made the old one is no loss. */
static int write_page(const struct recordings *recordings, const char *path, bool made)
{
	struct error err = {.text = ""};
	cleanup_fclose FILE *out = NULL;
	int rc, status = output_open(path, recordings->paths, recordings->count, !made, &out);

	if (status)
		return status;
	rc = page_write(recordings->at, recordings->count, out, &err);
	return rc < 0 ? cli_fail("%s: %s", path, err.text[0] ? err.text : strerror(-rc)) : 0;
}

static bool has_desktop(void)
{
	const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return (x11 && *x11) || (wayland && *wayland);
}

/* xdg-open comes back at once; where it fails the file's name has been said. */
static void open_browser(const char *path)
{
	char opener[] = "xdg-open", *file = strdup(path);
	char *argv[] = {opener, file, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;

	if (file && posix_spawn_file_actions_init(&actions) == 0) {
		posix_spawn_file_actions_addopen(
			&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
		posix_spawn_file_actions_addopen(
			&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
		if (posix_spawnp(&pid, opener, &actions, NULL, argv, environ) == 0)
			waitpid(pid, NULL, 0);
		posix_spawn_file_actions_destroy(&actions);
	}
	free(file);
}

#if HAVE_LIBMICROHTTPD
static void served(void *ctx, uint16_t port)
{
	const struct options *options = ctx;
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	cli_say("%s shows it; Ctrl-C ends", url);
	if (!options->no_browser && has_desktop())
		open_browser(url);
}

static int serve(const struct recordings *recordings, struct options *options)
{
	struct error err = {.text = ""};
	cleanup_free char *page = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&page, &len);
	int rc;

	if (!out)
		return cli_fail("out of memory while making the page");
	rc = page_write(recordings->at, recordings->count, out, &err);
	if (fclose(out) != 0 && rc == 0)
		return cli_fail("out of memory while making the page");
	if (rc == 0)
		rc = serve_page(page, len, options->port, served, options, &err);
	return rc < 0 ? cli_fail("%s", err.text[0] ? err.text : strerror(-rc)) : 0;
}
#endif

static int view_main(int argc, char **argv)
{
	cleanup_with(recordings_done) struct recordings recordings = {.count = 0};
	struct options options = {.output = NULL};
	cleanup_free char *made = NULL;
	int operands, rc, status;

	rc = cli_parse(&cli_view, argc, argv, &options, &operands);
	if (rc)
		return rc < 0 ? -rc : cli_finish_stdout();
#if HAVE_LIBMICROHTTPD
	if (options.http && options.output) {
		cli_say("-o writes a file, --http serves the page: one of them");
		return EXIT_USAGE;
	}
#endif
	status = load_all(&options, operands, argv, &recordings);
	if (status)
		return status;
#if HAVE_LIBMICROHTTPD
	if (options.http)
		return serve(&recordings, &options);
#endif
	if (!options.output) {
		const char *from = options.input.path ? options.input.path
				   : operands	      ? argv[1]
						      : "perf.data";

		rc = asprintf(&made, "%s.html", strcmp(from, "-") ? from : "wick-view");
		if (rc < 0)
			return cli_fail("out of memory while making the page");
		options.output = made;
	}
	status = write_page(&recordings, options.output, made != NULL);
	if (status)
		return status;
	cli_say("%s is written; open it in a browser", options.output);
	if (made && !options.no_browser && has_desktop())
		open_browser(options.output);
	return 0;
}
