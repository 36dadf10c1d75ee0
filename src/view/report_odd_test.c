/* Reports of hostile names, of deep stacks and of many functions; onto full disks. */
#include "base/cleanup.h"
#include "view/report_fixture.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
UNIT_TESTS("report_odd", tests)
