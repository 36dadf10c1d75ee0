/*
 * Reports of a small profile with known sums, of hostile ones, and of big ones.
 *
 *     100 samples of 10 ms:   main work leaf 40      main work 20        main 5
 *                             main rec rec leaf 30   main [unknown] 5
 */
#include "base/cleanup.h"
#include "view/report.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 10000000

static uint32_t add_module(struct profile *profile, enum module_kind kind, const char *path)
{
	struct module module = {.kind = kind};
	uint32_t id;

	assert_int_equal(profile_string(profile, path, &module.path), 0);
	assert_int_equal(profile_module(profile, &module, &id), 0);
	return id;
}

/* A frame with these functions, innermost first, NULL at the end; none: it has no name. */
static uint32_t add_frame(struct profile *profile, uint32_t module, uint64_t addr, ...)
{
	struct line lines[4] = {0};
	uint32_t frame, n = 0;
	const char *name;
	va_list names;

	assert_int_equal(profile_frame(profile, module, addr, false, addr, &frame), 0);
	va_start(names, addr);
	while ((name = va_arg(names, const char *)) != NULL) {
		struct function function = {.module = module, .addr = addr};

		assert_int_equal(profile_string(profile, name, &function.name), 0);
		function.linkage_name = function.name;
		assert_int_equal(profile_function(profile, &function, &lines[n++].function), 0);
	}
	va_end(names);
	assert_int_equal(profile_resolve(profile, frame, lines, n), 0);
	return frame;
}

/* `n` samples on a stack of these frames, from the root. */
static void add_samples(struct profile *profile, uint32_t thread, uint32_t n, uint32_t depth,
	const uint32_t *frames)
{
	struct sample sample = {.weight = TICK_NS, .stack = PROFILE_NONE, .thread = thread};

	for (uint32_t i = 0; i < depth; i++)
		assert_int_equal(
			profile_stack(profile, sample.stack, frames[i], &sample.stack), 0);
	for (uint32_t i = 0; i < n; i++) {
		sample.time_ns = 1000 + (uint64_t)profile->sample_count * TICK_NS;
		assert_int_equal(profile_add(profile, &sample), 0);
	}
}

static void quality_from_samples(struct profile *profile)
{
	struct quality *quality = &profile->quality;

	quality_init(quality);
	strcpy(quality->event, "cpu-clock");
	quality->source = SOURCE_KERNEL;
	quality->scope = SCOPE_INHERIT;
	quality->weight_is_ns = true;
	quality->frequency_hz = 100;
	quality->wall_ns = 2000000000;
	quality->samples = profile->sample_count;
	quality->period_sum = (uint64_t)profile->sample_count * TICK_NS;
	quality->event_count = quality->cpu_ns = quality->period_sum;
	quality->lost_read = 0;
	quality->stops[STOP_ROOT] = profile->sample_count;
}

struct small {
	struct profile profile;
	uint32_t app, lib, main_thread, worker;
	uint32_t main, work, rec, leaf, unknown;
};

static void small_init(struct small *it)
{
	struct profile *profile = &it->profile;
	uint32_t event;

	*it = (struct small){0};
	it->app = add_module(profile, MODULE_FILE, "/usr/bin/app");
	it->lib = add_module(profile, MODULE_FILE, "/usr/lib/libx.so.1");
	assert_int_equal(profile_event(profile, "cpu-clock", true, &event), 0);
	assert_int_equal(profile_thread(profile, 10, 10, "app", &it->main_thread), 0);
	assert_int_equal(profile_thread(profile, 10, 11, "worker", &it->worker), 0);
	it->main = add_frame(profile, it->app, 0x10, "main", NULL);
	it->work = add_frame(profile, it->app, 0x20, "work(int)", NULL);
	it->rec = add_frame(profile, it->app, 0x30, "rec", NULL);
	it->leaf = add_frame(profile, it->lib, 0x40, "leaf", NULL);
	it->unknown = add_frame(profile, it->lib, 0x50, NULL);
	add_samples(
		profile, it->main_thread, 40, 3, (uint32_t[]){it->main, it->work, it->leaf});
	add_samples(profile, it->main_thread, 20, 2, (uint32_t[]){it->main, it->work});
	add_samples(
		profile, it->worker, 30, 4, (uint32_t[]){it->main, it->rec, it->rec, it->leaf});
	add_samples(profile, it->worker, 5, 1, (uint32_t[]){it->main});
	add_samples(profile, it->worker, 5, 2, (uint32_t[]){it->main, it->unknown});
	quality_from_samples(profile);
}

/* The report as text; the caller frees it. */
static char *report(const struct profile *profile, const struct report_options *options)
{
	struct error err = {""};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int rc = report_write(profile, options, out, &err);

	fclose(out);
	if (rc != 0)
		fail_msg("%d: %s", rc, err.text);
	return text;
}

/* What stands behind the block: from the first empty line on. */
static const char *body(const char *text)
{
	const char *gap = strstr(text, "\n\n");

	return gap ? gap + 2 : "";
}

static struct report_options defaults(void)
{
	struct report_options options;

	report_options_init(&options);
	return options;
}

static void expect_body(const struct profile *profile, const struct report_options *options,
	const char *expected)
{
	cleanup_free char *text = report(profile, options);

	assert_string_equal(body(text), expected);
}

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

/* ---- hostile names */

static const char *const hostile[] = {
	"\x1b]0;owned\x07\x1b[31m",
	"two\nlines\r\ttab",
	"\xff\xfe\xc0\x80",
	"\u202ereversed\u2066",
	"\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57",
	"pipe|`tick`|<b>*_\"quote\\",
	"operator<<<<<<>>>>><((((",
	"<<<<<",
	"))))",
	"{\"json\": null}",
	" ",
};

static void hostile_init(struct profile *profile)
{
	uint32_t module, thread, event, caller, i;
	char *longest = malloc(10001);

	*profile = (struct profile){0};
	assert_int_equal(profile_event(profile, hostile[0], true, &event), 0);
	memset(longest, 'x', 10000);
	longest[10000] = '\0';
	caller =
		add_frame(profile, add_module(profile, MODULE_FILE, longest), 1, longest, NULL);
	free(longest);
	for (i = 0; i < ARRAY_LEN(hostile); i++) {
		uint32_t frame;

		module = add_module(profile, MODULE_FILE, hostile[i]);
		frame = add_frame(profile, module, i, hostile[i], NULL);
		assert_int_equal(
			profile_thread(profile, -1, (int32_t)i, hostile[i], &thread), 0);
		add_samples(profile, thread, i + 1, 2, (uint32_t[]){caller, frame});
	}
	quality_from_samples(profile);
	snprintf(profile->quality.notes, sizeof(profile->quality.notes), "%s", hostile[0]);
	memset(profile->quality.event, 'e', sizeof(profile->quality.event) - 1);
}

/* Lines that fit, and not one byte that a terminal obeys. */
static void expect_tame(const char *text, size_t width, bool ascii)
{
	size_t columns = 0;

	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		assert_true(*p >= 0x20 || *p == '\n');
		assert_true(*p < (ascii ? 0x7f : 0xf8));
		assert_int_not_equal(*p, 0x7f);
		if (*p == '\n')
			columns = 0;
		else if (++columns > width && ascii)
			fail_msg("a line is longer than %zu columns: %.40s", width,
				(const char *)p - width);
	}
	assert_null(strstr(text, "\u202e"));
}

static void hostile_names_on_any_terminal(void **state)
{
	static const char *const sorts[] = {
		NULL, "comm", "dso,comm,tid,symbol", "symbol,dso", "tid"};
	struct report_options options = defaults();
	struct profile profile;

	(void)state;
	hostile_init(&profile);
	for (options.width = 20; options.width <= 300; options.width += options.width / 4 - 4) {
		for (size_t i = 0; i < ARRAY_LEN(sorts); i++) {
			cleanup_free char *text = NULL, *tree = NULL;

			options.sort = sorts[i];
			options.utf8 = false;
			text = report(&profile, &options);
			expect_tame(text, options.width, true);
			options.utf8 = true;
			options.sort = NULL;
			options.tree = true;
			tree = report(&profile, &options);
			expect_tame(tree, options.width, false);
			options.tree = false;
		}
	}
	profile_done(&profile);
}

static void wide_names_keep_the_columns_straight(void **state)
{
	struct report_options options = defaults();
	struct profile profile;
	cleanup_free char *text = NULL;

	(void)state;
	hostile_init(&profile);
	options.utf8 = true;
	options.sort = "comm,pid";
	options.thread = "4,5";
	options.width = 60;
	expect_body(&profile, &options,
		"Only thread 4,5: 11 of 66 samples; percentages are shares\n"
		"  of these\n"
		"\n"
		" Share     Time  Command       PID\n"
		"54.5 %  60.0 ms  pipe…\"quote\\   -1\n"
		"45.5 %  50.0 ms  漢字…字漢字    -1\n");
	profile_done(&profile);
}

/* Feeds `text` to python's JSON parser; skips where there is no python. */
static void expect_json(const char *text)
{
	char path[] = "/tmp/wick-report-XXXXXX";
	char command[128];
	int fd = mkstemp(path), status;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	if (system("python3 -c 0 2>/dev/null") != 0) {
		unlink(path);
		print_message("python3 is not here: JSON is not checked\n");
		skip();
	}
	snprintf(command, sizeof(command), "python3 -m json.tool %s >/dev/null", path);
	status = system(command);
	unlink(path);
	assert_int_equal(status, 0);
}

static void json_is_valid_whatever_the_names(void **state)
{
	static const char *const sorts[] = {NULL, "comm,pid,tid,dso,symbol", "dso"};
	struct report_options options = defaults();
	struct profile profile;

	(void)state;
	hostile_init(&profile);
	options.format = REPORT_JSON;
	options.notes = &(struct module_note){0, 10, 5, "\x1b[1m\"why\""};
	options.note_count = 1;
	for (size_t i = 0; i < ARRAY_LEN(sorts) + 2; i++) {
		cleanup_free char *text = NULL;

		options.sort = i < ARRAY_LEN(sorts) ? sorts[i] : NULL;
		options.tree = i == ARRAY_LEN(sorts);
		options.callers = i == ARRAY_LEN(sorts) + 1 ? "e" : NULL;
		text = report(&profile, &options);
		assert_non_null(strstr(text, "\"schema\": \"wick-report/1\""));
		expect_json(text);
	}
	profile_done(&profile);
}

static void json_of_the_small_one(void **state)
{
	struct report_options options = defaults();
	cleanup_free char *text = NULL;
	struct small it;

	(void)state;
	small_init(&it);
	options.format = REPORT_JSON;
	options.limit = 2;
	text = report(&it.profile, &options);
	assert_string_equal(strstr(text, "  \"selected_samples\""),
		"  \"selected_samples\": 100,\n"
		"  \"events\": [\n"
		"    {\n"
		"      \"event\": \"cpu-clock\",\n"
		"      \"unit\": \"ns\",\n"
		"      \"weight\": 1000000000,\n"
		"      \"samples\": 100,\n"
		"      \"functions\": [\n"
		"        {\"name\": \"leaf\", \"kind\": \"function\", \"inlined\": false, "
		"\"module\": \"libx.so.1\", \"path\": \"/usr/lib/libx.so.1\", \"kernel\": "
		"false, \"self\": 700000000, \"total\": 700000000, \"self_pct\": 70, "
		"\"total_pct\": 70, \"self_samples\": 70, \"total_samples\": 70},\n"
		"        {\"name\": \"work(int)\", \"kind\": \"function\", \"inlined\": false, "
		"\"module\": \"app\", \"path\": \"/usr/bin/app\", \"kernel\": false, \"self\": "
		"200000000, \"total\": 600000000, \"self_pct\": 20, \"total_pct\": 60, "
		"\"self_samples\": 20, \"total_samples\": 60}\n"
		"      ]\n"
		"    }\n"
		"  ]\n"
		"}\n");
	profile_done(&it.profile);
}

static void markdown_is_a_table(void **state)
{
	struct report_options options = defaults();
	struct small it;

	(void)state;
	small_init(&it);
	options.format = REPORT_MARKDOWN;
	options.limit = 2;
	expect_body(&it.profile, &options,
		"| Self | Self time | Total | Total time | Samples | Module | Function |\n"
		"|--:|--:|--:|--:|--:|---|---|\n"
		"| 70.0 % | 700 ms | 70.0 % | 700 ms | 70 | `libx.so.1` | `leaf` |\n"
		"| 20.0 % | 200 ms | 60.0 % | 600 ms | 20 | `app` | `work(int)` |\n"
		"\n"
		"... and 3 more with 10.0 % together (--limit 0 shows all)\n");
	profile_done(&it.profile);
}

/* ---- big ones */

static void deep_init(struct profile *profile, uint32_t depth)
{
	struct small it;
	uint32_t *frames = calloc(depth + 1, sizeof(*frames));

	small_init(&it);
	*profile = it.profile;
	for (uint32_t i = 0; i < depth; i++)
		frames[i] = it.rec;
	add_samples(profile, it.worker, 100, depth, frames);
	for (uint32_t i = 0; i < depth; i += 100) { /* and a leaf at many depths */
		frames[i] = it.leaf;
		add_samples(profile, it.worker, 1, i + 1, frames);
		frames[i] = it.rec;
	}
	free(frames);
	quality_from_samples(profile);
}

static unsigned count_lines(const char *text)
{
	unsigned lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void a_deep_stack_is_folded(void **state)
{
	struct report_options options = defaults();
	cleanup_free char *table = NULL, *tree = NULL, *callers = NULL, *json = NULL;
	struct profile profile;

	(void)state;
	deep_init(&profile, 8000);
	options.width = 80;
	table = report(&profile, &options);
	assert_non_null(strstr(table, "rec\n"));
	options.tree = true;
	tree = report(&profile, &options);
	assert_non_null(strstr(tree, "... 7,992 frames ..."));
	assert_true(count_lines(tree) < 60);
	options.tree = false;
	options.callers = "leaf";
	options.min_percent = 0.01;
	callers = report(&profile, &options);
	assert_non_null(strstr(callers, " frames ..."));
	options.callers = NULL;
	options.tree = true;
	options.format = REPORT_JSON;
	json = report(&profile, &options);
	expect_json(json);
	profile_done(&profile);
}

/* At every one of 2,000 depths a branch: with min_percent 0 all of them are shown. */
static void a_branch_at_every_depth(void **state)
{
	struct report_options options = defaults();
	cleanup_free char *tree = NULL;
	uint32_t frames[2001];
	struct small it;

	(void)state;
	small_init(&it);
	for (uint32_t i = 0; i < 2000; i++)
		frames[i] = it.rec;
	for (uint32_t i = 1; i < 2000; i++) {
		frames[i] = it.leaf;
		add_samples(&it.profile, it.worker, 1, i + 1, frames);
		frames[i] = it.rec;
	}
	add_samples(&it.profile, it.worker, 1, 2000, frames);
	quality_from_samples(&it.profile);
	options.tree = true;
	options.min_percent = 0;
	options.width = 80;
	tree = report(&it.profile, &options);
	assert_true(count_lines(tree) >= 4000);
	expect_tame(tree, 80, true);
	profile_done(&it.profile);
}

/* CPU time of a report of `n` functions that each call the next one's leaf. */
static double seconds_for(uint32_t n)
{
	struct report_options options = defaults();
	struct profile profile = {0};
	uint32_t module, thread, event;
	cleanup_free char *text = NULL;
	char name[32];
	clock_t start;

	module = add_module(&profile, MODULE_FILE, "/usr/bin/big");
	assert_int_equal(profile_event(&profile, "cpu-clock", true, &event), 0);
	assert_int_equal(profile_thread(&profile, 1, 1, "big", &thread), 0);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t frames[2] = {0};

		snprintf(name, sizeof(name), "function_%u", i);
		frames[i > 0] = add_frame(&profile, module, i, name, NULL);
		add_samples(&profile, thread, 2, 1 + (i > 0), frames);
	}
	quality_from_samples(&profile);
	options.limit = 0;
	start = clock();
	text = report(&profile, &options);
	assert_int_equal(count_lines(body(text)), n + 1);
	profile_done(&profile);
	return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void a_hundred_thousand_functions_take_linear_time(void **state)
{
	double small = 1e9, big = 1e9;

	(void)state;
	for (int i = 0; i < 3; i++) {
		double a = seconds_for(10000), b = seconds_for(100000);

		small = a < small ? a : small;
		big = b < big ? b : big;
	}
	assert_true(big < small * 10 * 3); /* quadratic would be a factor of 100 */
}

static void a_full_disk_is_an_error(void **state)
{
	struct report_options options = defaults();
	struct error err = {""};
	struct small it;
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	if (!full)
		skip();
	small_init(&it);
	assert_int_equal(report_write(&it.profile, &options, full, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "No space left"));
	fclose(full);
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
	cmocka_unit_test(hostile_names_on_any_terminal),
	cmocka_unit_test(wide_names_keep_the_columns_straight),
	cmocka_unit_test(json_is_valid_whatever_the_names),
	cmocka_unit_test(json_of_the_small_one),
	cmocka_unit_test(markdown_is_a_table),
	cmocka_unit_test(a_deep_stack_is_folded),
	cmocka_unit_test(a_branch_at_every_depth),
	cmocka_unit_test(a_hundred_thousand_functions_take_linear_time),
	cmocka_unit_test(a_full_disk_is_an_error),
};
UNIT_TESTS("report", tests)
