/*
 * Attaches a capture to running processes: every thread that exists exactly once, and through
 * inheritance every one that comes.
 */
#pragma once

#include "base/error.h"
#include "perf/capture.h"
#include "proc/proc.h"

#include <stdint.h>

/*
 * All threads of a process. Returns how many were attached (0: it has just ended), or a
 * negative errno and a sentence: -ESRCH when there is no such process.
 */
int attach_process(
	struct capture *capture, const struct proc *proc, int32_t pid, struct error *err);

/* One thread. */
int attach_thread(struct capture *capture, int32_t tid, struct error *err);
