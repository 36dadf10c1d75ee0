#include "cli/command.h"

#include "base/cleanup.h"
#include "base/fileio.h"
#include "view/printable.h"
#include "view/term.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

/*
 * Sentences hold names out of recordings and files: nothing in them may reach the terminal as
 * more than text. They are one line each.
 */
__attribute__((format(printf, 1, 0))) static void say(const char *fmt, va_list ap)
{
	cleanup_with(strbuf_done) struct strbuf safe = {0};
	cleanup_free char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	else
		printable_add(&safe, text, term_utf8());
	fprintf(stderr, "wick: %s\n", text && !safe.failed ? strbuf_text(&safe) : fmt);
}

void cli_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

int cli_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return EXIT_FAILED;
}

int cli_finish_stdout(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	if (errno == EPIPE)
		return 0; /* the reader has seen enough */
	return cli_fail("standard output: %s", strerror(errno));
}

/* ---- help */

/* Words, at most 79 columns a line; a newline in the text is one, two are an empty line. */
static void wrap(FILE *out, const char *text, int indent, int first_column)
{
	int column = first_column;
	bool gap = false;

	for (; *text; text += *text == ' ' || *text == '\n') {
		size_t len = strcspn(text, " \n");

		if (gap && column + 1 + (int)len > 79) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
			gap = false;
		}
		column += fprintf(out, "%s%.*s", gap ? " " : "", (int)len, text);
		text += len;
		gap = *text == ' ';
		if (*text == '\n') {
			fprintf(out, "\n%*s", text[1] == '\n' ? 0 : indent, "");
			column = indent;
		}
	}
	fputc('\n', out);
}

static void help_option(const struct cli_option *option, FILE *out)
{
	char left[64];
	int len;

	len = snprintf(left, sizeof(left), "  %s%c%s --%s%s%s", option->letter ? "-" : " ",
		option->letter ? option->letter : ' ', option->letter ? "," : " ", option->name,
		option->arg ? " " : "", option->arg ? option->arg : "");
	fputs(left, out);
	if (len > 28) {
		fprintf(out, "\n%*s", 30, "");
		len = 30;
	} else {
		fprintf(out, "%*s", 30 - len, "");
	}
	wrap(out, option->help, 30, 30);
}

void cli_help(const struct cli_command *command, FILE *out)
{
	fprintf(out, "usage: wick %s %s\n\n", command->name, command->synopsis);
	wrap(out, command->description, 0, 0);
	fputc('\n', out);
	for (const struct cli_option *option = command->options; option->name; option++)
		help_option(option, out);
	fprintf(out, "  -h, --help%*sthis text\n", 18, "");
}

/* ---- parsing */

static const struct cli_option *find_letter(const struct cli_command *command, char letter)
{
	for (const struct cli_option *option = command->options; option->name; option++)
		if (option->letter == letter)
			return option;
	return NULL;
}

static const struct cli_option *find_name(
	const struct cli_command *command, const char *name, size_t len)
{
	for (const struct cli_option *option = command->options; option->name; option++)
		if (strlen(option->name) == len && !memcmp(option->name, name, len))
			return option;
	return NULL;
}

static int usage_error(const struct cli_command *command, const char *text)
{
	cli_say("%s; see `wick %s --help`", text, command->name);
	return -EXIT_USAGE;
}

static int option_set(const struct cli_command *command, const struct cli_option *option,
	const char *value, void *options)
{
	struct error err = {.text = ""};
	char text[640];

	if (option->set(options, value, &err) >= 0)
		return 0;
	snprintf(text, sizeof(text), "--%s: %s", option->name, err.text);
	return usage_error(command, text);
}

/* One word that starts with '-'. Takes the next word where the option's value stands there. */
static int word_parse(
	const struct cli_command *command, int argc, char **argv, int *at, void *options)
{
	const char *word = argv[*at], *value = NULL;
	const struct cli_option *option;
	char text[200];

	if (word[1] == '-') {
		size_t len = strcspn(word + 2, "=");

		option = find_name(command, word + 2, len);
		if (word[2 + len] == '=')
			value = word + 3 + len;
	} else {
		option = find_letter(command, word[1]);
		if (option && word[2]) {
			if (!option->arg) {
				snprintf(text, sizeof(text),
					"option '%.40s': -%c takes no value", word, word[1]);
				return usage_error(command, text);
			}
			value = word + 2;
		}
	}
	if (!option) {
		snprintf(text, sizeof(text), "option '%.80s' is not known", word);
		return usage_error(command, text);
	}
	if (!option->arg && value) {
		snprintf(text, sizeof(text), "--%s takes no value", option->name);
		return usage_error(command, text);
	}
	if (option->arg && option->arg[0] == '[' && !value) {
		value = ""; /* an optional value stands only behind the letter or an = */
	} else if (option->arg && !value) {
		if (*at + 1 >= argc) {
			snprintf(text, sizeof(text), "--%s wants a value (%s)", option->name,
				option->arg);
			return usage_error(command, text);
		}
		value = argv[++*at];
	}
	return option_set(command, option, value, options);
}

int cli_parse(const struct cli_command *command, int argc, char **argv, void *options,
	int *ret_operands)
{
	int kept = 1; /* operands move to the front, behind the name */
	bool all_operands = false;

	for (int at = 1; at < argc; at++) {
		char *word = argv[at];
		int rc;

		if (all_operands || word[0] != '-' || !word[1]) {
			argv[kept++] = word;
			all_operands |= command->stops_at_operand;
			continue;
		}
		if (!strcmp(word, "--")) {
			all_operands = true;
			continue;
		}
		if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
			cli_help(command, stdout);
			return 1;
		}
		rc = word_parse(command, argc, argv, &at, options);
		if (rc < 0)
			return rc;
	}
	argv[kept] = NULL;
	*ret_operands = kept - 1;
	return 0;
}

/* ---- values */

int cli_number(
	const char *text, uint64_t min, uint64_t max, uint64_t *ret_value, struct error *err)
{
	uint64_t value;

	if (parse_u64(text, strlen(text), &value) < 0 || value < min || value > max)
		return error_set(err, -EINVAL, "'%.60s' is not a number from %llu to %llu",
			text, (unsigned long long)min, (unsigned long long)max);
	*ret_value = value;
	return 0;
}

int cli_seconds(const char *text, uint64_t *ret_ns, struct error *err)
{
	size_t whole_len = strcspn(text, "."), fraction_len;
	uint64_t whole = 0, fraction = 0;
	const char *dot = text + whole_len;

	fraction_len = *dot ? strlen(dot + 1) : 0;
	if ((!whole_len && !fraction_len) || fraction_len > 9 ||
		(whole_len && parse_u64(text, whole_len, &whole) < 0) ||
		(fraction_len && parse_u64(dot + 1, fraction_len, &fraction) < 0) ||
		whole > 1000000000)
		return error_set(
			err, -EINVAL, "'%.60s' is not a number of seconds (1, 0.5)", text);
	for (size_t i = fraction_len; i < 9; i++)
		fraction *= 10;
	*ret_ns = whole * 1000000000u + fraction;
	return 0;
}

int cli_share(const char *text, double *ret_share, struct error *err)
{
	size_t len = strlen(text);
	uint64_t nano;
	char number[32];

	len -= len && text[len - 1] == '%';
	if (len < sizeof(number)) {
		memcpy(number, text, len);
		number[len] = '\0';
		if (cli_seconds(number, &nano, NULL) == 0 && nano <= 100ull * 1000000000u) {
			*ret_share = (double)nano / 1e11;
			return 0;
		}
	}
	return error_set(err, -EINVAL, "'%.60s' is not a percentage from 0 to 100", text);
}
