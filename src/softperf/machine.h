/*
 * A simulated machine that plays a scenario, and the recorder's half inside it: the events on
 * each CPU and their rings. docs/HOW-PERF-WORKS.md describes the language; a small one:
 *
 *     cpus 1
 *     event cpu-clock freq 1000
 *     code main 0x401000
 *     code work 0x402000
 *     process 100 demo
 *     start
 *     on 0 100
 *     map 100 0x400000 0x10000 0 /bin/demo
 *     cpu 0 user main;work
 *     run 10ms
 *     exit 100
 *
 * Lines before `start` describe the machine and the recording, those behind it what happens.
 * Nothing depends on anything but the text: a scenario is the same, byte for byte, each time.
 */
#pragma once

#include "base/error.h"
#include "softperf/core.h"

enum {
	MACHINE_EVENTS_MAX = 8,
	MACHINE_LINES_MAX = 100000,
	MACHINE_STEPS_MAX = 10000000, /* lines that are run, repetitions counted */
};

struct machine;

struct machine_event {
	char name[32];
	struct perf_event_attr attr;
	uint64_t ids[CORE_CPUS_MAX]; /* one a CPU */
};

/*
 * Reads the scenario (not copied, must outlive the machine), builds the machine and opens the
 * events. -EINVAL and a sentence with the line's number.
 */
int machine_new(const char *text, size_t len, core_trace_fn trace, void *trace_ctx,
	struct machine **ret_machine, struct error *err);
void machine_free(struct machine *machine); /* NULL is fine */

uint32_t machine_cpus(const struct machine *machine);
uint32_t machine_event_count(const struct machine *machine);
const struct machine_event *machine_event(const struct machine *machine, uint32_t index);
size_t machine_pages(const struct machine *machine);
/* Its rings are written backward, for perf_ringbuf_open_backward(). */
bool machine_overwrites(const struct machine *machine);
int machine_ring_fd(const struct machine *machine, uint32_t cpu); /* the machine's */
struct core *machine_core(struct machine *machine);

/* The function that an address lies in, or NULL; *ret_start: its first byte. */
const char *machine_function(const struct machine *machine, uint64_t addr, uint64_t *ret_start);

/*
 * Plays the rest. `drain` is called whenever poll() would have woken the reader and at the end;
 * what it returns, when negative, ends the run.
 */
int machine_run(struct machine *machine, int (*drain)(void *ctx), void *ctx, struct error *err);

/* How often poll() woke the reader. */
uint64_t machine_wakeups(const struct machine *machine);
/* read() of all descriptors of one event: the count, and what was lost. */
int machine_read(
	struct machine *machine, uint32_t index, uint64_t *ret_count, uint64_t *ret_lost);
