/*
 * Whom a recording follows, and how.
 *
 *     a command        per CPU, confined to a cgroup of its own, where that is permitted:
 * threads that live shorter than a period are seen; else events that inherit -p, -t events on
 * each thread, that inherit -G, -a           per CPU, confined to an existing cgroup or not at
 * all
 */
#pragma once

#include "base/error.h"
#include "perf/capture.h"
#include "proc/cpus.h"
#include "proc/proc.h"
#include "profile/quality.h"
#include "session/clocks.h"
#include "session/child.h"
#include "session/confine.h"
#include "session/events.h"
#include "session/recorder.h"

#include <stdbool.h>
#include <stdint.h>

struct targets {
	const struct record_options *options;
	const struct proc *proc;
	const struct cpu_list *cpus; /* that are sampled */
	struct confine confine;
	struct child command;
	struct capture *capture;
	enum quality_scope scope;
	uint64_t user_regs; /* copied with each sample, with so much of the stack; 0: nothing is
			     */
	uint32_t stack_bytes;
	uint32_t grown_bytes; /* what may be copied instead from some time on; 0: no more */
	int late_refused;     /* negative errno: stacks cannot be read on from the processes */
	int32_t refused_by;   /* see copies_late_refused() */
	bool by_hand; /* sampling begins with capture_enable(), not by exec or at once */
	struct process_clock *clocks;			 /* of -p */
	uint64_t cgroup_cpu, cgroup_user, cgroup_kernel; /* when it began */
	uint64_t busy_ns;				 /* of all CPUs, when it began (-a) */
};

/*
 * Chooses the way, opens every event, forks the command (which waits). `pause`: sampling is
 * begun by hand in any case. targets_done() also after a failure.
 */
int targets_open(struct targets *targets, const struct record_options *options,
	const struct proc *proc, const struct events *events, const struct cpu_list *cpus,
	struct quality *quality, struct error *err);
void targets_done(struct targets *targets);

/* The independent clocks: started when sampling begins, read while it goes on, taken at the
 * end. */
void targets_clocks_start(struct targets *targets);
void targets_clocks_read(struct targets *targets);
void targets_clocks_take(struct targets *targets, struct quality *quality);
