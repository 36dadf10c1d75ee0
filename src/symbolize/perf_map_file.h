/* The perf map of a process: names for code that was compiled while it ran. */
#pragma once

#include "object/perf_map.h"
#include "symbolize/symbolize.h"

struct perf_map_read {
	struct perf_map map;
	bool refused;	 /* there is one, of another user or of an earlier process */
	bool unreadable; /* there is one, which cannot be read */
};

/* 1: it was read; 0: there is none that counts; -ENOMEM. */
int perf_map_file_read(
	const struct symbolizer_options *options, int pid, struct perf_map_read *ret_read);
