#include "profile/names_internal.h"

#include "tests/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t string_of(struct profile *profile, const char *text)
{
	uint32_t id;

	assert_int_equal(profile_string(profile, text, &id), 0);
	return id;
}

static uint32_t module_of(struct profile *profile, enum module_kind kind, const char *path,
	uint8_t build_id, int32_t pid)
{
	struct module key = {.kind = kind, .path = string_of(profile, path), .pid = pid};
	uint32_t id;

	if (build_id) {
		memset(key.build_id, build_id, 20);
		key.build_id_bytes = 20;
	} else {
		key.ino = 4711;
	}
	assert_int_equal(profile_module(profile, &key, &id), 0);
	return id;
}

static uint32_t frame_of(struct profile *profile, uint32_t module, uint64_t addr, bool caller)
{
	uint32_t id;

	assert_int_equal(profile_frame(profile, module, addr, caller, addr, &id), 0);
	return id;
}

static uint32_t function_of(
	struct profile *profile, uint32_t module, uint64_t addr, const char *name)
{
	struct function key = {.module = module, .addr = addr, .size = 64};
	uint32_t id;

	key.name = string_of(profile, name);
	key.linkage_name = name[0] == 'i' ? string_of(profile, "_ZL3inl") : key.name;
	assert_int_equal(profile_function(profile, &key, &id), 0);
	return id;
}

/* The frames of a profile; a reader makes the same ones, without names. */
struct made {
	struct profile profile;
	uint32_t prog, lib, kernel, jit[2];
	uint32_t frames[8];
};

static void make(struct made *made)
{
	struct profile *p = &made->profile;

	*made = (struct made){.prog = 0};
	made->lib = module_of(p, MODULE_FILE, "/usr/lib/libx.so", 0, 0);
	made->prog = module_of(p, MODULE_FILE, "/tmp/prog", 0xab, 0);
	made->kernel = module_of(p, MODULE_KERNEL, "[kernel.kallsyms]", 0xcd, 0);
	made->jit[0] = module_of(p, MODULE_ANON, "//anon", 0, 7);
	made->jit[1] = module_of(p, MODULE_ANON, "//anon", 0, 8);
	made->frames[0] = frame_of(p, made->prog, 0x1020, false);
	made->frames[1] = frame_of(p, made->prog, 0x1020, true);
	made->frames[2] = frame_of(p, made->lib, 0x9000, true);
	made->frames[3] = frame_of(p, made->kernel, 0xffffffff81000010, false);
	made->frames[4] = frame_of(p, made->jit[0], 0x7f0000001000, false);
	made->frames[5] = frame_of(p, made->jit[1], 0x7f0000001000, false);
	made->frames[6] = frame_of(p, made->prog, 0x50, true); /* keeps no name */
	assert_int_equal(profile_marker(p, "[truncated: x]", &made->frames[7]), 0);
}

static void name(struct made *made)
{
	struct profile *p = &made->profile;
	struct line lines[2] = {{.line = 12, .column = 7}, {.line = 40, .column = 9}};
	struct line one = {0};

	lines[0].function = function_of(p, made->prog, 0x1000, "inlined");
	lines[0].file = lines[1].file = string_of(p, "/src/prog.c");
	lines[1].function = function_of(p, made->prog, 0x1000, "main");
	assert_int_equal(profile_resolve(p, made->frames[0], lines, 2), 0);
	assert_int_equal(profile_resolve(p, made->frames[1], lines + 1, 1), 0);
	one.function = function_of(p, made->lib, 0x8ff0, "lib_function");
	assert_int_equal(profile_resolve(p, made->frames[2], &one, 1), 0);
	one.function = function_of(p, made->kernel, 0xffffffff81000000, "_stext");
	assert_int_equal(profile_resolve(p, made->frames[3], &one, 1), 0);
	one.function = function_of(p, made->jit[0], 0x7f0000000ff0, "LazyCompile:*f");
	assert_int_equal(profile_resolve(p, made->frames[4], &one, 1), 0);
	one.function = function_of(p, made->jit[1], 0x7f0000001000, "LazyCompile:*g");
	assert_int_equal(profile_resolve(p, made->frames[5], &one, 1), 0);
}

static uint8_t outcome_seven(void *ctx, uint32_t module)
{
	(void)ctx;
	return (uint8_t)(7 + module);
}

/* As if there had been no time for the lines of the second module, /tmp/prog, and the first. */
static uint8_t outcome_left(void *ctx, uint32_t module)
{
	(void)ctx;
	return (uint8_t)(7 | (module < 2 ? NAMES_LEFT : 0));
}

static const char *debug_file(void *ctx, uint32_t module)
{
	(void)ctx;
	return module == 1 ? "/usr/lib/debug/prog.debug" : "";
}

static void codes_make(struct codes *codes)
{
	struct code code = {.pid = 9,
		.addr = 0x1000,
		.size = 0x100,
		.start_ns = 10,
		.end_ns = 20,
		.sampled = true};
	struct code_row row = {.offset = 0, .line = 1, .column = 5};

	assert_int_equal(strings_add(&codes->strings, "first", 5, &code.name), 0);
	assert_int_equal(strings_add(&codes->strings, "a.js", 4, &row.file), 0);
	assert_int_equal(codes_add(codes, &code), 0);
	assert_int_equal(codes_add_row(codes, &row), 0);
	row.offset = 0x10;
	row.line = 2;
	assert_int_equal(codes_add_row(codes, &row), 0);
	code.start_ns = 20;
	code.end_ns = UINT64_MAX;
	code.addr = 0x1080;
	code.key = 0x100;
	assert_int_equal(strings_add(&codes->strings, "second", 6, &code.name), 0);
	assert_int_equal(codes_add(codes, &code), 0);
}

static void written(struct strbuf *bytes)
{
	struct codes codes = {.count = 0};
	struct names_source source = {
		.outcome = outcome_seven, .debug_file = debug_file, .codes = &codes};
	struct made made;

	make(&made);
	name(&made);
	codes_make(&codes);
	source.profile = &made.profile;
	assert_int_equal(names_write(&source, bytes), 0);
	codes_done(&codes);
	profile_done(&made.profile);
}

static void names_come_back(void **state)
{
	struct strbuf bytes = {0};
	struct names *names;
	struct made made;
	const struct line *line;
	uint32_t text;

	(void)state;
	written(&bytes);
	make(&made);
	assert_int_equal(names_read(bytes.text, bytes.len, &names, NULL), 0);
	assert_int_equal(names_count(names), 6);
	for (int i = 0; i < 6; i++)
		assert_int_equal(names_frame(names, &made.profile, made.frames[i]), 1);
	assert_int_equal(names_frame(names, &made.profile, made.frames[6]), 0);
	assert_int_equal(names_frame(names, &made.profile, made.frames[7]), 0);
	assert_string_equal(frame_name(&made.profile, made.frames[0], 0), "inlined");
	assert_string_equal(frame_name(&made.profile, made.frames[0], 1), "main");
	assert_string_equal(frame_name(&made.profile, made.frames[1], 0), "main");
	assert_string_equal(frame_name(&made.profile, made.frames[2], 0), "lib_function");
	assert_string_equal(frame_name(&made.profile, made.frames[3], 0), "_stext");
	assert_string_equal(frame_name(&made.profile, made.frames[4], 0), "LazyCompile:*f");
	assert_string_equal(frame_name(&made.profile, made.frames[5], 0), "LazyCompile:*g");
	line = &made.profile.lines[made.profile.frames[made.frames[0]].first_line];
	assert_int_equal(line[0].line, 12);
	assert_int_equal(line[1].line, 40);
	assert_int_equal(line[0].column, 7);
	assert_int_equal(line[1].column, 9);
	assert_int_equal(names_debug_file(names, &made.profile, made.prog, &text), 0);
	assert_string_equal(profile_text(&made.profile, text), "/usr/lib/debug/prog.debug");
	assert_int_equal(names_debug_file(names, &made.profile, made.lib, &text), 0);
	assert_int_equal(text, 0);
	assert_string_equal(profile_text(&made.profile, line[0].file), "/src/prog.c");
	assert_string_equal(profile_text(&made.profile,
				    made.profile.functions[line[0].function].linkage_name),
		"_ZL3inl");
	assert_int_equal(made.profile.functions[line[1].function].addr, 0x1000);
	assert_int_equal(made.profile.functions[line[1].function].size, 64);
	assert_int_equal(names_outcome(names, &made.profile, made.kernel), 7 + made.kernel);
	names_free(names);
	profile_done(&made.profile);
	strbuf_done(&bytes);
}

/* A function that is known by its address travels, too; a file may still have its name. */
static void the_nameless_may_be_named_elsewhere(void **state)
{
	struct names_source source = {.outcome = outcome_seven};
	struct strbuf bytes = {0};
	struct names *names;
	struct made made;

	(void)state;
	for (int nameless = 0; nameless < 2; nameless++) {
		struct line one = {0};
		struct function *function;

		make(&made);
		one.function = function_of(
			&made.profile, made.lib, 0x8ff0, nameless ? "[libx.so+0x8ff0]" : "f");
		function = &made.profile.functions[one.function];
		if (nameless)
			function->linkage_name = string_of(&made.profile, "");
		assert_int_equal(profile_resolve(&made.profile, made.frames[2], &one, 1), 0);
		source.profile = &made.profile;
		strbuf_reset(&bytes);
		assert_int_equal(names_write(&source, &bytes), 0);
		profile_done(&made.profile);
		make(&made);
		assert_int_equal(names_read(bytes.text, bytes.len, &names, NULL), 0);
		names_choose(names, false, true);
		assert_true(names_has_less(names, &made.profile, made.frames[2]) == nameless);
		assert_int_equal(names_frame(names, &made.profile, made.frames[2]), 1);
		assert_string_equal(frame_name(&made.profile, made.frames[2], 0),
			nameless ? "[libx.so+0x8ff0]" : "f");
		assert_true(frame_is_named(&made.profile, made.frames[2]) == !nameless);
		names_free(names);
		profile_done(&made.profile);
	}
	strbuf_done(&bytes);
}

static void what_was_left_is_known(void **state)
{
	struct names_source source = {.outcome = outcome_left};
	struct strbuf bytes = {0}, room = {0};
	struct names *names;
	struct made made;

	(void)state;
	make(&made);
	name(&made);
	source.profile = &made.profile;
	assert_int_equal(names_write(&source, &bytes), 0);
	profile_done(&made.profile);
	make(&made);
	assert_int_equal(names_read(bytes.text, bytes.len, &names, NULL), 0);
	/* Two lines, one with a number, a symbol of such a module, one of another, no name. */
	assert_false(names_has_less(names, &made.profile, made.frames[0]));
	assert_false(names_has_less(names, &made.profile, made.frames[1]));
	assert_true(names_has_less(names, &made.profile, made.frames[2]));
	assert_false(names_has_less(names, &made.profile, made.frames[3]));
	assert_false(names_has_less(names, &made.profile, made.frames[6]));
	assert_false(names_has_less(names, &made.profile, made.frames[7]));
	assert_string_equal(
		names_symbol(names, &made.profile, made.frames[2], &room), "lib_function");
	assert_string_equal(names_symbol(names, &made.profile, made.frames[0], &room), "main");
	assert_null(names_symbol(names, &made.profile, made.frames[6], &room));
	assert_null(names_symbol(names, &made.profile, made.frames[7], &room));
	assert_false(made.profile.frames[made.frames[2]].resolved);
	assert_int_equal(names_outcome(names, &made.profile, made.lib), 7);
	assert_int_equal(names_outcome(names, &made.profile, made.kernel), 7);
	/* Less is better than nothing. */
	assert_int_equal(names_frame(names, &made.profile, made.frames[2]), 1);
	assert_string_equal(frame_name(&made.profile, made.frames[2], 0), "lib_function");
	names_free(names);
	profile_done(&made.profile);
	strbuf_done(&bytes);
	strbuf_done(&room);
}

/* Files of before have neither columns nor debug files at their end, and read as they did. */
static void files_of_before_are_read(void **state)
{
	enum { LINES = 7, ROWS = 2, MODULES = 5 };
	static const char start[] = NAMES_MAGIC NAMES_VERSION;
	struct strbuf bytes = {0}, plain = {0}, old = {0};
	struct names *names;
	struct made made;
	uint32_t text;

	(void)state;
	written(&bytes);
	assert_int_equal(names_unpack(bytes.text + sizeof(start) - 1,
				 bytes.len - (sizeof(start) - 1), &plain),
		0);
	plain.len -= LINES + ROWS + MODULES;
	strbuf_puts(&old, start);
	assert_int_equal(names_pack(&plain, &old), 0);
	assert_int_equal(names_read(old.text, old.len, &names, NULL), 0);
	make(&made);
	assert_int_equal(names_frame(names, &made.profile, made.frames[0]), 1);
	assert_string_equal(frame_name(&made.profile, made.frames[0], 1), "main");
	assert_int_equal(
		made.profile.lines[made.profile.frames[made.frames[0]].first_line].line, 12);
	assert_int_equal(
		made.profile.lines[made.profile.frames[made.frames[0]].first_line].column, 0);
	assert_int_equal(names_debug_file(names, &made.profile, made.prog, &text), 0);
	assert_int_equal(text, 0);
	assert_int_equal(names_codes(names)->count, 2);
	names_free(names);
	/* One byte more or less is neither of the two. */
	plain.len++;
	strbuf_reset(&old);
	strbuf_puts(&old, start);
	assert_int_equal(names_pack(&plain, &old), 0);
	assert_int_equal(names_read(old.text, old.len, &names, NULL), -EBADMSG);
	profile_done(&made.profile);
	strbuf_done(&bytes);
	strbuf_done(&plain);
	strbuf_done(&old);
}

/* Another build of the same path, and the same path in another process, are other modules. */
static void others_get_no_names(void **state)
{
	struct strbuf bytes = {0};
	struct names *names;
	struct profile p = {.module_count = 0};
	uint32_t frame;

	(void)state;
	written(&bytes);
	assert_int_equal(names_read(bytes.text, bytes.len, &names, NULL), 0);
	frame = frame_of(&p, module_of(&p, MODULE_FILE, "/tmp/prog", 0xac, 0), 0x1020, false);
	assert_int_equal(names_frame(names, &p, frame), 0);
	frame = frame_of(&p, module_of(&p, MODULE_ANON, "//anon", 0, 9), 0x7f0000001000, false);
	assert_int_equal(names_frame(names, &p, frame), 0);
	frame = frame_of(&p, module_of(&p, MODULE_FILE, "/tmp/prog", 0xab, 0), 0x1021, false);
	assert_int_equal(names_frame(names, &p, frame), 0);
	names_free(names);
	profile_done(&p);
	strbuf_done(&bytes);
}

static const char *code_name(struct codes *codes, int32_t pid, uint64_t addr, uint64_t ns)
{
	const struct code *code = codes_find(codes, pid, addr, ns);

	return code ? strings_get(&codes->strings, code->name) : "-";
}

static void codes_are_known_by_time(void **state)
{
	struct strbuf bytes = {0};
	struct names *names;
	struct codes *codes;
	const struct code *first;

	(void)state;
	written(&bytes);
	assert_int_equal(names_read(bytes.text, bytes.len, &names, NULL), 0);
	codes = names_codes(names);
	assert_string_equal(code_name(codes, 9, 0x1090, 10), "first");
	assert_string_equal(code_name(codes, 9, 0x1090, 19), "first");
	assert_string_equal(code_name(codes, 9, 0x1090, 20), "second");
	assert_string_equal(code_name(codes, 9, 0x1010, 20), "-");
	assert_string_equal(code_name(codes, 9, 0x1100, 15), "-");
	assert_string_equal(code_name(codes, 9, 0x117f, UINT64_MAX - 1), "second");
	assert_string_equal(code_name(codes, 8, 0x1090, 15), "-");
	assert_string_equal(code_name(codes, 9, 0xfff, 15), "-");
	first = codes_find(codes, 9, 0x1000, 12);
	assert_int_equal(codes_row(codes, first, 0xf)->line, 1);
	assert_int_equal(codes_row(codes, first, 0x10)->line, 2);
	assert_int_equal(codes_row(codes, first, 0xf)->column, 5);
	assert_string_equal(
		strings_get(&codes->strings, codes_row(codes, first, 0xff)->file), "a.js");
	names_free(names);
	strbuf_done(&bytes);
}

/* A file may say that millions of functions lay at one place: one walk ends all the same. */
static void a_walk_over_codes_is_bounded(void **state)
{
	enum { MANY = 3 * 4096 };
	struct codes codes = {.count = 0};
	struct codes_walk walk = {0};
	uint32_t found = 0;

	(void)state;
	for (uint64_t i = 0; i < MANY; i++) {
		struct code code = {.pid = 9,
			.addr = 0x1000,
			.size = 16,
			.start_ns = i + 1,
			.end_ns = i + 2,
			.key = 16 * i};

		assert_int_equal(codes_add(&codes, &code), 0);
	}
	assert_ptr_equal(codes_find(&codes, 9, 0x1008, MANY), &codes.at[MANY - 1]);
	assert_null(codes_find(&codes, 9, 0x1008, 1)); /* too far back */
	while (codes_each(&codes, 9, 0x1008, &walk))
		found++;
	assert_int_equal(found, 4096);
	assert_null(codes_each(&codes, 9, 0x1008, &walk));
	codes_done(&codes);
}

static int read_copy(const struct strbuf *bytes, size_t len, size_t flip, uint8_t bits)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct error err = {.text = ""};
	struct names *names = NULL;
	int rc;

	assert_non_null(copy);
	memcpy(copy, bytes->text, len);
	if (flip < len)
		copy[flip] ^= bits;
	rc = names_read(copy, len, &names, &err);
	assert_true(rc == 0 || err.text[0]);
	names_free(names);
	free(copy);
	return rc;
}

static void damage_is_refused(void **state)
{
	struct strbuf bytes = {0};

	(void)state;
	written(&bytes);
	for (size_t len = 0; len < bytes.len; len++)
		assert_true(read_copy(&bytes, len, SIZE_MAX, 0) < 0);
	for (size_t at = 0; at < bytes.len; at++)
		for (int bit = 0; bit < 8; bit++)
			read_copy(&bytes, bytes.len, at, (uint8_t)(1 << bit));
	/* "wick-names 1" -> "wick-names 3" */
	assert_int_equal(read_copy(&bytes, bytes.len, 11, 2), -ENOTSUP);
	assert_int_equal(read_copy(&bytes, bytes.len, 0, 1), -EBADMSG);
	strbuf_done(&bytes);
}

static void empty_profile_is_fine(void **state)
{
	struct profile p = {.module_count = 0};
	struct names_source source = {.profile = &p};
	struct strbuf bytes = {0};
	struct names *names;

	(void)state;
	assert_int_equal(names_write(&source, &bytes), 0);
	assert_int_equal(names_read(bytes.text, bytes.len, &names, NULL), 0);
	assert_int_equal(names_count(names), 0);
	names_free(names);
	strbuf_done(&bytes);
}

/* 20,000 frames of 2,000 functions, as programs have them: the bound that the docs state. */
static void frames_are_small(void **state)
{
	struct profile p = {.module_count = 0};
	struct names_source source = {.profile = &p};
	struct strbuf bytes = {0};
	uint32_t module = module_of(&p, MODULE_FILE, "/usr/bin/prog", 1, 0);
	uint32_t random = 1;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t frame = frame_of(&p, module, 0x1000 + i * 29, true);
		struct line line = {.line = i / 10 * 7, .column = 1 + random % 60};
		char text[40];

		random = random * 1103515245 + 12345;
		snprintf(text, sizeof(text), "function_%x_of_%u", random >> 12, i / 100);
		if (i % 10 == 0)
			line.function = function_of(&p, module, 0x1000 + i * 29, text);
		else
			line.function = p.function_count - 1;
		snprintf(text, sizeof(text), "/src/file_%u.c", i / 500);
		line.file = string_of(&p, text);
		assert_int_equal(profile_resolve(&p, frame, &line, 1), 0);
	}
	assert_int_equal(names_write(&source, &bytes), 0);
	assert_true(bytes.len < 20000 * 12);
	profile_done(&p);
	strbuf_done(&bytes);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(names_come_back),
	cmocka_unit_test(the_nameless_may_be_named_elsewhere),
	cmocka_unit_test(what_was_left_is_known),
	cmocka_unit_test(what_was_left_is_known),
	cmocka_unit_test(files_of_before_are_read),
	cmocka_unit_test(others_get_no_names),
	cmocka_unit_test(codes_are_known_by_time),
	cmocka_unit_test(a_walk_over_codes_is_bounded),
	cmocka_unit_test(damage_is_refused),
	cmocka_unit_test(empty_profile_is_fine),
	cmocka_unit_test(frames_are_small),
};
UNIT_TESTS("names", tests)
