/*
 * Text from outside (names of functions, files, threads) on a terminal: nothing in it can move
 * the cursor, change colours, turn the writing direction or break a line, and its width is
 * known.
 */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Terminal columns of one printable character: 0 (combining), 1 or 2. UINT32_MAX: a stray byte.
 */
unsigned char_columns(uint32_t c);

/*
 * Appends `text`, made safe as formats/escape.h does ("\x1b", "\u202e"); where the terminal is
 * no UTF-8 one, everything beyond ASCII that way.
 */
void printable_add(struct strbuf *out, const char *text, bool utf8);

/* The columns that safe text takes. */
size_t printable_columns(const char *text);
