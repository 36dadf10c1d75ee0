#include "object/kallsyms.h"

#include "base/fileio.h"
#include "tests/unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const char sample[] = "0000000000000000 A fixed_percpu_data\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 T _text\n"
			     "ffffffff81000100 t do_one_initcall\n"
			     "ffffffff81000200 W weak_one\n"
			     "ffffffff81000300 d some_data\n"
			     "ffffffff81000400 T __x64_sys_read\n"
			     "ffffffffc0a52000 d jbd_data\t[jbd2]\n"
			     "ffffffffc0a51080 t jbd2_two\t[jbd2]\n"
			     "ffffffffc0a51000 t jbd2_one\t[jbd2]\n"
			     "this is no symbol\n"
			     "ffffffffc0b00000 t ext4_one\t[ext4]\n"
			     "ffffffffc0223e80 t bpf_prog_6deef7357e7b4530\t[bpf]";

static const char *kernel_name(struct kallsyms *k, uint64_t addr)
{
	const struct symbol *symbol = symtab_find(&k->kernel, addr);

	return symbol ? symbol_name(&k->kernel, symbol) : "-";
}

static const char *module_function(struct kallsyms *k, const char *module, uint64_t addr)
{
	struct symtab *table;
	const struct symbol *symbol = kallsyms_find_in_modules(k, module, addr, &table);

	return symbol ? symbol_name(table, symbol) : "-";
}

static void kernel_and_modules_come_apart(void **state)
{
	struct kallsyms k;

	(void)state;
	assert_int_equal(kallsyms_parse(sample, strlen(sample), &k), 0);
	assert_int_equal(k.state, KALLSYMS_FULL);
	assert_int_equal(k.stext, 0xffffffff81000000);
	assert_int_equal(k.bad_lines, 1);
	assert_int_equal(k.module_count, 3);
	assert_string_equal(kernel_name(&k, 0xffffffff81000180), "do_one_initcall");
	assert_string_equal(kernel_name(&k, 0xffffffff810002ff), "weak_one");
	assert_string_equal(kernel_name(&k, 0xffffffff81000310), "-"); /* data is not code */
	assert_string_equal(kernel_name(&k, 0xffffffff81000410), "__x64_sys_read");
	assert_string_equal(kernel_name(&k, 0xffffffffc0a51000), "-");
	assert_string_equal(module_function(&k, NULL, 0xffffffffc0a51090), "jbd2_two");
	assert_string_equal(module_function(&k, "jbd2", 0xffffffffc0a51010), "jbd2_one");
	assert_string_equal(module_function(&k, "ext4", 0xffffffffc0a51010), "-");
	assert_string_equal(
		module_function(&k, "bpf", 0xffffffffc0223e90), "bpf_prog_6deef7357e7b4530");
	kallsyms_done(&k);
	kallsyms_done(&k);
}

static void zero_addresses_are_hidden_ones(void **state)
{
	static const char hidden[] =
		"0000000000000000 T _stext\n0000000000000000 t x\t[ext4]\n";
	struct kallsyms k;

	(void)state;
	assert_int_equal(kallsyms_parse(hidden, strlen(hidden), &k), 0);
	assert_int_equal(k.state, KALLSYMS_HIDDEN);
	assert_int_equal(k.kernel.count, 0);
	assert_int_equal(kallsyms_parse("", 0, &k), 0);
	assert_int_equal(k.state, KALLSYMS_EMPTY);
	assert_int_equal(kallsyms_parse("garbage\n\n\n", 10, &k), 0);
	assert_int_equal(k.state, KALLSYMS_EMPTY);
}

static void any_cut_and_any_flipped_byte_is_survived(void **state)
{
	char text[sizeof(sample)];
	struct kallsyms k;

	(void)state;
	for (size_t len = 0; len < sizeof(sample); len++) {
		assert_int_equal(kallsyms_parse(sample, len, &k), 0);
		kallsyms_done(&k);
		for (int bit = 0; bit < 8; bit++) {
			memcpy(text, sample, sizeof(text));
			text[len] ^= (char)(1 << bit);
			assert_int_equal(kallsyms_parse(text, sizeof(text) - 1, &k), 0);
			kallsyms_done(&k);
		}
	}
}

static void this_kernels_symbols_are_read_whole(void **state)
{
	struct strbuf text = {0};
	struct kallsyms k;

	(void)state;
	if (file_read(AT_FDCWD, "/proc/kallsyms", 1 << 28, &text) < 0)
		skip();
	assert_int_equal(kallsyms_parse(strbuf_text(&text), text.len, &k), 0);
	strbuf_done(&text);
	if (k.state != KALLSYMS_FULL) {
		print_message("kallsyms shows no addresses here: skipped\n");
		kallsyms_done(&k);
		skip();
	}
	assert_int_equal(k.bad_lines, 0);
	assert_true(k.kernel.count > 1000);
	for (uint32_t i = 0; i < k.kernel.count; i++) {
		const struct symbol *symbol = &k.kernel.symbols[i];

		assert_ptr_equal(symtab_find(&k.kernel, symbol->addr), symbol);
		assert_ptr_equal(
			symtab_find(&k.kernel, symbol->addr + symbol->size - 1), symbol);
	}
	kallsyms_done(&k);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(kernel_and_modules_come_apart),
	cmocka_unit_test(zero_addresses_are_hidden_ones),
	cmocka_unit_test(any_cut_and_any_flipped_byte_is_survived),
	cmocka_unit_test(this_kernels_symbols_are_read_whole),
};
UNIT_TESTS("kallsyms", tests)
