/*
 * Waits for a process that is not there yet: record --wait-name NAME.
 */
#pragma once

#include "base/error.h"
#include "proc/cpus.h"
#include "proc/proc.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns the pid of the next process that execs into a command of that name (as /proc/PID/comm
 * shows it: cut after 15 bytes). Where whole CPUs may be watched the kernel tells of the exec
 * at once; else /proc is looked through again and again, and a short-lived process may be
 * missed: *ret_exact says which. -EINTR and a sentence when `stop_fd` (-1: none) becomes
 * readable first.
 */
int32_t wait_for_name(const struct proc *proc, const struct cpu_list *cpus, const char *name,
	int stop_fd, bool *ret_exact, struct error *err);
