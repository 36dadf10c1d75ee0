/*
 * Names come out of other people's files: they may hold control characters, bytes that are no
 * UTF-8, and characters that turn the reading direction round or cannot be seen. What is
 * written for people and browsers shows such bytes as \x1b and such characters as \u202e
 * instead.
 */
#pragma once

#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The character at `text` (NUL-terminated, not empty): its bytes, and the code point, or
 * UINT32_MAX when the first byte begins no valid UTF-8 (1 byte is taken then).
 */
size_t utf8_next(const char *text, uint32_t *ret_code);

/* Whether a character can be shown as it is. */
bool code_is_plain(uint32_t code);

/*
 * Appends the text for element content and attributes of XML and HTML: & < > " ' as entities,
 * what is not plain escaped. At most `limit` characters of the text, then an ellipsis.
 */
void escape_xml(struct strbuf *out, const char *text, size_t limit);

/* For one line of plain text: what is not plain is escaped as above, and `avoid` becomes
 * `instead`. */
void escape_line(struct strbuf *out, const char *text, char avoid, char instead);
