/*
 * A producer thread and a consumer thread over a small ring: no record is torn, none is lost
 * without being counted, and the counts agree to the last one.
 *
 *     ring_stress [records [seed]]      of each run; without a seed: three of them
 *
 * Every record is a SAMPLE of random size whose words are made from its number. The runs:
 *
 *     plain      one record after the other
 *     nested     a record is interrupted by others in the middle of its bytes, three deep
 *     signals    the producer is interrupted by signals, wherever it is, that write, too
 *     paused     the consumer pauses the output now and then: what is lost then is counted
 *     backward   nobody waits: the newest replace the oldest, and the consumer, having paused
 *                the output, finds the newest without a gap
 *
 * Runs under TSan, which then watches the acquire and release pairs; and without, for the speed
 * to reach more interleavings. TAP.
 */
#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "softperf/ringwriter.h"
#include "wick/perf_ringbuf.h"
#include "wick/record.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 400, NEST_MAX = 3, LEVELS = 2, OF_A_SIGNAL = 1 };

enum mode { PLAIN, NESTED, SIGNALS, PAUSED, BACKWARD };

static const char *const mode_names[] = {"plain", "nested", "signals", "paused", "backward"};

struct stress {
	enum mode mode;
	size_t pages;
	struct ringwriter *writer;
	struct perf_ringbuf *ring;
	struct wick_layout layout;
	uint64_t records, seed;
	int done;	/* the producer's last record is committed; atomic */
	uint64_t beats; /* records that the producer has tried; atomic */
	int paused;	/* by the consumer; atomic */
	/* the producer's; [OF_A_SIGNAL]: its handler's */
	uint64_t numbers[LEVELS], random[LEVELS];
	/* the consumer's */
	uint64_t seen, said_lost, last_number[LEVELS], faults;
};

/* Whom a signal finds: set before the first can come. */
static struct stress *interrupted;

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

/* header, time = level and number, callchain count, callchain */
static size_t make_record(uint64_t time, uint64_t random, uint64_t *words)
{
	uint64_t n = random % 8 ? random / 8 % 12 : random / 8 % WORDS_MAX;
	uint64_t size = (3 + n) * 8;

	words[0] = PERF_RECORD_SAMPLE | size << 48;
	words[1] = time;
	words[2] = n;
	for (uint64_t i = 0; i < n; i++)
		words[3 + i] = word_of(time, i);
	return size;
}

/* ---- the producer */

/* Returns whether there was room. */
static bool produce_one(struct stress *stress, uint64_t level, unsigned depth)
{
	uint64_t words[3 + WORDS_MAX], *random = &stress->random[level];
	uint64_t number = ++stress->numbers[level];
	size_t size = make_record(level << 56 | number, next_random(random), words), cut;
	struct ringwriter_record record;
	struct wick_sample_id now = {.time = words[1]};

	if (ringwriter_reserve(stress->writer, NULL, size, &now, &record) < 0)
		return false;
	cut = next_random(random) % (size / 8 - 1) * 8 + 8;
	ringwriter_put(&record, words, cut);
	while (stress->mode == NESTED && depth < NEST_MAX && next_random(random) % 4 == 0 &&
		stress->numbers[level] < stress->records)
		produce_one(stress, level, depth + 1);
	ringwriter_put(&record, (const char *)words + cut, size - cut);
	ringwriter_commit(&record);
	return true;
}

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	produce_one(interrupted, OF_A_SIGNAL, 0);
	errno = saved;
}

static void beat(struct stress *stress)
{
	__atomic_fetch_add(&stress->beats, 1, __ATOMIC_SEQ_CST);
}

static void *produce(void *arg)
{
	struct stress *stress = arg;
	uint64_t failures = 0;

	while (stress->numbers[0] < stress->records) {
		bool room = produce_one(stress, 0, 0);

		beat(stress);
		/* Mostly the consumer gets a chance; losses in a row come, too, but not all of
		 * the run in one pause. */
		failures = room ? 0 : failures + 1;
		if (!room && next_random(&stress->random[0]) % 4)
			sched_yield();
		while (failures > 100 && __atomic_load_n(&stress->paused, __ATOMIC_RELAXED)) {
			beat(stress); /* it waits for us: nothing is half done */
			sched_yield();
		}
	}
	__atomic_store_n(&stress->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Sends signals until the producer has done its part, and waits for it. */
static void interrupt(struct stress *stress, pthread_t producer)
{
	const struct timespec pause = {0, 20000};

	while (!__atomic_load_n(&stress->done, __ATOMIC_ACQUIRE)) {
		pthread_kill(producer, SIGUSR1);
		nanosleep(&pause, NULL);
	}
	pthread_join(producer, NULL);
}

static void *interrupter(void *arg)
{
	struct stress *stress = arg;
	pthread_t producer;

	interrupted = stress;
	if (pthread_create(&producer, NULL, produce, stress) != 0)
		abort();
	if (stress->mode == SIGNALS)
		interrupt(stress, producer);
	else
		pthread_join(producer, NULL);
	return NULL;
}

/* ---- the consumer */

static void fault(struct stress *stress, const char *what)
{
	if (stress->faults++ < 10)
		printf("# %s behind record %llu\n", what,
			(unsigned long long)stress->last_number[0]);
}

static void check_words(struct stress *stress, const struct wick_record *record)
{
	for (uint64_t i = 0; i < record->sample.callchain.n; i++)
		if (wick_word(record->sample.callchain, i) != word_of(record->id.time, i)) {
			fault(stress, "a torn record");
			return;
		}
}

static bool decode(struct stress *stress, const void *bytes, int size, struct wick_record *ret)
{
	if (wick_record_decode(&stress->layout, bytes, (size_t)size, ret) == size)
		return true;
	fault(stress, "a record that cannot be decoded");
	return false;
}

static void check(struct stress *stress, const struct wick_record *record)
{
	uint64_t level = record->id.time >> 56, number = record->id.time & ((1ull << 56) - 1);

	if (record->type == PERF_RECORD_LOST) {
		stress->said_lost += record->lost.lost;
		if (record->lost.id != 42)
			fault(stress, "a LOST of another event");
		return;
	}
	stress->seen++;
	if (level >= LEVELS || number <= stress->last_number[level]) {
		fault(stress, "a record out of order");
		return;
	}
	/* What is missing in between was said lost, in front of this record. */
	if (stress->mode != SIGNALS && number != stress->seen + stress->said_lost)
		fault(stress, "a count that is wrong");
	stress->last_number[level] = number;
	check_words(stress, record);
}

static void drain(struct stress *stress)
{
	struct wick_record record;
	const void *bytes;
	int size;

	perf_ringbuf_fetch(stress->ring);
	while ((size = perf_ringbuf_peek(stress->ring, &bytes)) > 0) {
		if (decode(stress, bytes, size, &record))
			check(stress, &record);
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

/* From the newest to the oldest that is whole: no number is missing but what a LOST said. */
static void look_back(struct stress *stress)
{
	uint64_t expected = 0, lost = 0, n = 0;
	struct wick_record record;
	const void *bytes;
	int size;

	perf_ringbuf_fetch(stress->ring);
	for (; (size = perf_ringbuf_peek(stress->ring, &bytes)) > 0;
		perf_ringbuf_next(stress->ring)) {
		if (!decode(stress, bytes, size, &record))
			return;
		if (record.type == PERF_RECORD_LOST) {
			lost = record.lost.lost;
			continue;
		}
		if (!n++ && record.id.time < stress->last_number[0])
			fault(stress, "an older one than before");
		if (n == 1)
			stress->last_number[0] = record.id.time;
		else if (record.id.time != expected)
			fault(stress, "a gap");
		expected = record.id.time - 1 - lost;
		lost = 0;
		check_words(stress, &record);
	}
	stress->seen += n;
	if (size < 0)
		fault(stress, "a broken ring");
}

/* Until the producer has seen it, whatever it was in the middle of. */
static void pause_output(struct stress *stress)
{
	uint64_t from;

	__atomic_store_n(&stress->paused, 1, __ATOMIC_RELAXED);
	ringwriter_pause(stress->writer, true);
	/* Not a load, which a CPU may do before others see that it has paused the ring. */
	from = __atomic_fetch_add(&stress->beats, 0, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&stress->beats, __ATOMIC_ACQUIRE) < from + 2 &&
		!__atomic_load_n(&stress->done, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void resume_output(struct stress *stress)
{
	ringwriter_pause(stress->writer, false);
	__atomic_store_n(&stress->paused, 0, __ATOMIC_RELAXED);
}

static void consume_round(struct stress *stress, uint64_t round)
{
	switch (stress->mode) {
	case BACKWARD:
		pause_output(stress);
		look_back(stress);
		resume_output(stress);
		break;
	case PAUSED:
		if (round % 4 == 0)
			pause_output(stress);
		drain(stress);
		resume_output(stress);
		break;
	default:
		drain(stress);
	}
}

static void consume(struct stress *stress)
{
	int done;

	for (uint64_t round = 0;; round++) {
		struct pollfd wait = {ringwriter_wakeup_fd(stress->writer), POLLIN, 0};
		uint64_t count;

		poll(&wait, 1, 1);
		if (wait.revents && read(wait.fd, &count, sizeof(count)) < 0)
			fault(stress, "an eventfd that cannot be read");
		done = __atomic_load_n(&stress->done, __ATOMIC_ACQUIRE);
		consume_round(stress, round);
		if (done)
			break;
	}
}

/* ---- a run */

static int stress_open(struct stress *stress)
{
	const struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.flags = ATTR_SAMPLE_ID_ALL,
	};
	struct ringwriter_options options = {.pages = stress->pages,
		.id = 42,
		.watermark_bytes = 512,
		.overwrite = stress->mode == BACKWARD,
		.backward = stress->mode == BACKWARD};
	int rc = wick_layout_init(&stress->layout, &attr);

	options.layout = stress->layout;
	if (rc == 0)
		rc = ringwriter_new(&options, &stress->writer);
	if (rc < 0)
		return rc;
	return stress->mode == BACKWARD
		       ? perf_ringbuf_open_backward(
				 ringwriter_fd(stress->writer), stress->pages, &stress->ring)
		       : perf_ringbuf_open(
				 ringwriter_fd(stress->writer), stress->pages, &stress->ring);
}

/* All that was tried was seen, said lost, or lost behind the last that was seen. */
static void check_sum(struct stress *stress)
{
	uint64_t total = ringwriter_lost_total(stress->writer);
	uint64_t tried = stress->numbers[0] + stress->numbers[OF_A_SIGNAL];

	if (stress->mode != BACKWARD &&
		(stress->said_lost > total || stress->seen + total != tried))
		fault(stress, "a sum that is wrong");
	/* A run that never kept anything, or was never interrupted, has tested nothing. */
	if (!stress->seen || (stress->mode == SIGNALS && !stress->numbers[OF_A_SIGNAL]))
		fault(stress, "nothing happened");
}

static int stress_run(enum mode mode, size_t pages, uint64_t records, uint64_t seed)
{
	struct stress stress = {.mode = mode,
		.pages = pages,
		.records = records,
		.seed = seed,
		.random = {seed, seed ^ 0x5555}};
	pthread_t producer;
	int rc = stress_open(&stress);

	if (rc == 0)
		rc = -pthread_create(&producer, NULL, interrupter, &stress);
	if (rc == 0) {
		consume(&stress);
		pthread_join(producer, NULL);
		if (mode != BACKWARD)
			drain(&stress); /* what the last signals wrote */
		check_sum(&stress);
		printf("%s - %s, pages %zu, seed %llu: %llu tried, %llu of a signal, %llu "
		       "seen, %llu lost, %llu wakeups\n",
			stress.faults ? "not ok" : "ok", mode_names[mode], pages,
			(unsigned long long)seed, (unsigned long long)stress.numbers[0],
			(unsigned long long)stress.numbers[OF_A_SIGNAL],
			(unsigned long long)stress.seen,
			(unsigned long long)ringwriter_lost_total(stress.writer),
			(unsigned long long)ringwriter_wakeups(stress.writer));
	} else {
		printf("not ok - %s: %s\n", mode_names[mode], strerror(-rc));
	}
	fflush(stdout);
	perf_ringbuf_close(stress.ring);
	ringwriter_free(stress.writer);
	return rc < 0 || stress.faults;
}

int main(int argc, char **argv)
{
	static const uint64_t own_seeds[] = {88172645463325252ull, 20240229, 77777};
	static const size_t pages[] = {1, 2, 8};
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	uint64_t records = 20000, seed = 0;
	int rc = 0, failed = 0;

	if (argc > 1)
		rc = parse_u64(argv[1], strlen(argv[1]), &records);
	if (argc > 2 && rc == 0)
		rc = parse_u64(argv[2], strlen(argv[2]), &seed);
	if (rc < 0 || (argc > 2 && !seed) || sigaction(SIGUSR1, &action, NULL) < 0) {
		fprintf(stderr, "usage: ring_stress [records [seed]]\n");
		return 2;
	}
	printf("1..%zu\n",
		(BACKWARD + 1) * (seed ? 1 : ARRAY_LEN(own_seeds)) * ARRAY_LEN(pages));
	for (enum mode mode = PLAIN; mode <= BACKWARD; mode++)
		for (size_t i = 0; i < ARRAY_LEN(own_seeds); i++)
			for (size_t p = 0; p < ARRAY_LEN(pages) && (!i || !seed); p++)
				failed |= stress_run(
					mode, pages[p], records, seed ? seed : own_seeds[i]);
	return failed;
}
