#include "view/diff.h"

#include "tests/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct profile *p, const char *module_path, const char *name, uint64_t weight)
{
	struct module module = {.kind = MODULE_FILE};
	struct function function = {0};
	struct sample sample = {.weight = weight};
	struct line line = {0};
	uint32_t frame, event;

	assert_int_equal(profile_string(p, module_path, &module.path), 0);
	assert_int_equal(profile_module(p, &module, &function.module), 0);
	assert_int_equal(profile_string(p, name, &function.name), 0);
	function.linkage_name = function.name;
	assert_int_equal(profile_function(p, &function, &line.function), 0);
	assert_int_equal(
		profile_frame(p, function.module, function.name * 16ull, false, 0, &frame), 0);
	if (!p->frames[frame].resolved)
		assert_int_equal(profile_resolve(p, frame, &line, 1), 0);
	assert_int_equal(profile_stack(p, PROFILE_NONE, frame, &sample.stack), 0);
	assert_int_equal(profile_thread(p, 1, 1, "t", &sample.thread), 0);
	assert_int_equal(profile_event(p, "cpu-clock", true, &event), 0);
	assert_int_equal(profile_add(p, &sample), 0);
}

static char *compared(struct profile *before, struct profile *after, uint32_t limit)
{
	const struct diff_options options = {.limit = limit, .min_percent = 0.1};
	struct error err = {""};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(diff_write(before, after, &options, out, &err), 0);
	fclose(out);
	profile_done(before);
	profile_done(after);
	return text;
}

/* The second is ten times as long; its modules lie elsewhere. */
static void shares_are_compared(void **state)
{
	struct profile before = {0}, after = {0};
	char *text;

	(void)state;
	quality_init(&before.quality);
	quality_init(&after.quality);
	add(&before, "/old/prog", "fast", 75);
	add(&before, "/old/prog", "same", 20);
	add(&before, "/old/prog", "gone", 5);
	add(&after, "/new/prog", "fast", 500);
	add(&after, "/new/prog", "same", 200);
	add(&after, "/new/prog", "came", 300);
	text = compared(&before, &after, 0);
	assert_string_equal(text,
		"  change  before   after    total  function, module; percent of all, self\n"
		"  +30.00    0.00   30.00   +30.00  came  prog\n"
		"  -25.00   75.00   50.00   -25.00  fast  prog\n"
		"   -5.00    5.00    0.00    -5.00  gone  prog\n");
	free(text);
}

static void the_limit_and_no_change_are_said(void **state)
{
	struct profile before = {0}, after = {0};
	char *text;

	(void)state;
	add(&before, "/prog", "a", 1);
	add(&after, "/prog", "a", 7);
	text = compared(&before, &after, 0);
	assert_non_null(strstr(text, "nothing changed by 0.1 % of all or more\n"));
	free(text);
	add(&before, "/prog", "a", 1);
	add(&after, "/prog", "b", 1);
	text = compared(&before, &after, 1);
	assert_non_null(strstr(text, "\n1 more rows; --limit 0 shows all\n"));
	free(text);
}

/* Cycles and time are not the same: that is said first. */
static void different_events_are_said(void **state)
{
	struct profile before = {0}, after = {0};
	uint32_t event;
	char *text;

	(void)state;
	quality_init(&before.quality);
	quality_init(&after.quality);
	assert_int_equal(profile_event(&before, "cycles:u", false, &event), 0);
	add(&before, "/bin/prog", "main", 100);
	add(&after, "/bin/prog", "main", 100);
	text = compared(&before, &after, 0);
	assert_true(
		!strncmp(text, "!! BEFORE has cycles:u, AFTER has cpu-clock: shares of", 54));
	assert_non_null(strstr(text, "only the first event of each is compared"));
	free(text);
}

static void equal_events_need_no_words(void **state)
{
	struct profile before = {0}, after = {0};
	char *text;

	(void)state;
	quality_init(&before.quality);
	quality_init(&after.quality);
	add(&before, "/bin/prog", "main", 100);
	add(&after, "/bin/prog", "main", 100);
	text = compared(&before, &after, 0);
	assert_null(strstr(text, "compared"));
	assert_null(strstr(text, "!!"));
	free(text);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(different_events_are_said),
	cmocka_unit_test(equal_events_need_no_words),
	cmocka_unit_test(shares_are_compared),
	cmocka_unit_test(the_limit_and_no_change_are_said),
};
UNIT_TESTS("diff", tests)
