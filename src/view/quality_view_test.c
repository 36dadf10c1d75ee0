/* The block: what it says of good recordings, of bad ones, and of those that say little. */
#include "base/cleanup.h"
#include "view/quality_view.h"
#include "tests/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct quality good(void)
{
	struct quality q;

	quality_init(&q);
	strcpy(q.event, "cpu-clock");
	strcpy(q.clock, "CLOCK_MONOTONIC");
	strcpy(q.cpu_clock_name, "rusage");
	q.source = SOURCE_KERNEL;
	q.scope = SCOPE_INHERIT;
	q.weight_is_ns = true;
	q.frequency_hz = 1000;
	q.wall_ns = 10000000000;
	q.event_count = q.cpu_ns = 9990000000;
	q.user_ns = 9000000000;
	q.kernel_ns = 990000000;
	q.lost_read = 0;
	q.targets = 1;
	q.exit_status = 0;
	q.samples = 9980;
	q.period_sum = 9980000000;
	q.stops[STOP_ROOT] = 9980;
	q.user_frames = 99800;
	return q;
}

static char *block(const struct quality *q, unsigned width)
{
	const struct quality_view view = {.quality = q, .width = width};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(quality_view_text(&view, out), 0);
	fclose(out);
	return text;
}

static void expect_block(const struct quality *q, unsigned width, const char *expected)
{
	cleanup_free char *text = block(q, width);

	assert_string_equal(text, expected);
}

/* The line that begins with `start` (mark and word) is there, and `part` is in it. */
static void expect_line(const struct quality *q, const char *start, const char *part)
{
	cleanup_free char *text = block(q, 0);
	char *line = NULL;

	for (char *at = text; at && !line; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (strncmp(at, start, strlen(start)) == 0)
			line = at;
	if (!line)
		fail_msg("no line \"%s\" in:\n%s", start, text);
	*strchr(line, '\n') = '\0';
	if (!strstr(line, part))
		fail_msg("\"%s\" is not in: %s", part, line);
}

static void expect_no_line(const struct quality *q, const char *word)
{
	cleanup_free char *text = block(q, 0);

	assert_null(strstr(text, word));
}

static void a_good_recording_takes_few_lines(void **state)
{
	struct quality q = good();

	(void)state;
	expect_block(&q, 0,
		"   Samples    9,980 in 10.0 s, none lost\n"
		"   Event      cpu-clock at 1,000 Hz, kernel perf events, CLOCK_MONOTONIC\n"
		"   CPU time   9.99 s (9.9 % in the kernel): on CPU all the time\n"
		"   Coverage   99.9 % of the visible CPU time is in the samples; cross-check "
		"by rusage: 99.9 %\n"
		"   Stacks     100 % complete\n"
		"   Names      100 % of the user frames have a function name\n");
	expect_block(&q, 50,
		"   Samples    9,980 in 10.0 s, none lost\n"
		"   Event      cpu-clock at 1,000 Hz, kernel perf\n"
		"              events, CLOCK_MONOTONIC\n"
		"   CPU time   9.99 s (9.9 % in the kernel): on CPU\n"
		"              all the time\n"
		"   Coverage   99.9 % of the visible CPU time is in\n"
		"              the samples; cross-check by rusage:\n"
		"              99.9 %\n"
		"   Stacks     100 % complete\n"
		"   Names      100 % of the user frames have a\n"
		"              function name\n");
}

static void complete_stacks_are_told_by_how(void **state)
{
	struct quality q = good();

	(void)state;
	q.samples = 10000;
	q.stops[STOP_ROOT] = 9000;
	q.stops[STOP_SWITCHED] = 900;
	q.stops[STOP_NOT_ROOT] = 100;
	expect_line(&q, "   Stacks",
		"99.0 % complete (9.0 % on Go's system stack, without their goroutine); "
		"others");
	q.stops[STOP_ROOT] = 8800;
	q.stops[STOP_LATE] = 200;
	expect_line(&q, "   Stacks",
		"complete (2.0 % completed late, 9.0 % on Go's system stack, without their "
		"goroutine); others");
	q.stops[STOP_ROOT] += 900;
	q.stops[STOP_SWITCHED] = 0;
	expect_line(&q, "   Stacks", "complete (2.0 % completed late); others");
}

static void stacks_that_were_cut_to_keep_up_are_told(void **state)
{
	struct quality q = good();

	(void)state;
	q.samples = 10000;
	q.stops[STOP_ROOT] = 8000;
	q.stops[STOP_BEHIND] = 1900;
	q.stops[STOP_NO_COPY] = 100;
	q.behind_ns = 1650000000;
	q.by_pointers = 1200;
	expect_line(&q, " ! Behind",
		"could not keep up for 1.65 s: 1,900 stacks were cut short, 1,200 of them "
		"followed by frame pointers only; a lower rate (-F) or a bigger buffer (-m)");
	expect_line(&q, " ! Stacks", "19.0 % cut short to keep up (a lower rate");
	expect_line(&q, " ! Stacks", "1.0 % nothing of the stack could be copied (its page");
	q.stops[STOP_ROOT] = 10000; /* none needed to be cut */
	q.stops[STOP_BEHIND] = q.stops[STOP_NO_COPY] = 0;
	expect_no_line(&q, "Behind");
}

static void a_bad_one_says_everything(void **state)
{
	struct quality q = good();

	(void)state;
	strcpy(q.event, "cpu-clock:u");
	strcpy(q.why_event, "cycles: this machine has no PMU that delivers");
	strcpy(q.notes, "first note\nsecond \x1b[31mnote");
	q.source = SOURCE_KERNEL_USER_ONLY;
	q.user_ns = q.kernel_ns = 4995000000;
	q.samples = 2000;
	q.period_sum = 2000000000;
	q.lost = 500;
	q.lost_records = 3;
	q.first_loss_ns = 1200000000;
	q.last_loss_ns = 3400000000;
	q.throttled = 5;
	q.throttled_ns = 12000000;
	q.ring_pages = 16;
	q.ring_pages_asked = 128;
	q.stops[STOP_ROOT] = 100;
	q.stops[STOP_NOT_ROOT] = 1800;
	q.stops[STOP_NO_CHAIN] = 50;
	q.stops[STOP_TRUNCATED_KERNEL] = 40;
	q.stops[STOP_DEPTH] = 10;
	q.unnamed_frames = 60000;
	q.truncated_at = 123456;
	q.bad_records = 2;
	q.unknown_records = 1;
	q.out_of_order = 7;
	q.exit_status = 139;
	expect_block(&q, 0,
		"   Samples    2,000 in 10.0 s\n"
		"   Event      cpu-clock:u at 1,000 Hz, kernel perf events, user mode only, "
		"CLOCK_MONOTONIC; cycles: this machine has no PMU that delivers\n"
		"   CPU time   9.99 s (50.0 % in the kernel): on CPU all the time\n"
		"!! Coverage   40.0 % of the visible CPU time is in the samples; cross-check "
		"by rusage: 40.0 %; samples were lost, see below\n"
		" ! Kernel     kernel time is hidden (user mode only): 50.0 % of the CPU time "
		"is in the kernel and not in this profile; sysctl kernel.perf_event_paranoid=1 "
		"(or root) and no :u shows it\n"
		"!! Lost       500 samples (20.0 %) between 1.20 s and 3.40 s: the buffer was "
		"full; a lower rate (-F) keeps them\n"
		" ! Throttled  the kernel paused the event 5 times, in all 12.0 ms, as "
		"sampling took too long (kernel.perf_cpu_time_max_percent): a lower rate (-F) "
		"avoids it\n"
		"   Buffer     16 pages a CPU instead of 128: more is not allowed "
		"(RLIMIT_MEMLOCK, kernel.perf_event_mlock_kb)\n"
		"!! Stacks     5.0 % complete; others end early: 90.0 % the frame-pointer "
		"chain broke off (built without frame pointers? -fno-omit-frame-pointer), 2.5 "
		"% the kernel gave no user frames, 2.0 % cut at the kernel's depth limit "
		"(sysctl kernel.perf_event_max_stack=1024)\n"
		"!! Names      39.9 % of the user frames have a function name; debug symbols "
		"of what shows as [unknown] bring more\n"
		"!! File       ends too early, at byte 123,456 (was the recorder killed, or "
		"the disk full?): what came after is missing\n"
		" !            2 damaged records were skipped\n"
		"              1 records of a kind that wick does not know were skipped\n"
		" !            7 records came too late to be put in order: some frames may "
		"have the wrong module\n"
		" ! Command    was ended by signal 11\n"
		"   Note       first note\n"
		"              second \\x1b[31mnote\n");
}

static void no_samples_is_said_loudly_and_why(void **state)
{
	struct quality q = good();

	(void)state;
	q.samples = q.period_sum = q.stops[STOP_ROOT] = q.user_frames = 0;
	q.cpu_ns = q.event_count = 400000;
	expect_line(&q, "!! Samples", "NONE in 10.0 s");
	expect_line(
		&q, "!! Likely", "used 400 us of CPU time, and a sample is due every 1.00 ms");
	q.cpu_ns = q.event_count = 5000000000;
	q.source = SOURCE_KERNEL_USER_ONLY;
	strcpy(q.event, "cpu-clock:u");
	q.user_ns = 1000000;
	q.kernel_ns = 4999000000;
	expect_line(&q, "!! Likely", "spent in the kernel, which is hidden");
	q = good();
	q.samples = q.period_sum = q.event_count = 0;
	expect_line(&q, "!! Likely", "-e cpu-clock");
	q = good();
	q.samples = 0;
	q.lost_read = 9000;
	expect_line(&q, "!! Likely", "9,000 samples were taken, and all of them were lost");
	quality_init(&q);
	expect_line(&q, "!! Samples", "NONE: there is no profile");
	expect_line(&q, "!! Likely", "the file does not say why");
}

static void few_samples_are_called_few(void **state)
{
	struct quality q = good();

	(void)state;
	q.samples = 1;
	expect_line(&q, " ! Samples", "off by 50 points");
	q.samples = 25;
	expect_line(&q, " ! Samples", "off by 10 points");
	q.samples = 100;
	expect_line(&q, "   Samples", "100 in 10.0 s, none lost");
}

static void waiting_is_not_running(void **state)
{
	struct quality q = good();

	(void)state;
	q.cpu_ns = q.event_count = q.period_sum = 300000000;
	expect_line(&q, "   CPU time", "on CPU 3.0 % of 10.0 s, the rest waiting");
	q.cpu_ns = 25000000000;
	expect_line(&q, "   CPU time", "2.5 CPUs busy");
	q.cpu_ns = QUALITY_UNKNOWN;
	expect_line(&q, "   CPU time", "not known");
}

static void coverage_that_does_not_apply_says_so(void **state)
{
	struct quality q = good();

	(void)state;
	q.event_count = q.cpu_ns = QUALITY_UNKNOWN;
	expect_line(&q, "   Coverage", "not known");
	q = good();
	strcpy(q.event, "page-faults");
	q.weight_is_ns = false;
	q.event_count = QUALITY_UNKNOWN;
	expect_line(&q, "   Coverage", "not applicable: page-faults counts no time");
	q.event_count = 10000000000;
	expect_line(&q, "   Coverage", "99.8 % of what the event counted");
	expect_line(&q, "   Coverage", "no cross-check");
	q = good();
	q.event_count = q.cpu_ns = 5000000;
	expect_line(&q, "   Coverage", "too short");
}

static void coverage_that_is_short_says_why(void **state)
{
	struct quality q = good();

	(void)state;
	q.period_sum = 7700000000;
	expect_line(&q, "!! Coverage", "77.1 %");
	expect_line(&q, "!! Coverage", "threads that live shorter");
	q.lost_read = 3000;
	expect_line(&q, "!! Coverage", "samples were lost, see below");
	expect_line(&q, "!! Lost", "3,000 samples (23.1 %) at the very end");
	q = good();
	q.cpu_ns = 20000000000; /* threads that were never attached to */
	expect_line(&q, "!! Coverage", "cross-check by rusage: 49.9 %");
	q = good();
	q.period_sum = 12000000000;
	expect_line(&q, "!! Coverage", "more than all");
}

static void what_is_missing_is_not_mentioned(void **state)
{
	struct quality q = good();

	(void)state;
	expect_no_line(&q, "Lost");
	expect_no_line(&q, "Throttled");
	expect_no_line(&q, "Kernel");
	expect_no_line(&q, "File");
	expect_no_line(&q, "Command");
	q.source = SOURCE_KERNEL_USER_ONLY;
	q.kernel_ns = 0;
	q.user_ns = q.cpu_ns;
	expect_no_line(&q, "Kernel");
	q.kernel_ns = QUALITY_UNKNOWN;
	expect_line(&q, " ! Kernel", "how much is not known");
}

static void modules_without_names_are_told(void **state)
{
	struct quality q = good();
	struct module_note notes[7] = {{0}};
	struct quality_view view = {.quality = &q, .notes = notes, .note_count = 7};
	struct quality_lines lines;
	uint32_t told = 0;

	(void)state;
	q.unnamed_frames = 50000;
	for (uint32_t i = 0; i < 7; i++)
		notes[i] = (struct module_note){i, 20000, (i + 3) % 7 * 1000, "because"};
	assert_int_equal(quality_lines_make(&lines, &view), 0);
	for (uint32_t i = 0; i < lines.count; i++) {
		static const char *const expected[] = {
			"49.9 % of the user frames have a function name",
			"6.0 % in [unknown]: because", "5.0 % in [unknown]: because",
			"4.0 % in [unknown]: because", "3.0 % in [unknown]: because",
			"2.0 % in [unknown]: because"};

		if (strcmp(lines.lines[i].about, "names") != 0)
			continue;
		assert_true(told < 6);
		assert_string_equal(strbuf_text(&lines.lines[i].text), expected[told]);
		told++;
	}
	assert_int_equal(told, 6);
	quality_lines_done(&lines);
}

/* Foreign files: no word of the recorder's, names of the kernel that are hidden. */
static void a_file_of_others_says_less(void **state)
{
	struct profile profile = {0};
	struct module module = {.kind = MODULE_KERNEL};
	struct module_note note = {.frames = 300, .unnamed = 200, .why = "hidden"};
	struct quality_view view = {.quality = &profile.quality,
		.profile = &profile,
		.notes = &note,
		.note_count = 1};
	cleanup_free char *text = NULL;
	uint32_t event;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	quality_init(&profile.quality);
	profile.quality.samples = 150;
	profile.quality.lost = 50;
	profile.quality.first_loss_ns = 152000000;
	profile.quality.last_loss_ns = 152100000;
	assert_int_equal(profile_event(&profile, "cycles", false, &event), 0);
	assert_int_equal(profile_event(&profile, "faults", false, &event), 0);
	assert_int_equal(profile_module(&profile, &module, &note.module), 0);
	assert_int_equal(quality_view_text(&view, out), 0);
	fclose(out);
	assert_string_equal(text,
		"   Samples    150\n"
		"   Event      cycles, faults\n"
		"   Coverage   not known: the recording does not say how much there was to "
		"sample\n"
		"!! Lost       50 samples (25.0 %) at 152 ms: the buffer was full; a bigger "
		"one (-m) or a lower rate (-F) keeps them\n"
		"   Stacks     not applicable: no user stack was due\n"
		" ! Names      66.7 % of the frames in [kernel] have none: hidden\n");
	profile_done(&profile);
}

static void colours_only_when_asked(void **state)
{
	struct quality q = good();
	struct quality_view view = {.quality = &q, .colour = true, .utf8 = true};
	cleanup_free char *plain = block(&q, 0);
	cleanup_free char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_null(strchr(plain, '\x1b'));
	assert_int_equal(quality_view_text(&view, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "\x1b[32m"));
}

/* Every number absurd: nothing overflows, no line is empty. */
static void absurd_numbers_are_survived(void **state)
{
	struct quality q;
	cleanup_free char *text = NULL, *json = NULL;
	struct quality_view view = {.quality = &q};
	size_t len;
	FILE *out = open_memstream(&json, &len);

	(void)state;
	memset(&q, 0xff, sizeof(q));
	q.event[63] = q.clock[31] = q.why_event[191] = q.cpu_clock_name[47] = q.notes[1023] =
		'\0';
	q.weight_is_ns = q.interrupted = q.scaled = q.unfinished = true;
	q.samples = q.lost = q.period_sum = q.event_count = q.cpu_ns = UINT64_MAX - 1;
	q.wall_ns = 1;
	q.exit_status = INT32_MAX;
	text = block(&q, 30);
	assert_true(strlen(text) > 100);
	assert_int_equal(quality_view_json(&view, out), 0);
	fclose(out);
	assert_null(strstr(json, "nan"));
	assert_null(strstr(json, "inf\n"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_good_recording_takes_few_lines),
	cmocka_unit_test(complete_stacks_are_told_by_how),
	cmocka_unit_test(stacks_that_were_cut_to_keep_up_are_told),
	cmocka_unit_test(a_bad_one_says_everything),
	cmocka_unit_test(no_samples_is_said_loudly_and_why),
	cmocka_unit_test(few_samples_are_called_few),
	cmocka_unit_test(waiting_is_not_running),
	cmocka_unit_test(coverage_that_does_not_apply_says_so),
	cmocka_unit_test(coverage_that_is_short_says_why),
	cmocka_unit_test(what_is_missing_is_not_mentioned),
	cmocka_unit_test(modules_without_names_are_told),
	cmocka_unit_test(a_file_of_others_says_less),
	cmocka_unit_test(colours_only_when_asked),
	cmocka_unit_test(absurd_numbers_are_survived),
};
UNIT_TESTS("quality_view", tests)
