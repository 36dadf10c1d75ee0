/* Numbers as people read them, for pictures and pages. */
#pragma once

#include "base/strbuf.h"
#include "profile/profile.h"

#include <stdint.h>

void text_count(struct strbuf *out, uint64_t count); /* 1,234,567 */
void text_time(struct strbuf *out, uint64_t ns);     /* 12.3 s, 4.56 ms, 789 us */

/* The name of the event that the pictures show; "samples" where there is none. */
const char *text_event(const struct profile *profile);

/* "cpu-clock: 11,234 samples, 11.2 s, coverage 99.8 %" */
void text_headline(
	const struct profile *profile, uint64_t samples, uint64_t weight, struct strbuf *out);
