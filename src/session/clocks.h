/*
 * The independent clock: what the target used by another account than the events' own, so that
 * coverage can be checked. Of a command: wait4(). Of processes: their CPU clocks, read again
 * and again, since a clock goes with its process.
 */
#pragma once

#include "proc/cpus.h"
#include "proc/proc.h"
#include "profile/quality.h"

#include <stdint.h>
#include <sys/resource.h>

struct process_clock {
	int32_t pid;
	uint64_t before, kernel_before; /* ns, when it was started */
	uint64_t used, kernel;		/* ns, since then */
};

/* From now on; a process that is gone reads 0. */
void process_clock_start(struct process_clock *clock, const struct proc *proc, int32_t pid);
void process_clock_read(struct process_clock *clock, const struct proc *proc);

/* Into quality.cpu_ns, user_ns, kernel_ns and cpu_clock_name. */
void clocks_take_processes(
	struct quality *quality, const struct process_clock *clocks, uint32_t count);
void clocks_take_usage(struct quality *quality, const struct rusage *usage);

/* Into quality.cpu_ns, and user_ns and kernel_ns where that is long enough to be told apart. */
void clocks_split(struct quality *quality, uint64_t user_ns, uint64_t kernel_ns);

/* The time that these CPUs were not idle, since boot (/proc/stat; ticks). QUALITY_UNKNOWN where
 * it cannot be read. */
uint64_t machine_busy_ns(const struct proc *proc, const struct cpu_list *cpus);
