#include "profile/quality.h"

#include "tests/unit_test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Ten seconds of one busy thread at 1000 Hz, all seen. */
static struct quality good(void)
{
	struct quality q;

	quality_init(&q);
	strcpy(q.event, "cpu-clock");
	q.source = SOURCE_KERNEL;
	q.scope = SCOPE_INHERIT;
	q.weight_is_ns = true;
	q.frequency_hz = 1000;
	q.period = 0;
	q.wall_ns = 20000000000;
	q.event_count = 10000000000;
	q.cpu_ns = 10000000000;
	q.user_ns = 10000000000;
	q.kernel_ns = 0;
	strcpy(q.cpu_clock_name, "rusage");
	q.samples = 10000;
	q.period_sum = 10000000000;
	return q;
}

static int verdict(const struct quality *q, const char *says)
{
	struct error why = {""};
	int rc = quality_verdict(q, 0.9, 0.01, &why);

	if (says && !strstr(why.text, says))
		fail_msg("\"%s\" does not say \"%s\"", why.text, says);
	return rc;
}

static void near(double got, double want)
{
	if (!(fabs(got - want) < 1e-6))
		fail_msg("%f is not %f", got, want);
}

static void survives_the_text(void **state)
{
	struct strbuf text = {0}, again = {0};
	struct quality q = good(), back;
	struct error err = {""};

	(void)state;
	strcpy(q.why_event, "cycles: ENOENT\there \\ there");
	strcpy(q.notes, "first\nsecond \x01\x7f line");
	q.exit_status = 137;
	q.interrupted = true;
	q.lost_read = 0;
	quality_write(&q, &text);
	assert_non_null(strstr(text.text, "wick-quality 1\nevent cpu-clock\n"));
	assert_non_null(strstr(text.text, "\nnotes first\\nsecond \\x01\\x7f line\n"));
	assert_non_null(strstr(text.text, "\nlost_read 0\n"));
	assert_null(strstr(text.text, "targets"));
	quality_init(&back);
	back.samples = 77;
	assert_int_equal(quality_read(&back, text.text, text.len, &err), 0);
	assert_int_equal(back.samples, 77);
	assert_string_equal(back.notes, q.notes);
	assert_string_equal(back.why_event, q.why_event);
	assert_int_equal(back.exit_status, 137);
	assert_true(back.interrupted && back.weight_is_ns);
	assert_int_equal(back.source, SOURCE_KERNEL);
	assert_int_equal(back.scope, SCOPE_INHERIT);
	assert_true(back.targets == QUALITY_UNKNOWN && back.lost_read == 0);
	quality_write(&back, &again);
	assert_string_equal(again.text, text.text);
	strbuf_done(&text);
	strbuf_done(&again);
}

static void every_cut_is_read_or_refused(void **state)
{
	struct strbuf text = {0};
	struct quality q = good(), back;
	int fine = 0;

	(void)state;
	strcpy(q.notes, "a\\b\nc\x02");
	quality_write(&q, &text);
	for (size_t len = 0; len <= text.len; len++) {
		struct error err = {""};
		char copy[2048];
		int rc;

		memcpy(copy, text.text, len);
		quality_init(&back);
		back.samples = 5;
		rc = quality_read(&back, copy, len, &err);
		assert_true(rc == 0 || (rc == -EBADMSG && err.text[0]));
		assert_int_equal(back.samples, 5);
		fine += rc == 0;
		if (rc < 0)
			assert_true(back.wall_ns == QUALITY_UNKNOWN);
	}
	assert_true(fine > 20);
	strbuf_done(&text);
}

static int read_string(struct quality *q, const char *text)
{
	struct error err = {""};
	int rc = quality_read(q, text, strlen(text), &err);

	assert_true(rc == 0 || strlen(err.text) > 20);
	return rc;
}

static void refuses_what_is_malformed(void **state)
{
	static const char *const bad[] = {
		"",
		"wick-quality 2\n",
		"wick-quality 1x\n",
		"\nwick-quality 1\n",
		"wick-quality 1\nwall_ns\n",
		"wick-quality 1\nwall_ns -1\n",
		"wick-quality 1\nwall_ns 12 \n",
		"wick-quality 1\nwall_ns 99999999999999999999\n",
		"wick-quality 1\nexit_status 4294967296\n",
		"wick-quality 1\ninterrupted 2\n",
		"wick-quality 1\nnotes a\\\n",
		"wick-quality 1\nnotes a\\q\n",
		"wick-quality 1\nnotes a\\x0\n",
		"wick-quality 1\nnotes a\\x00b\n",
		"wick-quality 1\nnotes a\tb\n",
	};
	struct quality q = good();

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (read_string(&q, bad[i]) != -EBADMSG)
			fail_msg("was read: %s", bad[i]);
		assert_string_equal(q.event, "cpu-clock");
	}
}

static void skips_what_it_does_not_know(void **state)
{
	struct quality q = good();
	char longer[3000] = "wick-quality 1\nnotes ";

	(void)state;
	assert_int_equal(read_string(&q, "wick-quality 1\n\nfuture 1 2 3\nsource hologram\n"
					 "wall_ns unknown\nperiod 7\nevent\nperiod 8"),
		0);
	assert_int_equal(q.source, SOURCE_UNKNOWN);
	assert_true(q.wall_ns == QUALITY_UNKNOWN && q.event_count == QUALITY_UNKNOWN);
	assert_int_equal(q.period, 8);
	assert_string_equal(q.event, "");
	assert_int_equal(q.samples, 10000);
	memset(longer + strlen(longer), 'n', 2000);
	assert_int_equal(read_string(&q, longer), 0);
	assert_int_equal(strlen(q.notes), sizeof(q.notes) - 1);
}

static void nothing_is_claimed_of_the_unknown(void **state)
{
	struct quality q;
	uint64_t lost;
	double share;

	(void)state;
	quality_init(&q);
	assert_false(quality_coverage(&q, &share));
	assert_false(quality_coverage_clock(&q, &share));
	assert_false(quality_coverage_slack(&q, &share));
	assert_false(quality_hidden(&q, &share));
	assert_false(quality_on_cpu(&q, &share));
	assert_false(quality_complete(&q, &share));
	assert_false(quality_too_short(&q));
	assert_true(quality_lost(&q, &lost, &share));
	assert_int_equal(lost, 0);
	near(share, 0);
	q.lost = QUALITY_UNKNOWN;
	assert_false(quality_lost(&q, &lost, &share));
	assert_int_equal(verdict(&q, "no samples"), 3);
	q.samples = 100;
	q.period_sum = 100;
	assert_int_equal(verdict(&q, "does not say how much the event counted"), 4);
	assert_int_equal(quality_verdict(&q, 0, 1, NULL), 0);
	q.event_count = q.cpu_ns = q.wall_ns = 0;
	q.weight_is_ns = true;
	assert_false(quality_coverage(&q, &share));
	assert_false(quality_coverage_clock(&q, &share));
	assert_false(quality_on_cpu(&q, &share));
}

static void coverage_is_periods_over_count(void **state)
{
	struct quality q = good();
	double share;

	(void)state;
	assert_true(quality_coverage(&q, &share));
	near(share, 1);
	assert_true(quality_on_cpu(&q, &share));
	near(share, 0.5);
	assert_false(quality_hidden(&q, &share));
	assert_int_equal(verdict(&q, NULL), 0);
	q.samples = 10130; /* timers may be early */
	q.period_sum = 10130000000;
	assert_true(quality_coverage(&q, &share));
	near(share, 1.013);
	assert_int_equal(verdict(&q, NULL), 0);
	q.samples = 7700; /* short threads were missed */
	q.period_sum = 7700000000;
	assert_int_equal(verdict(&q, "77.0 %"), 4);
	q.samples = 1; /* 2,000 threads of 0.5 ms */
	q.period_sum = 1000000;
	assert_int_equal(verdict(&q, "0.0 %"), 4);
}

/* A thread that was missed at attach is missing in both the samples and the count. */
static void the_clock_sees_unfollowed_threads(void **state)
{
	struct quality q = good();
	double share;

	(void)state;
	q.cpu_ns = q.user_ns = 20000000000;
	assert_true(quality_coverage_clock(&q, &share));
	near(share, 0.5);
	assert_int_equal(verdict(&q, "rusage"), 4);
	q.weight_is_ns = false; /* cycles cannot be compared with ns */
	q.period = 1000000;
	assert_false(quality_coverage_clock(&q, &share));
	assert_int_equal(verdict(&q, NULL), 0);
	q = good(); /* 60 ms, of which fork and exec took 20 */
	q.cpu_ns = q.user_ns = 60000000;
	q.event_count = 40000000;
	q.samples = 40;
	q.period_sum = 40000000;
	assert_int_equal(verdict(&q, NULL), 0);
}

/* FACTS: a syscall-bound program gave 24 samples for 2.64 s of CPU. */
static void a_user_only_clock_counts_what_it_cannot_sample(void **state)
{
	struct quality q = good();
	double share;

	(void)state;
	strcpy(q.event, "task-clock:u");
	q.source = SOURCE_KERNEL_USER_ONLY;
	q.cpu_ns = 10000000000;
	q.kernel_ns = 4000000000;
	q.user_ns = 6000000000;
	q.samples = 6000;
	q.period_sum = 6000000000;
	assert_true(quality_hidden(&q, &share));
	near(share, 0.4);
	assert_true(quality_coverage(&q, &share));
	near(share, 1);
	assert_true(quality_coverage_clock(&q, &share));
	near(share, 1);
	assert_int_equal(verdict(&q, NULL), 0);
	q.source = SOURCE_KERNEL; /* the modifier alone says it too */
	assert_true(quality_coverage(&q, &share));
	near(share, 1);
	q.period_sum = 3000000000;
	q.samples = 3000;
	assert_int_equal(verdict(&q, "50.0 %"), 4);
	q.kernel_ns = QUALITY_UNKNOWN;
	assert_false(quality_coverage(&q, &share));
	assert_int_equal(verdict(&q, "kernel took"), 4);
	q.kernel_ns =
		11000000000; /* more than all of it: the clocks were read one after another */
	assert_true(quality_hidden(&q, &share));
	near(share, 1);
	assert_false(quality_coverage(&q, &share));
	assert_int_equal(verdict(&q, NULL), 0);
	q.samples = 0;
	assert_int_equal(verdict(&q, "in the kernel"), 3);
	strcpy(q.event, "instructions:u"); /* does not count there: nothing to subtract */
	q.weight_is_ns = false;
	q.kernel_ns = 4000000000;
	q.samples = 10000;
	q.period_sum = 10000000000;
	assert_true(quality_coverage(&q, &share));
	near(share, 1);
	strcpy(q.event, "sched:sched_switch"); /* a name with a colon is no modifier */
	assert_false(quality_hidden(&q, &share));
}

static void a_short_command_is_no_failure(void **state)
{
	struct quality q = good();
	double share, slack;

	(void)state;
	q.event_count = 5000000; /* 5 ms: 4 samples */
	q.cpu_ns = q.user_ns = 9000000;
	q.samples = 4;
	q.period_sum = 4000000;
	assert_false(quality_coverage(&q, &share));
	assert_true(quality_too_short(&q));
	assert_int_equal(verdict(&q, NULL), 0);
	q.event_count = 11900000; /* 11 of 11.9 periods may make 10 samples on one */
	q.samples = 10;
	q.period_sum = 10000000;
	assert_true(quality_coverage(&q, &share));
	assert_false(quality_too_short(&q));
	assert_true(quality_coverage_slack(&q, &slack));
	near(slack, 1 / 11.9);
	assert_true(share < 0.9 && share + slack > 0.9);
	assert_int_equal(verdict(&q, NULL), 0);
	q.samples = 5;
	q.period_sum = 5000000;
	assert_int_equal(verdict(&q, "42.0 %"), 4);
	q.samples = 0;
	q.period_sum = 0;
	q.event_count = 600000;
	assert_int_equal(verdict(&q, "one sampling period"), 3);
}

/* 600 threads of which one was busy: the idle ones must not excuse what is missing. */
static void idle_targets_are_no_excuse(void **state)
{
	struct quality q = good();
	double slack;

	(void)state;
	q.targets = 600;
	assert_true(quality_coverage_slack(&q, &slack));
	near(slack, 0.05);
	q.samples = 8400;
	q.period_sum = 8400000000;
	assert_int_equal(verdict(&q, "84.0 %"), 4);
	q.targets = 4;
	assert_true(quality_coverage_slack(&q, &slack));
	near(slack, 0.0004);
}

/* 100 ms, half of it in the kernel: 25 ticks decided the split. */
static void a_subtracted_estimate_has_its_slack(void **state)
{
	struct quality q = good();
	double slack;

	(void)state;
	strcpy(q.event, "cpu-clock:u");
	q.source = SOURCE_KERNEL_USER_ONLY;
	q.event_count = q.cpu_ns = 100000000;
	q.kernel_ns = 40000000;
	q.samples = 50;
	q.period_sum = 50000000;
	assert_true(quality_coverage_slack(&q, &slack));
	assert_true(slack > 0.2 && slack < 0.6);
	assert_int_equal(verdict(&q, NULL), 0);
	q.event_count = q.cpu_ns = 100000000000; /* 100 s tell much better */
	q.kernel_ns = 40000000000;
	q.samples = 50000;
	q.period_sum = 50000000000;
	assert_true(quality_coverage_slack(&q, &slack));
	assert_true(slack < 0.02);
	assert_int_equal(verdict(&q, "83.3 %"), 4);
}

static void lost_is_the_larger_of_two(void **state)
{
	struct quality q = good();
	uint64_t lost;
	double share;

	(void)state;
	q.lost = 100;
	q.lost_read = 10000;
	assert_true(quality_lost(&q, &lost, &share));
	assert_int_equal(lost, 10000);
	near(share, 0.5);
	assert_int_equal(verdict(&q, "lost"), 4);
	q.lost_read = QUALITY_UNKNOWN;
	assert_true(quality_lost(&q, &lost, &share));
	assert_int_equal(lost, 100);
	assert_int_equal(verdict(&q, NULL), 0);
	q.samples = 0;
	assert_int_equal(verdict(&q, "lost"), 3);
}

static void complete_is_of_what_is_owed(void **state)
{
	struct quality q = good();
	double share;

	(void)state;
	q.stops[STOP_NO_USER] = 1000;
	assert_false(quality_complete(&q, &share));
	q.stops[STOP_ROOT] = 60;
	q.stops[STOP_LATE] = 15;
	q.stops[STOP_NOT_ROOT] = 20;
	q.stops[STOP_NO_CHAIN] = 5;
	assert_true(quality_complete(&q, &share));
	near(share, 0.75);
}

static void everything_has_a_name(void **state)
{
	(void)state;
	for (int stop = 0; stop < STOP_COUNT; stop++) {
		assert_non_null(quality_stop_name(stop));
		assert_string_not_equal(quality_stop_name(stop), "unknown");
	}
	assert_string_equal(quality_stop_name(STOP_COUNT), "unknown");
	for (int source = SOURCE_KERNEL; source <= SOURCE_SIM; source++)
		assert_string_not_equal(quality_source_name(source), "unknown");
	assert_string_equal(quality_source_name((enum quality_source)99), "unknown");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(survives_the_text),
	cmocka_unit_test(every_cut_is_read_or_refused),
	cmocka_unit_test(refuses_what_is_malformed),
	cmocka_unit_test(skips_what_it_does_not_know),
	cmocka_unit_test(nothing_is_claimed_of_the_unknown),
	cmocka_unit_test(coverage_is_periods_over_count),
	cmocka_unit_test(the_clock_sees_unfollowed_threads),
	cmocka_unit_test(a_user_only_clock_counts_what_it_cannot_sample),
	cmocka_unit_test(a_short_command_is_no_failure),
	cmocka_unit_test(idle_targets_are_no_excuse),
	cmocka_unit_test(a_subtracted_estimate_has_its_slack),
	cmocka_unit_test(lost_is_the_larger_of_two),
	cmocka_unit_test(complete_is_of_what_is_owed),
	cmocka_unit_test(everything_has_a_name),
};
UNIT_TESTS("quality", tests)
