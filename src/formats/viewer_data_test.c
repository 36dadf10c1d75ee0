#include "formats/viewer_data.h"

#include "tests/unit_test.h"

#include "formats/test_profile.h"

static void a_small_profile_byte_by_byte(void **state)
{
	static const struct viewer_sentence sentence = {2, "names", "few"};
	struct profile p = {0};
	struct strbuf bytes = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/bin/a");
	const struct viewer_data data = {
		.profile = &p, .file = "f", .sentences = &sentence, .sentence_count = 1};

	(void)state;
	quality_init(&p.quality);
	make_sample(&p, "t", make_stack(&p, a, "main work"), 64);
	make_sample(&p, "t", make_stack(&p, a, "main"), 64);
	assert_int_equal(viewer_data_pack(&data, &bytes), 0);
	assert_memory_equal(bytes.text, "wickview1\n", 10);
	assert_memory_equal(bytes.text + bytes.len - 4, "end\n", 4);
	/* samples: 2, their start, times, threads, events, nodes (2, then 1), weights */
	assert_memory_equal(bytes.text + bytes.len - 4 - 11,
		"\0\0"
		"\0\0"
		"\0\0"
		"\4\1"
		"\x80\x01\0",
		11);
	strbuf_done(&bytes);
	profile_done(&p);
}

static void only_what_is_sampled_gets_in(void **state)
{
	struct profile p = {0};
	struct strbuf bytes = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/bin/a");
	const struct viewer_data data = {.profile = &p};

	(void)state;
	quality_init(&p.quality);
	make_sample(&p, "t", make_stack(&p, a, "main work"), 1);
	make_stack(&p, a, "main never");
	assert_int_equal(viewer_data_pack(&data, &bytes), 0);
	assert_non_null(memmem(bytes.text, bytes.len, "work", 4));
	assert_null(memmem(bytes.text, bytes.len, "never", 5));
	strbuf_done(&bytes);
	profile_done(&p);
}

static void a_page_has_its_parts_in_order(void **state)
{
	struct profile p = {0};
	const struct viewer_data data[] = {{.profile = &p}, {.profile = &p}};
	struct written written = {0};
	FILE *out = written_open(&written);
	const char *first, *second, *end;

	(void)state;
	quality_init(&p.quality);
	assert_int_equal(viewer_write(data, 2, out, NULL), 0);
	fclose(out);
	first = strstr(written.text, "id=\"wick-data-0\">");
	second = strstr(written.text, "id=\"wick-data-1\">");
	end = strstr(written.text, "<i id=\"wick-end\"");
	assert_true(first && second && end && first < second && second < end);
	assert_non_null(strstr(end, "</html>"));
	assert_null(strstr(written.text, "<!--wick-data-->"));
	free(written.text);
	profile_done(&p);
}

static void a_full_disk_is_said(void **state)
{
	struct profile p = {0};
	const struct viewer_data data = {.profile = &p};
	struct error err = {""};
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	if (!out)
		skip();
	quality_init(&p.quality);
	assert_true(viewer_write(&data, 1, out, &err) < 0);
	assert_non_null(strstr(err.text, "writing the export failed"));
	fclose(out);
	profile_done(&p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_small_profile_byte_by_byte),
	cmocka_unit_test(only_what_is_sampled_gets_in),
	cmocka_unit_test(a_page_has_its_parts_in_order),
	cmocka_unit_test(a_full_disk_is_said),
};
UNIT_TESTS("viewer_data", tests)
