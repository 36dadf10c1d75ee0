#include "symbolize/kernel_cache.h"

#include "base/fileio.h"
#include "tests/unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct kernel_id id = {{0xab, 0xcd}, 2}, other = {{0xab, 0xce}, 2};

static void table_make(struct symtab *table)
{
	struct symtab_builder builder = {0};
	struct symbol_in in = {
		.addr = 0x1000, .name = "_stext", .name_len = 6, .rank = SYMBOL_GLOBAL};

	assert_int_equal(symtab_add(&builder, &in), 0);
	in = (struct symbol_in){
		.addr = 0x1100, .name = "schedule", .name_len = 8, .rank = SYMBOL_GLOBAL};
	assert_int_equal(symtab_add(&builder, &in), 0);
	assert_int_equal(symtab_build(&builder, table), 0);
}

static void path_make(char *path, size_t room, const char *dir)
{
	snprintf(path, room, "%s/kallsyms-abcd", dir);
}

static void kernels_are_remembered(void **state)
{
	char base[] = "/tmp/wick-kernel-cache-XXXXXX", dir[64], path[96];
	struct symtab table, back;

	(void)state;
	assert_non_null(mkdtemp(base));
	snprintf(dir, sizeof(dir), "%s/.cache/wick", base);
	table_make(&table);
	assert_int_equal(kernel_cache_load(dir, &id, 0x1000, &back), 0);
	kernel_cache_store(dir, &id, 0x1000, &table);
	assert_int_equal(kernel_cache_load(dir, &other, 0x1000, &back), 0);
	assert_int_equal(kernel_cache_load(NULL, &id, 0x1000, &back), 0);
	/* After a reboot it lies elsewhere. */
	assert_int_equal(kernel_cache_load(dir, &id, 0x7000, &back), 1);
	assert_int_equal(back.count, 2);
	assert_int_equal(back.symbols[1].addr, 0x7100);
	assert_string_equal(symbol_name(&back, symtab_find(&back, 0x7100)), "schedule");
	symtab_done(&back);
	symtab_done(&table);
	path_make(path, sizeof(path), dir);
	unlink(path);
	rmdir(dir);
	*strrchr(dir, '/') = '\0';
	rmdir(dir);
	rmdir(base);
}

static void damage_is_no_table(void **state)
{
	char base[] = "/tmp/wick-kernel-cache-XXXXXX", path[96];
	struct strbuf whole = {0};
	struct symtab table, back;

	(void)state;
	assert_non_null(mkdtemp(base));
	path_make(path, sizeof(path), base);
	table_make(&table);
	kernel_cache_store(base, &id, 0x1000, &table);
	symtab_done(&table);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &whole), 0);
	for (size_t at = 0; at < 2 * whole.len; at++) { /* cut there, then changed there */
		size_t len = at < whole.len ? at : whole.len;
		char *copy = malloc(whole.len);
		int fd = open(path, O_WRONLY | O_TRUNC);

		assert_non_null(copy);
		memcpy(copy, whole.text, whole.len);
		if (at >= whole.len)
			copy[at - whole.len] ^= (char)0x80;
		assert_int_equal(fd_write_all(fd, copy, len), 0);
		close(fd);
		free(copy);
		if (kernel_cache_load(base, &id, 0x1000, &back) > 0) {
			assert_true(at >= whole.len);
			for (uint32_t i = 0; i < back.count; i++)
				assert_true(strlen(symbol_name(&back, &back.symbols[i])) <
					    back.names_bytes);
			symtab_done(&back);
		}
	}
	strbuf_done(&whole);
	unlink(path);
	rmdir(base);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(kernels_are_remembered),
	cmocka_unit_test(damage_is_no_table),
};
UNIT_TESTS("kernel cache", tests)
