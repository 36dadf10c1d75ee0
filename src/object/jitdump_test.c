#include "object/jitdump.h"

#include "base/fileio.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A dump in the making, in either byte order. */
struct made {
	uint8_t bytes[4096];
	size_t len, record;
	bool swap;
};

static void put(struct made *made, uint64_t value, int width)
{
	for (int i = 0; i < width; i++) {
		int at = made->swap ? width - 1 - i : i;

		made->bytes[made->len + (size_t)at] = (uint8_t)(value >> 8 * i);
	}
	made->len += (size_t)width;
}

static void put_text(struct made *made, const char *text)
{
	memcpy(made->bytes + made->len, text, strlen(text) + 1);
	made->len += strlen(text) + 1;
}

static void begin(struct made *made, bool swap, uint32_t version, uint64_t flags)
{
	*made = (struct made){.swap = swap};
	put(made, 0x4A695444, 4);
	put(made, version, 4);
	put(made, 40, 4);
	put(made, 62, 4);
	put(made, 0, 4);
	put(made, 4711, 4);
	put(made, 1, 8);
	put(made, flags, 8);
}

static void record(struct made *made, uint32_t id, uint64_t time_ns)
{
	made->record = made->len;
	put(made, id, 4);
	put(made, 0, 4);
	put(made, time_ns, 8);
}

static void done(struct made *made)
{
	size_t end = made->len;

	made->len = made->record + 4;
	put(made, end - made->record, 4);
	made->len = end;
}

static void load(struct made *made, uint64_t ns, uint64_t addr, uint64_t size, uint64_t index,
	const char *name)
{
	record(made, 0, ns);
	put(made, 4711, 4);
	put(made, 4711, 4);
	put(made, addr, 8);
	put(made, addr, 8);
	put(made, size, 8);
	put(made, index, 8);
	put_text(made, name);
	made->len += size;
	done(made);
}

static void move(struct made *made, uint64_t ns, uint64_t from, uint64_t to, uint64_t size,
	uint64_t index)
{
	record(made, 1, ns);
	put(made, 4711, 4);
	put(made, 4711, 4);
	put(made, to, 8);
	put(made, from, 8);
	put(made, to, 8);
	put(made, size, 8);
	put(made, index, 8);
	done(made);
}

static void row(struct made *made, uint64_t addr, uint32_t line, const char *file)
{
	put(made, addr, 8);
	put(made, line, 4);
	put(made, line + 20, 4);
	put_text(made, file);
}

static void make(struct made *made, bool swap, uint32_t version)
{
	begin(made, swap, version, 0);
	record(made, 2, 9); /* the rows of `first` */
	put(made, 0x1000, 8);
	put(made, 2, 8);
	row(made, 0x1010, 8, "a.js");
	row(made, 0x1004, 7, "\xff");
	done(made);
	load(made, 10, 0x1000, 0x40, 1, "first");
	load(made, 20, 0x2000, 0x20, 2, "second");
	record(made, 4, 25);
	put(made, 0, 8);
	put(made, 0, 8);
	put(made, 0, 8);
	done(made);
	move(made, 30, 0x2000, 0x3000, 0x20, 2);
	load(made, 40, 0x1020, 0x80, 3, "third");
	record(made, 77, 45);
	done(made);
	record(made, 3, 50);
	done(made);
	load(made, 60, 0x9000, 0x10, 4, "behind the end");
}

static void functions_live_and_die(void **state)
{
	(void)state;
	for (int round = 0; round < 4; round++) {
		struct jitdump dump;
		struct made made;
		const struct jit_code *c;

		make(&made, round & 1, 1 + (uint32_t)round / 2);
		assert_int_equal(jitdump_parse(made.bytes, made.len, &dump), 0);
		assert_int_equal(dump.version, 1 + round / 2);
		assert_int_equal(dump.swapped, round & 1);
		assert_int_equal(dump.pid, 4711);
		assert_int_equal(dump.code_count, 4);
		assert_true(dump.closed && !dump.cut);
		assert_int_equal(dump.unknown_records, 1);
		assert_int_equal(dump.unwinding_infos, 1);
		assert_int_equal(dump.bad_records, 0);
		c = dump.codes;
		assert_string_equal(c[0].name, "first");
		assert_int_equal(c[0].start_ns, 10);
		assert_int_equal(c[0].end_ns, 40); /* `third` was put over its end */
		assert_int_equal(c[1].end_ns, 30); /* moved away */
		assert_string_equal(c[2].name, "second");
		assert_int_equal(c[2].addr, 0x3000);
		assert_int_equal(c[2].start_ns, 30);
		assert_true(c[2].end_ns == UINT64_MAX && c[3].end_ns == UINT64_MAX);
		assert_int_equal(c[0].row_count, 2);
		assert_int_equal(dump.rows[c[0].first_row].offset, 4);
		assert_int_equal(dump.rows[c[0].first_row].line, 7);
		assert_int_equal(dump.rows[c[0].first_row].column, 27);
		assert_string_equal(dump.rows[c[0].first_row].file, "a.js");
		assert_int_equal(dump.rows[c[0].first_row + 1].offset, 0x10);
		assert_int_equal(c[3].row_count, 0);
		assert_true(c[0].key + c[0].size <= c[1].key &&
			    c[1].key + c[1].size <= c[3].key &&
			    c[3].key + c[3].size <= c[2].key);
		jitdump_done(&dump);
	}
}

/* A dump that is still being written, or that was torn anywhere, gives what is whole. */
static void torn_dumps_give_what_is_whole(void **state)
{
	struct made made;
	uint32_t last = 0;

	(void)state;
	make(&made, false, 1);
	for (size_t len = 40; len <= made.len; len++) {
		uint8_t *copy = malloc(len);
		struct jitdump dump;

		assert_non_null(copy);
		memcpy(copy, made.bytes, len);
		assert_int_equal(jitdump_parse(copy, len, &dump), 0);
		assert_true(dump.code_count >= last);
		last = dump.code_count;
		jitdump_done(&dump);
		free(copy);
	}
	assert_int_equal(last, 4);
}

static void what_is_no_dump_is_refused(void **state)
{
	struct jitdump dump;
	struct made made;

	(void)state;
	begin(&made, false, 3, 0);
	assert_int_equal(jitdump_parse(made.bytes, made.len, &dump), -ENOTSUP);
	assert_int_equal(jitdump_parse(made.bytes, 39, &dump), -EBADMSG);
	made.bytes[0] = 'X';
	assert_int_equal(jitdump_parse(made.bytes, made.len, &dump), -EBADMSG);
	begin(&made, false, 1, 1);
	assert_int_equal(jitdump_parse(made.bytes, made.len, &dump), 0);
	assert_true(dump.arch_time && !dump.code_count);
	jitdump_done(&dump);
}

/* The same number and address for everything, as careless compilers write. */
static void careless_numbers_do_no_harm(void **state)
{
	struct jitdump dump;
	struct made made;

	(void)state;
	begin(&made, false, 1, 0);
	for (uint64_t i = 0; i < 20; i++)
		load(&made, 10 + i, 0x1000, 8, 0, "again");
	move(&made, 40, 0x1000, 0x5000, 8, 0);
	move(&made, 41, 0x7777, 0x6000, 8, 0); /* nobody lives there */
	assert_int_equal(jitdump_parse(made.bytes, made.len, &dump), 0);
	assert_int_equal(dump.code_count, 21);
	assert_int_equal(dump.bad_records, 1);
	for (uint32_t i = 0; i < 19; i++)
		assert_int_equal(dump.codes[i].end_ns, 11 + i);
	assert_int_equal(dump.codes[19].end_ns, 40);
	jitdump_done(&dump);
}

static void dumps_are_known_by_name(void **state)
{
	(void)state;
	assert_true(jitdump_is_name("/tmp/jit-4711.dump"));
	assert_true(jitdump_is_name("/root/.debug/jit/java-jit-1/jit-1.dump (deleted)"));
	assert_false(jitdump_is_name("/tmp/jit-.dump"));
	assert_false(jitdump_is_name("/tmp/jit-12.dumps"));
	assert_false(jitdump_is_name("/tmp/xjit-12.dump"));
	assert_false(jitdump_is_name("/usr/bin/node"));
}

/* Part of a dump by .NET, cut in the middle of a record. */
static void dumps_of_dotnet_are_read(void **state)
{
	const char *fixtures = getenv("WICK_FIXTURES"), *root = getenv("WICK_SOURCE_ROOT");
	struct strbuf path = {0}, bytes = {0};
	struct jitdump dump;
	char chunk[4096];
	gzFile file;
	int got;

	(void)state;
	strbuf_printf(&path, "%s/%s/DataDog__ddprof/test/data/jit-dotnet-partial.dump.gz",
		fixtures ? ""
		: root	 ? root
			 : ".",
		fixtures ? fixtures : "../shared/fixtures");
	file = gzopen(strbuf_text(&path), "rb");
	strbuf_done(&path);
	if (!file) {
		puts("skipped: the fixtures are not there (WICK_FIXTURES)");
		skip();
	}
	while ((got = gzread(file, chunk, sizeof(chunk))) > 0)
		strbuf_add(&bytes, chunk, (size_t)got);
	gzclose(file);
	assert_int_equal(jitdump_parse(bytes.text, bytes.len, &dump), 0);
	assert_true(dump.code_count > 10);
	assert_int_equal(dump.bad_records, 0);
	assert_int_equal(strncmp(dump.codes[0].name, "stub<1> Allocate", 16), 0);
	assert_int_equal(dump.codes[0].addr, 0x7f78f5230000);
	jitdump_done(&dump);
	strbuf_done(&bytes);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(functions_live_and_die),
	cmocka_unit_test(torn_dumps_give_what_is_whole),
	cmocka_unit_test(what_is_no_dump_is_refused),
	cmocka_unit_test(careless_numbers_do_no_harm),
	cmocka_unit_test(dumps_are_known_by_name),
	cmocka_unit_test(dumps_of_dotnet_are_read),
};
UNIT_TESTS("jitdump", tests)
