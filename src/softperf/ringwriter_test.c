/* Records inside records: what an interrupt writes while its thread is writing. */
#include "tests/unit_test.h"

#include "abi/perf_abi.h"
#include "softperf/ringwriter.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

struct fixture {
	struct ringwriter *writer;
	struct perf_event_mmap_page *page;
	const unsigned char *data;
	struct wick_sample_id now;
};

static struct fixture fixture_new(struct ringwriter_options options)
{
	struct fixture f = {.now = {.time = 7}};
	const struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_TIME};
	void *map;

	options.pages = 1;
	options.id = 42;
	assert_int_equal(wick_layout_init(&options.layout, &attr), 0);
	assert_int_equal(ringwriter_new(&options, &f.writer), 0);
	map = mmap(
		NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ringwriter_fd(f.writer), 0);
	assert_true(map != MAP_FAILED);
	f.page = map;
	f.data = (const unsigned char *)map + PAGE;
	return f;
}

static void fixture_done(struct fixture *f)
{
	munmap(f->page, 2 * PAGE);
	ringwriter_free(f->writer);
}

/* A record of `size` bytes that all are `fill`, but for its header. */
static void record_fill(unsigned char *bytes, uint32_t type, uint16_t size, unsigned char fill)
{
	const struct perf_event_header header = {.type = type, .size = size};

	memset(bytes, fill, size);
	memcpy(bytes, &header, sizeof(header));
}

static void begin(struct fixture *f, uint16_t size, struct ringwriter_record *ret_record)
{
	assert_int_equal(ringwriter_reserve(f->writer, NULL, size, &f->now, ret_record), 0);
}

static void put(struct ringwriter_record *record, uint16_t size, unsigned char fill)
{
	unsigned char bytes[PAGE];

	record_fill(bytes, PERF_RECORD_SAMPLE, size, fill);
	ringwriter_put(record, bytes, size);
}

static int write_one(struct fixture *f, uint16_t size, unsigned char fill)
{
	unsigned char bytes[PAGE];

	record_fill(bytes, PERF_RECORD_SAMPLE, size, fill);
	return ringwriter_write(f->writer, bytes, size);
}

static void expect_record(const struct fixture *f, size_t at, uint16_t size, unsigned char fill)
{
	unsigned char bytes[PAGE];

	record_fill(bytes, PERF_RECORD_SAMPLE, size, fill);
	assert_memory_equal(f->data + at, bytes, size);
}

static void the_outermost_publishes(void **state)
{
	struct fixture f = fixture_new((struct ringwriter_options){.watermark_bytes = 8});
	struct ringwriter_record outer;
	unsigned char bytes[16];

	(void)state;
	begin(&f, 16, &outer);
	record_fill(bytes, PERF_RECORD_SAMPLE, 16, 'a');
	ringwriter_put(&outer, bytes, 8);
	assert_int_equal(write_one(&f, 24, 'b'), 0);
	assert_int_equal(write_one(&f, 8, 0), 0);
	assert_int_equal(f.page->data_head, 0);
	assert_int_equal(ringwriter_wakeups(f.writer), 0);
	ringwriter_put(&outer, bytes + 8, 8);
	ringwriter_commit(&outer);
	assert_int_equal(f.page->data_head, 48);
	expect_record(&f, 0, 16, 'a');
	expect_record(&f, 16, 24, 'b');
	/* All three passed the watermark: the reader is woken once. */
	assert_int_equal(ringwriter_wakeups(f.writer), 1);
	fixture_done(&f);
}

static void interrupts_interrupt_interrupts(void **state)
{
	struct fixture f = fixture_new((struct ringwriter_options){.pages = 1});
	struct ringwriter_record a, b, c;

	(void)state;
	begin(&f, 16, &a);
	begin(&f, 24, &b);
	begin(&f, 32, &c);
	put(&c, 32, 'c');
	ringwriter_commit(&c);
	assert_int_equal(f.page->data_head, 0);
	put(&b, 24, 'b');
	ringwriter_commit(&b);
	assert_int_equal(f.page->data_head, 0);
	assert_int_equal(write_one(&f, 8, 0), 0); /* one more, behind what is there */
	assert_int_equal(f.page->data_head, 0);
	put(&a, 16, 'a');
	ringwriter_commit(&a);
	assert_int_equal(f.page->data_head, 80);
	expect_record(&f, 0, 16, 'a');
	expect_record(&f, 16, 24, 'b');
	expect_record(&f, 40, 32, 'c');
	assert_int_equal(write_one(&f, 8, 0), 0); /* nobody is inside any more */
	assert_int_equal(f.page->data_head, 88);
	fixture_done(&f);
}

static void backward_records_nest_downwards(void **state)
{
	struct fixture f =
		fixture_new((struct ringwriter_options){.overwrite = true, .backward = true});
	struct ringwriter_record a;

	(void)state;
	begin(&f, 16, &a);
	assert_int_equal(write_one(&f, 24, 'b'), 0);
	assert_int_equal(f.page->data_head, 0);
	put(&a, 16, 'a');
	ringwriter_commit(&a);
	assert_int_equal((int64_t)f.page->data_head, -40);
	expect_record(&f, PAGE - 16, 16, 'a');
	expect_record(&f, PAGE - 40, 24, 'b');
	fixture_done(&f);
}

/* An interrupt that finds no room is counted, and the next record says it: LOST, 32 bytes. */
static void an_interrupt_loses(void **state)
{
	struct fixture f = fixture_new((struct ringwriter_options){.pages = 1});
	struct ringwriter_record outer;
	uint64_t lost[3];

	(void)state;
	begin(&f, 4000, &outer);
	assert_int_equal(write_one(&f, 200, 'x'), -ENOSPC);
	assert_int_equal(write_one(&f, 200, 'x'), -ENOSPC);
	/* Still inside of the outer one: said in front of this, seen with the outer one. */
	assert_int_equal(write_one(&f, 16, 'b'), 0);
	put(&outer, 4000, 'a');
	ringwriter_commit(&outer);
	assert_int_equal(f.page->data_head, 4000 + 24 + 16);
	expect_record(&f, 0, 4000, 'a');
	memcpy(lost, f.data + 4000, sizeof(lost));
	assert_int_equal(lost[0], PERF_RECORD_LOST | 24ull << 48);
	assert_int_equal(lost[1], 42);
	assert_int_equal(lost[2], 2);
	expect_record(&f, 4024, 16, 'b');
	assert_int_equal(ringwriter_lost_total(f.writer), 2);
	fixture_done(&f);
}

/* Every event has its own wakeup_events; two samples by turns are two of each other's. */
static void samples_inside_samples_wake(void **state)
{
	struct fixture f = fixture_new((struct ringwriter_options){.wakeup_events = 2});
	struct ringwriter_record outer;

	(void)state;
	begin(&f, 16, &outer);
	put(&outer, 16, 'a');
	assert_int_equal(write_one(&f, 16, 'b'), 0); /* the second: due, but not yet seen */
	assert_int_equal(ringwriter_wakeups(f.writer), 0);
	ringwriter_commit(&outer);
	assert_int_equal(ringwriter_wakeups(f.writer), 1);
	assert_int_equal(write_one(&f, 16, 'c'), 0);
	assert_int_equal(ringwriter_wakeups(f.writer), 1);
	fixture_done(&f);
}

/* An interrupt wakes nobody; what it leaves is one wakeup, however often it was due. */
static void a_wakeup_can_wait(void **state)
{
	struct fixture f =
		fixture_new((struct ringwriter_options){.wakeup_events = 1, .deferred = true});

	(void)state;
	assert_int_equal(write_one(&f, 16, 'a'), 0);
	assert_int_equal(write_one(&f, 16, 'b'), 0);
	assert_int_equal(ringwriter_wakeups(f.writer), 0);
	assert_true(ringwriter_deferred(f.writer));
	assert_int_equal(ringwriter_wakeups(f.writer), 1);
	assert_false(ringwriter_deferred(f.writer));
	ringwriter_wake(f.writer); /* the writer's end does not wait */
	assert_int_equal(ringwriter_wakeups(f.writer), 2);
	fixture_done(&f);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_outermost_publishes),
	cmocka_unit_test(interrupts_interrupt_interrupts),
	cmocka_unit_test(backward_records_nest_downwards),
	cmocka_unit_test(an_interrupt_loses),
	cmocka_unit_test(samples_inside_samples_wake),
	cmocka_unit_test(a_wakeup_can_wait),
};
UNIT_TESTS("ringwriter", tests)
