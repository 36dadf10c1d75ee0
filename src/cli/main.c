/* wick: finds the subcommand and runs it. */
#include "cli/command.h"

#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

static void usage(FILE *out)
{
	fputs("usage: wick COMMAND [options] ...\n\n"
	      "Shows where a program spends its time, and how far that can be trusted.\n\n"
	      "  wick record ./server     sample it; Ctrl-C keeps the data\n"
	      "  wick report              where the time went\n\ncommands:\n",
		out);
	for (const struct cli_command *const *command = cli_commands; *command; command++)
		fprintf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
	fputs("\n`wick COMMAND --help` says more.\n", out);
}

/*
 * Where stdin, stdout or stderr are closed the next file that is opened would take their place,
 * and be written into by mistake. What takes it instead can do as little as they, and is closed
 * for a command that is run.
 */
static void keep_places(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) < 0)
			return;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";

	keep_places();
	setlocale(LC_ALL, "");
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		usage(argc > 1 ? stdout : stderr);
		return argc > 1 ? cli_finish_stdout() : EXIT_USAGE;
	}
	if (!strcmp(name, "--version")) {
		printf("wick %s\n", WICK_VERSION);
		return cli_finish_stdout();
	}
	for (const struct cli_command *const *command = cli_commands; *command; command++)
		if (!strcmp((*command)->name, name))
			return (*command)->run(argc - 1, argv + 1);
	cli_say("'%.60s' is not a command; `wick --help` lists them", name);
	return EXIT_USAGE;
}
