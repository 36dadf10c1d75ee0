/*
 * The events of a recording: chosen by name or by what delivers, and the capture made of them.
 */
#pragma once

#include "base/error.h"
#include "perf/capture.h"
#include "perf/spec.h"
#include "proc/cpus.h"
#include "profile/quality.h"
#include "session/recorder.h"

#include <stdbool.h>
#include <stdint.h>

struct events {
	struct event_spec specs[SPECS_MAX];
	uint32_t count;
};

/* Chooses, and says in `quality` which, why, and at what rate. */
int events_choose(struct events *events, const struct record_options *options,
	struct quality *quality, struct error *err);

/* How the events are opened: see struct capture_options. */
struct events_how {
	enum capture_start start;
	bool per_cpu, no_idle, sideband_event, no_callchain;
	uint64_t user_regs;
	uint32_t stack_bytes, grown_stack_bytes;
};

/* The capture of these events on these CPUs; nothing is attached yet. */
int events_capture(const struct events *events, const struct record_options *options,
	const struct cpu_list *cpus, const struct events_how *how, struct quality *quality,
	struct capture **ret_capture, struct error *err);
