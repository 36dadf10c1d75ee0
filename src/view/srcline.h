/* Places in source files as text. */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

/*
 * In the text of a tree's step: what stands behind the last one of these is its place. Names
 * are shown with such bytes escaped, so a name that has one of its own only looks odd.
 */
#define SRCLINE_MARK '\x1f'

/* "/src/app.c:12:5"; without a column ":5" is missing; nothing where the line is not known. */
void srcline_add(struct strbuf *out, const char *file, uint32_t line, uint32_t column);

/* "app.c:12:5": from the last component of the path on. */
const char *srcline_short(const char *srcline);
