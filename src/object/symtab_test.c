#include "object/symtab.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(
	struct symtab_builder *b, uint64_t addr, uint64_t size, uint8_t rank, const char *name)
{
	struct symbol_in in = {.addr = addr,
		.size = size,
		.limit = 0x10000,
		.name = name,
		.name_len = (uint32_t)strlen(name),
		.rank = rank};

	assert_int_equal(symtab_add(b, &in), 0);
}

static const char *name_at(struct symtab *table, uint64_t addr)
{
	const struct symbol *symbol = symtab_find(table, addr);

	return symbol ? symbol_name(table, symbol) : "-";
}

enum { L = SYMBOL_LOCAL, W = SYMBOL_WEAK, G = SYMBOL_GLOBAL, T = SYMBOL_TYPED };

static void an_empty_table_finds_nothing(void **state)
{
	struct symtab_builder b = {0};
	struct symtab table = {0};

	(void)state;
	assert_null(symtab_find(&table, 0));
	assert_int_equal(symtab_build(&b, &table), 0);
	assert_null(symtab_find(&table, UINT64_MAX));
	symtab_done(&table);
}

static void functions_end_where_they_end(void **state)
{
	struct symtab_builder b = {0};
	struct symtab table;

	(void)state;
	put(&b, 0x300, 0, G | T, "asm_last");
	put(&b, 0x100, 0x12, G | T, "a"); /* padding up to 0x120 belongs to it */
	put(&b, 0x128, 0x4, G | T, "b");  /* padding cut by c */
	put(&b, 0x12e, 0x2, G | T, "c");
	put(&b, 0x200, 0, G | T, "asm_first");
	assert_int_equal(symtab_build(&b, &table), 0);
	assert_string_equal(name_at(&table, 0xff), "-");
	assert_string_equal(name_at(&table, 0x100), "a");
	assert_string_equal(name_at(&table, 0x111), "a");
	assert_string_equal(name_at(&table, 0x11f), "a");
	assert_string_equal(name_at(&table, 0x120), "-");
	assert_string_equal(name_at(&table, 0x12d), "b");
	assert_string_equal(name_at(&table, 0x12e), "c");
	assert_string_equal(name_at(&table, 0x130), "-");
	assert_string_equal(name_at(&table, 0x2ff), "asm_first");
	assert_string_equal(name_at(&table, 0xffff), "asm_last");
	assert_string_equal(name_at(&table, 0x10000), "-"); /* its section's end */
	symtab_done(&table);
}

static void nested_functions_are_the_inner_ones(void **state)
{
	struct symtab_builder b = {0};
	struct symtab table;

	(void)state;
	put(&b, 0x1000, 0x1000, G | T, "outer");
	put(&b, 0x1100, 0x200, L | T, "inner");
	put(&b, 0x1180, 0x10, L | T, "innermost");
	put(&b, 0x1200, 0, L, "label");	    /* dropped */
	put(&b, 0x1800, 0, L | T, "entry"); /* a second entry, to the end of the outer one */
	put(&b, 0x3000, 0x10, G | T, "far");
	assert_int_equal(symtab_build(&b, &table), 0);
	assert_string_equal(name_at(&table, 0x1050), "outer");
	assert_string_equal(name_at(&table, 0x1100), "inner");
	assert_string_equal(name_at(&table, 0x1188), "innermost");
	assert_string_equal(name_at(&table, 0x1190), "inner");
	assert_string_equal(name_at(&table, 0x1250), "inner");
	assert_string_equal(name_at(&table, 0x1300), "outer");
	assert_string_equal(name_at(&table, 0x1fff), "entry");
	assert_string_equal(name_at(&table, 0x2000), "-");
	symtab_done(&table);
}

static void the_better_alias_wins_whatever_the_order(void **state)
{
	static const struct {
		uint8_t rank, other_rank;
		uint64_t size, other_size;
		const char *name, *other;
	} cases[] = {
		{G | T, W | T, 8, 8, "__write", "write"},
		{W | T, L | T, 8, 8, "write", "a"},
		{L | T, G, 8, 0, "function", "label"},
		{G | T, G | T, 8, 8, "_start", "__start"},
		{G | T, L | T, 8, 8, "__libc_start_main", "__libc_start_main_impl"},
		{G | T, G | T, 8, 0, "sized_name", "size"},
		{G | T, G | T, 8, 8, "ab", "abc"},
		{G | T, G | T, 8, 8, "ab", "ac"},
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct symtab_builder b = {0};
		struct symtab table;
		size_t c = i / 2;

		if (i % 2)
			put(&b, 0x100, cases[c].size, cases[c].rank, cases[c].name);
		put(&b, 0x100, cases[c].other_size, cases[c].other_rank, cases[c].other);
		if (!(i % 2))
			put(&b, 0x100, cases[c].size, cases[c].rank, cases[c].name);
		assert_int_equal(symtab_build(&b, &table), 0);
		assert_int_equal(table.count, 1);
		assert_string_equal(name_at(&table, 0x104), cases[c].name);
		symtab_done(&table);
	}
}

static void extreme_addresses_do_not_wrap(void **state)
{
	struct symtab_builder b = {0};
	struct symbol_in in = {.addr = UINT64_MAX - 3,
		.size = UINT64_MAX,
		.name = "top",
		.name_len = 3,
		.rank = G | T};
	struct symtab table;

	(void)state;
	assert_int_equal(symtab_add(&b, &in), 0);
	put(&b, 0, UINT64_MAX, G | T, "bottom");
	assert_int_equal(symtab_build(&b, &table), 0);
	assert_string_equal(name_at(&table, UINT64_MAX - 3), "top");
	assert_string_equal(name_at(&table, 0), "bottom");
	assert_string_equal(name_at(&table, 0x100000000), "-");
	symtab_done(&table);
}

/* Random tables against the definition, computed the slow way. */
static void lookup_agrees_with_a_linear_search(void **state)
{
	enum { N = 300, ROUNDS = 40, PROBES = 2000, SPACE = 8192 };
	static char names[N][16];
	uint32_t seed = 12345;
	int hits = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct symtab_builder b = {0};
		struct symtab table;

		for (int i = 0; i < N; i++) {
			seed = seed * 1103515245 + 12345;
			snprintf(names[i], sizeof(names[i]), "f%d", i);
			put(&b, (seed >> 8) % SPACE, 1 + (seed >> 20) % 64, G | T, names[i]);
		}
		assert_int_equal(symtab_build(&b, &table), 0);
		for (int i = 1; i < (int)table.count; i++)
			assert_true(table.symbols[i - 1].addr < table.symbols[i].addr);
		for (int i = 0; i < PROBES; i++) {
			const struct symbol *found, *want = NULL;
			uint64_t addr;

			seed = seed * 1103515245 + 12345;
			addr = (seed >> 8) % (SPACE + 100);
			for (uint32_t s = 0; s < table.count; s++)
				if (addr - table.symbols[s].addr < table.symbols[s].size)
					want = &table.symbols[s];
			found = symtab_find(&table, addr);
			assert_ptr_equal(found, want);
			hits += found != NULL;
		}
		symtab_done(&table);
	}
	assert_true(hits > ROUNDS * PROBES / 4);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_empty_table_finds_nothing),
	cmocka_unit_test(functions_end_where_they_end),
	cmocka_unit_test(nested_functions_are_the_inner_ones),
	cmocka_unit_test(the_better_alias_wins_whatever_the_order),
	cmocka_unit_test(extreme_addresses_do_not_wrap),
	cmocka_unit_test(lookup_agrees_with_a_linear_search),
};
UNIT_TESTS("symtab", tests)
