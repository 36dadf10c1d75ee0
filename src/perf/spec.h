/*
 * Which event to sample: from a name to an attr, and the best one that delivers here.
 *
 * May be used by session/ and cli/. Talks to the kernel: opens events on the calling thread to
 * see what is allowed and what really counts.
 */
#pragma once

#include "abi/perf_abi.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { SPEC_CPUS_MAX = 1024, SPECS_MAX = 32 };

struct event_spec {
	uint32_t type;
	uint64_t config, config1, config2;
	char name[64]; /* "cycles", "cpu-clock:u" */
	bool exclude_user, exclude_kernel;
	bool by_user;		 /* a modifier decided user or kernel: keep it */
	bool weight_is_ns;	 /* cpu-clock and task-clock */
	uint64_t default_period; /* 0: sampled by frequency when nobody says otherwise */
	char cpus[256]; /* of a hybrid machine's core PMU, as sysfs lists them; "": all */
};

/*
 * Parses one event: a name of `wick list`, rNNN, pmu/field=value,.../, each with :u or :k or
 * :uk behind. -EINVAL with a sentence that names what is not understood.
 */
int spec_parse(const char *text, struct event_spec *ret_spec, struct error *err);

/*
 * The events to sample when none is named: the CPU's cycles where a PMU delivers (one event per
 * core PMU on a hybrid machine), else cpu-clock. Kernel and user, or user only where the
 * kernel's part is refused. Returns how many (1 to SPECS_MAX); `why` (at least 192 bytes) says
 * why it is not the first choice, or is empty. A negative errno and a sentence when the kernel
 * allows no event at all.
 */
int spec_pick(struct event_spec *ret_specs, char *why, struct error *err);

/*
 * Makes a named event openable: drops the kernel's part when it is refused (and not by_user).
 * A sentence names the knob when the event cannot be had.
 */
int spec_settle(struct event_spec *spec, char *why, struct error *err);

/* The attr's common part: type, config, excludes, size. The rest is zero. */
void spec_attr(const struct event_spec *spec, struct perf_event_attr *ret_attr);

/* A sentence for a failed perf_open() of this event; returns `code`. */
int spec_explain(const struct event_spec *spec, int code, struct error *err);

/* Opens the event on this thread, resting, and closes it: 0 or a negative errno. */
int spec_try_open(const struct event_spec *spec);

/*
 * Counts a busy moment on this thread and samples another: 0 when samples came; -ENODATA when
 * it opens and delivers nothing; else a negative errno. Takes about 6 ms.
 */
int spec_try_deliver(const struct event_spec *spec);
