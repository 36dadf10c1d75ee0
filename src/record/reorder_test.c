/* The order of a file's records: rounds, none, copies, limits. */
#include "record/reorder.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void push_times(struct reorder *reorder, const uint64_t *times, uint64_t first_tag)
{
	for (; *times != 999; times++)
		assert_int_equal(reorder_push(reorder, *times, times, 8, first_tag++), 0);
}

/* What may go now, by tag; the list ends with -1. */
static void expect_tags(struct reorder *reorder, const int *tags)
{
	struct reorder_entry entry;

	for (; *tags >= 0; tags++) {
		assert_true(reorder_next(reorder, &entry));
		assert_int_equal(entry.tag, *tags);
	}
	assert_false(reorder_next(reorder, &entry));
}

static void rounds(void **state)
{
	struct reorder *reorder;

	(void)state;
	assert_int_equal(reorder_new(false, &reorder), 0);
	push_times(reorder, (const uint64_t[]){10, 30, 20, 30, 999}, 0);
	expect_tags(reorder, (const int[]){-1});
	reorder_round(reorder);
	expect_tags(reorder, (const int[]){-1}); /* the next round may hold older ones */
	push_times(reorder, (const uint64_t[]){15, 40, 30, 50, 999}, 4);
	reorder_round(reorder);
	expect_tags(
		reorder, (const int[]){0, 4, 2, 1, 3, 6, -1}); /* up to 30; ties as pushed */
	push_times(reorder, (const uint64_t[]){45, 60, 25, 999}, 8);
	reorder_round(reorder);
	expect_tags(reorder, (const int[]){10, 5, 8, 7, -1});
	assert_int_equal(reorder_late(reorder), 1); /* 25, behind 30 */
	reorder_end(reorder);
	expect_tags(reorder, (const int[]){9, -1});
	reorder_free(reorder);
}

static void without_a_time(void **state)
{
	struct reorder *reorder;

	(void)state;
	assert_int_equal(reorder_new(false, &reorder), 0);
	push_times(reorder, (const uint64_t[]){10, 0, 20, UINT64_MAX, 5, 999}, 0);
	expect_tags(reorder, (const int[]){1, 3, -1}); /* at once, before what waits */
	push_times(reorder, (const uint64_t[]){0, 999}, 5);
	reorder_end(reorder);
	expect_tags(reorder, (const int[]){5, 4, 0, 2, -1});
	assert_int_equal(reorder_late(reorder), 0);
	reorder_free(reorder);
}

/* A file without rounds that is too long: what there is goes, and it goes on. */
static void limit_without_rounds(void **state)
{
	struct reorder *reorder;
	uint64_t record = 0;

	(void)state;
	assert_int_equal(reorder_new(false, &reorder), 0);
	reorder_set_limit(reorder, 3, 1 << 20);
	push_times(reorder, (const uint64_t[]){30, 10, 20, 999}, 0);
	assert_int_equal(reorder_push(reorder, 40, &record, 8, 3), -ENOSPC);
	reorder_end(reorder);
	expect_tags(reorder, (const int[]){1, 2, 0, -1});
	push_times(reorder, (const uint64_t[]){40, 25, 999}, 3);
	expect_tags(reorder, (const int[]){-1});
	reorder_end(reorder);
	expect_tags(reorder, (const int[]){4, 3, -1});
	assert_int_equal(reorder_late(reorder), 1);
	reorder_free(reorder);
}

/* Copies hold their bytes until they go, and the memory goes with them. */
static void copies(void **state)
{
	struct reorder_entry entry;
	struct reorder *reorder;
	uint8_t bytes[60000];
	uint64_t most = 0, time = 1, seen = 1;

	(void)state;
	assert_int_equal(reorder_new(true, &reorder), 0);
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 100; i++, time++) {
			memset(bytes, (int)(time & 0xff), sizeof(bytes));
			assert_int_equal(reorder_push(reorder, time, bytes,
						 (uint32_t)(8 + time * 977 % 59000), time),
				0);
		}
		reorder_round(reorder);
		if (reorder_held_bytes(reorder) > most)
			most = reorder_held_bytes(reorder);
		for (; reorder_next(reorder, &entry); seen++) {
			const uint8_t *copy = entry.record;

			assert_int_equal(entry.time_ns, seen);
			assert_int_equal(entry.size, 8 + seen * 977 % 59000);
			assert_int_equal(copy[0], seen & 0xff);
			assert_int_equal(copy[entry.size - 1], seen & 0xff);
		}
	}
	assert_true(most < 300 * 60000); /* of 40 rounds, never more than three */
	reorder_end(reorder);
	while (reorder_next(reorder, &entry))
		seen++;
	assert_int_equal(seen, time);
	assert_true(reorder_held_bytes(reorder) <= 1 << 20);
	reorder_free(reorder);
}

static void copies_have_a_limit(void **state)
{
	static uint8_t big[3 << 20];
	struct reorder_entry entry;
	struct reorder *reorder;
	int rc;

	(void)state;
	assert_int_equal(reorder_new(true, &reorder), 0);
	reorder_set_limit(reorder, 1000, 8 << 20);
	big[sizeof(big) - 1] = 7;
	assert_int_equal(reorder_push(reorder, 2, big, sizeof(big), 0), 0);
	assert_int_equal(reorder_push(reorder, 1, "ab", 2, 1), 0);
	assert_int_equal(reorder_push(reorder, 0, "cd", 2, 2), 0);
	while ((rc = reorder_push(reorder, 3, big, 1 << 19, 3)) == 0)
		;
	assert_int_equal(rc, -ENOSPC);
	reorder_end(reorder);
	assert_true(reorder_next(reorder, &entry));
	assert_memory_equal(entry.record, "cd", 2);
	assert_true(reorder_next(reorder, &entry));
	assert_memory_equal(entry.record, "ab", 2);
	assert_true(reorder_next(reorder, &entry));
	assert_memory_equal(entry.record, big, sizeof(big));
	reorder_free(reorder); /* with some left: the leak checker watches */
}

static void random_rounds_are_sorted(void **state)
{
	uint64_t seed = 7, last = 0, base = 1000, pushed = 0, seen = 0;
	struct reorder_entry entry;
	struct reorder *reorder;

	(void)state;
	assert_int_equal(reorder_new(false, &reorder), 0);
	for (int round = 0; round < 300; round++, base += 100) {
		for (int i = 0; i < 200; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			assert_int_equal(reorder_push(reorder, base + (seed >> 33) % 100, &seed,
						 8, pushed++),
				0);
		}
		if (round < 299)
			reorder_round(reorder);
		else
			reorder_end(reorder);
		for (; reorder_next(reorder, &entry); seen++) {
			assert_true(entry.time_ns >= last);
			last = entry.time_ns;
		}
	}
	assert_int_equal(seen, pushed);
	assert_int_equal(reorder_late(reorder), 0);
	reorder_free(reorder);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(rounds),
	cmocka_unit_test(without_a_time),
	cmocka_unit_test(limit_without_rounds),
	cmocka_unit_test(copies),
	cmocka_unit_test(copies_have_a_limit),
	cmocka_unit_test(random_rounds_are_sorted),
};
UNIT_TESTS("reorder", tests)
