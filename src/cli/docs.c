/*
 * wick-docs DIR: writes the man pages and the completions of bash, zsh and fish, out of the
 * tables that --help prints. Runs when wick is built; it is not installed.
 *
 *     wick.1  wick-record.1 ...  wick (bash)  _wick (zsh)  wick.fish
 */
#include "cli/command.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static FILE *file_open(const char *dir, const char *name)
{
	char path[4096];
	FILE *out;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return NULL;
	out = fopen(path, "we");
	if (!out)
		cli_fail("%s: %s", path, strerror(errno));
	return out;
}

static int file_close(FILE *out)
{
	bool failed = ferror(out);

	return fclose(out) || failed ? cli_fail("a page cannot be written") : 0;
}

/* ---- man pages */

/* Text between macros: nothing in it is taken for roff, and dashes are ASCII. */
static void roff(FILE *out, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (*text == '\n') {
			fputs(text[1] == '\n' ? "\n.PP\n" : text[1] ? "\n.br\n" : "\n", out);
			text += text[1] == '\n';
			line_start = true;
			text += strspn(text + 1, " ");
			continue;
		}
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else if (*text == '`' || *text == '~' || *text == '^')
			fputs(*text == '`' ? "\\(ga" : *text == '~' ? "\\(ti" : "\\(ha", out);
		else if (*text == '\'')
			fputs("\\(aq", out);
		else
			fputc(*text, out);
		line_start = false;
	}
}

static void man_option(FILE *out, char letter, const char *name, const char *arg)
{
	fputs(".TP\n", out);
	if (letter)
		fprintf(out, "\\fB\\-%c\\fR, ", letter);
	fputs("\\fB\\-\\-", out);
	roff(out, name);
	fputs("\\fR", out);
	if (arg) {
		fputs(" \\fI", out);
		roff(out, arg);
		fputs("\\fR", out);
	}
	fputc('\n', out);
}

static void man_head(FILE *out, const char *name, const char *summary)
{
	fputs(".\\\" Made from the tables that --help prints.\n.TH ", out);
	for (const char *p = name; *p; p++)
		fputc(toupper((unsigned char)*p), out);
	fprintf(out, " 1 \"\" \"wick %s\" \"wick\"\n.SH NAME\n", WICK_VERSION);
	roff(out, name);
	fputs(" \\- ", out);
	roff(out, summary);
	fputs("\n.SH SYNOPSIS\n", out);
}

/* "[options] FILE\n   or: wick record -p PID": each way on a line of its own. */
static void man_synopsis(FILE *out, const struct cli_command *command)
{
	const char *text = command->synopsis;

	fprintf(out, "\\fBwick %s\\fR ", command->name);
	while (*text) {
		size_t len = strcspn(text, "\n");
		char line[256];

		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		roff(out, line);
		text += len;
		if (!*text)
			break;
		text += strspn(text, "\n ");
		if (!strncmp(text, "or: ", 4))
			text += 4;
		fputs("\n.br\n", out);
	}
	fputc('\n', out);
}

static void man_see_also(FILE *out, const char *but)
{
	const char *between = "";

	fputs(".SH SEE ALSO\n", out);
	if (but)
		fputs("\\fBwick\\fR(1)", out);
	between = but ? ",\n" : "";
	for (const struct cli_command *const *command = cli_commands; *command; command++) {
		if (but && !strcmp((*command)->name, but))
			continue;
		fprintf(out, "%s\\fBwick\\-%s\\fR(1)", between, (*command)->name);
		between = ",\n";
	}
	fputc('\n', out);
}

static int man_command(const char *dir, const struct cli_command *command)
{
	char name[64], file[80];
	FILE *out;

	snprintf(name, sizeof(name), "wick-%s", command->name);
	snprintf(file, sizeof(file), "%s.1", name);
	out = file_open(dir, file);
	if (!out)
		return EXIT_FAILED;
	man_head(out, name, command->summary);
	man_synopsis(out, command);
	fputs(".SH DESCRIPTION\n", out);
	roff(out, command->description);
	fputs("\n.SH OPTIONS\n", out);
	for (const struct cli_option *option = command->options; option->name; option++) {
		man_option(out, option->letter, option->name, option->arg);
		roff(out, option->help);
		fputc('\n', out);
	}
	man_option(out, 'h', "help", NULL);
	fputs("the same as a short text\n", out);
	man_see_also(out, command->name);
	return file_close(out);
}

static int man_overview(const char *dir)
{
	FILE *out = file_open(dir, "wick.1");

	if (!out)
		return EXIT_FAILED;
	man_head(out, "wick", "shows where a Linux program spends its time");
	fputs("\\fBwick\\fR \\fICOMMAND\\fR [options] ...\n.SH DESCRIPTION\n", out);
	roff(out, "Samples a command, running processes or the whole machine, and says where "
		  "the time went and how far that can be trusted. The recording is a "
		  "perf.data file.");
	fputs("\n.SH COMMANDS\n", out);
	for (const struct cli_command *const *command = cli_commands; *command; command++) {
		fprintf(out, ".TP\n\\fBwick\\-%s\\fR(1)\n", (*command)->name);
		roff(out, (*command)->summary);
		fputc('\n', out);
	}
	fputs(".SH OPTIONS\n", out);
	man_option(out, 0, "version", NULL);
	fputs("prints the version\n", out);
	man_option(out, 'h', "help", NULL);
	fputs("lists the commands; behind a command, its options\n.SH EXAMPLES\n.nf\n", out);
	roff(out, "wick record ./server\nwick report");
	fputs("\n.fi\n", out);
	man_see_also(out, NULL);
	return file_close(out);
}

/* ---- what an option's value, or an operand, can be */

enum value_kind { VALUE_ANY, VALUE_FILE, VALUE_DIR, VALUE_PID, VALUE_EVENT, VALUE_COMMAND };

static enum value_kind kind_of(const char *arg)
{
	static const struct {
		const char *word;
		enum value_kind kind;
	} words[] = {
		{"FILE", VALUE_FILE},
		{"PATH", VALUE_FILE},
		{"FIFO", VALUE_FILE},
		{"DIR", VALUE_DIR},
		{"PID", VALUE_PID},
		{"TID", VALUE_PID},
		{"EVENT", VALUE_EVENT},
		{"COMMAND", VALUE_COMMAND},
	};

	for (size_t i = 0; arg && i < ARRAY_LEN(words); i++)
		if (strstr(arg, words[i].word))
			return words[i].kind;
	return VALUE_ANY;
}

/* Behind the options: a command line, files, or nothing that can be guessed. */
static enum value_kind operand_kind(const struct cli_command *command)
{
	if (command->stops_at_operand)
		return VALUE_COMMAND;
	return kind_of(command->synopsis) == VALUE_FILE ? VALUE_FILE : VALUE_ANY;
}

static bool has_value(const struct cli_command *command, enum value_kind kind)
{
	for (const struct cli_option *option = command->options; option->name; option++)
		if (option->arg && kind_of(option->arg) == kind)
			return true;
	return false;
}

/* ---- bash */

static const char *const bash_values[] = {
	[VALUE_ANY] = "COMPREPLY=()",
	[VALUE_FILE] = "_wick_files",
	[VALUE_DIR] = "_wick_words -d",
	[VALUE_PID] = "_wick_pids",
	[VALUE_EVENT] = "_wick_words -W \"$(wick list --format names 2>/dev/null)\"",
	[VALUE_COMMAND] = "_wick_words -c -f",
};

/* "-o|--output|-i|--input" of the options whose value is of a kind. */
static void bash_pattern(FILE *out, const struct cli_command *command, enum value_kind kind)
{
	const char *between = "";

	for (const struct cli_option *option = command->options; option->name; option++) {
		if (!option->arg || kind_of(option->arg) != kind)
			continue;
		if (option->letter)
			fprintf(out, "%s-%c|--%s", between, option->letter, option->name);
		else
			fprintf(out, "%s--%s", between, option->name);
		between = "|";
	}
}

static void bash_command(FILE *out, const struct cli_command *command)
{
	fprintf(out, "\t%s)\n\t\toptions=\"", command->name);
	for (const struct cli_option *option = command->options; option->name; option++) {
		if (option->letter)
			fprintf(out, "-%c ", option->letter);
		fprintf(out, "--%s ", option->name);
	}
	fputs("-h --help\"\n\t\tcase $before in\n", out);
	for (enum value_kind kind = VALUE_ANY; kind <= VALUE_COMMAND; kind++) {
		if (!has_value(command, kind))
			continue;
		fputs("\t\t", out);
		bash_pattern(out, command, kind);
		fprintf(out, ")\n\t\t\t%s\n\t\t\treturn ;;\n", bash_values[kind]);
	}
	fprintf(out, "\t\tesac\n\t\toperand='%s' ;;\n",
		operand_kind(command) == VALUE_COMMAND ? "_wick_words -c -f"
		: operand_kind(command) == VALUE_FILE  ? "_wick_files"
						       : "");
}

static void bash_frame(FILE *out)
{
	fputs("# bash completion for wick; made from the tables that --help prints.\n\n"
	      "_wick_words() {\n"
	      "\tlocal word\n"
	      "\tCOMPREPLY=()\n"
	      "\twhile IFS= read -r word; do\n"
	      "\t\tCOMPREPLY+=(\"$word\")\n"
	      "\tdone < <(compgen \"$@\" -- \"$current\")\n"
	      "}\n\n"
	      "_wick_files() {\n"
	      "\tcompopt -o filenames 2>/dev/null\n"
	      "\t_wick_words -f\n"
	      "}\n\n"
	      "_wick_pids() {\n"
	      "\t_wick_words -W \"$(cd /proc && printf '%s ' [0-9]*)\"\n"
	      "}\n\n"
	      "_wick() {\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal options='' operand='' i\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [ \"$current\" = = ]; then # --option=VALUE comes in three words\n"
	      "\t\tcurrent=''\n"
	      "\telif [ \"$before\" = = ]; then\n"
	      "\t\tbefore=${COMP_WORDS[COMP_CWORD-2]}\n"
	      "\tfi\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	      "\t\t_wick_words -W '",
		out);
	for (const struct cli_command *const *command = cli_commands; *command; command++)
		fprintf(out, "%s ", (*command)->name);
	fputs("--help --version'\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n", out);
}

static int bash_file(const char *dir)
{
	FILE *out = file_open(dir, "wick");

	if (!out)
		return EXIT_FAILED;
	bash_frame(out);
	for (const struct cli_command *const *command = cli_commands; *command; command++)
		bash_command(out, *command);
	fputs("\tesac\n"
	      "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\tif [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
	      "\t\t\toptions=''\n"
	      "\t\tfi\n"
	      "\tdone\n"
	      "\tcase $current in\n"
	      "\t-*) _wick_words -W \"$options\" ;;\n"
	      "\t*) [ -z \"$operand\" ] || $operand ;;\n"
	      "\tesac\n"
	      "}\n\n"
	      "complete -F _wick wick\n",
		out);
	return file_close(out);
}

/* ---- zsh */

/* Inside single quotes, where zsh's _arguments gives ':', '[' and ']' a meaning. */
static void zsh_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:\\", *text))
			fprintf(out, "\\%c", *text);
		else
			fputc(*text == '\n' ? ' ' : *text, out);
	}
}

static const char *const zsh_values[] = {
	[VALUE_ANY] = " ",
	[VALUE_FILE] = "_files",
	[VALUE_DIR] = "_files -/",
	[VALUE_PID] = "_pids",
	[VALUE_EVENT] = "_wick_events",
	[VALUE_COMMAND] = "_command_names -e",
};

static void zsh_option(FILE *out, const struct cli_option *option)
{
	char dash[4] = "";

	for (int pass = option->letter ? 0 : 1; pass < 2; pass++) {
		snprintf(dash, sizeof(dash), "-%c", option->letter ? option->letter : '-');
		fprintf(out, "\t\t'*%s%s%s[", pass ? "--" : dash, pass ? option->name : "",
			!option->arg ? ""
			: pass	     ? "="
				     : "+");
		zsh_text(out, option->help);
		fputc(']', out);
		if (option->arg) {
			fputc(':', out);
			zsh_text(out, option->arg);
			fprintf(out, ":%s", zsh_values[kind_of(option->arg)]);
		}
		fputs("' \\\n", out);
	}
}

static void zsh_command(FILE *out, const struct cli_command *command)
{
	enum value_kind operand = operand_kind(command);

	fprintf(out, "\t%s)\n\t\t_arguments -s -S \\\n", command->name);
	for (const struct cli_option *option = command->options; option->name; option++)
		zsh_option(out, option);
	fputs("\t\t'(- *)'{-h,--help}'[this text]' \\\n", out);
	if (operand == VALUE_COMMAND)
		fputs("\t\t'(-)1:command:_command_names -e' '*::argument:_normal'", out);
	else
		fprintf(out, "\t\t'*:operand:%s'", operand == VALUE_FILE ? "_files" : " ");
	fputs(" ;;\n", out);
}

static int zsh_file(const char *dir)
{
	FILE *out = file_open(dir, "_wick");

	if (!out)
		return EXIT_FAILED;
	fputs("#compdef wick\n# Made from the tables that --help prints.\n\n"
	      "_wick_events() {\n"
	      "\tlocal -a events\n"
	      "\tevents=(${(f)\"$(wick list --format names 2>/dev/null)\"})\n"
	      "\tcompadd -a events\n"
	      "}\n\n"
	      "_wick() {\n"
	      "\tlocal -a commands\n"
	      "\tcommands=(\n",
		out);
	for (const struct cli_command *const *command = cli_commands; *command; command++) {
		fprintf(out, "\t\t'%s:", (*command)->name);
		zsh_text(out, (*command)->summary);
		fputs("'\n", out);
	}
	fputs("\t)\n"
	      "\tif ((CURRENT == 2)); then\n"
	      "\t\t_describe command commands\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tshift words\n"
	      "\t((CURRENT--))\n"
	      "\tcase $words[1] in\n",
		out);
	for (const struct cli_command *const *command = cli_commands; *command; command++)
		zsh_command(out, *command);
	fputs("\tesac\n}\n\n_wick \"$@\"\n", out);
	return file_close(out);
}

/* ---- fish */

static void fish_text(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			fputc('\\', out);
		fputc(*text == '\n' ? ' ' : *text, out);
	}
	fputc('\'', out);
}

static const char *const fish_values[] = {
	[VALUE_ANY] = " -x",
	[VALUE_FILE] = " -r -F",
	[VALUE_DIR] = " -x -a '(__fish_complete_directories)'",
	[VALUE_PID] = " -x -a '(__fish_complete_pids)'",
	[VALUE_EVENT] = " -x -a '(wick list --format names 2>/dev/null)'",
	[VALUE_COMMAND] = " -x -a '(__fish_complete_command)'",
};

static void fish_command(FILE *out, const struct cli_command *command)
{
	const char *name = command->name;
	enum value_kind operand = operand_kind(command);

	fprintf(out, "complete -c wick -n __fish_use_subcommand -a %s -d ", name);
	fish_text(out, command->summary);
	fputc('\n', out);
	for (const struct cli_option *option = command->options; option->name; option++) {
		fprintf(out, "complete -c wick -n '__fish_seen_subcommand_from %s'", name);
		if (option->letter)
			fprintf(out, " -s %c", option->letter);
		fprintf(out, " -l %s%s -d ", option->name,
			option->arg ? fish_values[kind_of(option->arg)] : "");
		fish_text(out, option->help);
		fputc('\n', out);
	}
	if (operand != VALUE_ANY)
		fprintf(out, "complete -c wick -n '__fish_seen_subcommand_from %s'%s\n", name,
			operand == VALUE_FILE ? " -F" : " -a '(__fish_complete_subcommand)'");
}

static int fish_file(const char *dir)
{
	FILE *out = file_open(dir, "wick.fish");

	if (!out)
		return EXIT_FAILED;
	fputs("# Made from the tables that --help prints.\n"
	      "complete -c wick -f\n"
	      "complete -c wick -s h -l help -d 'what there is'\n"
	      "complete -c wick -n __fish_use_subcommand -l version -d 'the version'\n",
		out);
	for (const struct cli_command *const *command = cli_commands; *command; command++)
		fish_command(out, *command);
	return file_close(out);
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc != 2) {
		cli_say("usage: wick-docs DIR");
		return EXIT_USAGE;
	}
	failed |= man_overview(argv[1]);
	for (const struct cli_command *const *command = cli_commands; *command; command++)
		failed |= man_command(argv[1], *command);
	failed |= bash_file(argv[1]);
	failed |= zsh_file(argv[1]);
	failed |= fish_file(argv[1]);
	return failed ? EXIT_FAILED : 0;
}
