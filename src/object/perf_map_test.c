#include "object/perf_map.h"

#include "base/fileio.h"
#include "tests/unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_at(struct perf_map *map, uint64_t addr)
{
	const struct symbol *symbol = symtab_find(&map->table, addr);

	return symbol ? symbol_name(&map->table, symbol) : "-";
}

static void later_lines_win(void **state)
{
	static const char text[] = "1000 100 old one\n"
				   "0x1100 0x80 kept /app/x.js:1:13\n"
				   "1010 10 new\n"
				   "2000 100 inner_old\n"
				   "1f00 1000 around\n"
				   "5000 10 first\n"
				   "5000 10 second\n"
				   "nonsense\n"
				   "6000 0 empty\n"
				   "6000  two blanks\n"
				   "fffffffffffffff0 100 wraps\n"
				   "123456789abcdef01 10 too long\n"
				   "7000 10 half writ";
	struct perf_map map;

	(void)state;
	assert_int_equal(perf_map_parse(text, strlen(text), &map), 0);
	assert_string_equal(name_at(&map, 0x1000), "-"); /* its memory was given away */
	assert_string_equal(name_at(&map, 0x1010), "new");
	assert_string_equal(name_at(&map, 0x101f), "new");
	assert_string_equal(name_at(&map, 0x1020), "-");
	assert_string_equal(name_at(&map, 0x117f), "kept /app/x.js:1:13");
	assert_string_equal(name_at(&map, 0x2050), "around");
	assert_string_equal(name_at(&map, 0x5000), "second");
	assert_string_equal(name_at(&map, 0x7000), "-");
	assert_int_equal(map.replaced, 3);
	assert_int_equal(map.bad_lines, 5);
	assert_int_equal(map.lines, 12);
	assert_false(map.cut);
	perf_map_done(&map);
	assert_int_equal(perf_map_parse("", 0, &map), 0);
	assert_string_equal(name_at(&map, 0), "-");
	perf_map_done(&map);
}

/* Random lines against the definition: the last line over an address, if no later one overlaps
 * it. */
static void agrees_with_the_definition(void **state)
{
	enum { N = 120, ROUNDS = 60, SPACE = 4096 };
	uint64_t start[N], size[N];
	char text[N * 32], want[16];
	uint32_t seed = 99;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct perf_map map;
		int len = 0;

		for (int i = 0; i < N; i++) {
			seed = seed * 1103515245 + 12345;
			start[i] = (seed >> 8) % SPACE;
			size[i] = 1 + (seed >> 21) % 60;
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%lx %lx f%d\n",
				(unsigned long)start[i], (unsigned long)size[i], i);
		}
		assert_int_equal(perf_map_parse(text, (size_t)len, &map), 0);
		for (uint64_t addr = 0; addr < SPACE + 70; addr++) {
			int last = -1;
			bool gone = false;

			for (int i = 0; i < N; i++)
				if (addr - start[i] < size[i])
					last = i;
			for (int i = last + 1; i < N && last >= 0; i++)
				gone |= start[i] < start[last] + size[last] &&
					start[last] < start[i] + size[i];
			snprintf(want, sizeof(want), "f%d", last);
			assert_string_equal(name_at(&map, addr), last < 0 || gone ? "-" : want);
		}
		perf_map_done(&map);
	}
}

/* Lines beyond the limit are not read, and garbage costs no more than its bytes. */
static void more_lines_than_are_read(void **state)
{
	enum { LINES = PERF_MAP_LINES_MAX + 10, LINE = 4 };
	char *text = malloc((size_t)LINES * LINE);
	struct perf_map map;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < LINES; i++)
		memcpy(text + i * LINE, i % 3 ? "1 z\n" : "\xff\0 \n", LINE);
	memcpy(text, "9 1 a\n\n", (size_t)2 * LINE);
	memcpy(text + ((size_t)LINES - 2) * LINE, "8 1 b\n\n", (size_t)2 * LINE);
	assert_int_equal(perf_map_parse(text, (size_t)LINES * LINE, &map), 0);
	assert_true(map.cut);
	assert_int_equal(map.lines, PERF_MAP_LINES_MAX);
	assert_int_equal(map.bad_lines, PERF_MAP_LINES_MAX - 1);
	assert_string_equal(name_at(&map, 9), "a");
	assert_string_equal(name_at(&map, 8), "-");
	perf_map_done(&map);
	free(text);
}

/* What agents for Java, .NET and LuaJIT write, and V8. */
static void names_are_whole_lines(void **state)
{
	static const char text[] =
		"7f3a15000160 a0 call_stub\n"
		"0x00007f3a15112a80 0x58 Lcom/acme/App;::run(Ljava/lang/String;)V\r\n"
		"00007F78F5230000 2c void [System.Private.CoreLib] "
		"System.Buffer::Memmove(uint8&,"
		"uint8&,native uint)[OptimizedTier1]\n"
		"7f78f5231000 40 TRACE_12::/opt/app/main.lua:17\n"
		"3b1fa0a1000 2e0 LazyCompile:*fib /app/fib.js:1:13\n"
		"7f90000 10 py::<module>:/app/x.py\n";
	struct perf_map map;

	(void)state;
	assert_int_equal(perf_map_parse(text, strlen(text), &map), 0);
	assert_int_equal(map.bad_lines, 0);
	assert_string_equal(name_at(&map, 0x7f3a15000161), "call_stub");
	assert_string_equal(
		name_at(&map, 0x7f3a15112ad7), "Lcom/acme/App;::run(Ljava/lang/String;)V");
	assert_string_equal(name_at(&map, 0x7f78f5230000),
		"void [System.Private.CoreLib] System.Buffer::Memmove(uint8&,uint8&,native "
		"uint)[OptimizedTier1]");
	assert_string_equal(name_at(&map, 0x7f78f523103f), "TRACE_12::/opt/app/main.lua:17");
	assert_string_equal(name_at(&map, 0x3b1fa0a1000), "LazyCompile:*fib /app/fib.js:1:13");
	assert_string_equal(name_at(&map, 0x7f90008), "py::<module>:/app/x.py");
	perf_map_done(&map);
}

/* Maps by others: of Node, and one with a line without numbers that broke a reader once. */
static void maps_of_others_are_read(void **state)
{
	static const struct {
		const char *name;
		uint32_t lines, bad;
		uint64_t addr;
		const char *function;
	} maps[] = {{"nodejs-perf-map", 28, 0, 0x59ed44ea + 0x145,
			    "LazyCompile:~inspect internal/util/inspect.js:152"},
		{"nodejs-perf-map-regression", 3, 1, 0xd63be533e90,
			"Script:~ evalmachine.<anonymous>:1"}};
	const char *fixtures = getenv("WICK_FIXTURES"), *root = getenv("WICK_SOURCE_ROOT");

	(void)state;
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		struct strbuf path = {0}, text = {0};
		struct perf_map map;
		int rc;

		strbuf_printf(&path, "%s/%s/parca-dev__parca-agent/pkg/perf/testdata/%s",
			fixtures ? ""
			: root	 ? root
				 : ".",
			fixtures ? fixtures : "../shared/fixtures", maps[i].name);
		rc = file_read(AT_FDCWD, strbuf_text(&path), 1 << 20, &text);
		strbuf_done(&path);
		if (rc < 0) {
			puts("skipped: the fixtures are not there (WICK_FIXTURES)");
			skip();
		}
		assert_int_equal(perf_map_parse(strbuf_text(&text), text.len, &map), 0);
		assert_int_equal(map.lines, maps[i].lines);
		assert_int_equal(map.bad_lines, maps[i].bad);
		assert_string_equal(name_at(&map, maps[i].addr), maps[i].function);
		perf_map_done(&map);
		strbuf_done(&text);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(maps_of_others_are_read),
	cmocka_unit_test(more_lines_than_are_read),
	cmocka_unit_test(names_are_whole_lines),
	cmocka_unit_test(later_lines_win),
	cmocka_unit_test(agrees_with_the_definition),
};
UNIT_TESTS("perf_map", tests)
