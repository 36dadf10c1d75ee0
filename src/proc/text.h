/*
 * Text of /proc and sysfs taken apart without running over its end. A `span` is what is left to
 * read; a function that does not find what it looks for returns false and moves nothing.
 */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct span {
	const char *at, *end;
};

static inline struct span span_of(const struct strbuf *text)
{
	const char *start = strbuf_text(text);

	return (struct span){start, start + text->len};
}

/* The next line without its newline; the last one needs none. */
bool span_line(struct span *span, struct span *ret_line);

/* Exactly this text. */
bool span_skip(struct span *span, const char *text);

/* Blanks and tabs, if any. */
void span_blanks(struct span *span);

/* Everything up to and with the first, or the last, `c`. */
bool span_skip_past_first(struct span *span, char c);
bool span_skip_past_last(struct span *span, char c);

/* Blanks, then a number; it ends at the first byte that is no digit. False when it is too
 * large. */
bool span_decimal(struct span *span, uint64_t *ret_value);
bool span_hex(struct span *span, uint64_t *ret_value);
