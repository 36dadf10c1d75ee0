#include "view/prose.h"

#include "formats/escape.h"
#include "view/printable.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* How many bytes of `text` fit in `columns`, broken at a space where there is one. */
static size_t fitting(const char *text, size_t columns)
{
	size_t at = 0, space = 0, used = 0;

	while (text[at]) {
		uint32_t c;
		size_t n = utf8_next(text + at, &c);

		used += char_columns(c);
		if (used > columns)
			return space > 0 ? space : at > 0 ? at : n;
		at += n;
		if (text[at] == ' ' && text[at + 1] != '%') /* 12 % stays together */
			space = at;
	}
	return at;
}

void prose_print(FILE *out, const char *text, unsigned width, unsigned indent)
{
	size_t room = width > indent + 4 ? width - indent : 4;
	bool first = true;

	while (*text || first) {
		size_t n = width > 0 ? fitting(text, room) : strlen(text);

		fprintf(out, "%*s%.*s\n", first ? 0 : (int)indent, "", (int)n, text);
		text += n;
		text += strspn(text, " ");
		first = false;
	}
}

void prose_printf(FILE *out, unsigned width, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	prose_print(out, text, width, 2);
}
