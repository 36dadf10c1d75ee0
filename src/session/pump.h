/*
 * Moves bytes: rings -> merge by time -> a sink. Knows no record but by its time.
 */
#pragma once

#include "perf/capture.h"
#include "record/merge.h"
#include "session/strain.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* How long a writer may sleep between taking a record's time and committing it (see merge.h).
 */
enum { PUMP_SLACK_NS = 10 * 1000 * 1000 };

/* One record, in the order of time; a negative return value ends the round and is handed on. */
typedef int (*pump_sink_fn)(void *ctx, const void *record, uint32_t size);

/*
 * Called during a round, so that whoever does the work may do less of it: how full the fullest
 * ring is.
 */
typedef void (*pump_pressure_fn)(void *ctx, const struct pressure *pressure);

struct pump_ring {
	struct perf_ringbuf *ring; /* borrowed */
	const struct wick_layout *layout;
	/* The pump's own: counters at the round's beginning, and how much was left as too
	 * young. */
	uint64_t head, tail, young;
};

struct pump {
	struct pump_ring *rings; /* owned */
	uint32_t ring_count;
	clockid_t clock; /* of the records' times; negative: a round hands on everything */
	struct merge merge;
	pump_sink_fn sink;
	pump_pressure_fn on_pressure; /* may be set after pump_init(); NULL: nobody asks */
	void *ctx;
	size_t release_bytes;  /* room is given back after so many */
	uint64_t broken_bytes; /* given up: a ring that held no record where one should be */
	uint64_t records;
};

/* The capture's rings are complete. 0 or -ENOMEM; pump_done() takes a zeroed struct, too. */
int pump_init(struct pump *pump, struct capture *capture, pump_sink_fn sink, void *ctx);
/* The same for rings that no capture made (copied): those of the simulated kernel. */
int pump_init_rings(struct pump *pump, const struct pump_ring *rings, uint32_t count,
	clockid_t clock, pump_sink_fn sink, void *ctx);
void pump_done(struct pump *pump);

/* Hands on what is older than PUMP_SLACK_NS, or everything. Returns 0 or what the sink
 * returned. */
int pump_round(struct pump *pump, bool everything);
