/*
 * The checks, by theme. What a check writes must not depend on addresses, times or pids:
 * numbers that are the same on every run, and yes or no for the rest.
 *
 * Page faults are the event of choice: user space makes them one by one.
 */
#pragma once

#include "side.h"

/* ---- checks_shared.c */

/* Page faults in user mode, disabled. */
struct perf_event_attr faults(uint64_t period, uint64_t sample_type);
const char *error_name(int code);
int open_self(struct side *side, struct perf_event_attr *attr);

struct drained {
	uint32_t samples, lost_records, others, broken, in_region;
	uint64_t lost;
	uint32_t sizes; /* distinct sizes of samples; the last one: */
	uint32_t size;
	struct wick_record last; /* of the samples; its pointers are gone */
};

struct drained drain(
	struct side *side, const struct perf_event_attr *attr, struct perf_ringbuf *ring);

/* Reading a ring and writing down what was seen touch pages, too. */
void fault_counted(struct side *side, int fd, uint32_t n);

/* ---- check_open.c */

void check_arguments(struct side *side, struct strbuf *out);
void check_sizes(struct side *side, struct strbuf *out);
void check_groups_open(struct side *side, struct strbuf *out);
void check_mmap(struct side *side, struct strbuf *out);
void check_ioctls(struct side *side, struct strbuf *out);

/* ---- check_ring.c */

void check_ring_full(struct side *side, struct strbuf *out);
void check_wakeups(struct side *side, struct strbuf *out);
void check_overwrite(struct side *side, struct strbuf *out);
void check_overwrite_forward(struct side *side, struct strbuf *out);
void check_output(struct side *side, struct strbuf *out);
void check_throttled(struct side *side, struct strbuf *out);
void check_not_throttled(struct side *side, struct strbuf *out);
void check_throttle_limit(struct side *side, struct strbuf *out);

/* ---- check_samples.c */

void check_samples(struct side *side, struct strbuf *out);
void check_periods(struct side *side, struct strbuf *out);
void check_period_changes(struct side *side, struct strbuf *out);
void check_group_samples(struct side *side, struct strbuf *out);

/* ---- check_counts.c */

void check_read(struct side *side, struct strbuf *out);
void check_times(struct side *side, struct strbuf *out);
void check_groups(struct side *side, struct strbuf *out);
void check_inherit(struct side *side, struct strbuf *out);
void check_child_stream(struct side *side, struct strbuf *out);
void check_waiting(struct side *side, struct strbuf *out);
void check_on_exec(struct side *side, struct strbuf *out);
void check_poll(struct side *side, struct strbuf *out);
void check_sideband(struct side *side, struct strbuf *out);
void check_clock(struct side *side, struct strbuf *out);
