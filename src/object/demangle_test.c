#include "object/demangle.h"

#include "base/cleanup.h"
#include "config.h"
#include "tests/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(const char *linkage, const char *want)
{
	struct strbuf out = {0};

	strbuf_puts(&out, ">");
	demangle(linkage, &out);
	assert_string_equal(strbuf_text(&out) + 1, HAVE_LIBIBERTY ? want : linkage);
	assert_int_equal(out.len, strlen(out.text));
	strbuf_done(&out);
}

static void cpp_and_rust_are_read(void **state)
{
	(void)state;
	check("_ZN3foo3barEi", "foo::bar(int)");
	check("_ZNSt6vectorIiSaIiEE9push_backERKi",
		"std::vector<int, std::allocator<int> >::push_back(int const&)");
	check("_Z4workv.cold", "work() [clone .cold]");
	check("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check("_RNvC6_123foo3bar", "123foo::bar");
}

static void other_names_stay_as_they_are(void **state)
{
	(void)state;
	check("main", "main");
	check("_start", "_start");
	check("__libc_start_main", "__libc_start_main");
	check("_Zebra", "_Zebra");
	check("_Z", "_Z");
	check("_R", "_R");
	check("_", "_");
	check("", "");
	check("write@plt", "write@plt");
}

static void a_name_beyond_the_limit_stays(void **state)
{
	char *name = malloc(DEMANGLE_IN_MAX + 10);

	(void)state;
	memset(name, 'P', DEMANGLE_IN_MAX + 9);
	memcpy(name, "_Z1f", 4);
	name[DEMANGLE_IN_MAX + 9] = '\0';
	check(name, name);
	name[DEMANGLE_IN_MAX] = '\0';
	check(name, name);
	free(name);
}

/* Real ones, of templates in templates, have up to 10,000 characters. */
static void long_names_are_read(void **state)
{
	struct strbuf name = {0}, want = {0};

	(void)state;
	strbuf_puts(&name, "_Z1f");
	strbuf_puts(&want, "f(");
	for (int i = 0; i < 1000; i++) {
		strbuf_printf(&name, "7name%03dIiE", i);
		strbuf_printf(&want, "%sname%03d<int>", i ? ", " : "", i);
	}
	strbuf_puts(&want, ")");
	assert_true(name.len > 10000);
	check(strbuf_text(&name), strbuf_text(&want));
	strbuf_done(&name);
	strbuf_done(&want);
}

/* As deep as a name of the longest length can be, of each kind of nesting. */
static void deep_names_are_survived(void **state)
{
	static const struct {
		const char *open, *end, *close;
	} kinds[] = {{"P", "i", ""}, {"1aI", "i", "E"}, {"F", "i", "E"}, {"N1aI", "i", "EE"},
		{"DTcv", "iLi0E", "E"}, {"M1a", "i", ""}, {"A_", "i", ""}, {"DpR", "i", ""},
		{"L_Z1f", "i", "E"}, {"XadL_Z1f", "i", "EE"}, {"ZN", "1a", "E"},
		{"KPFv", "i", "E"}};
	struct strbuf name = {0}, out = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t depth = (DEMANGLE_IN_MAX - 16) /
			       (strlen(kinds[i].open) + strlen(kinds[i].close));

		strbuf_reset(&name);
		strbuf_puts(&name, "_Z1f");
		for (size_t n = 0; n < depth; n++)
			strbuf_puts(&name, kinds[i].open);
		strbuf_puts(&name, kinds[i].end);
		for (size_t n = 0; n < depth; n++)
			strbuf_puts(&name, kinds[i].close);
		assert_true(name.len <= DEMANGLE_IN_MAX);
		strbuf_reset(&out);
		demangle(strbuf_text(&name), &out);
		assert_true(out.len > 0 && out.len <= DEMANGLE_OUT_MAX);
	}
	strbuf_done(&name);
	strbuf_done(&out);
}

/* f(a<int, int>, a<S0_, S0_>, a<S1_, S1_>, ...): each argument is twice as long as the one
 * before. */
static void a_name_that_explodes_is_stopped(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[512] = "_Z1f1aIiiE";
	struct strbuf out = {0};

	(void)state;
	for (int i = 0; i < 3; i++)
		snprintf(name + strlen(name), 32, "S_IS%c_S%c_E", digits[i], digits[i]);
	assert_int_equal(demangle(name, &out), HAVE_LIBIBERTY);
	for (int i = 3; i < 35; i++)
		snprintf(name + strlen(name), 32, "S_IS%c_S%c_E", digits[i], digits[i]);
	strbuf_reset(&out);
	assert_false(demangle(name, &out));
	assert_string_equal(strbuf_text(&out), name);
	strbuf_done(&out);
}

static void random_names_are_survived(void **state)
{
	static const char alphabet[] = "_ZRNSTILEPKabcdFv0123456789CDQMUhXp";
	struct strbuf out = {0};
	uint32_t seed = 7;
	char name[64];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		size_t len = 3 + i % 50;

		for (size_t c = 0; c < len; c++) {
			seed = seed * 1103515245 + 12345;
			name[c] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
		}
		name[0] = '_';
		name[1] = i % 2 ? 'Z' : 'R';
		name[len] = '\0';
		strbuf_reset(&out);
		demangle(name, &out);
		assert_true(out.len > 0 && out.len <= DEMANGLE_OUT_MAX);
	}
	strbuf_done(&out);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(cpp_and_rust_are_read),
	cmocka_unit_test(other_names_stay_as_they_are),
	cmocka_unit_test(a_name_beyond_the_limit_stays),
	cmocka_unit_test(long_names_are_read),
	cmocka_unit_test(deep_names_are_survived),
	cmocka_unit_test(a_name_that_explodes_is_stopped),
	cmocka_unit_test(random_names_are_survived),
};
UNIT_TESTS("demangle", tests)
