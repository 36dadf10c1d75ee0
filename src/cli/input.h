/* What the commands that read a recording share: -i FILE, the file as last word, loading it. */
#pragma once

#include "cli/command.h"
#include "cli/fetching.h"
#include "session/load.h"

struct input {		  /* the first member of a command's options */
	const char *path; /* NULL: perf.data */
	const char *sysroot;
	const char *debug_dir; /* NULL: /usr/lib/debug only */
	bool no_inlines, no_demangle;
	uint32_t debuginfod_s; /* 0: nothing is fetched */
};

/* -i, for a command's table. */
#define INPUT_FILE_OPTION                                                                      \
	{                                                                                      \
		'i', "input", "FILE", "the recording; default perf.data; - is standard input", \
			input_set_path                                                         \
	}
int input_set_path(void *ctx, const char *value, struct error *err);

/* The options about names, and where programs are. */
#define INPUT_NAME_OPTIONS                                                                     \
	{0, "sysroot", "DIR",                                                                  \
		"look for the recorded programs and sources below this directory",             \
		input_set_sysroot},                                                            \
		{0, "no-inline", NULL, "leave out inlined functions and source lines",         \
			input_set_no_inline},                                                  \
		{0, "debug-dir", "DIR", "look for debug files here, before /usr/lib/debug",    \
			input_set_debug_dir},                                                  \
		FETCHING_OPTION(input_set_debuginfod),                                         \
	{                                                                                      \
		0, "no-demangle", NULL, "C++ and Rust names as the linker knows them",         \
			input_set_no_demangle                                                  \
	}
int input_set_sysroot(void *ctx, const char *value, struct error *err);
int input_set_no_inline(void *ctx, const char *value, struct error *err);
int input_set_debug_dir(void *ctx, const char *value, struct error *err);
int input_set_debuginfod(void *ctx, const char *value, struct error *err);
int input_set_no_demangle(void *ctx, const char *value, struct error *err);

/*
 * Takes the operands behind the options into `input`: none or one file. -EXIT_USAGE after a
 * message when there are more, or when -i named one already.
 */
int input_operands(
	struct input *input, const struct cli_command *command, int operands, char **argv);

/* Loads it, with progress on a terminal's stderr. EXIT_FAILED after a message; else 0. */
int input_load(
	const struct input *input, struct load_options *options, struct loaded *ret_loaded);
