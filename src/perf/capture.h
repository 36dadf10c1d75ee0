/*
 * A capture: the sampling events of one recording, on all its targets and CPUs, and their
 * rings.
 *
 *                 cpu 0              cpu 1
 *     thread a    event --+          event --+        every event of a CPU writes into that
 *     thread b    event --+- ring 0  event --+- ring 1  CPU's ring (ioctl SET_OUTPUT)
 *
 * Each event inherits: it follows what its thread creates. The first event of each thread and
 * CPU carries the side-band (MMAP2, COMM, FORK, EXIT). One thread drives a capture.
 */
#pragma once

#include "base/error.h"
#include "perf/spec.h"
#include "wick/perf_ringbuf.h"
#include "wick/record.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct capture;

struct capture_event {
	struct event_spec spec;
	const int *cpus; /* on these; must outlive capture_new() */
	uint32_t cpu_count;
	uint64_t frequency_hz, period; /* one of them is 0 */
};

enum capture_start {
	CAPTURE_AT_ONCE, /* sampling begins as each event is opened */
	CAPTURE_ON_EXEC, /* of a command that has not exec'ed yet */
	CAPTURE_BY_HAND, /* with capture_enable() */
};

struct capture_options {
	const struct capture_event *events;
	uint32_t event_count;
	uint32_t pages; /* of data a ring; halved until it fits */
	enum capture_start start;
	bool per_cpu;	     /* whole CPUs or cgroups: nothing is inherited */
	bool no_idle;	     /* the idle task is not sampled */
	bool sideband_event; /* the side-band has an event of its own, so that the others may
				rest */
	bool no_callchain;   /* only where the thread was */
	/* Copied with each sample, in place of the kernel's frame-pointer chain of the user
	 * part. */
	uint64_t user_regs;   /* mask; 0: none */
	uint32_t stack_bytes; /* a multiple of 8 */
	/* A second event beside each that copies so much, and rests until capture_grow(). 0:
	 * none. */
	uint32_t grown_stack_bytes;
	bool wake_at_once; /* poll() returns for every record, not for a quarter of a ring */
};

/* Allocates; opens nothing. */
int capture_new(
	const struct capture_options *options, struct capture **ret_capture, struct error *err);
void capture_free(struct capture *capture);

/*
 * Opens all events for a thread, a cgroup (a descriptor of its directory) or whole CPUs. The
 * first call makes the rings: -EPERM there when not even one page may be locked. -ESRCH: the
 * thread is gone; what was opened for it rests until capture_free().
 */
int capture_attach(struct capture *capture, pid_t tid, struct error *err);
int capture_attach_cgroup(struct capture *capture, int cgroup_fd, struct error *err);
int capture_attach_cpus(struct capture *capture, struct error *err);

/* The sampling events; the side-band event goes on. */
int capture_enable(struct capture *capture);
int capture_disable(struct capture *capture);

/*
 * From now on the events that copy more of the stack sample in place of the others. Their ids
 * are among capture_ids() from the start, and what they count is part of capture_read().
 * -ENOENT where there are none (any more).
 */
int capture_grow(struct capture *capture);

/* With the side-band event. */
uint32_t capture_event_count(const struct capture *capture);

uint32_t capture_ring_count(const struct capture *capture);
struct perf_ringbuf *capture_ring(const struct capture *capture, uint32_t ring);
int capture_ring_fd(const struct capture *capture, uint32_t ring); /* for poll */
uint32_t capture_pages(const struct capture *capture);		   /* what fitted */

/* All events share it. */
const struct wick_layout *capture_layout(const struct capture *capture);
clockid_t capture_clock(const struct capture *capture);
uint32_t capture_fd_count(const struct capture *capture);
bool capture_frequency_capped(const struct capture *capture, uint64_t *ret_hz);

/*
 * The attr as opened, and the ids of event `index`, owned by the capture. The side-band event,
 * where there is one, stands behind the others: index event_count.
 */
const struct perf_event_attr *capture_attr(const struct capture *capture, uint32_t index);
const uint64_t *capture_ids(const struct capture *capture, uint32_t index, uint32_t *ret_count);

struct capture_count {
	uint64_t value; /* summed over targets and CPUs, with what they created */
	uint64_t lost;	/* PERF_FORMAT_LOST; 0 where the kernel has it not */
	bool has_lost;
	bool scaled; /* the PMU was shared: running < enabled; value is scaled up */
};

/* read() of all descriptors of one event. */
int capture_read(
	const struct capture *capture, uint32_t index, struct capture_count *ret_count);
