#include "formats/escape.h"

#include "tests/unit_test.h"

#include <string.h>

static void xml_is(const char *text, size_t limit, const char *want)
{
	struct strbuf out = {0};

	escape_xml(&out, text, limit);
	assert_string_equal(strbuf_text(&out), want);
	strbuf_done(&out);
}

static void line_is(const char *text, const char *want)
{
	struct strbuf out = {0};

	escape_line(&out, text, ';', ':');
	assert_string_equal(strbuf_text(&out), want);
	strbuf_done(&out);
}

static void xml_holds_no_markup(void **state)
{
	(void)state;
	xml_is("", 10, "");
	xml_is("a<b>&\"c'", 10, "a&lt;b&gt;&amp;&quot;c&#39;");
	xml_is("]]></title>", 100, "]]&gt;&lt;/title&gt;");
	xml_is("abcdef", 6, "abcdef");
	xml_is("abcdefg", 6, "abcdef\xe2\x80\xa6");
	xml_is("h\xc3\xa4\xe6\xbc\xa2\xf0\x9f\x98\x80", 4,
		"h\xc3\xa4\xe6\xbc\xa2\xf0\x9f\x98\x80");
}

/* NOLINTBEGIN(misc-misleading-bidirectional): the very thing that is escaped */
static void what_cannot_be_seen_is_shown(void **state)
{
	(void)state;
	line_is("a;b\nc\td\x1b[31m\x7f", "a:b\\x0ac\\x09d\\x1b[31m\\x7f");
	line_is("x\xe2\x80\xaey", "x\\u202ey"); /* right-to-left override */
	line_is("x\xe2\x81\xa6y", "x\\u2066y"); /* isolate */
	line_is("\xef\xbb\xbf\xe2\x80\x8b", "\\ufeff\\u200b");
	line_is("\xc2\x85", "\\u0085");
	line_is("\xef\xbf\xbf", "\\uffff");
	xml_is("\x01\xe2\x80\xae", 10, "\\x01\\u202e");
}

/* NOLINTEND(misc-misleading-bidirectional) */

static void bytes_that_are_no_utf8_are_shown(void **state)
{
	(void)state;
	line_is("\xff\xfe", "\\xff\\xfe");
	line_is("\x80z", "\\x80z");
	line_is("\xc0\xaf", "\\xc0\\xaf");	    /* overlong */
	line_is("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* surrogate */
	line_is("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	line_is("a\xe2\x82", "a\\xe2\\x82"); /* cut off */
	line_is("\xf0\x9f\x98", "\\xf0\\x9f\\x98");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(xml_holds_no_markup),
	cmocka_unit_test(what_cannot_be_seen_is_shown),
	cmocka_unit_test(bytes_that_are_no_utf8_are_shown),
};
UNIT_TESTS("escape", tests)
