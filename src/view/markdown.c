/*
 * Prose escapes what could be markup; an underscore inside a word is none. A code span is
 * fenced by more backticks than any run in it has; a pipe needs its backslash even there, where
 * it stands in a table.
 */
#include "view/markdown.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool inside_word(const char *text, const char *at)
{
	return at > text && isalnum((unsigned char)at[-1]) && isalnum((unsigned char)at[1]);
}

void markdown_text(FILE *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p == '<')
			fputs("&lt;", out);
		else if (*p == '>')
			fputs("&gt;", out);
		else if (*p == '&')
			fputs("&amp;", out);
		else if (*p == '@') /* would notify whoever is called so */
			fputs("&#64;", out);
		else if (strchr("\\`*[]|~#", *p) || (*p == '_' && !inside_word(text, p)))
			fprintf(out, "\\%c", *p);
		else
			putc(*p, out);
	}
}

void markdown_code(FILE *out, const char *text)
{
	size_t longest = 0, run = 0;
	bool pad;

	if (!*text)
		return;
	for (const char *p = text; *p; p++) {
		run = *p == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	pad = *text == '`' || text[strlen(text) - 1] == '`';
	for (size_t i = 0; i <= longest; i++)
		putc('`', out);
	if (pad)
		putc(' ', out);
	for (const char *p = text; *p; p++) {
		if (*p == '|')
			putc('\\', out);
		putc(*p, out);
	}
	if (pad)
		putc(' ', out);
	for (size_t i = 0; i <= longest; i++)
		putc('`', out);
}
