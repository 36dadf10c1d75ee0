/* The merge, over arrays of times in place of rings. */
#include "record/fields.h"
#include "record/merge.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdlib.h>

struct fake {
	uint64_t record[2]; /* header, time */
	const uint64_t *times;
	uint32_t count, at;
	uint32_t broken_at; /* 0: never; else before the record of this number, from 1 */
};

static const struct wick_layout layout = {.sample_type = PERF_SAMPLE_TIME, .time_off = 8};

static int fake_peek(void *ring, const void **ret_record)
{
	struct fake *fake = ring;

	if (fake->broken_at && fake->at + 1 == fake->broken_at)
		return -EBADMSG;
	if (fake->at == fake->count)
		return 0;
	fake->record[0] = PERF_RECORD_SAMPLE | 16ull << 48;
	fake->record[1] = fake->times[fake->at];
	*ret_record = fake->record;
	return 16;
}

static void fake_next(void *ring)
{
	struct fake *fake = ring;

	fake->at++;
}

static void merge_fakes(struct merge *merge, struct fake *fakes, uint32_t count)
{
	struct merge_input *inputs = calloc(count, sizeof(*inputs));

	assert_non_null(inputs);
	for (uint32_t i = 0; i < count; i++)
		inputs[i] = (struct merge_input){&fakes[i], fake_peek, fake_next, &layout};
	assert_int_equal(merge_init(merge, inputs, count), 0);
	free(inputs);
}

static uint64_t time_of(const void *record)
{
	return wick_record_time(&layout, record);
}

/* Drains up to the limit and compares "time/input" pairs with what is wanted. */
static void expect(struct merge *merge, uint64_t limit, const uint64_t (*want)[2], uint32_t n)
{
	const void *record;
	uint32_t input;

	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(merge_next(merge, limit, &record, &input), 16);
		assert_int_equal(time_of(record), want[i][0]);
		assert_int_equal(input, want[i][1]);
		merge_pop(merge);
	}
	assert_int_equal(merge_next(merge, limit, &record, &input), 0);
}

static void ties_and_limits(void **state)
{
	static const uint64_t a[] = {1, 5, 5, 9}, b[] = {2, 5, 7}, c[] = {5};
	struct fake fakes[] = {
		{.times = a, .count = 4}, {.times = b, .count = 3}, {.times = c, .count = 1}};
	struct merge merge;

	(void)state;
	merge_fakes(&merge, fakes, 3);
	merge_round(&merge);
	expect(&merge, 4, (const uint64_t[][2]){{1, 0}, {2, 1}}, 2);
	merge_round(&merge);
	expect(&merge, 5, (const uint64_t[][2]){{5, 0}, {5, 0}, {5, 1}, {5, 2}}, 4);
	merge_round(&merge);
	expect(&merge, UINT64_MAX, (const uint64_t[][2]){{7, 1}, {9, 0}}, 2);
	assert_int_equal(merge.late, 0);
	merge_done(&merge);
}

/* A clock that steps back inside a ring keeps the ring's order, and what came late is counted.
 */
static void a_clock_that_steps_back(void **state)
{
	static const uint64_t a[] = {10, 8, 0, 12}, b[] = {9, 11};
	struct fake fakes[] = {{.times = a, .count = 4}, {.times = b, .count = 2}};
	struct merge merge;

	(void)state;
	merge_fakes(&merge, fakes, 2);
	merge_round(&merge);
	expect(&merge, UINT64_MAX,
		(const uint64_t[][2]){{9, 1}, {10, 0}, {8, 0}, {0, 0}, {11, 1}, {12, 0}}, 6);
	assert_int_equal(merge.late, 1);
	merge_done(&merge);
}

static void a_record_that_comes_late(void **state)
{
	static const uint64_t a[] = {10, 20}, b[] = {7, 21};
	struct fake fakes[] = {{.times = a, .count = 2}, {.times = b, .count = 0}};
	struct merge merge;

	(void)state;
	merge_fakes(&merge, fakes, 2);
	merge_round(&merge);
	expect(&merge, 15, (const uint64_t[][2]){{10, 0}}, 1);
	fakes[1].count = 2;
	merge_round(&merge);
	expect(&merge, UINT64_MAX, (const uint64_t[][2]){{7, 1}, {20, 0}, {21, 1}}, 3);
	assert_int_equal(merge.late, 1);
	merge_done(&merge);
}

static void a_broken_ring(void **state)
{
	static const uint64_t a[] = {1, 3, 5}, b[] = {2, 4, 6};
	struct fake fakes[] = {{.times = a, .count = 3, .broken_at = 2},
		{.times = b, .count = 3, .broken_at = 1}};
	struct merge merge;
	const void *record;
	uint32_t input;

	(void)state;
	merge_fakes(&merge, fakes, 2);
	merge_round(&merge);
	assert_int_equal(merge_next(&merge, UINT64_MAX, &record, &input), -EBADMSG);
	assert_int_equal(input, 1);
	assert_int_equal(merge_next(&merge, UINT64_MAX, &record, &input), 16);
	assert_int_equal(time_of(record), 1);
	merge_pop(&merge);
	assert_int_equal(merge_next(&merge, UINT64_MAX, &record, &input), -EBADMSG);
	assert_int_equal(input, 0);
	assert_int_equal(merge_next(&merge, UINT64_MAX, &record, &input), 0);
	fakes[0].broken_at = fakes[1].broken_at = 0; /* skipped */
	merge_round(&merge);
	expect(&merge, UINT64_MAX,
		(const uint64_t[][2]){{2, 1}, {3, 0}, {4, 1}, {5, 0}, {6, 1}}, 5);
	merge_done(&merge);
}

static void many_rings_at_random(void **state)
{
	enum { RINGS = 256, EACH = 500 };
	static uint64_t times[RINGS][EACH];
	static struct fake fakes[RINGS];
	uint64_t last = 0, seed = 88172645463325252ull, count = 0;
	struct merge merge;
	const void *record;
	uint32_t input;

	(void)state;
	for (uint32_t ring = 0; ring < RINGS; ring++) {
		uint64_t now = 1;

		for (uint32_t i = 0; i < EACH; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			times[ring][i] = now += seed % 100;
		}
		fakes[ring] = (struct fake){.times = times[ring], .count = EACH};
	}
	merge_fakes(&merge, fakes, RINGS);
	for (uint64_t limit = 1000; count < RINGS * EACH; limit += 1000) {
		merge_round(&merge);
		while (merge_next(&merge, limit, &record, &input) > 0) {
			assert_true(time_of(record) >= last && time_of(record) <= limit);
			last = time_of(record);
			merge_pop(&merge);
			count++;
		}
	}
	assert_int_equal(merge.late, 0);
	merge_done(&merge);
	merge_done(&merge);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(ties_and_limits),
	cmocka_unit_test(a_clock_that_steps_back),
	cmocka_unit_test(a_record_that_comes_late),
	cmocka_unit_test(a_broken_ring),
	cmocka_unit_test(many_rings_at_random),
};
UNIT_TESTS("merge", tests)
