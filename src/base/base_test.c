#include "base/array.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static void error_keeps_the_code_and_cuts_the_text(void **state)
{
	struct error err;
	char longer[2000];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(error_set(&err, -ENOENT, "%s", longer), -ENOENT);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_int_equal(error_set(NULL, -EIO, "nobody asks"), -EIO);
}

static void array_stops_at_its_limit(void **state)
{
	cleanup_free uint64_t *array = NULL;
	uint32_t cap = 0;

	(void)state;
	assert_int_equal(array_reserve(&array, &cap, 1, sizeof(*array), 100), 0);
	assert_true(cap >= 1 && cap <= 100);
	assert_int_equal(array_reserve(&array, &cap, 100, sizeof(*array), 100), 0);
	assert_int_equal(cap, 100);
	assert_int_equal(array_reserve(&array, &cap, 101, sizeof(*array), 100), -ENOSPC);
	assert_int_equal(cap, 100);
}

static void arena_memory_is_zeroed_aligned_and_apart(void **state)
{
	struct arena arena = {0};
	unsigned char *last = NULL;

	(void)state;
	for (size_t bytes = 1; bytes < 200000; bytes = bytes * 3 + 1) {
		unsigned char *p = arena_alloc(&arena, bytes);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < bytes; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xaa, bytes);
		assert_ptr_not_equal(p, last);
		last = p;
	}
	assert_null(arena_alloc(&arena, SIZE_MAX));
	arena_done(&arena);
	arena_done(&arena);
}

static void hash_finds_what_is_there_after_removals(void **state)
{
	struct hash_index index = {0};
	enum { N = 5000 };
	uint32_t id;

	(void)state;
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < N; i++)
			assert_int_equal(hash_add(&index, hash_u64(i % 97), i), 0);
		for (uint32_t i = 0; i < N; i++) {
			struct hash_probe probe = hash_probe(&index, hash_u64(i % 97));
			bool found = false;

			while (!found && hash_next(&index, &probe, &id))
				found = id == i;
			assert_true(found);
			if (i % 50)
				continue;
		}
		for (uint32_t i = 0; i < N; i++)
			hash_remove(&index, hash_u64(i % 97), i);
		assert_int_equal(index.live, 0);
	}
	assert_true(index.cap <= 4 * 16384);
	hash_done(&index);
}

static void strings_have_one_id_each(void **state)
{
	struct strings strings = {0};
	uint32_t a, b, c, empty;

	(void)state;
	assert_int_equal(strings_add(&strings, "main", 4, &a), 0);
	assert_int_equal(strings_add(&strings, "mainly", 4, &b), 0);
	assert_int_equal(strings_add(&strings, "mainly", 6, &c), 0);
	assert_int_equal(strings_add(&strings, "\0hidden", 7, &empty), 0);
	assert_int_equal(a, b);
	assert_int_not_equal(a, c);
	assert_int_equal(empty, 0);
	assert_string_equal(strings_get(&strings, c), "mainly");
	assert_string_equal(strings_get(&strings, 12345), "");
	strings_done(&strings);
}

static void bytes_never_reads_beyond(void **state)
{
	const uint8_t data[] = {1, 2, 3, 4, 5, 0x80, 0x01, 0x7f, 'h', 'i', 0, 'x'};
	struct bytes b = bytes_of(data, sizeof(data));

	(void)state;
	assert_int_equal(bytes_u8(&b), 1);
	assert_int_equal(bytes_u32(&b), 0x05040302);
	assert_int_equal(bytes_uleb(&b), 128);
	assert_int_equal(bytes_sleb(&b), -1);
	assert_string_equal(bytes_str(&b), "hi");
	assert_false(b.bad);
	assert_null(bytes_str(&b));
	assert_true(b.bad);
	assert_int_equal(bytes_u8(&b), 0);

	b = bytes_of(data, 3);
	b.swap = true;
	assert_int_equal(bytes_u16(&b), 0x0102);
	assert_int_equal(bytes_u64(&b), 0);
	assert_true(b.bad);
	b = bytes_of(data, sizeof(data));
	assert_false(bytes_skip(&b, UINT64_MAX));
}

static void leb_of_absurd_length_is_bad(void **state)
{
	uint8_t data[40];
	struct bytes b;

	(void)state;
	memset(data, 0xff, sizeof(data));
	b = bytes_of(data, sizeof(data));
	bytes_uleb(&b);
	assert_true(b.bad);
	b = bytes_of(data, sizeof(data));
	bytes_sleb(&b);
	assert_true(b.bad);
}

static void strbuf_grows_and_prints(void **state)
{
	struct strbuf buf = {0};

	(void)state;
	assert_string_equal(strbuf_text(&buf), "");
	for (int i = 0; i < 100; i++)
		strbuf_printf(&buf, "%d,", i);
	assert_int_equal(buf.len, 290);
	strbuf_printf(&buf, "%0500d", 7);
	assert_int_equal(buf.len, 790);
	strbuf_add(&buf, NULL, 0);
	assert_int_equal(buf.len, 790);
	assert_false(buf.failed);
	strbuf_reset(&buf);
	assert_string_equal(strbuf_text(&buf), "");
	strbuf_done(&buf);
}

static void numbers_are_parsed_strictly(void **state)
{
	uint64_t v;

	(void)state;
	assert_int_equal(parse_u64("997", 3, &v), 0);
	assert_int_equal(v, 997);
	assert_int_equal(parse_u64("0x1aF", 5, &v), 0);
	assert_int_equal(v, 0x1af);
	assert_int_equal(parse_u64("18446744073709551615", 20, &v), 0);
	assert_int_equal(parse_u64("18446744073709551616", 20, &v), -ERANGE);
	assert_int_equal(parse_u64("", 0, &v), -EINVAL);
	assert_int_equal(parse_u64("12x", 3, &v), -EINVAL);
	assert_int_equal(parse_u64("-1", 2, &v), -EINVAL);
	assert_int_equal(parse_u64(" 1", 2, &v), -EINVAL);
}

static void files_of_proc_are_read_whole(void **state)
{
	struct strbuf text = {0};
	int64_t number;

	(void)state;
	assert_int_equal(file_read(AT_FDCWD, "/proc/self/stat", 1 << 20, &text), 0);
	assert_true(text.len > 20);
	assert_int_equal(file_read(AT_FDCWD, "/proc/self/stat", 4, &text), -EFBIG);
	assert_int_equal(file_read(AT_FDCWD, "/nonexistent", 4, &text), -ENOENT);
	assert_int_equal(file_read_number(AT_FDCWD, "/proc/sys/kernel/pid_max", &number), 0);
	assert_true(number > 0);
	strbuf_done(&text);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(error_keeps_the_code_and_cuts_the_text),
	cmocka_unit_test(array_stops_at_its_limit),
	cmocka_unit_test(arena_memory_is_zeroed_aligned_and_apart),
	cmocka_unit_test(hash_finds_what_is_there_after_removals),
	cmocka_unit_test(strings_have_one_id_each),
	cmocka_unit_test(bytes_never_reads_beyond),
	cmocka_unit_test(leb_of_absurd_length_is_bad),
	cmocka_unit_test(strbuf_grows_and_prints),
	cmocka_unit_test(numbers_are_parsed_strictly),
	cmocka_unit_test(files_of_proc_are_read_whole),
};
UNIT_TESTS("base", tests)
