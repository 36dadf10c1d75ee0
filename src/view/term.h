/*
 * What the other end of stdout can show. Helpers for the commands: view/ itself renders what
 * its options say. Nothing here prints.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The columns of the terminal behind `fd`: what it says itself, else COLUMNS (a number from 1
 * to 10,000), else 80. 0 when `fd` is no terminal: nothing is cut then.
 */
unsigned term_columns(int fd);

/* Colour is wanted: a terminal, TERM is not "dumb", and NO_COLOR is unset or empty. */
bool term_colour(int fd);

/* The locale of the environment (LC_ALL, LC_CTYPE, LANG: the first that is set) is a UTF-8 one.
 */
bool term_utf8(void);

/* What COLUMNS says; 0 when that is no sane number. */
unsigned term_columns_from(const char *text);
