/* The few colours of view/. */
#pragma once

#include <stdbool.h>

#define PAINT_BOLD   "\x1b[1m"
#define PAINT_DIM    "\x1b[2m"
#define PAINT_RED    "\x1b[31m"
#define PAINT_GREEN  "\x1b[32m"
#define PAINT_YELLOW "\x1b[33m"
#define PAINT_CYAN   "\x1b[36m"
#define PAINT_OFF    "\x1b[0m"

/* "" where there is no colour. */
static inline const char *paint(bool colour, const char *code)
{
	return colour ? code : "";
}

/* By how much of the whole something is: what burns is red. */
static inline const char *paint_share(bool colour, double share)
{
	return !colour || share < 0.01 ? ""
	       : share < 0.05	       ? PAINT_GREEN
	       : share < 0.2	       ? PAINT_YELLOW
				       : PAINT_RED;
}

static inline const char *paint_off(bool colour, const char *code)
{
	return colour && *code ? PAINT_OFF : "";
}
