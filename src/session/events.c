#include "session/events.h"

#include "base/cleanup.h"
#include "session/copies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RING_BYTES = 2 << 20,
	RING_BYTES_STACKS = 8 << 20,  /* with copied stacks, or more: see copies.h */
	RINGS_BYTES_MOST = 256 << 20, /* of all CPUs together */
	CPUS_MAX = 4096,
	MAX_HZ = 100000, /* -F max asks for more than there is */
};

int events_choose(struct events *events, const struct record_options *options,
	struct quality *quality, struct error *err)
{
	size_t used = 0;
	int rc = 0;

	if (!options->event_count) {
		rc = spec_pick(events->specs, quality->why_event, err);
		events->count = rc > 0 ? (uint32_t)rc : 0;
	}
	for (uint32_t i = 0; rc >= 0 && i < options->event_count && i < SPECS_MAX; i++) {
		rc = spec_parse(options->events[i], &events->specs[i], err);
		if (rc >= 0)
			rc = spec_settle(&events->specs[i], quality->why_event, err);
		events->count++;
	}
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < events->count; i++) {
		snprintf(quality->event + used, sizeof(quality->event) - used, "%s%.40s",
			i ? "," : "", events->specs[i].name);
		used = strlen(quality->event);
	}
	quality->source =
		events->specs[0].exclude_kernel ? SOURCE_KERNEL_USER_ONLY : SOURCE_KERNEL;
	quality->weight_is_ns = events->specs[0].weight_is_ns;
	quality->period = options->period;
	quality->frequency_hz = options->frequency_hz;
	if (!quality->period && !quality->frequency_hz)
		quality->frequency_hz = RECORD_DEFAULT_HZ;
	return 0;
}

/* The CPUs of one event: all that are online, or its own core PMU's of a hybrid machine. */
static int spec_cpus(const struct cpu_list *online, const struct event_spec *spec, int *cpus)
{
	cleanup_with(cpu_list_done) struct cpu_list own = {0};
	uint32_t n = 0;

	if (spec->cpus[0] && cpu_list_parse(spec->cpus, strlen(spec->cpus), &own) < 0)
		cpu_list_done(&own);
	for (uint32_t i = 0; i < online->count && n < CPUS_MAX; i++) {
		bool mine = !own.count;

		for (uint32_t k = 0; k < own.count && !mine; k++)
			mine = own.cpus[k] == online->cpus[i];
		if (mine)
			cpus[n++] = (int)online->cpus[i];
	}
	return (int)n;
}

/* Samples a second; 0: not known beforehand. */
static uint64_t asked_hz(const struct quality *quality)
{
	if (quality->period)
		return quality->weight_is_ns ? 1000000000 / quality->period : 0;
	return quality->frequency_hz < MAX_HZ ? quality->frequency_hz : MAX_HZ;
}

/* How many share each CPU's ring, and copy the stack each. */
static uint64_t sharing(const struct events *events)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < events->count; i++)
		n += !events->specs[i].cpus[0]; /* else it is one kind of core's */
	return n ? n : 1;
}

/* What is sensible where nobody says: a power of two. */
static uint32_t default_pages(const struct events *events, const struct quality *quality,
	uint32_t copied, uint32_t cpus)
{
	uint64_t hz = asked_hz(quality) * sharing(events);
	size_t bytes = copied ? copies_ring_bytes(hz, copied, RING_BYTES_STACKS) : RING_BYTES;

	while (bytes > 128 << 10 && (uint64_t)bytes * cpus > RINGS_BYTES_MOST)
		bytes /= 2;
	return (uint32_t)(bytes / (size_t)sysconf(_SC_PAGESIZE));
}

int events_capture(const struct events *events, const struct record_options *options,
	const struct cpu_list *cpus, const struct events_how *how, struct quality *quality,
	struct capture **ret_capture, struct error *err)
{
	cleanup_free struct capture_event *wanted = calloc(SPECS_MAX, sizeof(*wanted));
	cleanup_free int *numbers = calloc((size_t)SPECS_MAX * CPUS_MAX, sizeof(*numbers));
	struct capture_options capture = {.events = wanted,
		.event_count = events->count,
		.pages = options->pages,
		.start = how->start,
		.per_cpu = how->per_cpu,
		.no_idle = how->no_idle,
		.sideband_event = how->sideband_event,
		.no_callchain = how->no_callchain,
		.user_regs = how->user_regs,
		.stack_bytes = how->stack_bytes,
		.grown_stack_bytes = how->grown_stack_bytes};

	if (!wanted || !numbers)
		return error_set(err, -ENOMEM, "out of memory while preparing the recording");
	if (!capture.pages)
		capture.pages = default_pages(events, quality, how->stack_bytes, cpus->count);
	quality->ring_pages_asked = capture.pages;
	for (uint32_t i = 0; i < events->count; i++) {
		int *own = numbers + (size_t)i * CPUS_MAX;

		wanted[i].spec = events->specs[i];
		wanted[i].cpus = own;
		wanted[i].cpu_count = (uint32_t)spec_cpus(cpus, &events->specs[i], own);
		wanted[i].period = quality->period;
		wanted[i].frequency_hz = quality->frequency_hz;
		if (events->specs[i].default_period && !options->frequency_hz &&
			!quality->period)
			wanted[i].period = events->specs[i].default_period;
	}
	return capture_new(&capture, ret_capture, err);
}
