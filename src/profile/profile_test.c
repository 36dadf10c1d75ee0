#include "profile/profile.h"

#include "tests/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint32_t module_add(struct profile *p, enum module_kind kind, const char *path)
{
	struct module module = {.kind = kind};
	uint32_t id;

	assert_int_equal(profile_string(p, path, &module.path), 0);
	assert_int_equal(profile_module(p, &module, &id), 0);
	return id;
}

static uint32_t function_add(
	struct profile *p, uint32_t module, const char *name, uint64_t addr)
{
	struct function function = {.module = module, .addr = addr};
	uint32_t id;

	assert_int_equal(profile_string(p, name, &function.name), 0);
	function.linkage_name = function.name;
	assert_int_equal(profile_function(p, &function, &id), 0);
	return id;
}

static void equal_paths_have_one_id(void **state)
{
	struct profile p = {0};
	uint32_t module = module_add(&p, MODULE_FILE, "/usr/bin/a"), frames[3], ids[4], id;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(profile_frame(&p, module, 0x1000, i == 1, i, &frames[i]), 0);
	assert_int_equal(frames[0], frames[2]);
	assert_int_not_equal(frames[0], frames[1]);
	assert_int_equal(p.frames[frames[0]].shown_addr, 0);
	assert_int_equal(profile_stack(&p, PROFILE_NONE, frames[0], &ids[0]), 0);
	assert_int_equal(profile_stack(&p, ids[0], frames[1], &ids[1]), 0);
	assert_int_equal(profile_stack(&p, ids[0], frames[0], &ids[2]), 0);
	assert_int_equal(profile_stack(&p, ids[0], frames[1], &ids[3]), 0);
	assert_int_equal(ids[1], ids[3]);
	assert_int_not_equal(ids[1], ids[2]);
	assert_int_equal(p.stacks[ids[0]].depth, 1);
	assert_int_equal(p.stacks[ids[1]].depth, 2);
	assert_int_equal(p.stack_count, 3);
	assert_int_equal(profile_stack(&p, 99, frames[0], &id), -EINVAL);
	assert_int_equal(profile_stack(&p, PROFILE_NONE, 99, &id), -EINVAL);
	assert_int_equal(profile_frame(&p, 99, 0, false, 0, &id), -EINVAL);
	assert_int_equal(p.refused, 0);
	profile_done(&p);
	profile_done(&p);
}

/* Ids stay dense and findable through every growth of the tables and their index. */
static void many_stay_findable(void **state)
{
	enum { N = 100000 };
	struct profile p = {0};
	uint32_t module = module_add(&p, MODULE_FILE, "/usr/bin/a"), id;

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < N; i++) {
			assert_int_equal(profile_frame(&p, module, i * 16, true, 0, &id), 0);
			assert_int_equal(id, i);
			assert_int_equal(
				profile_stack(&p, i ? i - 1 : PROFILE_NONE, id, &id), 0);
			assert_int_equal(id, i);
		}
	}
	assert_int_equal(p.stacks[N - 1].depth, N);
	assert_int_equal(p.frame_count, N);
	profile_done(&p);
}

static void modules_differ_by_what_identifies_them(void **state)
{
	struct profile p = {0};
	struct module key = {.kind = MODULE_FILE, .ino = 7, .pid = 1};
	uint32_t a, b;

	(void)state;
	assert_int_equal(profile_string(&p, "/lib/libc.so.6", &key.path), 0);
	assert_int_equal(profile_module(&p, &key, &a), 0);
	key.pid = 2;
	assert_int_equal(profile_module(&p, &key, &b), 0);
	assert_int_equal(a, b);
	key.ino = 8;
	assert_int_equal(profile_module(&p, &key, &b), 0);
	assert_int_not_equal(a, b);
	key.build_id_bytes = 20;
	assert_int_equal(profile_module(&p, &key, &a), 0);
	assert_int_not_equal(a, b);
	key.build_id[19] = 1;
	assert_int_equal(profile_module(&p, &key, &b), 0);
	assert_int_not_equal(a, b);
	key.kind = MODULE_ANON;
	assert_int_equal(profile_module(&p, &key, &a), 0);
	key.pid = 3;
	assert_int_equal(profile_module(&p, &key, &b), 0);
	assert_int_not_equal(a, b);
	key.build_id_bytes = 21;
	assert_int_equal(profile_module(&p, &key, &b), -EINVAL);
	profile_done(&p);
}

static void markers_are_frames_by_their_text(void **state)
{
	struct profile p = {0};
	uint32_t a, b, c, real;

	(void)state;
	assert_int_equal(profile_marker(&p, "[truncated: no CFI]", &a), 0);
	assert_int_equal(profile_marker(&p, "[unknown]", &b), 0);
	assert_int_equal(profile_marker(&p, "[truncated: no CFI]", &c), 0);
	assert_int_equal(a, c);
	assert_int_not_equal(a, b);
	assert_string_equal(frame_name(&p, a, 0), "[truncated: no CFI]");
	assert_string_equal(module_short_name(&p, p.frames[a].module), "[marker]");
	assert_true(p.frames[a].resolved);
	assert_int_equal(profile_frame(&p, p.marker_module, 0, false, 0, &real), -EINVAL);
	real = module_add(&p, MODULE_FILE, "/a");
	assert_int_equal(profile_frame(&p, real, 0, false, 0, &real), 0);
	assert_string_equal(frame_name(&p, real, 0), "[unknown]");
	profile_done(&p);
}

static void names_come_innermost_first(void **state)
{
	struct profile p = {0};
	uint32_t module = module_add(&p, MODULE_FILE, "/usr/lib/libm.so"), frame;
	struct line lines[2] = {{.line = 3}, {.line = 9}};

	(void)state;
	lines[0].function = function_add(&p, module, "inlined", 0x10);
	lines[1].function = function_add(&p, module, "outer", 0x10);
	assert_int_not_equal(lines[0].function, lines[1].function);
	assert_int_equal(lines[1].function, function_add(&p, module, "outer", 0x10));
	assert_int_equal(profile_frame(&p, module, 0x20, true, 0x7f20, &frame), 0);
	assert_int_equal(frame_lookup_addr(&p.frames[frame]), 0x1f);
	assert_string_equal(frame_name(&p, frame, 0), "[unknown]");
	assert_int_equal(profile_resolve(&p, frame, lines, 2), 0);
	assert_string_equal(frame_name(&p, frame, 0), "inlined");
	assert_string_equal(frame_name(&p, frame, 1), "outer");
	assert_string_equal(frame_name(&p, frame, 2), "[unknown]");
	assert_string_equal(frame_name(&p, 1234, 0), "[unknown]");
	lines[0].function = 99;
	assert_int_equal(profile_resolve(&p, frame, lines, 1), -EINVAL);
	assert_int_equal(profile_resolve(&p, 99, lines, 0), -EINVAL);
	assert_string_equal(frame_name(&p, frame, 0), "inlined");
	assert_int_equal(profile_resolve(&p, frame, NULL, 0), 0);
	assert_string_equal(frame_name(&p, frame, 0), "[unknown]");
	assert_true(p.frames[frame].resolved);
	profile_done(&p);
}

static void modules_have_short_names(void **state)
{
	static const char *const cases[][2] = {
		{"/usr/lib/libc.so.6", "libc.so.6"},
		{"[kernel.kallsyms]", "[kernel.kallsyms]"},
		{"[anon: JIT/code]", "[anon: JIT/code]"},
		{"//anon", "//anon"},
		{"a", "a"},
		{"/tmp/a (deleted)", "a (deleted)"},
		{"", "[unknown]"},
		{"/odd/", "/odd/"},
	};
	struct profile p = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(
			module_short_name(&p, module_add(&p, MODULE_FILE, cases[i][0])),
			cases[i][1]);
	assert_string_equal(module_short_name(&p, 99), "[unknown]");
	profile_done(&p);
}

static void samples_point_into_the_tables(void **state)
{
	struct profile p = {0};
	struct sample sample = {.stack = PROFILE_NONE, .weight = 5};
	uint32_t thread, renamed, same, event, other;

	(void)state;
	assert_int_equal(profile_add(&p, &sample), -EINVAL);
	assert_int_equal(profile_thread(&p, 1, 2, "sh", &thread), 0);
	assert_int_equal(profile_thread(&p, 1, 2, "sleep", &renamed), 0);
	assert_int_equal(profile_thread(&p, 1, 2, "sh", &same), 0);
	assert_true(thread == same && thread != renamed);
	assert_int_equal(profile_thread(&p, -1, -1, "", &same), 0);
	assert_int_equal(p.threads[same].pid, -1);
	assert_int_equal(profile_event(&p, "cpu-clock", true, &event), 0);
	assert_int_equal(profile_event(&p, "cycles", false, &other), 0);
	assert_int_equal(profile_event(&p, "cpu-clock", true, &same), 0);
	assert_true(event == same && event != other);
	assert_int_equal(profile_add(&p, &sample), 0);
	sample.stack = 0;
	assert_int_equal(profile_add(&p, &sample), -EINVAL);
	assert_int_equal(p.sample_count, 1);
	profile_done(&p);
}

/* The event table is the one whose limit a test can reach. */
static void a_limit_is_counted(void **state)
{
	struct profile p = {0};
	char name[32];
	uint32_t id;
	int rc = 0;

	(void)state;
	for (int i = 0; !rc && i < 100000; i++) {
		snprintf(name, sizeof(name), "event%d", i);
		rc = profile_event(&p, name, false, &id);
	}
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(p.refused, 1);
	assert_true(p.event_count <= UINT16_MAX);
	assert_int_equal(profile_event(&p, "event5", false, &id), 0);
	assert_int_equal(id, 5);
	profile_done(&p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(equal_paths_have_one_id),
	cmocka_unit_test(many_stay_findable),
	cmocka_unit_test(modules_differ_by_what_identifies_them),
	cmocka_unit_test(markers_are_frames_by_their_text),
	cmocka_unit_test(names_come_innermost_first),
	cmocka_unit_test(modules_have_short_names),
	cmocka_unit_test(samples_point_into_the_tables),
	cmocka_unit_test(a_limit_is_counted),
};
UNIT_TESTS("profile", tests)
