/*
 * Records for what was there before the recording: the kernel's own mapping, and processes
 * whose exec nobody saw. Read from /proc when they are first needed, and written as the kernel
 * would have written them.
 */
#pragma once

#include "base/error.h"
#include "proc/proc.h"
#include "wick/record.h"

#include <stdbool.h>
#include <stdint.h>

struct synth {
	const struct proc *proc;
	const struct wick_layout *layout;
	uint64_t event_id; /* that the records carry */
	bool build_ids;	   /* mappings carry build ids, as the kernel's own then do */
	int (*emit)(void *ctx, const void *record, uint32_t size);
	void *ctx;
};

/* COMM, FORK of its threads and MMAP2. A process that is gone has none: 0. Else what emit says.
 */
int synth_process(const struct synth *synth, int32_t pid, uint64_t time_ns);

/* Only a name: of the command, before its exec. */
int synth_name(const struct synth *synth, int32_t pid, const char *name);

/* The kernel and its modules, where their addresses are not hidden. */
int synth_kernel(const struct synth *synth);
