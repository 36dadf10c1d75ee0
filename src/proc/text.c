/* See text.h; a number is its digits and nothing else, and one that does not fit is no number.
 */
#include "proc/text.h"

bool span_line(struct span *span, struct span *ret_line)
{
	const char *newline;

	if (span->at == span->end)
		return false;
	newline = memchr(span->at, '\n', (size_t)(span->end - span->at));
	*ret_line = (struct span){span->at, newline ? newline : span->end};
	span->at = newline ? newline + 1 : span->end;
	return true;
}

bool span_skip(struct span *span, const char *text)
{
	size_t len = strlen(text);

	if (len > (size_t)(span->end - span->at) || memcmp(span->at, text, len) != 0)
		return false;
	span->at += len;
	return true;
}

void span_blanks(struct span *span)
{
	while (span->at < span->end && (*span->at == ' ' || *span->at == '\t'))
		span->at++;
}

bool span_skip_past_first(struct span *span, char c)
{
	const char *found = memchr(span->at, c, (size_t)(span->end - span->at));

	if (!found)
		return false;
	span->at = found + 1;
	return true;
}

bool span_skip_past_last(struct span *span, char c)
{
	const char *found = memrchr(span->at, c, (size_t)(span->end - span->at));

	if (!found)
		return false;
	span->at = found + 1;
	return true;
}

static unsigned digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return UINT32_MAX;
}

static bool span_number(struct span *span, unsigned base, uint64_t *ret_value)
{
	struct span rest = *span;
	const char *first;
	uint64_t value = 0;

	span_blanks(&rest);
	first = rest.at;
	while (rest.at < rest.end && digit_of(*rest.at) < base) {
		if (__builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, digit_of(*rest.at), &value))
			return false;
		rest.at++;
	}
	if (rest.at == first)
		return false;
	*span = rest;
	*ret_value = value;
	return true;
}

bool span_decimal(struct span *span, uint64_t *ret_value)
{
	return span_number(span, 10, ret_value);
}

bool span_hex(struct span *span, uint64_t *ret_value)
{
	return span_number(span, 16, ret_value);
}
