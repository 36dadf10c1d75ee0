/*
 * A small scenario for tests: some CPUs with a ring each, and records that are written to them
 * in the order of the steps, as a simulated kernel would.
 *
 *     static const struct scenario_step steps[] = {
 *             {.cpu = 0, .record = {.type = PERF_RECORD_SAMPLE, .id.time = 10}},
 *             {.cpu = 1, .record = {.type = PERF_RECORD_SAMPLE, .id.time = 5}, .repeat = 3,
 * .step_ns = 2},
 *     };
 */
#pragma once

#include "softperf/ringwriter.h"

struct perf_event_attr;

#define SCENARIO_CPUS_MAX 64

struct scenario {
	struct ringwriter *writers[SCENARIO_CPUS_MAX];
	struct wick_layout layouts[SCENARIO_CPUS_MAX];
	uint32_t cpus;
	uint64_t written, lost; /* records; lost + written is what the steps held */
};

struct scenario_step {
	uint32_t cpu;
	struct wick_record record; /* its id.cpu and id.id are set by the scenario */
	uint32_t repeat;	   /* 0: once */
	uint64_t step_ns;	   /* from one repetition's time to the next */
};

/* A ring of `pages` for each CPU; event ids count from 1. */
int scenario_init(struct scenario *scenario, const struct perf_event_attr *attr, uint32_t cpus,
	size_t pages);
void scenario_done(struct scenario *scenario);

/* Writes the steps; drops are counted, not errors. 0, or -EINVAL for a record that has no
 * bytes. */
int scenario_run(struct scenario *scenario, const struct scenario_step *steps, size_t count);
