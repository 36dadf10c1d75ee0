#include "session/copies.h"

#include "tests/unit_test.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

static void a_ring_holds_the_copies_of_a_while(void **state)
{
	(void)state;
	/* The default stays as it is, an ordinary user's rings too. */
	assert_int_equal(copies_ring_bytes(997, RECORD_STACK_BYTES, 8 * MIB), 8 * MIB);
	assert_int_equal(copies_fit(8 * MIB, 997, RECORD_STACK_BYTES, false), 24 * KIB);
	assert_int_equal(copies_fit(4 * MIB, 997, RECORD_STACK_BYTES, false), 24 * KIB);
	/* A high rate: larger rings, and where they may not be, smaller copies. */
	assert_int_equal(copies_ring_bytes(10000, RECORD_STACK_BYTES, 8 * MIB), 32 * MIB);
	assert_int_equal(copies_fit(32 * MIB, 10000, RECORD_STACK_BYTES, false), 24 * KIB);
	assert_int_equal(copies_fit(8 * MIB, 10000, RECORD_STACK_BYTES, false), 7 * KIB);
	assert_int_equal(copies_fit(4 * MIB, 10000, RECORD_STACK_BYTES, false), 4 * KIB);
	assert_int_equal(copies_fit(4 * MIB, 10000, COPY_LARGE, true), 8 * KIB);
	/* Large copies have larger rings, or become a little smaller. */
	assert_int_equal(copies_ring_bytes(997, COPY_LARGE, 8 * MIB), 32 * MIB);
	assert_int_equal(copies_fit(8 * MIB, 997, COPY_LARGE, true), COPY_LARGE);
	assert_int_equal(copies_fit(4 * MIB, 997, COPY_LARGE, true), 40 * KIB);
	/* It never grows, and a rate that is not known changes nothing. */
	assert_int_equal(copies_fit(4 * KIB, 997, 512, false), 512);
	assert_int_equal(copies_fit(4 * KIB, 0, COPY_LARGE, false), COPY_LARGE);
	assert_int_equal(copies_fit(4 * KIB, 100000, COPY_LARGE, false), 4 * KIB);
}

static void what_was_asked_for_is_copied(void **state)
{
	struct record_options options = {.stack_bytes = 4096};

	(void)state;
	assert_int_equal(copies_first(&options, true), 4096);
	options = (struct record_options){.pages = 1};
	assert_int_equal(copies_first(&options, true), COPY_LEAST);
	options.pages = 16;
	assert_int_equal(copies_first(&options, false),
		16 * (uint32_t)sysconf(_SC_PAGESIZE) / 16 / 8 * 8);
	options.pages = 0;
	assert_int_equal(copies_first(&options, false), RECORD_STACK_BYTES);
	assert_int_equal(copies_first(&options, true), COPY_LARGE);
}

static void what_runs_out_often_grows(void **state)
{
	struct copies_watch watch = {0};

	(void)state;
	assert_false(copies_run_out(&watch, 100, 15));
	assert_true(copies_run_out(&watch, 101, 16));
	watch = (struct copies_watch){0};
	assert_false(copies_run_out(&watch, 511, 4)); /* wait and see */
	assert_true(copies_run_out(&watch, 600, 4));
	assert_false(copies_run_out(&watch, 1200, 6)); /* 2 of 600 since */
	assert_false(copies_run_out(&watch, 1500, 12));
	assert_true(copies_run_out(&watch, 1800, 12));
}

static void ones_own_process_can_be_read(void **state)
{
	int32_t self = (int32_t)getpid(), pid = -1;
	struct record_options options = {.pids = &self, .pid_count = 1};

	(void)state;
	assert_int_equal(copies_late_refused(&options, &pid), 0);
	assert_int_equal(pid, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_ring_holds_the_copies_of_a_while),
	cmocka_unit_test(what_was_asked_for_is_copied),
	cmocka_unit_test(what_runs_out_often_grows),
	cmocka_unit_test(ones_own_process_can_be_read),
};
UNIT_TESTS("copies", tests)
