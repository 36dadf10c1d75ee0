/*
 * The named events and the attr type and config behind each; shared by parsing and listing.
 * The cache events are named as perf names them: CACHE-loads, CACHE-load-misses, ...
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event_name {
	const char *name, *alias; /* alias may be NULL */
	uint32_t type;
	uint64_t config;
	bool weight_is_ns;
	const char *what; /* what it counts, in a few words; NULL where the name says it */
};

extern const struct event_name event_names[];
extern const uint32_t event_name_count;

/* NULL: no such name. */
const struct event_name *event_name_find(const char *name, uint32_t len);
