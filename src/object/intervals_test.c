#include "object/intervals.h"

#include "tests/unit_test.h"

#include <stdlib.h>
#include <string.h>

enum { SPACE = 64, ROUNDS = 2000 };

static void children_beat_their_parents(void **state)
{
	struct intervals list = {0};

	(void)state;
	assert_int_equal(intervals_add(&list, 0, 100, 1), 0);
	assert_int_equal(intervals_add(&list, 10, 40, 2), 0);
	assert_int_equal(intervals_add(&list, 20, 30, 3), 0);
	assert_int_equal(intervals_add(&list, 50, 50, 4), 0); /* empty */
	assert_int_equal(intervals_add(&list, 60, 50, 5), 0); /* reversed */
	assert_int_equal(intervals_flatten(&list), 0);
	assert_int_equal(list.count, 5);
	assert_int_equal(intervals_find(&list, 0), 1);
	assert_int_equal(intervals_find(&list, 19), 2);
	assert_int_equal(intervals_find(&list, 29), 3);
	assert_int_equal(intervals_find(&list, 30), 2);
	assert_int_equal(intervals_find(&list, 99), 1);
	assert_int_equal(intervals_find(&list, 100), UINT32_MAX);
	intervals_done(&list);
	assert_int_equal(intervals_flatten(&list), 0);
	assert_int_equal(intervals_find(&list, 0), UINT32_MAX);
}

/* Any set of ranges, nested or crossing, against a table of every address. */
static void the_greatest_value_wins_everywhere(void **state)
{
	(void)state;
	srand(11);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t want[SPACE], n = 1 + (uint32_t)rand() % 12;
		struct intervals list = {0};

		memset(want, 0xff, sizeof(want));
		for (uint32_t i = 0; i < n; i++) {
			uint32_t value = (uint32_t)rand() % 20;
			uint64_t lo = (uint64_t)rand() % SPACE, hi = (uint64_t)rand() % SPACE;

			assert_int_equal(intervals_add(&list, lo, hi, value), 0);
			for (uint64_t at = lo; at < hi; at++)
				if (want[at] == UINT32_MAX || want[at] < value)
					want[at] = value;
		}
		assert_int_equal(intervals_flatten(&list), 0);
		for (uint32_t at = 0; at < SPACE; at++)
			assert_int_equal(intervals_find(&list, at), want[at]);
		for (uint32_t i = 1; i < list.count; i++)
			assert_true(list.items[i - 1].hi <= list.items[i].lo);
		intervals_done(&list);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(children_beat_their_parents),
	cmocka_unit_test(the_greatest_value_wins_everywhere),
};
UNIT_TESTS("intervals", tests)
