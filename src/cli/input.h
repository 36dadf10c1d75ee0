/* What the commands that read a recording share: -i FILE, the file as last word, loading it. */
#pragma once

#include "cli/command.h"
#include "session/load.h"

struct input {
	const char *path; /* NULL: perf.data */
	const char *sysroot;
};

/*
 * Takes the operands behind the options into `input`: none or one file. -EXIT_USAGE after a
 * message when there are more, or when -i named one already.
 */
int input_operands(
	struct input *input, const struct cli_command *command, int operands, char **argv);

/* Loads it, with progress on a terminal's stderr. EXIT_FAILED after a message; else 0. */
int input_load(
	const struct input *input, struct load_options *options, struct loaded *ret_loaded);
