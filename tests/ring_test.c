/*
 * Simulated rings through the reader and the merge: wraps, losses, order, and bytes that are no
 * records. Needs softperf/ and perf/, which do not see each other, so it stands here.
 */
#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "record/merge.h"
#include "softperf/scenario.h"
#include "tests/unit_test.h"
#include "wick/perf_ringbuf.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

static const struct perf_event_attr sample_attr = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN,
	.flags = ATTR_SAMPLE_ID_ALL,
};

static const uint64_t chain[] = {PERF_CONTEXT_USER, 0x1000, 0x2000, 0x3000};

static struct scenario_step samples(
	uint32_t cpu, uint64_t time, uint64_t step_ns, uint32_t repeat)
{
	struct scenario_step step = {.cpu = cpu, .repeat = repeat, .step_ns = step_ns};

	step.record.type = PERF_RECORD_SAMPLE;
	step.record.id.time = time;
	step.record.id.pid = step.record.id.tid = 100 + cpu;
	step.record.sample.ip = 0x1000;
	step.record.sample.callchain = (struct wick_words){chain, ARRAY_LEN(chain)};
	return step;
}

static int peek(void *ring, const void **ret_record)
{
	return perf_ringbuf_peek(ring, ret_record);
}

static void next(void *ring)
{
	perf_ringbuf_next(ring);
}

struct reader {
	struct scenario scenario;
	struct perf_ringbuf *rings[SCENARIO_CPUS_MAX];
	struct merge merge;
};

static void reader_init(struct reader *reader, uint32_t cpus, size_t pages)
{
	struct merge_input inputs[SCENARIO_CPUS_MAX];

	assert_int_equal(scenario_init(&reader->scenario, &sample_attr, cpus, pages), 0);
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		assert_int_equal(perf_ringbuf_open(ringwriter_fd(reader->scenario.writers[cpu]),
					 pages, &reader->rings[cpu]),
			0);
		assert_int_equal(perf_ringbuf_size(reader->rings[cpu]), pages * PAGE);
		inputs[cpu] = (struct merge_input){.ring = reader->rings[cpu],
			.peek = peek,
			.next = next,
			.layout = &reader->scenario.layouts[cpu]};
	}
	assert_int_equal(merge_init(&reader->merge, inputs, cpus), 0);
}

static void reader_done(struct reader *reader)
{
	merge_done(&reader->merge);
	for (uint32_t cpu = 0; cpu < reader->scenario.cpus; cpu++)
		perf_ringbuf_close(reader->rings[cpu]);
	scenario_done(&reader->scenario);
}

struct seen {
	uint64_t samples, lost, last_ns;
};

/* One round up to the limit; every sample is compared with what the scenario wrote. */
static void reader_round(struct reader *reader, uint64_t limit_ns, struct seen *seen)
{
	struct wick_record record;
	const void *bytes;
	uint32_t cpu;
	int size;

	for (uint32_t i = 0; i < reader->scenario.cpus; i++)
		perf_ringbuf_fetch(reader->rings[i]);
	merge_round(&reader->merge);
	while ((size = merge_next(&reader->merge, limit_ns, &bytes, &cpu)) > 0) {
		assert_int_equal(wick_record_decode(&reader->scenario.layouts[cpu], bytes,
					 (size_t)size, &record),
			size);
		assert_int_equal(record.id.id, cpu + 1);
		assert_true(record.id.time >= seen->last_ns);
		seen->last_ns = record.id.time;
		if (record.type == PERF_RECORD_LOST) {
			assert_int_equal(record.lost.id, cpu + 1);
			seen->lost += record.lost.lost;
		} else {
			assert_int_equal(record.id.tid, 100 + cpu);
			assert_int_equal(record.id.cpu, cpu);
			assert_int_equal(record.sample.callchain.n, ARRAY_LEN(chain));
			assert_int_equal(wick_word(record.sample.callchain, 3), 0x3000);
			seen->samples++;
		}
		merge_pop(&reader->merge);
	}
	assert_int_equal(size, 0);
	for (uint32_t i = 0; i < reader->scenario.cpus; i++)
		perf_ringbuf_release(reader->rings[i]);
}

/* Four CPUs, many times around small rings: everything arrives, once, in order. */
static void wraps_and_merges(void **state)
{
	struct reader reader = {0};
	struct seen seen = {0};
	uint64_t time = 1000;

	(void)state;
	reader_init(&reader, 4, 1);
	for (int round = 0; round < 500; round++, time += 100) {
		const struct scenario_step steps[] = {
			samples(0, time, 10, 10),
			samples(1, time + 5, 20, 5),
			samples(2, time + 1, 3, 30),
			samples(3, time + 99, 0, 1),
		};

		assert_int_equal(scenario_run(&reader.scenario, steps, ARRAY_LEN(steps)), 0);
		reader_round(
			&reader, time + 50, &seen); /* the younger half waits in the rings */
	}
	reader_round(&reader, UINT64_MAX, &seen);
	assert_int_equal(seen.samples, 500 * 46);
	assert_int_equal(seen.samples, reader.scenario.written);
	assert_int_equal(seen.lost, 0);
	assert_int_equal(reader.merge.late, 0);
	reader_done(&reader);
}

/* What does not fit is said with the next record that fits, and exactly. */
static void losses_are_exact(void **state)
{
	struct reader reader = {0};
	struct seen seen = {0};
	struct scenario_step step = samples(0, 1, 1, 1000);

	(void)state;
	reader_init(&reader, 1, 1);
	assert_int_equal(scenario_run(&reader.scenario, &step, 1), 0);
	assert_true(reader.scenario.lost > 900);
	reader_round(&reader, UINT64_MAX, &seen);
	assert_int_equal(seen.samples, reader.scenario.written);
	assert_int_equal(seen.lost, 0); /* nothing came behind it that could say it */
	step = samples(0, 5000, 1, 1);
	assert_int_equal(scenario_run(&reader.scenario, &step, 1), 0);
	reader_round(&reader, UINT64_MAX, &seen);
	assert_int_equal(seen.lost, reader.scenario.lost);
	assert_int_equal(seen.lost + seen.samples, 1001);
	assert_int_equal(ringwriter_lost_total(reader.scenario.writers[0]), seen.lost);
	step = samples(0, 6000, 1, 1000);
	assert_int_equal(scenario_run(&reader.scenario, &step, 1), 0);
	assert_int_equal(
		ringwriter_lost_total(reader.scenario.writers[0]), reader.scenario.lost);
	reader_done(&reader);
}

/* The largest record, around the end of the ring at every word. */
static void the_largest_record_wraps(void **state)
{
	enum { WORDS = 65528 / 8 };
	struct ringwriter_options options = {.pages = 32};
	static uint64_t words[WORDS];
	struct perf_ringbuf *ring;
	struct ringwriter *writer;
	const void *record;
	const uint64_t filler = 14 | 8ull << 48;

	(void)state;
	assert_int_equal(ringwriter_new(&options, &writer), 0);
	assert_int_equal(perf_ringbuf_open(ringwriter_fd(writer), 32, &ring), 0);
	words[0] = 9 | 65528ull << 48;
	for (uint64_t i = 1; i < WORDS; i++)
		words[i] = i * 0x9e3779b97f4a7c15u;
	for (int i = 0; i < 2000; i++) {
		assert_int_equal(ringwriter_write(writer, words, sizeof(words)), 0);
		assert_int_equal(ringwriter_write(writer, &filler, 8), 0);
		assert_int_equal(perf_ringbuf_fetch(ring), 65536);
		assert_int_equal(perf_ringbuf_peek(ring, &record), 65528);
		assert_memory_equal(record, words, sizeof(words));
		perf_ringbuf_next(ring);
		assert_int_equal(perf_ringbuf_peek(ring, &record), 8);
		perf_ringbuf_next(ring);
		if (i % 7 == 0) { /* and another start */
			assert_int_equal(ringwriter_write(writer, &filler, 8), 0);
			perf_ringbuf_fetch(ring);
			assert_int_equal(perf_ringbuf_peek(ring, &record), 8);
			perf_ringbuf_next(ring);
		}
		perf_ringbuf_release(ring);
	}
	assert_int_equal(ringwriter_lost_total(writer), 0);
	perf_ringbuf_close(ring);
	ringwriter_free(writer);
}

/* A ring whose bytes we hold in our own hands. */
struct raw_ring {
	struct perf_event_mmap_page *page;
	uint64_t *data;
	struct perf_ringbuf *ring;
	int fd;
};

static void raw_open(struct raw_ring *raw, uint64_t offset, uint64_t size)
{
	raw->fd = memfd_create("ring", MFD_CLOEXEC);
	assert_true(raw->fd >= 0);
	assert_int_equal(ftruncate(raw->fd, 3 * PAGE), 0);
	raw->page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, raw->fd, 0);
	assert_true(raw->page != MAP_FAILED);
	raw->page->data_offset = offset;
	raw->page->data_size = size;
	raw->data = (uint64_t *)((uint8_t *)raw->page + (offset ? offset : PAGE));
}

static void raw_close(struct raw_ring *raw)
{
	perf_ringbuf_close(raw->ring);
	munmap(raw->page, 3 * PAGE);
	close(raw->fd);
}

static void broken_bytes(void **state)
{
	static const struct {
		uint64_t word, head;
		int want;
	} cases[] = {
		{9 | 16ull << 48, 16, 16},
		{9 | 16ull << 48, 15, -EBADMSG}, /* beyond the head */
		{9 | 0ull << 48, 16, -EBADMSG}, {9 | 7ull << 48, 16, -EBADMSG},
		{9 | 24ull << 48, 16, -EBADMSG}, {9 | 16ull << 48, 7, -EBADMSG},
		{9 | 16ull << 48, PAGE, 16},
		{9 | 16ull << 48, PAGE + 8, -EBADMSG}, /* more than the ring holds */
		{9 | 16ull << 48, -8ull, -EBADMSG},    /* behind the tail */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct raw_ring raw = {0};
		const void *record;

		raw_open(&raw, PAGE, PAGE);
		assert_int_equal(perf_ringbuf_open(raw.fd, 1, &raw.ring), 0);
		raw.data[0] = cases[i].word;
		raw.page->data_head = cases[i].head;
		assert_int_equal(perf_ringbuf_fetch(raw.ring), cases[i].head);
		assert_int_equal(perf_ringbuf_peek(raw.ring, &record), cases[i].want);
		assert_int_equal(perf_ringbuf_skip(raw.ring), cases[i].head);
		assert_int_equal(perf_ringbuf_peek(raw.ring, &record), 0);
		perf_ringbuf_release(raw.ring);
		assert_int_equal(raw.page->data_tail, cases[i].head);
		raw_close(&raw);
	}
}

static void where_the_data_lies(void **state)
{
	struct raw_ring raw = {0};
	const void *record;
	uint64_t head, tail;

	(void)state;
	raw_open(&raw, 2 * PAGE, PAGE); /* as a newer kernel may say */
	assert_int_equal(perf_ringbuf_open(raw.fd, 2, &raw.ring), 0);
	assert_int_equal(perf_ringbuf_size(raw.ring), PAGE);
	raw.data[0] = 9 | 8ull << 48;
	raw.page->data_head = 8;
	perf_ringbuf_head_tail(raw.ring, &head, &tail);
	assert_int_equal(head, 8);
	assert_int_equal(tail, 0);
	perf_ringbuf_fetch(raw.ring);
	assert_int_equal(perf_ringbuf_peek(raw.ring, &record), 8);
	raw_close(&raw);
	raw = (struct raw_ring){0};
	raw_open(&raw, 0, 0); /* a kernel before 4.1 */
	assert_int_equal(perf_ringbuf_open(raw.fd, 2, &raw.ring), 0);
	assert_int_equal(perf_ringbuf_size(raw.ring), 2 * PAGE);
	raw_close(&raw);
	raw = (struct raw_ring){0};
	raw_open(&raw, 2 * PAGE, 2 * PAGE); /* beyond the mapping */
	assert_int_equal(perf_ringbuf_open(raw.fd, 2, &raw.ring), -EINVAL);
	assert_int_equal(perf_ringbuf_open(raw.fd, 3, &raw.ring), -EINVAL);
	assert_int_equal(perf_ringbuf_open(raw.fd, 0, &raw.ring), -EINVAL);
	assert_int_equal(perf_ringbuf_open(-1, 1, &raw.ring), -EBADF);
	raw_close(&raw);
}

static uint64_t wakeups(const struct ringwriter *writer)
{
	uint64_t count = 0;

	if (read(ringwriter_wakeup_fd(writer), &count, sizeof(count)) < 0)
		assert_int_equal(errno, EAGAIN);
	return count;
}

static void wakeups_are_counted(void **state)
{
	struct ringwriter_options options = {.pages = 1, .wakeup_events = 3};
	const uint64_t sample = 9 | 8ull << 48, other = 14 | 8ull << 48;
	struct ringwriter *writer;

	(void)state;
	assert_int_equal(ringwriter_new(&options, &writer), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(ringwriter_write(writer, &sample, 8), 0);
		assert_int_equal(ringwriter_write(writer, &other, 8), 0);
	}
	assert_int_equal(wakeups(writer), 3);
	ringwriter_free(writer);
	options = (struct ringwriter_options){.pages = 1, .watermark_bytes = 100};
	assert_int_equal(ringwriter_new(&options, &writer), 0);
	for (int i = 0; i < 50; i++)
		assert_int_equal(ringwriter_write(writer, &other, 8), 0);
	assert_int_equal(wakeups(writer), 3); /* 400 bytes: past 100, 200, 300, not past 400 */
	ringwriter_free(writer);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(wraps_and_merges),
	cmocka_unit_test(losses_are_exact),
	cmocka_unit_test(the_largest_record_wraps),
	cmocka_unit_test(broken_bytes),
	cmocka_unit_test(where_the_data_lies),
	cmocka_unit_test(wakeups_are_counted),
};
UNIT_TESTS("ring", tests)
