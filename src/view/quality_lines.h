/* Between the files that make the block's lines; see quality_view.c. */
#pragma once

#include "view/quality_view.h"

#define LOST_BAD 0.01 /* the share of samples whose loss is bad */

static inline bool known(uint64_t value)
{
	return value != QUALITY_UNKNOWN;
}

/* A new line's text to append to; NULL when memory is out (`failed` is set then). */
struct strbuf *add_line(
	struct quality_lines *lines, enum quality_level level, const char *about);

/* A line in one go. */
__attribute__((format(printf, 4, 5))) void say(struct quality_lines *lines,
	enum quality_level level, const char *about, const char *fmt, ...);

/* quality_amount.c: each adds the lines that it has to say. */
void say_samples(struct quality_lines *lines, const struct quality *q);
void say_event(struct quality_lines *lines, const struct quality_view *view);
void say_cpu_time(struct quality_lines *lines, const struct quality *q);
void say_coverage(struct quality_lines *lines, const struct quality *q);
void say_hidden(struct quality_lines *lines, const struct quality *q);
