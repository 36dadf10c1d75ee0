#include "formats/export.h"

#include "tests/unit_test.h"

#include "formats/test_profile.h"

#include <math.h>

static char *picture(
	const struct profile *p, int (*write)(const struct profile *, FILE *, struct error *))
{
	struct written written = {0};
	FILE *out = written_open(&written);
	struct error err = {""};

	assert_int_equal(write(p, out, &err), 0);
	fclose(out);
	return written.text;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("the picture does not have: %s", what);
}

/* The number behind `attribute` in the box whose title begins with `name`. */
static double box_number(const char *svg, const char *name, const char *attribute)
{
	char title[100];
	const char *box, *at;

	snprintf(title, sizeof(title), "<title>%s\n", name);
	box = strstr(svg, title);
	assert_non_null(box);
	at = strstr(box, attribute);
	assert_non_null(at);
	return strtod(at + strlen(attribute), NULL);
}

static void near(double got, double want)
{
	if (!(fabs(got - want) < 0.001))
		fail_msg("%f is not %f", got, want);
}

static void an_empty_picture_says_so(void **state)
{
	struct profile p = {0};
	char *svg;

	(void)state;
	quality_init(&p.quality);
	svg = picture(&p, svg_write);
	has(svg, "nothing was sampled");
	assert_int_equal(count(svg, "<title>"), 1);
	has(svg, "<title>all\neverything\n0 samples, 100.00 %</title>");
	assert_null(strstr(svg, "nan"));
	free(svg);
}

static void boxes_are_shares_of_the_weight(void **state)
{
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/bin/a"),
		 k = make_module(&p, MODULE_KERNEL, "[kernel.kallsyms]"),
		 lib = make_module(&p, MODULE_FILE, "/lib/libm.so.6"), stack;
	char *svg;

	(void)state;
	quality_init(&p.quality);
	p.quality.event_count = 400000000;
	p.quality.period_sum = 400000000;
	p.quality.samples = 3;
	make_sample(&p, "a", make_stack(&p, a, "main big"), 300000000);
	stack = make_stack(&p, a, "main small");
	assert_int_equal(profile_stack(&p, stack, make_frame(&p, lib, "sin"), &stack), 0);
	make_sample(&p, "a", stack, 75000000);
	assert_int_equal(profile_stack(&p, stack, make_frame(&p, k, "fault"), &stack), 0);
	make_sample(&p, "a", stack, 25000000);
	svg = picture(&p, svg_write);
	assert_null(
		strstr(svg, "coverage 100")); /* three samples of 133 ms: too short to tell */
	has(svg, "cpu-clock:u: 3 samples, 400 ms, too short to tell the coverage");
	has(svg, "<title>small\n/bin/a\n2 samples, 100 ms, 25.00 %</title>");
	near(box_number(svg, "big", " width=\""), 75);
	near(box_number(svg, "small", " x=\""), 75);
	near(box_number(svg, "sin", " width=\""), 25);
	near(box_number(svg, "fault", " width=\""), 6.25);
	near(box_number(svg, "fault", " y=\""), 5 * 16);
	has(svg, "<g class=\"k\"><title>fault\n");
	has(svg, "<g class=\"l\"><title>sin\n");
	has(svg, "<g class=\"p\"><title>main\n");
	has(svg, "<g class=\"t\"><title>a\n");
	for (uint32_t i = 0; i < p.sample_count; i++)
		p.samples[i].weight = 0; /* nothing has a weight: the samples count */
	free(svg);
	svg = picture(&p, svg_write);
	near(box_number(svg, "big", " width=\""), 33.3333);
	free(svg);
	profile_done(&p);
}

/* NOLINTBEGIN(misc-misleading-bidirectional): the very thing that is escaped */
/* Nothing of a name gets out of its text, and nothing is fetched from elsewhere. */
static void hostile_names_stay_text(void **state)
{
	struct profile p = {0};
	static const char name[] =
		"</title><script>alert(1)</script>&\"'\x01\xff\xe2\x80\xae]]>\n\tx";
	uint32_t a = make_module(&p, MODULE_FILE, name), stack;
	char *svg;

	(void)state;
	assert_int_equal(profile_stack(&p, PROFILE_NONE, make_frame(&p, a, name), &stack), 0);
	make_sample(&p, name, stack, 1);
	svg = picture(&p, svg_write);
	assert_int_equal(count(svg, "<script>"), 1);
	assert_int_equal(count(svg, "</script>"), 1);
	assert_int_equal(count(svg, "]]>"), 1);
	assert_null(strchr(svg, '\x01'));
	assert_null(strchr(svg, '\xff'));
	assert_null(strstr(svg, "\xe2\x80\xae"));
	has(svg, "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;"
		 "\\x01\\xff\\u202e]]&gt;\\x0a\\x09x\n");
	for (const char *at = svg; (at = strstr(at, "http")); at++)
		assert_true(!strncmp(at, "http://www.w3.org/", 18)); /* names of namespaces */
	free(svg);
	profile_done(&p);
}

/* NOLINTEND(misc-misleading-bidirectional) */

static void a_deep_stack_is_drawn_to_a_limit(void **state)
{
	enum { DEPTH = 8000, ROWS = 1000 };
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/a"), stack = PROFILE_NONE;
	char *svg;

	(void)state;
	for (uint32_t i = 0; i < DEPTH; i++)
		assert_int_equal(profile_stack(&p, stack, make_frame(&p, a, "rec"), &stack), 0);
	make_sample(&p, "a", stack, 1);
	svg = picture(&p, svg_write);
	assert_int_equal(count(svg, "<title>"), ROWS);
	has(svg, "1000 of 8002 rows drawn");
	assert_int_equal(count(svg, "too deep to be drawn"), 1);
	has(svg, "height=\"16086\"");
	free(svg);
	profile_done(&p);
}

/* 100,000 distinct stacks: what is narrower than a tenth of a pixel costs nothing. */
static void narrow_boxes_are_left_out(void **state)
{
	enum { FAN = 316 };
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/a"), root, mid, leaf, frames[FAN];
	char *svg;

	(void)state;
	for (uint32_t i = 0; i < FAN; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		frames[i] = make_frame(&p, a, name);
	}
	root = make_stack(&p, a, "main");
	for (uint32_t i = 0; i < FAN * FAN; i++) {
		assert_int_equal(profile_stack(&p, root, frames[i / FAN], &mid), 0);
		assert_int_equal(profile_stack(&p, mid, frames[i % FAN], &leaf), 0);
		make_sample(&p, "a", leaf, 1);
	}
	svg = picture(&p, svg_write);
	assert_int_equal(count(svg, "<title>"), 3 + FAN);
	near(box_number(svg, "f7", " width=\""), 100.0 / FAN);
	assert_true(strlen(svg) < 200000);
	free(svg);
	profile_done(&p);
}

static void a_long_name_is_cut_where_it_does_not_fit(void **state)
{
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/a");
	char name[10001], *svg;
	uint32_t stack;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(profile_stack(&p, PROFILE_NONE, make_frame(&p, a, name), &stack), 0);
	make_sample(&p, "a", stack, 1);
	svg = picture(&p, svg_write);
	has(svg, "nnnnnnnn..</text>");
	has(svg, "nnnnnnnn\xe2\x80\xa6\n/a\n");
	assert_true(strlen(svg) < 20000);
	free(svg);
	profile_done(&p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_empty_picture_says_so),
	cmocka_unit_test(boxes_are_shares_of_the_weight),
	cmocka_unit_test(hostile_names_stay_text),
	cmocka_unit_test(a_deep_stack_is_drawn_to_a_limit),
	cmocka_unit_test(narrow_boxes_are_left_out),
	cmocka_unit_test(a_long_name_is_cut_where_it_does_not_fit),
};
UNIT_TESTS("svg", tests)
