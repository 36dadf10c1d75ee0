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

enum {
	RELEASES_A_RING = 8,
	RELEASE_LEAST = 16 << 10,
	/* And after so many records, which may be slow ones; with many rings it costs more. */
	RELEASE_RECORDS = 32,
	RELEASE_RECORDS_RING = 8,
};

enum { CACHE_LINE = 64, AHEAD_BYTES = 1024, AHEAD_LEAST = 4096 };

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
	pump->release_bytes = SIZE_MAX;
	for (uint32_t i = 0; i < count; i++) {
		size_t bytes = perf_ringbuf_size(rings[i].ring) / RELEASES_A_RING;

		pump->release_bytes = bytes < pump->release_bytes ? bytes : pump->release_bytes;
	}
	if (pump->release_bytes < RELEASE_LEAST)
		pump->release_bytes = RELEASE_LEAST;
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
		rings[i] = (struct pump_ring){
			.ring = capture_ring(capture, i), .layout = capture_layout(capture)};
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

/* ---- how full the rings are */

static uint32_t thousandths(uint64_t bytes, size_t size)
{
	return bytes < size ? (uint32_t)(bytes * 1000 / size) : 1000;
}

static void tell_pressure(struct pump *pump, bool begins)
{
	struct pressure worst = {0};

	for (uint32_t i = 0; pump->on_pressure && i < pump->ring_count; i++) {
		const struct pump_ring *ring = &pump->rings[i];
		size_t size = perf_ringbuf_size(ring->ring);
		uint64_t head, tail, waiting;

		perf_ringbuf_head_tail(ring->ring, &head, &tail);
		waiting = head - tail > ring->young ? head - tail - ring->young : 0;
		if (thousandths(waiting, size) >= worst.waiting)
			worst = (struct pressure){thousandths(waiting, size),
				thousandths(head - ring->head, size),
				thousandths(tail - ring->tail, size)};
	}
	worst.begins = begins;
	if (pump->on_pressure)
		pump->on_pressure(pump->ctx, &worst);
}

static void fetch_all(struct pump *pump)
{
	for (uint32_t i = 0; i < pump->ring_count; i++) {
		struct pump_ring *ring = &pump->rings[i];
		uint64_t fetched = perf_ringbuf_fetch(ring->ring), head;

		perf_ringbuf_head_tail(ring->ring, &head, &ring->tail);
		ring->head = ring->tail + fetched;
	}
	tell_pressure(pump, true);
}

static void release_all(struct pump *pump)
{
	for (uint32_t i = 0; i < pump->ring_count; i++)
		perf_ringbuf_release(pump->rings[i].ring);
	tell_pressure(pump, false);
}

/* What stayed although it had been fetched waits for its time, not for the reader's. */
static void note_young(struct pump *pump)
{
	for (uint32_t i = 0; i < pump->ring_count; i++) {
		struct pump_ring *ring = &pump->rings[i];
		uint64_t head, tail;

		perf_ringbuf_head_tail(ring->ring, &head, &tail);
		ring->young = ring->head - tail;
	}
}

/* ---- a round */

/*
 * Copied stacks were written long ago or by another CPU: what of the next one in this ring will
 * be looked at is fetched while this one is worked on. It most likely is as long.
 */
static void look_ahead(const void *record, uint32_t size)
{
	const uint8_t *next = (const uint8_t *)record + size;

	__builtin_prefetch(next + size - sizeof(uint64_t)); /* how much of it was copied */
	for (uint32_t at = 0; at < AHEAD_BYTES; at += CACHE_LINE)
		__builtin_prefetch(next + at);
}

int pump_round(struct pump *pump, bool everything)
{
	uint64_t limit = merge_limit(pump, everything);
	const void *record;
	uint32_t most = RELEASE_RECORDS + RELEASE_RECORDS_RING * pump->ring_count;
	size_t bytes = 0;
	uint32_t input, records = 0;
	int size, rc = 0;

	fetch_all(pump);
	merge_round(&pump->merge);
	while (rc >= 0 && (size = merge_next(&pump->merge, limit, &record, &input)) != 0) {
		if (size < 0) {
			pump->broken_bytes += perf_ringbuf_skip(pump->rings[input].ring);
			continue;
		}
		if ((uint32_t)size >= AHEAD_LEAST)
			look_ahead(record, (uint32_t)size);
		rc = pump->sink(pump->ctx, record, (uint32_t)size);
		merge_pop(&pump->merge);
		pump->records++;
		bytes += (size_t)size;
		if (bytes >= pump->release_bytes || ++records >= most) {
			bytes = records = 0;
			release_all(pump);
		}
	}
	release_all(pump);
	note_young(pump);
	return rc < 0 ? rc : 0;
}
