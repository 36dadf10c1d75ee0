/*
 * A round: read the clock, fetch every ring, hand on what is surely complete, give the room
 * back. Room is given back during a long round too, so that the writers do not wait for its
 * end.
 */
#include "session/pump.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RELEASE_EVERY = 512 };

static int ring_peek(void *ring, const void **ret_record)
{
	return perf_ringbuf_peek(ring, ret_record);
}

static void ring_next(void *ring)
{
	perf_ringbuf_next(ring);
}

int pump_init_rings(struct pump *pump, const struct pump_ring *rings, uint32_t count,
	clockid_t clock, pump_sink_fn sink, void *ctx)
{
	cleanup_free struct merge_input *inputs = calloc(count, sizeof(*inputs));

	*pump = (struct pump){.rings = calloc(count, sizeof(*rings)),
		.ring_count = count,
		.clock = clock,
		.sink = sink,
		.ctx = ctx};
	if (!inputs || !pump->rings)
		return -ENOMEM;
	memcpy(pump->rings, rings, count * sizeof(*rings));
	for (uint32_t i = 0; i < count; i++)
		inputs[i] = (struct merge_input){.ring = rings[i].ring,
			.peek = ring_peek,
			.next = ring_next,
			.layout = rings[i].layout};
	return merge_init(&pump->merge, inputs, count);
}

int pump_init(struct pump *pump, struct capture *capture, pump_sink_fn sink, void *ctx)
{
	uint32_t count = capture_ring_count(capture);
	cleanup_free struct pump_ring *rings = calloc(count, sizeof(*rings));

	*pump = (struct pump){.rings = NULL};
	if (!rings)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		rings[i] =
			(struct pump_ring){capture_ring(capture, i), capture_layout(capture)};
	return pump_init_rings(pump, rings, count, capture_clock(capture), sink, ctx);
}

void pump_done(struct pump *pump)
{
	merge_done(&pump->merge);
	free(pump->rings);
	pump->rings = NULL;
}

static uint64_t merge_limit(const struct pump *pump, bool everything)
{
	clockid_t clock = pump->clock;
	struct timespec ts;

	if (everything || clock < 0 || clock_gettime(clock, &ts) < 0)
		return UINT64_MAX;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec - PUMP_SLACK_NS;
}

static void release_all(struct pump *pump)
{
	for (uint32_t i = 0; i < pump->ring_count; i++)
		perf_ringbuf_release(pump->rings[i].ring);
}

int pump_round(struct pump *pump, bool everything)
{
	uint64_t limit = merge_limit(pump, everything);
	const void *record;
	uint32_t input, since_release = 0;
	int size, rc = 0;

	for (uint32_t i = 0; i < pump->ring_count; i++)
		perf_ringbuf_fetch(pump->rings[i].ring);
	merge_round(&pump->merge);
	while (rc >= 0 && (size = merge_next(&pump->merge, limit, &record, &input)) != 0) {
		if (size < 0) {
			pump->broken_bytes += perf_ringbuf_skip(pump->rings[input].ring);
			continue;
		}
		rc = pump->sink(pump->ctx, record, (uint32_t)size);
		merge_pop(&pump->merge);
		pump->records++;
		if (++since_release == RELEASE_EVERY) {
			since_release = 0;
			release_all(pump);
		}
	}
	release_all(pump);
	return rc < 0 ? rc : 0;
}
