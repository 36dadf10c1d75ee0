/*
 * Reports that show source lines, and the table of modules.
 *
 *     main app.c:10:3 --> inl app.h:5:9 (inlined) in work app.c:20     60 samples
 *                         inl app.h:6   (inlined) in work app.c:20:7   30
 *     main app.c:11   --> [unknown] in libx.so                         10
 */
#include "view/report.h"
#include "view/srcline.h"

#include "tests/unit_test.h"

#include "formats/test_profile.h"

#include <errno.h>

struct made {
	struct profile profile;
	uint32_t app, lib;
};

/* A frame of `inl` in `work`, or of a function alone; 0 for what is not known. */
struct place {
	const char *function, *file;
	uint32_t line, column;
};

static uint32_t frame_of(
	struct made *made, uint64_t addr, const struct place *places, uint32_t count)
{
	struct profile *p = &made->profile;
	struct line lines[2] = {0};
	uint32_t frame;

	assert_int_equal(profile_frame(p, made->app, addr, true, addr, &frame), 0);
	for (uint32_t i = 0; i < count; i++) {
		lines[i].function = make_function(p, made->app, places[i].function, 0);
		lines[i].line = places[i].line;
		lines[i].column = places[i].column;
		if (places[i].file)
			assert_int_equal(profile_string(p, places[i].file, &lines[i].file), 0);
	}
	assert_int_equal(profile_resolve(p, frame, lines, count), 0);
	return frame;
}

static void add(struct made *made, uint32_t main, uint32_t leaf, int count)
{
	uint32_t stack;

	assert_int_equal(profile_stack(&made->profile, PROFILE_NONE, main, &stack), 0);
	assert_int_equal(profile_stack(&made->profile, stack, leaf, &stack), 0);
	for (int i = 0; i < count; i++)
		make_sample(&made->profile, "app", stack, 10000000);
}

static void make(struct made *made)
{
	static const struct place main10 = {"main", "/src/app.c", 10, 3};
	static const struct place main11 = {"main", "/src/app.c", 11, 0};
	static const struct place first[] = {
		{"inl", "/src/app.h", 5, 9}, {"work", "/src/app.c", 20, 0}};
	static const struct place second[] = {
		{"inl", "/src/app.h", 6, 0}, {"work", "/src/app.c", 20, 7}};
	uint32_t unknown;

	*made = (struct made){.app = 0};
	quality_init(&made->profile.quality);
	made->app = make_module(&made->profile, MODULE_FILE, "/usr/bin/app");
	made->lib = make_module(&made->profile, MODULE_FILE, "/usr/lib/libx.so");
	assert_int_equal(
		profile_frame(&made->profile, made->lib, 0x50, false, 0x50, &unknown), 0);
	add(made, frame_of(made, 1, &main10, 1), frame_of(made, 2, first, 2), 60);
	add(made, frame_of(made, 1, &main10, 1), frame_of(made, 3, second, 2), 30);
	add(made, frame_of(made, 4, &main11, 1), unknown, 10);
}

static char *report(const struct profile *profile, const struct report_options *options)
{
	struct written written = {0};
	FILE *out = written_open(&written);
	struct error err = {""};
	int rc = report_write(profile, options, out, &err);

	fclose(out);
	if (rc != 0)
		fail_msg("%d: %s", rc, err.text);
	return written.text;
}

/* Each of the texts stands in it, one behind the other. */
static void has(const char *text, const char *const *wanted)
{
	const char *at = text;

	for (; *wanted; wanted++) {
		at = strstr(at, *wanted);
		if (!at)
			fail_msg("no '%s' (there) in\n%s", *wanted, text);
		at += strlen(*wanted);
	}
}

static void trees_show_each_place(void **state)
{
	static const char *const whole[] = {"90.0 %", "main  app.c:10:3  (app)", "60.0 %",
		"work  app.c:20\n", "60.0 %", "inl (inlined)  app.h:5:9\n", "30.0 %",
		"work  app.c:20:7\n", "30.0 %", "inl (inlined)  app.h:6\n", "10.0 %",
		"main  app.c:11  (app)", "[unknown]  (libx.so)", NULL};
	static const char *const json[] = {
		"\"name\": \"main\", \"srcline\": \"/src/app.c:10:3\"",
		"\"name\": \"inl\", \"srcline\": \"/src/app.h:5:9\"",
		"\"name\": \"[unknown]\", \"srcline\": \"\"", NULL};
	static const char *const callers[] = {"Callers of inl", "90.0 %",
		"inl (inlined)  app.h:5:9", "work  app.c:20\n", "main  app.c:10:3",
		"inl (inlined)  app.h:6", "work  app.c:20:7", NULL};
	static const char *const callees[] = {"Callees of main", "100 %", "main  app.c:10:3",
		"work  app.c:20\n", "inl (inlined)  app.h:5:9", "work  app.c:20:7",
		"main  app.c:11", NULL};
	struct report_options options;
	struct made made;
	char *text;

	(void)state;
	make(&made);
	report_options_init(&options);
	options.srcline = options.tree = true;
	text = report(&made.profile, &options);
	has(text, whole);
	free(text);
	options.format = REPORT_JSON;
	text = report(&made.profile, &options);
	has(text, json);
	free(text);
	options.format = REPORT_TEXT;
	options.tree = false;
	options.callers = "inl";
	text = report(&made.profile, &options);
	has(text, callers);
	free(text);
	options.callers = NULL;
	options.callees = "main";
	text = report(&made.profile, &options);
	has(text, callees);
	assert_null(strchr(text, SRCLINE_MARK));
	free(text);
	profile_done(&made.profile);
}

static void tables_have_a_column_of_it(void **state)
{
	static const char *const table[] = {"Module", "Function", "Line\n", "60.0 %", "app",
		"inl (inlined)", "/src/app.h:5:9\n", "30.0 %", "inl (inlined)",
		"/src/app.h:6\n", "90.0 %", "main", "/src/app.c:10:3\n", NULL};
	static const char *const sorted[] = {"Line\n", "60.0 %", "/src/app.h:5\n", "90.0 %",
		"/src/app.c:20\n", NULL}; /* by lines, whatever the columns */
	static const char *const json[] = {"\"name\": \"inl\"", "\"file\": \"/src/app.h\"",
		"\"line\": 5", "\"column\": 9", NULL};
	struct report_options options;
	struct made made;
	char *text;

	(void)state;
	make(&made);
	report_options_init(&options);
	options.srcline = true;
	text = report(&made.profile, &options);
	has(text, table);
	free(text);
	options.format = REPORT_JSON;
	text = report(&made.profile, &options);
	has(text, json);
	free(text);
	options.format = REPORT_TEXT;
	options.srcline = false;
	options.sort = "srcline";
	text = report(&made.profile, &options);
	has(text, sorted);
	assert_null(strstr(text, "app.h:5:9"));
	free(text);
	profile_done(&made.profile);
}

static void modules_say_where_names_come_from(void **state)
{
	static const char *const text_rows[] = {"Samples", "Frames", "Named", "Lines", "Module",
		"90", "290", "100 %", "100 %", "app", "/usr/lib/debug/app.debug\n", "10", "10",
		"0 %", "0 %", "libx.so", "stripped: install it [build id abab",
		"ab: --debuginfod may find it]\n", NULL};
	static const char *const markdown[] = {"| Samples | Frames | Named",
		"|---:", "| 90 | 290 | 100 % | 100 % |", "app", "/usr/lib/debug/app.debug |",
		"| 10 | 10 | 0 %", "libx.so", "install it", NULL};
	static const char *const json[] = {"\"modules\": [", "\"module\": \"/usr/bin/app\"",
		"\"frames\": 290", "\"named\": 290", "\"lined\": 290",
		"\"debug_file\": \"/usr/lib/debug/app.debug\"",
		"\"module\": \"/usr/lib/libx.so\"",
		"\"from\": \"stripped: install it [build id abab", NULL};
	static const char *const *const wanted[] = {
		[REPORT_TEXT] = text_rows, [REPORT_JSON] = json, [REPORT_MARKDOWN] = markdown};
	struct module_naming namings[2] = {
		{.samples = 90, .frames = 290, .named = 290, .lined = 290, .why = ""},
		{.samples = 10, .frames = 10, .why = "stripped: install it"}};
	struct report_options options;
	struct made made;

	(void)state;
	make(&made);
	namings[0].module = made.app;
	namings[1].module = made.lib;
	memset(made.profile.modules[made.lib].build_id, 0xab, 20);
	made.profile.modules[made.lib].build_id_bytes = 20;
	assert_int_equal(profile_string(&made.profile, "/usr/lib/debug/app.debug",
				 &namings[0].debug_file),
		0);
	report_options_init(&options);
	options.modules = true;
	options.namings = namings;
	options.naming_count = 2;
	for (int format = REPORT_TEXT; format <= REPORT_MARKDOWN; format++) {
		char *text;

		options.format = (enum report_format)format;
		text = report(&made.profile, &options);
		has(text, wanted[format]);
		free(text);
	}
	options.format = REPORT_TEXT;
	options.limit = 1;
	{
		static const char *const one[] = {"app.debug\n", "... and 1 more", NULL};
		char *text = report(&made.profile, &options);

		has(text, one);
		assert_null(strstr(text, "libx.so"));
		free(text);
	}
	profile_done(&made.profile);
}

static void places_as_text(void **state)
{
	struct strbuf out = {0};

	(void)state;
	srcline_add(&out, "/a/b.c", 7, 0);
	assert_string_equal(strbuf_text(&out), "/a/b.c:7");
	assert_string_equal(srcline_short(strbuf_text(&out)), "b.c:7");
	strbuf_reset(&out);
	srcline_add(&out, "b.c", 7, 3);
	assert_string_equal(srcline_short(strbuf_text(&out)), "b.c:7:3");
	strbuf_reset(&out);
	srcline_add(&out, "", 7, 3);
	srcline_add(&out, "b.c", 0, 3);
	assert_int_equal(out.len, 0);
	strbuf_done(&out);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(trees_show_each_place),
	cmocka_unit_test(tables_have_a_column_of_it),
	cmocka_unit_test(modules_say_where_names_come_from),
	cmocka_unit_test(places_as_text),
};
UNIT_TESTS("srcline", tests)
