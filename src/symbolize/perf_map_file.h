/* Finds and reads the perf map that a JIT compiler wrote for a process. */
#pragma once

#include "object/perf_map.h"
#include "symbolize/symbolize.h"

/*
 * `live`: /proc/PID/root/tmp/perf-N.map, N the pid in the process's own namespace; then sysroot
 * + /tmp/perf-PID.map. Anybody may write to /tmp: the file counts only if its owner is the
 * process's user (where it is gone: the caller's), or root. 1: read; 0: none; or -ENOMEM.
 */
int perf_map_file_read(
	const struct symbolizer_options *options, int pid, struct perf_map *ret_map);
