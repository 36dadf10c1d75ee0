#include "session/strain.h"

#include "abi/perf_abi.h"
#include "session/pump.h"
#include "softperf/ringwriter.h"
#include "tests/unit_test.h"

#define MS 1000000ull

static const struct pressure begins = {100, 0, 0, true}, calm = {100, 10, 50, false},
			     filling = {600, 80, 100, false}, draining = {600, 20, 100, false},
			     nearly = {900, 100, 60, false}, middle = {450, 0, 0, false};

/* A round of reading that began a while ago. */
static enum effort in_round(
	struct strain *strain, const struct pressure *pressure, uint64_t lost, uint64_t now_ns)
{
	strain_update(strain, &begins, strain->lost, now_ns - 5 * MS);
	return strain_update(strain, pressure, lost, now_ns);
}

static void a_filling_ring_lowers_the_effort(void **state)
{
	struct strain strain = {0};

	(void)state;
	assert_int_equal(strain_update(&strain, &calm, 0, 1010 * MS), EFFORT_FULL);
	assert_int_equal(strain_update(&strain, &draining, 0, 1020 * MS), EFFORT_FULL);
	assert_int_equal(strain_update(&strain, &middle, 0, 1030 * MS), EFFORT_FULL);
	assert_int_equal(in_round(&strain, &filling, 0, 1040 * MS), EFFORT_SHORT);
	assert_int_equal(in_round(&strain, &filling, 0, 1050 * MS), EFFORT_POINTERS);
	assert_int_equal(in_round(&strain, &filling, 0, 1060 * MS), EFFORT_POINTERS);
	assert_int_equal(strain.lowered_times, 1);
	assert_int_equal(strain_lowered_ns(&strain, 1090 * MS), 50 * MS);
}

static void what_comes_while_a_round_begins_tells_nothing(void **state)
{
	static const struct pressure quarter = {300, 3, 0, true};
	struct strain strain = {0};

	(void)state;
	for (unsigned i = 1; i < 100; i++)
		assert_int_equal(
			strain_update(&strain, &quarter, 0, i * 1000 * MS), EFFORT_FULL);
}

static void a_ring_that_fills_slowly_may_wait(void **state)
{
	struct strain strain = {0};

	(void)state;
	strain_update(&strain, &begins, 0, 1000 * MS);
	/* 80 thousandths in 300 ms: 1.5 s to go. */
	assert_int_equal(strain_update(&strain, &filling, 0, 1300 * MS), EFFORT_FULL);
	assert_int_equal(strain_update(&strain, &filling, 0, 1010 * MS), EFFORT_SHORT);
}

/* What is lost arrives nowhere. */
static void a_full_ring_is_judged_by_the_reading(void **state)
{
	static const struct pressure full = {970, 0, 30, false};
	struct strain strain = {0};

	(void)state;
	strain_update(&strain, &begins, 0, 1000 * MS);
	/* All of it in 32 ms: somebody was late, and is quick. */
	assert_int_equal(strain_update(&strain, &full, 0, 1001 * MS), EFFORT_FULL);
	assert_int_equal(strain_update(&strain, &full, 0, 1060 * MS), EFFORT_POINTERS);
}

static void a_ring_that_is_nearly_full_takes_two_steps(void **state)
{
	struct strain strain = {0};

	(void)state;
	assert_int_equal(in_round(&strain, &nearly, 0, 1010 * MS), EFFORT_POINTERS);
}

static void a_loss_that_comes_again_lowers_it_one_step(void **state)
{
	struct strain strain = {0};

	(void)state;
	assert_int_equal(strain_update(&strain, &calm, 7, 1000 * MS), EFFORT_FULL);
	assert_int_equal(strain_update(&strain, &calm, 9, 1050 * MS), EFFORT_FULL);
	assert_int_equal(strain_update(&strain, &calm, 12, 5000 * MS), EFFORT_FULL);
	assert_int_equal(strain_update(&strain, &calm, 15, 5400 * MS), EFFORT_SHORT);
	assert_int_equal(strain_update(&strain, &calm, 19, 5800 * MS), EFFORT_SHORT);
	assert_int_equal(in_round(&strain, &filling, 19, 5850 * MS), EFFORT_POINTERS);
}

/* Calm from `now` on, looked at each ms, until the effort rises: how long that took. */
static uint64_t calm_until_raised(struct strain *strain, uint64_t *now)
{
	enum effort before = strain->effort;
	uint64_t start = *now;

	while (strain_update(strain, &calm, strain->lost, *now += MS) == before)
		assert_true(*now - start < 60000 * MS);
	return (*now - start) / MS;
}

static void it_comes_back_step_by_step_and_waits_longer_each_time(void **state)
{
	struct strain strain = {0};
	uint64_t now = 1000 * MS, last = 0;

	(void)state;
	in_round(&strain, &nearly, 0, now);
	assert_in_range(calm_until_raised(&strain, &now), 60, 70);
	assert_int_equal(strain.effort, EFFORT_SHORT);
	assert_in_range(calm_until_raised(&strain, &now), 60, 70);
	assert_int_equal(strain.effort, EFFORT_FULL);
	for (int i = 0; i < 6; i++) {
		uint64_t took;

		in_round(&strain, &filling, 0, now += 10 * MS);
		assert_int_equal(strain.effort, EFFORT_SHORT);
		took = calm_until_raised(&strain, &now);
		assert_true(took > last || took >= 8000);
		assert_true(took < 8100);
		last = took;
	}
	assert_true(last >= 8000);
	now += 20000 * MS; /* a long rest: what was learnt is old */
	in_round(&strain, &filling, 0, now);
	assert_in_range(calm_until_raised(&strain, &now), 60, 70);
}

static void it_stays_down_while_a_ring_is_half_full(void **state)
{
	struct strain strain = {0};
	uint64_t now = 1000 * MS;

	(void)state;
	in_round(&strain, &nearly, 0, now);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(
			strain_update(&strain, &middle, 0, now += MS), EFFORT_POINTERS);
	/* Calm that is interrupted begins anew. */
	for (int i = 0; i < 20; i++)
		strain_update(&strain, &calm, 0, now += MS);
	strain_update(&strain, &middle, 0, now += MS);
	assert_in_range(calm_until_raised(&strain, &now), 60, 70);
}

/* ---- a target that goes on while its ring is read */

enum { PAGES = 64, RECORD_BYTES = 512 };

/*
 * Each record costs the reader time, by the effort; meanwhile the target writes `arrive`
 * thousandths of a record for each one that is read.
 */
struct race {
	struct ringwriter *writer;
	struct pump pump;
	struct strain strain;
	uint64_t now_ns, due, read, written;
	uint64_t by_effort[EFFORT_COUNT];
	const uint32_t *arrive;
	uint64_t left; /* that the target still writes */
};

static void write_one(struct race *race)
{
	struct {
		struct perf_event_header header;
		uint64_t body[(RECORD_BYTES - 8) / 8];
	} record = {.header = {.type = PERF_RECORD_SAMPLE, .size = RECORD_BYTES}};

	record.body[0] = ++race->written; /* its time */
	ringwriter_write(race->writer, &record, sizeof(record));
}

static void go_on(struct race *race, uint64_t records)
{
	for (; records && race->left; records--, race->left--)
		write_one(race);
}

static int race_sink(void *ctx, const void *record, uint32_t size)
{
	struct race *race = ctx;

	(void)size;
	if (((const struct perf_event_header *)record)->type != PERF_RECORD_SAMPLE)
		return 0;
	race->read++;
	race->by_effort[race->strain.effort]++;
	race->now_ns += MS / 10;
	race->due += race->arrive[race->strain.effort];
	go_on(race, race->due / 1000);
	race->due %= 1000;
	return 0;
}

static void race_pressure(void *ctx, const struct pressure *pressure)
{
	struct race *race = ctx;

	strain_update(&race->strain, pressure, 0, race->now_ns);
}

static void race_run(struct race *race, const uint32_t *arrive, bool degrade)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .sample_type = PERF_SAMPLE_TIME};
	struct ringwriter_options options = {.pages = PAGES};
	struct perf_ringbuf *ring;
	struct pump_ring pump_ring = {.layout = &options.layout};

	*race = (struct race){.arrive = arrive, .left = 20000, .now_ns = MS};
	assert_int_equal(wick_layout_init(&options.layout, &attr), 0);
	assert_int_equal(ringwriter_new(&options, &race->writer), 0);
	assert_int_equal(perf_ringbuf_open(ringwriter_fd(race->writer), PAGES, &ring), 0);
	pump_ring.ring = ring;
	assert_int_equal(pump_init_rings(&race->pump, &pump_ring, 1, -1, race_sink, race), 0);
	race->pump.on_pressure = degrade ? race_pressure : NULL;
	while (race->left) {
		go_on(race, 10);
		race->now_ns += MS;
		assert_int_equal(pump_round(&race->pump, false), 0);
	}
	assert_int_equal(pump_round(&race->pump, true), 0);
	assert_int_equal(race->read + ringwriter_lost_total(race->writer), race->written);
	pump_done(&race->pump);
	perf_ringbuf_close(ring);
}

static void a_reader_that_does_less_loses_nothing(void **state)
{
	static const uint32_t arrive[EFFORT_COUNT] = {3000, 1200, 500};
	struct race race;

	(void)state;
	race_run(&race, arrive, false);
	assert_true(ringwriter_lost_total(race.writer) > 5000); /* else this is no test */
	ringwriter_free(race.writer);
	race_run(&race, arrive, true);
	assert_int_equal(ringwriter_lost_total(race.writer), 0);
	assert_int_equal(race.read, race.written);
	assert_true(race.by_effort[EFFORT_POINTERS] > 0);
	assert_true(race.strain.lowered_times > 0);
	ringwriter_free(race.writer);
}

static void a_reader_that_keeps_up_keeps_its_effort(void **state)
{
	static const uint32_t arrive[EFFORT_COUNT] = {900, 900, 900};
	struct race race;

	(void)state;
	race_run(&race, arrive, true);
	assert_int_equal(ringwriter_lost_total(race.writer), 0);
	assert_int_equal(race.by_effort[EFFORT_FULL], race.read);
	ringwriter_free(race.writer);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_filling_ring_lowers_the_effort),
	cmocka_unit_test(what_comes_while_a_round_begins_tells_nothing),
	cmocka_unit_test(a_ring_that_fills_slowly_may_wait),
	cmocka_unit_test(a_full_ring_is_judged_by_the_reading),
	cmocka_unit_test(a_ring_that_is_nearly_full_takes_two_steps),
	cmocka_unit_test(a_loss_that_comes_again_lowers_it_one_step),
	cmocka_unit_test(it_comes_back_step_by_step_and_waits_longer_each_time),
	cmocka_unit_test(it_stays_down_while_a_ring_is_half_full),
	cmocka_unit_test(a_reader_that_does_less_loses_nothing),
	cmocka_unit_test(a_reader_that_keeps_up_keeps_its_effort),
};
UNIT_TESTS("strain", tests)
