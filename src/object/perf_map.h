/*
 * perf maps: what JIT compilers write into /tmp/perf-PID.map, a line a function, numbers in
 * hex:
 *
 *     7f0f2c0a1000 2e0 LazyCompile:*fib /app/fib.js:1:13
 *
 * Code memory is used again, so a later line wins: every earlier function that it overlaps is
 * gone.
 */
#pragma once

#include "object/symtab.h"

enum { PERF_MAP_LINES_MAX = 10 * 1000 * 1000, PERF_MAP_BYTES_MAX = 1 << 30 };

struct perf_map {
	struct symtab table;
	uint32_t lines, bad_lines, replaced; /* replaced: gone because a later line overlaps */
	bool cut;			     /* lines beyond the limit were not read */
};

/* 0 (whatever the text is), or -ENOMEM. A last line without a newline may be half written: not
 * read. */
int perf_map_parse(const char *text, size_t len, struct perf_map *ret_map);
void perf_map_done(struct perf_map *map);
