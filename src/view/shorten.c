/*
 * Brackets are matched by counting, once over the name. `operator<`, `operator->` and the like
 * are not brackets; a '<' that starts a path (Rust's `<T as Trait>::f`) keeps its inside and
 * only what is nested in it collapses; `(anonymous namespace)` and `operator()` are no
 * arguments. Where the brackets do not match, the name stays as it is.
 */
#include "view/shorten.h"

#include "formats/escape.h"
#include "view/printable.h"

#include <ctype.h>
#include <string.h>

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(text + len - n, end, n) == 0;
}

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

/* The length of an operator's name that has angle brackets in it, at `at`; else 0. */
static size_t operator_len(const char *name, size_t at)
{
	size_t n;

	if (name[at] == '-' && name[at + 1] == '>')
		return 2;
	if (!ends_with(name, at, "operator") || (at > 8 && word_char(name[at - 9])))
		return 0;
	n = strspn(name + at, "<>=-*");
	/* operator<<int> is operator< of <int>: with more signs than an operator can have */
	return n > 3 ? 2 : n;
}

static size_t closing(const char *name, size_t open, char from, char to)
{
	size_t depth = 0;

	for (size_t i = open; name[i]; i++) {
		size_t skip = i > open && from == '<' ? operator_len(name, i) : 0;

		if (skip) {
			i += skip - 1;
			continue;
		}
		if (name[i] == from)
			depth++;
		else if (name[i] == to && --depth == 0)
			return i;
	}
	return 0;
}

static void collapse_templates(struct strbuf *out, const char *name)
{
	for (size_t i = 0; name[i];) {
		size_t skip = operator_len(name, i), close;

		if (skip) {
			strbuf_add(out, name + i, skip);
			i += skip;
			continue;
		}
		close = name[i] == '<' && i > 0 &&
					(word_char(name[i - 1]) || name[i - 1] == ':')
				? closing(name, i, '<', '>')
				: 0;
		if (close > i + 1) {
			strbuf_puts(out, "<...>");
			i = close + 1;
		} else {
			strbuf_putc(out, name[i++]);
		}
	}
}

static void collapse_arguments(struct strbuf *out, const char *name, const char *instead)
{
	for (size_t i = 0; name[i];) {
		size_t close = name[i] == '(' ? closing(name, i, '(', ')') : 0;
		bool empty = close == i + 1 && (*instead || ends_with(name, i, "operator"));

		if (close > 0 && i > 0 && !empty &&
			strncmp(name + i, "(anonymous namespace)", 21) != 0) {
			strbuf_puts(out, instead);
			i = close + 1;
		} else {
			strbuf_putc(out, name[i++]);
		}
	}
}

/* Bytes at the start of `text` that fit in `columns`. */
static size_t head_bytes(const char *text, size_t columns)
{
	size_t used = 0, at = 0;

	while (text[at]) {
		uint32_t c;
		size_t n = utf8_next(text + at, &c);

		used += char_columns(c);
		if (used > columns)
			break;
		at += n;
	}
	return at;
}

/* Where the end of `text` begins that fits in `columns`. */
static size_t tail_start(const char *text, size_t columns)
{
	size_t all = printable_columns(text), at = 0;

	while (all > columns && text[at]) {
		uint32_t c;

		at += utf8_next(text + at, &c);
		all -= char_columns(c);
	}
	return at;
}

void shorten_middle(struct strbuf *out, const char *text, size_t columns, bool utf8)
{
	const char *dots = utf8 ? "\u2026" : "..";
	size_t dot_columns = utf8 ? 1 : 2, head;

	if (printable_columns(text) <= columns) {
		strbuf_puts(out, text);
		return;
	}
	if (columns < dot_columns + 4) {
		strbuf_add(out, text, head_bytes(text, columns));
		return;
	}
	columns -= dot_columns;
	head = columns * 2 / 5;
	strbuf_add(out, text, head_bytes(text, head));
	strbuf_puts(out, dots);
	strbuf_puts(out, text + tail_start(text, columns - head));
}

void shorten_add(struct strbuf *out, const char *name, size_t columns, bool utf8)
{
	struct strbuf steps[3] = {0};
	const char *text = name;

	for (unsigned i = 0; i < 3 && printable_columns(text) > columns; i++) {
		if (i == 0)
			collapse_templates(&steps[i], name);
		else
			collapse_arguments(
				&steps[i], strbuf_text(&steps[0]), i == 1 ? "(...)" : "");
		text = strbuf_text(&steps[i]);
	}
	shorten_middle(out, text, columns, utf8);
	for (unsigned i = 0; i < 3; i++) {
		out->failed |= steps[i].failed;
		strbuf_done(&steps[i]);
	}
}
