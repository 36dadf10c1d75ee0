/*
 * A subcommand and its options as tables: parsing, --help, the man pages and the shell
 * completions all come from them.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct cli_option {
	char letter;	  /* 0: none */
	const char *name; /* without the dashes */
	const char *arg;  /* what the value is called in --help; NULL: takes none */
	const char *help; /* one sentence, no full stop */
	/* Puts the value (NULL for a flag) into the command's options. A sentence on failure.
	 */
	int (*set)(void *options, const char *value, struct error *err);
};

/* The simplest setters: a text (argv's), and a flag. `type` is that of the command's options.
 */
#define CLI_SET_TEXT(setter, type, field)                                                      \
	static int setter(void *ctx, const char *value, struct error *err)                     \
	{                                                                                      \
		(void)err;                                                                     \
		((type *)ctx)->field = value;                                                  \
		return 0;                                                                      \
	}
#define CLI_SET_FLAG(setter, type, field)                                                      \
	static int setter(void *ctx, const char *value, struct error *err)                     \
	{                                                                                      \
		(void)value;                                                                   \
		(void)err;                                                                     \
		((type *)ctx)->field = true;                                                   \
		return 0;                                                                      \
	}

struct cli_command {
	const char *name;
	const char *summary;		  /* one line, for the list of commands */
	const char *synopsis;		  /* behind "wick NAME" */
	const char *description;	  /* paragraphs, for --help and the man page */
	const struct cli_option *options; /* ends with an entry without a name */
	bool stops_at_operand; /* what follows the first operand is not ours: a command line */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name; the exit status */
};

extern const struct cli_command cli_record, cli_report, cli_annotate, cli_script, cli_export,
	cli_list, cli_view, cli_diff, cli_doctor, cli_sim;
extern const struct cli_command *const cli_commands[]; /* ends with NULL */

/*
 * Parses argv[1...]. The operands are gathered in argv[1] to argv[*ret_operands], a NULL behind
 * them. Returns 0; 1 when --help was printed; -EXIT_USAGE after saying what is wrong.
 */
int cli_parse(const struct cli_command *command, int argc, char **argv, void *options,
	int *ret_operands);

void cli_help(const struct cli_command *command, FILE *out);

/* "wick: sentence" on stderr, made safe for a terminal; returns EXIT_FAILED. */
__attribute__((format(printf, 1, 2))) int cli_fail(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void cli_say(const char *fmt, ...);

/* Flushes stdout: EXIT_FAILED with a message when it could not be written (not for EPIPE: 0).
 */
int cli_finish_stdout(void);

/* Values. Each says what it wanted. */
int cli_number(
	const char *text, uint64_t min, uint64_t max, uint64_t *ret_value, struct error *err);
int cli_seconds(const char *text, uint64_t *ret_ns, struct error *err); /* "1.5" */
int cli_share(const char *text, double *ret_share, struct error *err);	/* "90" or "90%" */
