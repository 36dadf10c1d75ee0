/* Sentences, broken between words where the terminal ends. */
#pragma once

#include <stdio.h>

/*
 * `text` and a newline; the lines behind the first start `indent` columns to the right. The
 * first one stands at that column already, or has room to spare. width 0: one line.
 */
void prose_print(FILE *out, const char *text, unsigned width, unsigned indent);

/* A formatted sentence of at most 1,023 bytes, from the first column on. */
__attribute__((format(printf, 3, 4))) void prose_printf(
	FILE *out, unsigned width, const char *fmt, ...);
