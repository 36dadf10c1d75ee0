/*
 * A round: read the clock, fetch every ring, hand on what is surely complete, give the room
 * back. Room is given back during a long round too, so that the writers do not wait for its
 * end.
 */
#include "session/pump.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
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

int pump_init(struct pump *pump, struct capture *capture, pump_sink_fn sink, void *ctx)
{
	uint32_t count = capture_ring_count(capture);
	cleanup_free struct merge_input *inputs = calloc(count, sizeof(*inputs));

	*pump = (struct pump){.capture = capture, .sink = sink, .ctx = ctx};
	if (!inputs)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		inputs[i] = (struct merge_input){.ring = capture_ring(capture, i),
			.peek = ring_peek,
			.next = ring_next,
			.layout = capture_layout(capture)};
	return merge_init(&pump->merge, inputs, count);
}

void pump_done(struct pump *pump)
{
	merge_done(&pump->merge);
}

static uint64_t merge_limit(const struct pump *pump, bool everything)
{
	clockid_t clock = capture_clock(pump->capture);
	struct timespec ts;

	if (everything || clock < 0 || clock_gettime(clock, &ts) < 0)
		return UINT64_MAX;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec - PUMP_SLACK_NS;
}

static void release_all(struct pump *pump)
{
	for (uint32_t i = 0; i < capture_ring_count(pump->capture); i++)
		perf_ringbuf_release(capture_ring(pump->capture, i));
}

int pump_round(struct pump *pump, bool everything)
{
	uint64_t limit = merge_limit(pump, everything);
	const void *record;
	uint32_t input, since_release = 0;
	int size, rc = 0;

	for (uint32_t i = 0; i < capture_ring_count(pump->capture); i++)
		perf_ringbuf_fetch(capture_ring(pump->capture, i));
	merge_round(&pump->merge);
	while (rc >= 0 && (size = merge_next(&pump->merge, limit, &record, &input)) != 0) {
		if (size < 0) {
			pump->broken_bytes +=
				perf_ringbuf_skip(capture_ring(pump->capture, input));
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
