/* Numbers as people read them. Each writes into the caller's buffer and returns it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FIGURE_BYTES 32

/* "12,345,678" */
const char *figure_thousands(uint64_t n, char buf[FIGURE_BYTES]);

/* "1.23 s", "45.6 ms", "789 us", "12 ns", "3 min 20 s", "2 h 5 min" */
const char *figure_time(uint64_t ns, char buf[FIGURE_BYTES]);

/* "999", "1.23 k", "45.6 M", "789 G", "1.20 T", ... */
const char *figure_count(uint64_t n, char buf[FIGURE_BYTES]);

/* "45.2 %", "100 %", "<0.1 %" for what is not nothing, "0 %". */
const char *figure_percent(double share, char buf[FIGURE_BYTES]);

/* A weight in its unit. */
const char *figure_weight(uint64_t weight, bool is_ns, char buf[FIGURE_BYTES]);

/* part / whole; 0 where there is no whole. Never NaN. */
double figure_share(uint64_t part, uint64_t whole);

/* a + b, at the top where it would wrap. */
static inline uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
