/*
 * A cgroup (v2) of our own around the command, so that per-CPU events can be confined to it:
 * they see threads that live shorter than a period, which inherited events do not.
 *
 *     <where we are>/wick-PID-START/       removed at the end, or by the next recorder
 *
 * Also finds existing cgroups, for -G.
 */
#pragma once

#include "base/error.h"
#include "proc/proc.h"

#include <stdbool.h>
#include <stdint.h>

struct confine {
	int fd;		/* of its directory, for clone3 and perf_event_open; -1: none */
	bool made;	/* ours, to be removed */
	char path[512]; /* in the file system */
};

/*
 * Makes one below our own cgroup, and removes those of recorders that are dead. A negative
 * errno where there is no cgroup v2 or no permission: then threads are followed by inheritance.
 */
int confine_new(struct confine *confine, const struct proc *proc);

/* An existing one: a path below the mount of cgroup v2, or an absolute path of the file system.
 */
int confine_open(
	struct confine *confine, const struct proc *proc, const char *path, struct error *err);

/* Its cgroup's CPU time so far, in ns. 0 or a negative errno. */
int confine_cpu(const struct confine *confine, uint64_t *ret_cpu, uint64_t *ret_user,
	uint64_t *ret_kernel);

/* Moves what still runs in there back to where we are, removes it, closes. Takes fd -1, too. */
void confine_done(struct confine *confine);
