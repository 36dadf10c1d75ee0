#include "base/cleanup.h"
#include "view/figure.h"
#include "view/markdown.h"
#include "view/printable.h"
#include "view/shorten.h"
#include "view/term.h"
#include "tests/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect_printable(const char *text, bool utf8, const char *expected)
{
	struct strbuf out = {0};

	printable_add(&out, text, utf8);
	assert_string_equal(strbuf_text(&out), expected);
	strbuf_done(&out);
}

static void nothing_that_moves_the_cursor_stays(void **state)
{
	(void)state;
	expect_printable("main", true, "main");
	expect_printable("\x1b[2J\x1b]0;title\x07", true, "\\x1b[2J\\x1b]0;title\\x07");
	expect_printable("a\r\nb\tc\x7f", true, "a\\x0d\\x0ab\\x09c\\x7f");
	expect_printable("\xc2\x9b"
			 "31m",
		true, "\\u009b31m");
	expect_printable("bad \xff\xc0\xaf utf8", true, "bad \\xff\\xc0\\xaf utf8");
	expect_printable("abc\u202e\u2066def\u200b", true, "abc\\u202e\\u2066def\\u200b");
	expect_printable("gr\u00fc\u00dfe \u6f22", true, "gr\u00fc\u00dfe \u6f22");
	expect_printable("gr\u00fc\u00dfe \u6f22", false, "gr\\u00fc\\u00dfe \\u6f22");
}

static void columns_are_those_of_a_terminal(void **state)
{
	(void)state;
	assert_int_equal(printable_columns(""), 0);
	assert_int_equal(printable_columns("main"), 4);
	assert_int_equal(printable_columns("\u6f22\u5b57"), 4);
	assert_int_equal(printable_columns("e\u0301"), 1);
	assert_int_equal(printable_columns("\U0001f525x"), 3);
}

static void expect_short(const char *name, size_t columns, const char *expected)
{
	struct strbuf out = {0};

	shorten_add(&out, name, columns, false);
	assert_string_equal(strbuf_text(&out), expected);
	assert_true(printable_columns(strbuf_text(&out)) <= columns);
	strbuf_done(&out);
}

static void long_names_keep_what_tells_them_apart(void **state)
{
	static const char push[] =
		"std::vector<int, std::allocator<int> >::push_back(int const&)";

	(void)state;
	expect_short(push, 61, push);
	expect_short(push, 60, "std::vector<...>::push_back(int const&)");
	expect_short(push, 35, "std::vector<...>::push_back(...)");
	expect_short(push, 30, "std::vector<...>::push_back");
	expect_short(push, 16, "std::..push_back");
	expect_short("<alloc::vec::Vec<T, Al> as core::ops::Deref>::deref", 49,
		"<alloc::vec::Vec<...> as core::ops::Deref>::deref");
	expect_short(
		"(anonymous namespace)::run(int, char)", 31, "(anonymous namespace)::run(...)");
	expect_short("std::operator<< <char>(std::ostream&, char)", 42,
		"std::operator<< <char>(...)");
	expect_short("std::function<void (int)>::operator()(int) const", 42,
		"std::function<...>::operator()(int) const");
	expect_short("ptr<int>::operator->()", 21, "ptr<...>::operator->");
	expect_short("a<b<c", 4, "a<b<");
	expect_short("abcdefghij", 1, "a");
}

static void a_wide_character_is_not_cut_in_two(void **state)
{
	struct strbuf out = {0};

	(void)state;
	for (size_t columns = 1; columns < 24; columns++) {
		strbuf_reset(&out);
		shorten_middle(&out,
			"\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57", columns,
			true);
		assert_true(printable_columns(strbuf_text(&out)) <= columns);
		assert_null(strstr(strbuf_text(&out), "\xff"));
	}
	strbuf_done(&out);
}

static void figures_have_three_digits(void **state)
{
	char buf[FIGURE_BYTES];

	(void)state;
	assert_string_equal(figure_thousands(0, buf), "0");
	assert_string_equal(figure_thousands(999, buf), "999");
	assert_string_equal(figure_thousands(1234567, buf), "1,234,567");
	assert_string_equal(figure_thousands(UINT64_MAX, buf), "18,446,744,073,709,551,615");
	assert_string_equal(figure_time(0, buf), "0");
	assert_string_equal(figure_time(999, buf), "999 ns");
	assert_string_equal(figure_time(1003009, buf), "1.00 ms");
	assert_string_equal(figure_time(99960000, buf), "100 ms");
	assert_string_equal(figure_time(999600000, buf), "1.00 s");
	assert_string_equal(figure_time(200000000000, buf), "3 min 20 s");
	assert_string_equal(figure_time(7500000000000, buf), "2 h 5 min");
	assert_string_equal(figure_count(999, buf), "999");
	assert_string_equal(figure_count(1234, buf), "1.23 k");
	assert_string_equal(figure_count(999999, buf), "1.00 M");
	assert_string_equal(figure_count(45600000000, buf), "45.6 G");
	assert_string_equal(figure_count(UINT64_MAX, buf), "18.4 E");
	assert_string_equal(figure_percent(0, buf), "0 %");
	assert_string_equal(figure_percent(0.0001, buf), "<0.1 %");
	assert_string_equal(figure_percent(0.4567, buf), "45.7 %");
	assert_string_equal(figure_percent(1, buf), "100 %");
	assert_string_equal(figure_percent(figure_share(1, 0), buf), "0 %");
	assert_int_equal(add_saturating(UINT64_MAX, 1) == UINT64_MAX, 1);
}

static void columns_of_the_environment_are_checked(void **state)
{
	(void)state;
	assert_int_equal(term_columns_from("120"), 120);
	assert_int_equal(term_columns_from(NULL), 0);
	assert_int_equal(term_columns_from("0"), 0);
	assert_int_equal(term_columns_from("-5"), 0);
	assert_int_equal(term_columns_from("wide"), 0);
	assert_int_equal(term_columns_from("99999999999999999999"), 0);
}

static void a_pipe_is_not_cut_and_not_coloured(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(term_columns(fds[1]), 0);
	assert_false(term_colour(fds[1]));
	close(fds[0]);
	close(fds[1]);
}

static void expect_markdown(
	void (*write)(FILE *, const char *), const char *text, const char *expected)
{
	cleanup_free char *got = NULL;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	write(out, text);
	fclose(out);
	assert_string_equal(got, expected);
}

static void markdown_takes_nothing_for_markup(void **state)
{
	(void)state;
	expect_markdown(markdown_text, "a|b *c* <d> kernel.perf_event @all _x_",
		"a\\|b \\*c\\* &lt;d&gt; kernel.perf_event &#64;all \\_x\\_");
	expect_markdown(markdown_code, "operator|(a<b>)", "`operator\\|(a<b>)`");
	expect_markdown(markdown_code, "a``b`", "``` a``b` ```");
	expect_markdown(markdown_code, "", "");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(nothing_that_moves_the_cursor_stays),
	cmocka_unit_test(columns_are_those_of_a_terminal),
	cmocka_unit_test(long_names_keep_what_tells_them_apart),
	cmocka_unit_test(a_wide_character_is_not_cut_in_two),
	cmocka_unit_test(figures_have_three_digits),
	cmocka_unit_test(columns_of_the_environment_are_checked),
	cmocka_unit_test(a_pipe_is_not_cut_and_not_coloured),
	cmocka_unit_test(markdown_takes_nothing_for_markup),
};
UNIT_TESTS("printable", tests)
