#include "formats/script.h"

#include "tests/unit_test.h"

#include "formats/test_profile.h"

static void script_is(const struct profile *p, const char *want)
{
	struct written written = {0};
	FILE *out = written_open(&written);
	struct script script;

	script_init(&script, out);
	for (uint32_t i = 0; i < p->sample_count; i++)
		assert_int_equal(script_sample(&script, p, &p->samples[i]), 0);
	assert_int_equal(script_done(&script), 0);
	fclose(out);
	assert_string_equal(written.text, want);
	free(written.text);
}

/* The lines of a real `perf script` (6.1) of a recording with call chains. */
static void lines_are_those_of_perf(void **state)
{
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/tmp/a"),
		 libc = make_module(&p, MODULE_FILE, "/usr/lib/x86_64-linux-gnu/libc.so.6"),
		 kernel = make_module(&p, MODULE_KERNEL, "[kernel.kallsyms]_text");
	static const struct {
		uint32_t module; /* 0 the program, 1 libc, 2 the kernel */
		uint64_t addr, offset;
		const char *name;
	} path[] = {{1, 0x2724a, 0x7a, "__libc_start_call_main"}, {0, 0x10ba, 0x3a, "main"},
		{0, 0x1217, 0x17, "leaf"}, {2, 0xffffffff8175336a, 0x28a, "elf_load"}};
	uint32_t modules[] = {a, libc, kernel}, stack = PROFILE_NONE, thread, event;
	struct sample sample = {
		.time_ns = 1581161088123, .weight = 1001001, .cpu = PROFILE_NO_CPU};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint32_t module = modules[path[i].module], frame;
		struct line line = {.function = make_function(&p, module, path[i].name,
					    path[i].addr - path[i].offset)};

		assert_int_equal(profile_frame(&p, module, path[i].addr, i < 2,
					 path[i].addr + 0x55550000, &frame),
			0);
		assert_int_equal(profile_resolve(&p, frame, &line, 1), 0);
		assert_int_equal(profile_stack(&p, stack, frame, &stack), 0);
	}
	assert_int_equal(profile_thread(&p, 11647, 11647, "a", &thread), 0);
	assert_int_equal(profile_event(&p, "cpu-clock:pppH", true, &event), 0);
	sample.stack = stack;
	assert_int_equal(profile_add(&p, &sample), 0);
	script_is(&p, "a 11647  1581.161088:    1001001 cpu-clock:pppH: \n"
		      "\tffffffff8175336a elf_load+0x28a ([kernel.kallsyms])\n"
		      "\t            1217 leaf+0x17 (/tmp/a)\n"
		      "\t            10ba main+0x3a (/tmp/a)\n"
		      "\t           2724a __libc_start_call_main+0x7a "
		      "(/usr/lib/x86_64-linux-gnu/libc.so.6)\n"
		      "\n");
	p.samples[0].cpu = 3;
	p.samples[0].stack = PROFILE_NONE;
	assert_int_equal(profile_event(&p, "raw_syscalls:sys_enter", false, &event), 0);
	script_is(&p, "a 11647 [003]  1581.161088:    1001001         cpu-clock:pppH: \n\n");
	profile_done(&p);
}

static void inlined_frames_share_address_and_offset(void **state)
{
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/tmp/a"), frame, stack;
	struct line lines[2] = {{.function = make_function(&p, a, "inl", 0x9999)},
		{.function = make_function(&p, a, "leaf", 0x1200)}};

	(void)state;
	assert_int_equal(profile_frame(&p, a, 0x1217, false, 0, &frame), 0);
	assert_int_equal(profile_resolve(&p, frame, lines, 2), 0);
	assert_int_equal(profile_stack(&p, PROFILE_NONE, frame, &stack), 0);
	make_sample(&p, "a", stack, 2000000);
	p.samples[0].cpu = PROFILE_NO_CPU;
	script_is(&p, "a    42     5.000001:    2000000 cpu-clock:u: \n"
		      "\t            1217 inl+0x17 (inlined)\n"
		      "\t            1217 leaf+0x17 (/tmp/a)\n"
		      "\n");
	profile_done(&p);
}

/* As `perf script -F +srcline` prints them. */
static void source_lines_stand_below(void **state)
{
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/tmp/a"), frame, stack;
	struct line lines[2] = {{.function = make_function(&p, a, "inl", 0x9999), .line = 15},
		{.function = make_function(&p, a, "leaf", 0x1200), .line = 20, .column = 4}};
	struct script script;
	struct written written;
	FILE *out;

	(void)state;
	assert_int_equal(profile_string(&p, "/src/a.c", &lines[0].file), 0);
	lines[1].file = lines[0].file;
	stack = make_stack(&p, a, "main");
	assert_int_equal(profile_frame(&p, a, 0x1217, false, 0, &frame), 0);
	assert_int_equal(profile_resolve(&p, frame, lines, 2), 0);
	assert_int_equal(profile_stack(&p, stack, frame, &stack), 0);
	make_sample(&p, "a", stack, 2000000);
	p.samples[0].cpu = PROFILE_NO_CPU;
	for (int full = 0; full < 2; full++) {
		char want[256];

		out = written_open(&written);
		script_init(&script, out);
		script.srcline = true;
		script.full_paths = full;
		assert_int_equal(script_sample(&script, &p, &p.samples[0]), 0);
		assert_int_equal(script_done(&script), 0);
		fclose(out);
		snprintf(want, sizeof(want),
			"a    42     5.000001:    2000000 cpu-clock:u: \n"
			"\t            1217 inl+0x17\n  %sa.c:15 (inlined)\n"
			"\t            1217 leaf+0x17 (/tmp/a)\n  %sa.c:20\n",
			full ? "/src/" : "", full ? "/src/" : "");
		assert_int_equal(strncmp(written.text, want, strlen(want)), 0);
		assert_null(strchr(written.text + strlen(want), '.')); /* main's is not known */
		free(written.text);
	}
	profile_done(&p);
}

/* As perf has them: what is known by its address alone is unknown. */
static void the_nameless_are_unknown(void **state)
{
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/tmp/a"),
		 frame = make_frame(&p, a, "[a+0x10]"), stack, function;

	(void)state;
	function = p.lines[p.frames[frame].first_line].function;
	assert_int_equal(profile_string(&p, "", &p.functions[function].linkage_name), 0);
	assert_int_equal(profile_stack(&p, PROFILE_NONE, frame, &stack), 0);
	p.frames[frame].addr = 0x1217;
	make_sample(&p, "a", stack, 1);
	p.samples[0].cpu = PROFILE_NO_CPU;
	script_is(&p, "a    42     5.000001:          1 cpu-clock:u: \n"
		      "\t            1217 [unknown] (/tmp/a)\n\n");
	profile_done(&p);
}

static void what_is_no_code_has_a_line(void **state)
{
	struct profile p = {0};
	uint32_t anon = make_module(&p, MODULE_ANON, "//anon"), none, marker, stack, frame;

	(void)state;
	none = make_module(&p, MODULE_ANON, "");
	assert_int_equal(profile_marker(&p, "[truncated: no CFI]", &marker), 0);
	assert_int_equal(profile_stack(&p, PROFILE_NONE, marker, &stack), 0);
	assert_int_equal(profile_frame(&p, anon, 0x7f0000001000, true, 0, &frame), 0);
	assert_int_equal(profile_stack(&p, stack, frame, &stack), 0);
	assert_int_equal(profile_frame(&p, none, 0x10, true, 0, &frame), 0);
	assert_int_equal(profile_stack(&p, stack, frame, &stack), 0);
	frame = make_frame(&p, make_module(&p, MODULE_FILE, "/tmp/a\nb"), "evil\nname");
	assert_int_equal(profile_stack(&p, stack, frame, &stack), 0);
	p.frames[frame].addr = 0; /* before its function: no offset that would be nonsense */
	make_sample(&p, "a\033[2J", stack, 1);
	p.samples[0].cpu = PROFILE_NO_CPU;
	script_is(&p, "a\\x1b[2J    42     5.000001:          1 cpu-clock:u: \n"
		      "\t               0 evil\\x0aname (/tmp/a\\x0ab)\n"
		      "\t              10 [unknown] ([unknown])\n"
		      "\t    7f0000001000 [unknown] (//anon)\n"
		      "\t               0 [truncated: no CFI] ([unknown])\n"
		      "\n");
	profile_done(&p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(lines_are_those_of_perf),
	cmocka_unit_test(inlined_frames_share_address_and_offset),
	cmocka_unit_test(source_lines_stand_below),
	cmocka_unit_test(the_nameless_are_unknown),
	cmocka_unit_test(what_is_no_code_has_a_line),
};
UNIT_TESTS("script", tests)
