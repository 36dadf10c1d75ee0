#include "formats/export.h"

#include "tests/unit_test.h"

#include "formats/test_profile.h"

#include <errno.h>

static void folded_is(const struct profile *p, const char *want)
{
	struct written written = {0};
	FILE *out = written_open(&written);
	struct error err = {""};

	assert_int_equal(folded_write(p, out, &err), 0);
	fclose(out);
	assert_string_equal(written.text, want);
	free(written.text);
}

static void nothing_gives_nothing(void **state)
{
	struct profile p = {0};

	(void)state;
	folded_is(&p, "");
}

static void lines_are_distinct_sorted_and_counted(void **state)
{
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/bin/a"),
		 b = make_module(&p, MODULE_FILE, "/b");

	(void)state;
	make_sample(&p, "zsh", make_stack(&p, a, "main"), 7);
	make_sample(&p, "a b", make_stack(&p, a, "main work leaf"), 1000);
	make_sample(&p, "a b", make_stack(&p, b, "main work leaf"), 1000);
	make_sample(&p, "a b", make_stack(&p, a, "main work"), 1000);
	make_sample(&p, "a b", make_stack(&p, a, "main alone"), 1000);
	make_sample(&p, "", PROFILE_NONE, 1);
	folded_is(&p, "[unknown] 1\n"
		      "a_b;main;alone 1\n"
		      "a_b;main;work 1\n"
		      "a_b;main;work;leaf 2\n"
		      "zsh;main 1\n");
	profile_done(&p);
}

static void names_stay_in_their_place(void **state)
{
	struct profile p = {0};
	uint32_t lib = make_module(&p, MODULE_FILE, "/lib/libz.so.1"),
		 anon = make_module(&p, MODULE_ANON, "[anon: JIT;x]"), marker, stack, below;
	uint32_t evil = make_frame(&p, lib, "a;b\nroot 99\x1b");

	(void)state;
	assert_int_equal(profile_marker(&p, "[truncated: no CFI]", &marker), 0);
	assert_int_equal(profile_stack(&p, PROFILE_NONE, marker, &stack), 0);
	assert_int_equal(profile_stack(&p, stack, make_frame(&p, lib, ""), &stack), 0);
	assert_int_equal(profile_stack(&p, stack, make_frame(&p, anon, ""), &below), 0);
	make_sample(&p, "c;d\n", below, 1);
	assert_int_equal(profile_stack(&p, stack, evil, &below), 0);
	make_sample(&p, "c;d\n", below, 1);
	folded_is(&p, "c:d\\x0a;[truncated: no CFI];[libz.so.1];[anon: JIT:x] 1\n"
		      "c:d\\x0a;[truncated: no CFI];[libz.so.1];a:b\\x0aroot 99\\x1b 1\n");
	profile_done(&p);
}

/* The cycles of two kinds of cores are one picture; another event is not in it. */
static void one_kind_of_event_is_shown(void **state)
{
	struct profile p = {0};
	uint32_t thread, event, stack = make_stack(&p, make_module(&p, MODULE_FILE, "/a"), "f");
	static const char *const events[] = {
		"cpu_core/cycles/u", "cpu_atom/cycles/u", "instructions:u", "cycles:u"};

	(void)state;
	assert_int_equal(profile_thread(&p, 1, 1, "a", &thread), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(profile_event(&p, events[i], false, &event), 0);
		assert_int_equal(profile_add(&p, &(struct sample){.stack = stack,
							 .thread = thread,
							 .event = (uint16_t)event}),
			0);
	}
	folded_is(&p, "a;f 3\n");
	profile_done(&p);
}

static void a_full_disk_is_told(void **state)
{
	struct profile p = {0};
	struct error err = {""};
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	make_sample(&p, "a", make_stack(&p, make_module(&p, MODULE_FILE, "/a"), "f"), 1);
	assert_int_equal(folded_write(&p, full, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "No space left"));
	fclose(full);
	for (size_t i = 0; export_at(i); i++) {
		full = fopen("/dev/full", "w");
		setvbuf(full, NULL, _IONBF, 0); /* fails long before the end */
		assert_true(export_at(i)->write(&p, full, &err) < 0);
		fclose(full);
	}
	profile_done(&p);
}

static void exporters_are_found_by_suffix(void **state)
{
	(void)state;
	assert_string_equal(export_find("x.folded")->name, "folded");
	assert_string_equal(export_find("/tmp/a.b/x.collapsed")->name, "folded");
	assert_string_equal(export_find("x.svg")->name, "svg");
	assert_null(export_find("x.svg.html"));
	assert_null(export_find("x"));
	assert_null(export_find(""));
	assert_null(export_find(".svg"));
	assert_null(export_find("x.svgz"));
}

static void a_deep_stack_is_one_line(void **state)
{
	enum { DEPTH = 8000 };
	struct profile p = {0};
	struct written written = {0};
	FILE *out = written_open(&written);
	uint32_t a = make_module(&p, MODULE_FILE, "/a"), stack = PROFILE_NONE;

	(void)state;
	for (uint32_t i = 0; i < DEPTH; i++)
		assert_int_equal(profile_stack(&p, stack, make_frame(&p, a, "rec"), &stack), 0);
	make_sample(&p, "a", stack, 1);
	assert_int_equal(folded_write(&p, out, NULL), 0);
	fclose(out);
	assert_int_equal(written.len, 1 + DEPTH * 4 + 3);
	free(written.text);
	profile_done(&p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(nothing_gives_nothing),
	cmocka_unit_test(lines_are_distinct_sorted_and_counted),
	cmocka_unit_test(names_stay_in_their_place),
	cmocka_unit_test(one_kind_of_event_is_shown),
	cmocka_unit_test(a_full_disk_is_told),
	cmocka_unit_test(exporters_are_found_by_suffix),
	cmocka_unit_test(a_deep_stack_is_one_line),
};
UNIT_TESTS("folded", tests)
