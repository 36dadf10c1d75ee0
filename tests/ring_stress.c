/*
 * A producer thread and a consumer thread over a small ring: no record is torn, none is lost
 * without being counted, and the counts agree to the last one.
 *
 *     ring_stress [records [seed]]
 *
 * Every record is a SAMPLE of random size whose words are made from its number. Runs under
 * TSan, which then watches the acquire and release pairs; and without, for the speed to reach
 * more interleavings.
 */
#include "abi/perf_abi.h"
#include "base/fileio.h"
#include "softperf/ringwriter.h"
#include "wick/perf_ringbuf.h"
#include "wick/record.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 400

struct stress {
	struct ringwriter *writer;
	struct perf_ringbuf *ring;
	struct wick_layout layout;
	uint64_t records, seed;
	int done; /* the producer's last record is committed; atomic */
	/* the consumer's */
	uint64_t seen, said_lost, last_number, faults;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t word_of(uint64_t number, uint64_t i)
{
	return (number * 0x9e3779b97f4a7c15u) ^ (i << 40);
}

/* header, time = number, callchain count, callchain */
static size_t make_record(uint64_t number, uint64_t random, uint64_t *words)
{
	uint64_t n = random % 8 ? random / 8 % 12 : random / 8 % WORDS_MAX;
	uint64_t size = (3 + n) * 8;

	words[0] = PERF_RECORD_SAMPLE | size << 48;
	words[1] = number;
	words[2] = n;
	for (uint64_t i = 0; i < n; i++)
		words[3 + i] = word_of(number, i);
	return size;
}

static void *produce(void *arg)
{
	struct stress *stress = arg;
	uint64_t words[3 + WORDS_MAX], state = stress->seed, spin = 0;

	for (uint64_t number = 1; number <= stress->records; number++) {
		size_t size = make_record(number, next_random(&state), words);

		if (ringwriter_write(stress->writer, words, size) == -ENOSPC)
			spin = next_random(&state) % 4 ? 200 : 0; /* sometimes wait a little */
		for (; spin; spin--)
			__atomic_load_n(&stress->done, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&stress->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void fault(struct stress *stress, const char *what)
{
	if (stress->faults++ < 10)
		fprintf(stderr, "ring_stress: %s behind record %llu (seed %llu)\n", what,
			(unsigned long long)stress->last_number,
			(unsigned long long)stress->seed);
}

static void check(struct stress *stress, const void *bytes, size_t size)
{
	struct wick_record record;

	if (wick_record_decode(&stress->layout, bytes, size, &record) != (int)size) {
		fault(stress, "a record that cannot be decoded");
		return;
	}
	if (record.type == PERF_RECORD_LOST) {
		stress->said_lost += record.lost.lost;
		if (record.lost.id != 42)
			fault(stress, "a LOST of another event");
		return;
	}
	stress->seen++;
	if (record.id.time <= stress->last_number)
		fault(stress, "a record out of order");
	/* What is missing in between was said lost, in front of this record. */
	if (record.id.time != stress->seen + stress->said_lost)
		fault(stress, "a count that is wrong");
	stress->last_number = record.id.time;
	for (uint64_t i = 0; i < record.sample.callchain.n; i++)
		if (wick_word(record.sample.callchain, i) != word_of(record.id.time, i)) {
			fault(stress, "a torn record");
			break;
		}
}

static void drain(struct stress *stress)
{
	const void *record;
	int size;

	perf_ringbuf_fetch(stress->ring);
	while ((size = perf_ringbuf_peek(stress->ring, &record)) > 0) {
		check(stress, record, (size_t)size);
		perf_ringbuf_next(stress->ring);
		if (stress->seen % 3 == 0) /* room is given back in the middle, too */
			perf_ringbuf_release(stress->ring);
	}
	if (size < 0) {
		fault(stress, "a broken ring");
		perf_ringbuf_skip(stress->ring);
	}
	perf_ringbuf_release(stress->ring);
}

static void consume(struct stress *stress)
{
	int done;

	do {
		struct pollfd wait = {ringwriter_wakeup_fd(stress->writer), POLLIN, 0};
		uint64_t count;

		poll(&wait, 1, 1);
		if (wait.revents && read(wait.fd, &count, sizeof(count)) < 0)
			fault(stress, "an eventfd that cannot be read");
		done = __atomic_load_n(&stress->done, __ATOMIC_ACQUIRE);
		drain(stress);
	} while (!done);
}

static int stress_run(struct stress *stress)
{
	struct ringwriter_options options = {.pages = 1, .id = 42, .watermark_bytes = 512};
	const struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.flags = ATTR_SAMPLE_ID_ALL,
	};
	pthread_t producer;
	uint64_t at_the_end;
	int rc = wick_layout_init(&stress->layout, &attr);

	options.layout = stress->layout;
	if (rc == 0)
		rc = ringwriter_new(&options, &stress->writer);
	if (rc == 0)
		rc = perf_ringbuf_open(ringwriter_fd(stress->writer), 1, &stress->ring);
	if (rc == 0)
		rc = -pthread_create(&producer, NULL, produce, stress);
	if (rc < 0)
		return rc;
	consume(stress);
	pthread_join(producer, NULL);
	at_the_end = ringwriter_lost_total(stress->writer) - stress->said_lost;
	if (stress->seen + stress->said_lost + at_the_end != stress->records)
		fault(stress, "a sum that is wrong");
	printf("%llu records: %llu seen, %llu lost, of which %llu at the end; %llu faults\n",
		(unsigned long long)stress->records, (unsigned long long)stress->seen,
		(unsigned long long)(stress->said_lost + at_the_end),
		(unsigned long long)at_the_end, (unsigned long long)stress->faults);
	return 0;
}

int main(int argc, char **argv)
{
	struct stress stress = {.records = 300000, .seed = 88172645463325252ull};
	int rc = 0;

	if (argc > 1)
		rc = parse_u64(argv[1], strlen(argv[1]), &stress.records);
	if (argc > 2 && rc == 0)
		rc = parse_u64(argv[2], strlen(argv[2]), &stress.seed);
	if (rc < 0 || !stress.seed) {
		fprintf(stderr, "usage: ring_stress [records [seed]]\n");
		return 2;
	}
	rc = stress_run(&stress);
	if (rc < 0)
		fprintf(stderr, "ring_stress: %s\n", strerror(-rc));
	perf_ringbuf_close(stress.ring);
	ringwriter_free(stress.writer);
	/* A run that never lost and never kept anything has tested nothing. */
	return rc < 0 || stress.faults || !stress.seen;
}
