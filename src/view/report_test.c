/* Reports of a small profile, whose sums are known. */
#include "base/cleanup.h"
#include "view/report_fixture.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void functions_with_self_and_total(void **state)
{
	struct report_options options = defaults();
	struct small it;

	(void)state;
	small_init(&it);
	expect_body(&it.profile, &options,
		"  Self  Self time   Total  Total time  Samples  Module     Function\n"
		"70.0 %     700 ms  70.0 %      700 ms       70  libx.so.1  leaf\n"
		"20.0 %     200 ms  60.0 %      600 ms       20  app        work(int)\n"
		" 5.0 %    50.0 ms   100 %      1.00 s        5  app        main\n"
		" 5.0 %    50.0 ms   5.0 %     50.0 ms        5  libx.so.1  [unknown]\n"
		"   0 %          0  30.0 %      300 ms        0  app        rec\n");
	options.width = 60;
	expect_body(&it.profile, &options,
		"  Self   Total  Module     Function\n"
		"70.0 %  70.0 %  libx.so.1  leaf\n"
		"20.0 %  60.0 %  app        work(int)\n"
		" 5.0 %   100 %  app        main\n"
		" 5.0 %   5.0 %  libx.so.1  [unknown]\n"
		"   0 %  30.0 %  app        rec\n");
	options.width = 20;
	options.limit = 2;
	expect_body(&it.profile, &options,
		"  Self  Function\n"
		"70.0 %  leaf\n"
		"20.0 %  work(int)\n"
		"... and 3 more\n"
		"  with 10.0 %\n"
		"  together (--limit\n"
		"  0 shows all)\n");
	profile_done(&it.profile);
}

static void the_block_comes_first(void **state)
{
	struct report_options options = defaults();
	cleanup_free char *text = NULL;
	struct small it;

	(void)state;
	small_init(&it);
	text = report(&it.profile, &options);
	*strstr(text, "\n\n") = '\0';
	assert_string_equal(text, "   Samples    100 in 2.00 s, none lost\n"
				  "   Event      cpu-clock at 100 Hz, kernel perf events\n"
				  "   CPU time   1.00 s: on CPU 50.0 % of 2.00 s, the rest "
				  "waiting, which a CPU profile does not show\n"
				  "   Coverage   100 % of the visible CPU time is in the "
				  "samples; cross-check by another clock: 100 %\n"
				  "   Stacks     100 % complete");
	profile_done(&it.profile);
}

static void rows_by_other_keys(void **state)
{
	struct report_options options = defaults();
	struct small it;

	(void)state;
	small_init(&it);
	options.sort = "thread";
	expect_body(&it.profile, &options,
		" Share    Time  Samples  Command  TID\n"
		"60.0 %  600 ms       60  app       10\n"
		"40.0 %  400 ms       40  worker    11\n");
	options.sort = "dso";
	expect_body(&it.profile, &options,
		"  Self  Self time   Total  Total time  Samples  Module\n"
		"75.0 %     750 ms  75.0 %      750 ms       75  libx.so.1\n"
		"25.0 %     250 ms   100 %      1.00 s       25  app\n");
	options.sort = "comm,symbol";
	options.limit = 3;
	expect_body(&it.profile, &options,
		"  Self  Self time   Total  Total time  Samples  Command  Function\n"
		"40.0 %     400 ms  40.0 %      400 ms       40  app      leaf\n"
		"30.0 %     300 ms  30.0 %      300 ms       30  worker   leaf\n"
		"20.0 %     200 ms  60.0 %      600 ms       20  app      work(int)\n"
		"... and 4 more with 10.0 % together (--limit 0 shows all)\n");
	profile_done(&it.profile);
}

static void trees_up_and_down(void **state)
{
	struct report_options options = defaults();
	struct small it;

	(void)state;
	small_init(&it);
	options.tree = true;
	expect_body(&it.profile, &options,
		" Total        Time    Self  Function\n"
		" 100 %      1.00 s   5.0 %  main  (app)\n"
		"60.0 %      600 ms  20.0 %  |-work(int)\n"
		"40.0 %      400 ms  40.0 %  | leaf  (libx.so.1)\n"
		"30.0 %      300 ms          |-rec\n"
		"30.0 %      300 ms          | rec\n"
		"30.0 %      300 ms  30.0 %  | leaf  (libx.so.1)\n"
		" 5.0 %     50.0 ms   5.0 %  `-[unknown]  (libx.so.1)\n");
	options.min_percent = 35;
	options.utf8 = true;
	expect_body(&it.profile, &options,
		" Total        Time    Self  Function\n"
		" 100 %      1.00 s   5.0 %  main  (app)\n"
		"60.0 %      600 ms  20.0 %  work(int)\n"
		"40.0 %      400 ms  40.0 %  leaf  (libx.so.1)\n"
		"... and 2 branches below 35 % each\n");
	options.tree = false;
	options.min_percent = -1;
	options.callers = "leaf";
	expect_body(&it.profile, &options,
		"Callers of leaf: 70.0 %, 700 ms\n"
		" Share        Time  Called from\n"
		"70.0 %      700 ms  leaf  (libx.so.1)\n"
		"40.0 %      400 ms  ├─work(int)  (app)\n"
		"40.0 %      400 ms  │ main\n"
		"30.0 %      300 ms  └─rec  (app)\n"
		"30.0 %      300 ms    rec\n"
		"30.0 %      300 ms    main\n");
	options.callers = "[unknown]"; /* 5 % of all: the least share is one of its own */
	options.min_percent = 50;
	expect_body(&it.profile, &options,
		"Callers of [unknown]: 5.0 %, 50.0 ms\n"
		" Share        Time  Called from\n"
		" 5.0 %     50.0 ms  [unknown]  (libx.so.1)\n"
		" 5.0 %     50.0 ms  main  (app)\n");
	options.min_percent = -1;
	options.callers = NULL;
	options.callees = "work";
	expect_body(&it.profile, &options,
		"Callees of work(int): 60.0 %, 600 ms\n"
		" Total        Time    Self  Function\n"
		"60.0 %      600 ms  20.0 %  work(int)  (app)\n"
		"40.0 %      400 ms  40.0 %  leaf  (libx.so.1)\n");
	options.time = "0.95..";
	expect_body(&it.profile, &options,
		"Only time 0.95..: 5 of 100 samples; percentages are shares of these\n"
		"\n"
		"No selected sample has it in its stack.\n");
	options.time = NULL;
	options.callees = "/^(rec|work)/";
	expect_body(&it.profile, &options,
		"Callees of work(int): 60.0 %, 600 ms\n"
		" Total        Time    Self  Function\n"
		"60.0 %      600 ms  20.0 %  work(int)  (app)\n"
		"40.0 %      400 ms  40.0 %  leaf  (libx.so.1)\n"
		"\n"
		"Callees of rec: 30.0 %, 300 ms\n"
		" Total        Time    Self  Function\n"
		"30.0 %      300 ms          rec  (app)\n"
		"30.0 %      300 ms          rec\n"
		"30.0 %      300 ms  30.0 %  leaf  (libx.so.1)\n");
	profile_done(&it.profile);
}

static void filters_choose_samples(void **state)
{
	struct report_options options = defaults();
	struct small it;

	(void)state;
	small_init(&it);
	options.sort = "comm";
	options.thread = "wor*";
	expect_body(&it.profile, &options,
		"Only thread wor*: 40 of 100 samples; percentages are shares of these\n"
		"\n"
		"Share    Time  Samples  Command\n"
		"100 %  400 ms       40  worker\n");
	options.thread = "10"; /* the pid of both */
	options.time = "50%..";
	expect_body(&it.profile, &options,
		"Only thread 10, time 50%..: 50 of 100 samples; percentages are shares of "
		"these\n"
		"\n"
		" Share    Time  Samples  Command\n"
		"80.0 %  400 ms       40  worker\n"
		"20.0 %  100 ms       10  app\n");
	options.time = "0.395..0.405";
	expect_body(&it.profile, &options,
		"Only thread 10, time 0.395..0.405: 1 of 100 samples; percentages are shares "
		"of these\n"
		"\n"
		"Share     Time  Samples  Command\n"
		"100 %  10.0 ms        1  app\n");
	options.time = "..0.0s";
	options.thread = NULL;
	expect_body(&it.profile, &options,
		"Only time ..0.0s: 1 of 100 samples; percentages are shares of these\n"
		"\n"
		"Share     Time  Samples  Command\n"
		"100 %  10.0 ms        1  app\n");
	options.time = "500..";
	expect_body(&it.profile, &options,
		"Only time 500..: 0 of 100 samples; percentages are shares of these\n");
	profile_done(&it.profile);
}

static int refused(const struct profile *profile, const struct report_options *options)
{
	struct error err = {""};
	cleanup_free char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int rc = report_write(profile, options, out, &err);

	fclose(out);
	assert_int_equal(len, 0); /* nothing was begun */
	assert_true(err.text[0] != '\0');
	return rc;
}

static void wrong_options_are_refused_before_a_word(void **state)
{
	static const char *const times[] = {"", "5", "..x", "2..1", "-1..2", "1e9..", "1..2..3",
		"9999999999..", "%..", "1.2.3.."};
	struct report_options options;
	struct small it;

	(void)state;
	small_init(&it);
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		options = defaults();
		options.time = times[i];
		assert_int_equal(refused(&it.profile, &options), -EINVAL);
	}
	options = defaults();
	options.sort = "dso,colour";
	assert_int_equal(refused(&it.profile, &options), -EINVAL);
	options.sort = "";
	assert_int_equal(refused(&it.profile, &options), -EINVAL);
	options = defaults();
	options.thread = "nobody";
	assert_int_equal(refused(&it.profile, &options), -ENOENT);
	options = defaults();
	options.callers = "no_such_function";
	assert_int_equal(refused(&it.profile, &options), -ENOENT);
	options.callers = "/(/";
	assert_int_equal(refused(&it.profile, &options), -EINVAL);
	options.callers = "leaf";
	options.tree = true;
	assert_int_equal(refused(&it.profile, &options), -EINVAL);
	profile_done(&it.profile);
}

static void an_inlined_function_counts_for_itself(void **state)
{
	struct report_options options = defaults();
	struct small it;
	uint32_t frame;

	(void)state;
	small_init(&it);
	frame = add_frame(&it.profile, it.app, 0x60, "inner", "middle", "work(int)", NULL);
	add_samples(&it.profile, it.worker, 100, 2, (uint32_t[]){it.main, frame});
	options.limit = 3;
	expect_body(&it.profile, &options,
		"  Self  Self time   Total  Total time  Samples  Module     Function\n"
		"50.0 %     1.00 s  50.0 %      1.00 s      100  app        inner (inlined)\n"
		"35.0 %     700 ms  35.0 %      700 ms       70  libx.so.1  leaf\n"
		"10.0 %     200 ms  80.0 %      1.60 s       20  app        work(int)\n"
		"... and 4 more with 5.0 % together (--limit 0 shows all)\n");
	options.callers = "inner";
	expect_body(&it.profile, &options,
		"Callers of inner (inlined): 50.0 %, 1.00 s\n"
		" Share        Time  Called from\n"
		"50.0 %      1.00 s  inner (inlined)  (app)\n"
		"50.0 %      1.00 s  middle (inlined)\n"
		"50.0 %      1.00 s  work(int)\n"
		"50.0 %      1.00 s  main\n");
	profile_done(&it.profile);
}

static void the_kernel_is_marked(void **state)
{
	struct report_options options = defaults();
	uint32_t kernel, read, unknown, marker;
	struct small it;

	(void)state;
	small_init(&it);
	kernel = add_module(&it.profile, MODULE_KERNEL, "[kernel.kallsyms]_text");
	read = add_frame(&it.profile, kernel, 0x70, "vfs_read", NULL);
	unknown = add_frame(&it.profile, kernel, 0x80, NULL);
	assert_int_equal(profile_marker(&it.profile, "[truncated: no CFI]", &marker), 0);
	add_samples(
		&it.profile, it.worker, 100, 4, (uint32_t[]){marker, it.leaf, read, unknown});
	options.limit = 1;
	expect_body(&it.profile, &options,
		"  Self  Self time   Total  Total time  Samples  Module    Function\n"
		"50.0 %     1.00 s  50.0 %      1.00 s      100  [kernel]  [k] [unknown]\n"
		"... and 6 more with 50.0 % together (--limit 0 shows all)\n");
	options.tree = true;
	options.min_percent = 40;
	expect_body(&it.profile, &options,
		" Total        Time    Self  Function\n"
		" 100 %      2.00 s          all\n"
		"50.0 %      1.00 s          |-[truncated: no CFI]\n"
		"50.0 %      1.00 s          | leaf  (libx.so.1)\n"
		"50.0 %      1.00 s          | [k] vfs_read  ([kernel])\n"
		"50.0 %      1.00 s  50.0 %  | [k] [unknown]\n"
		"50.0 %      1.00 s   2.5 %  `-main  (app)\n"
		"... and 3 branches below 40 % each\n");
	profile_done(&it.profile);
}

static void several_events_have_a_table_each(void **state)
{
	struct report_options options = defaults();
	struct sample sample = {.weight = 1234567, .stack = 0};
	struct small it;
	uint32_t event;

	(void)state;
	small_init(&it);
	assert_int_equal(profile_event(&it.profile, "instructions:u", false, &event), 0);
	sample.event = (uint16_t)event;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(profile_add(&it.profile, &sample), 0);
	assert_int_equal(profile_event(&it.profile, "page-faults", false, &event), 0);
	options.limit = 1;
	expect_body(&it.profile, &options,
		"cpu-clock: 100 samples, 1.00 s\n"
		"  Self  Self time   Total  Total time  Samples  Module     Function\n"
		"70.0 %     700 ms  70.0 %      700 ms       70  libx.so.1  leaf\n"
		"... and 4 more with 30.0 % together (--limit 0 shows all)\n"
		"\n"
		"instructions:u: 1,000 samples, 1.23 G\n"
		" Self  Self count  Total  Total count  Samples  Module  Function\n"
		"100 %      1.23 G  100 %       1.23 G    1,000  app     main\n");
	profile_done(&it.profile);
}

static void nothing_to_show_is_said(void **state)
{
	struct report_options options = defaults();
	struct profile profile = {0};
	cleanup_free char *text = NULL, *tree = NULL, *json = NULL;

	(void)state;
	quality_init(&profile.quality);
	text = report(&profile, &options);
	assert_non_null(strstr(text, "NONE"));
	options.tree = true;
	tree = report(&profile, &options);
	assert_string_equal(text, tree);
	options.format = REPORT_JSON;
	json = report(&profile, &options);
	assert_non_null(strstr(json, "\"events\": []"));
	profile_done(&profile);
}

static void one_sample_without_a_stack(void **state)
{
	struct report_options options = defaults();
	struct profile profile = {0};
	uint32_t thread, event;

	(void)state;
	assert_int_equal(profile_event(&profile, "cpu-clock", true, &event), 0);
	assert_int_equal(profile_thread(&profile, 1, 1, "", &thread), 0);
	add_samples(&profile, thread, 1, 0, NULL);
	quality_from_samples(&profile);
	expect_body(&profile, &options,
		" Self  Self time  Total  Total time  Samples  Module  Function\n"
		"100 %    10.0 ms  100 %     10.0 ms        1          [no stack]\n");
	options.tree = true;
	expect_body(&profile, &options,
		" Total        Time    Self  Function\n"
		"... and samples without a stack: 1\n");
	profile_done(&profile);
}

/* No weight at all (perf stat's leavings, forged files): shares of nothing are 0. */
static void samples_of_no_weight(void **state)
{
	struct report_options options = defaults();
	cleanup_free char *json = NULL;
	struct small it;

	(void)state;
	small_init(&it);
	for (uint32_t i = 0; i < it.profile.sample_count; i++)
		it.profile.samples[i].weight = 0;
	options.limit = 1;
	expect_body(&it.profile, &options,
		"Self  Self time  Total  Total time  Samples  Module  Function\n"
		" 0 %          0    0 %           0        5  app     main\n"
		"... and 4 more with 0 % together (--limit 0 shows all)\n");
	options.format = REPORT_JSON;
	json = report(&it.profile, &options);
	assert_null(strstr(json, "nan"));
	profile_done(&it.profile);
}

static void weights_stop_at_the_top(void **state)
{
	struct report_options options = defaults();
	struct small it;

	(void)state;
	small_init(&it);
	for (uint32_t i = 0; i < it.profile.sample_count; i++)
		it.profile.samples[i].weight = UINT64_MAX / 2;
	options.sort = "pid";
	expect_body(&it.profile, &options,
		"Share              Time  Samples  PID\n"
		"100 %  5124095 h 34 min      100   10\n");
	profile_done(&it.profile);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(functions_with_self_and_total),
	cmocka_unit_test(the_block_comes_first),
	cmocka_unit_test(rows_by_other_keys),
	cmocka_unit_test(trees_up_and_down),
	cmocka_unit_test(filters_choose_samples),
	cmocka_unit_test(wrong_options_are_refused_before_a_word),
	cmocka_unit_test(an_inlined_function_counts_for_itself),
	cmocka_unit_test(the_kernel_is_marked),
	cmocka_unit_test(several_events_have_a_table_each),
	cmocka_unit_test(nothing_to_show_is_said),
	cmocka_unit_test(one_sample_without_a_stack),
	cmocka_unit_test(samples_of_no_weight),
	cmocka_unit_test(weights_stop_at_the_top),
};
UNIT_TESTS("report", tests)
