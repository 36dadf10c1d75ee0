/* Text for a Markdown document (GitHub's flavour), safe text (printable.h) only. */
#pragma once

#include <stdio.h>

/* As prose: nothing in it is taken for markup or HTML, no pipe ends a table's cell. */
void markdown_text(FILE *out, const char *text);

/* As a code span: nothing in it is taken for anything, no name is notified. */
void markdown_code(FILE *out, const char *text);
