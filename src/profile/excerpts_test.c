#include "tests/unit_test.h"

#include "profile/excerpts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t module_of(struct profile *p, enum module_kind kind, const char *path)
{
	struct module key = {
		.kind = kind, .build_id = {1, 2, 3}, .build_id_bytes = 3, .ino = 9};
	uint32_t id;

	assert_int_equal(profile_string(p, path, &key.path), 0);
	assert_int_equal(profile_module(p, &key, &id), 0);
	return id;
}

static void add(struct excerpts *excerpts, struct profile *p, const struct excerpt *excerpt,
	const char *bytes)
{
	struct code_row rows[] = {{0, 0, 10}, {2, 0, 3000}, {3, 0, 0}};

	assert_int_equal(profile_string(p, "/src/a \xe2\x82\xac.c", &rows[0].file), 0);
	rows[1].file = rows[0].file;
	assert_int_equal(excerpts_add(excerpts, excerpt, bytes), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(excerpts_add_row(excerpts, &rows[i]), 0);
}

/* Two modules, in another order than that of the file. */
static void make(struct profile *p, struct excerpts *excerpts)
{
	uint32_t a = module_of(p, MODULE_FILE, "/bin/a");
	uint32_t b = module_of(p, MODULE_FILE, "/bin/b");

	add(excerpts, p, &(struct excerpt){b, 0x2000, 0x402000, 62, 0, 5, 0, 0, NULL}, "hello");
	add(excerpts, p, &(struct excerpt){a, 0x3000, 0x1000, 183, 0, 4, 0, 0, NULL}, "last");
	add(excerpts, p, &(struct excerpt){a, 0x1000, 0x1000, 183, 0, 4, 0, 0, NULL}, "code");
	assert_int_equal(
		excerpts_add(excerpts, &(struct excerpt){.module = a, .addr = 7, .why = "gone"},
			NULL),
		0);
}

static void written(struct strbuf *bytes)
{
	struct excerpts excerpts = {0};
	struct profile p = {.module_count = 0};

	make(&p, &excerpts);
	assert_int_equal(excerpts_write(&excerpts, &p, bytes), 0);
	excerpts_done(&excerpts);
	profile_done(&p);
}

static void code_comes_back(void **state)
{
	struct strbuf bytes = {0};
	struct excerpts excerpts = {0};
	struct profile p = {.module_count = 0};
	const struct excerpt *found;
	const struct code_row *row;
	uint32_t b;

	(void)state;
	written(&bytes);
	b = module_of(
		&p, MODULE_FILE, "/bin/b"); /* known to the reader, under another number */
	assert_int_equal(excerpts_read(bytes.text, bytes.len, &p, &excerpts, NULL), 0);
	assert_int_equal(excerpts.count, 3); /* without the one that has no code */
	assert_int_equal(p.module_count, 2);
	found = excerpts_find(&excerpts, b, 0x2000);
	assert_non_null(found);
	assert_int_equal(found->size, 5);
	assert_int_equal(found->machine, 62);
	assert_true(found->vaddr == 0x402000);
	assert_memory_equal(excerpts.bytes + found->first_byte, "hello", 5);
	row = excerpt_row(&excerpts, found, 1);
	assert_int_equal(row->line, 10);
	assert_string_equal(profile_text(&p, row->file), "/src/a \xe2\x82\xac.c");
	assert_int_equal(excerpt_row(&excerpts, found, 2)->line, 3000);
	assert_null(excerpt_row(&excerpts, found, 4));
	found = excerpts_find(&excerpts, module_of(&p, MODULE_FILE, "/bin/a"), 0x1000);
	assert_memory_equal(excerpts.bytes + found->first_byte, "code", 4);
	assert_true(found->vaddr == 0x1000);
	assert_null(excerpts_find(&excerpts, b, 0x1000));
	excerpts_done(&excerpts);
	profile_done(&p);
	strbuf_done(&bytes);
}

/* Cut anywhere, or with any byte changed: a sentence or a whole table, never half of one. */
static void damage_is_said(void **state)
{
	struct strbuf bytes = {0};

	(void)state;
	written(&bytes);
	for (size_t at = 0; at < bytes.len; at++) {
		for (int cut = 0; cut < 2; cut++) {
			struct excerpts excerpts = {0};
			struct profile p = {.module_count = 0};
			struct error err = {.text = ""};
			char *copy = malloc(bytes.len);
			int rc;

			memcpy(copy, bytes.text, bytes.len);
			copy[at] ^= cut ? 0 : 0x55;
			rc = excerpts_read(copy, cut ? at : bytes.len, &p, &excerpts, &err);
			assert_true(rc == 0 || rc == -EBADMSG || rc == -ENOTSUP);
			assert_true(rc == 0 || (!excerpts.count && !excerpts.byte_count &&
						       !excerpts.row_count && err.text[0]));
			assert_true(!cut || rc < 0);
			free(copy);
			excerpts_done(&excerpts);
			profile_done(&p);
		}
	}
	strbuf_done(&bytes);
}

static void none_is_nothing(void **state)
{
	struct excerpts excerpts = {0};
	struct profile p = {.module_count = 0};
	struct strbuf bytes = {0};

	(void)state;
	assert_int_equal(excerpts_write(&excerpts, &p, &bytes), 0);
	assert_int_equal(bytes.len, 0);
	strbuf_done(&bytes);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(code_comes_back),
	cmocka_unit_test(damage_is_said),
	cmocka_unit_test(none_is_nothing),
};
UNIT_TESTS("excerpts", tests)
