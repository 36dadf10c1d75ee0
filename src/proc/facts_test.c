#include "proc/facts.h"
#include "base/strbuf.h"
#include "tests/unit_test.h"
#include "proc/fake_tree.h"

#include <inttypes.h>
#include <sys/resource.h>

static void open_fake(struct fake_tree *tree, struct proc *proc)
{
	fake_tree_init(tree);
	assert_int_equal(proc_open(proc, tree->dir, tree->dir, NULL), 0);
}

static void put_note(struct strbuf *notes, uint32_t type, const char *name, uint32_t name_len,
	const char *desc, uint32_t desc_len)
{
	const uint32_t head[3] = {name_len, desc_len, type};

	strbuf_add(notes, head, sizeof(head));
	strbuf_add(notes, name, name_len);
	while (notes->len % 4)
		strbuf_putc(notes, '\0');
	strbuf_add(notes, desc, desc_len);
	while (notes->len % 4)
		strbuf_putc(notes, '\0');
}

static void the_build_id_is_found_among_other_notes(void **state)
{
	uint8_t id[KERNEL_BUILD_ID_MAX];
	struct strbuf notes = {0};
	size_t id_end;

	(void)state;
	assert_int_equal(notes_build_id("", 0, 4, id), -ENOENT);
	put_note(&notes, 0x101, "Linux", 6, "x", 1);
	put_note(&notes, 3, "Xen", 4, "not this", 8);
	put_note(&notes, 1, "GNU", 4, "nor this", 8);
	assert_int_equal(notes_build_id(notes.text, notes.len, 4, id), -ENOENT);
	put_note(&notes, 3, "GNU", 4, "0123456789abcdefghij", 20);
	id_end = notes.len;
	put_note(&notes, 7, "GNU", 4, "behind", 6);
	assert_int_equal(notes_build_id(notes.text, notes.len, 4, id), 20);
	assert_memory_equal(id, "0123456789abcdefghij", 20);
	for (size_t len = 0; len < id_end; len++) {
		/* A copy of just that size, so that a sanitizer sees a read behind it. */
		void *cut = malloc(len ? len : 1);

		assert_non_null(cut);
		memcpy(cut, notes.text, len);
		assert_true(notes_build_id(cut, len, 4, id) < 0);
		free(cut);
	}
	strbuf_done(&notes);
}

static void notes_that_lie_are_bad(void **state)
{
	static const struct {
		uint32_t name_len, desc_len;
	} lies[] = {{UINT32_MAX, 4}, {4, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}, {4, 21}, {4, 0},
		{100, 0}};
	uint8_t id[KERNEL_BUILD_ID_MAX];
	uint32_t note[16] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		note[0] = lies[i].name_len;
		note[1] = lies[i].desc_len;
		note[2] = 3;
		memcpy(&note[3], "GNU", 4);
		assert_int_equal(notes_build_id(note, sizeof(note), 4, id), -EBADMSG);
	}
}

static void kernel_addresses_come_from_the_first_symbols(void **state)
{
	struct kernel_text text;
	struct strbuf symbols = {0};
	struct fake_tree tree;
	struct proc proc;

	(void)state;
	open_fake(&tree, &proc);
	assert_int_equal(kernel_text_read(&proc, &text), -ENOENT);
	for (uint32_t i = 0; i < 3000; i++) /* the per-CPU symbols of x86 come first */
		strbuf_printf(&symbols, "%016x A per_cpu_symbol_%u\n", i, i);
	strbuf_puts(&symbols, "ffffffff81000000 T _stext\nffffffff80ff0000 T _text\n"
			      "ffffffff81000100 T _text_of_another\n");
	for (uint32_t i = 0; i < 1000; i++)
		strbuf_printf(&symbols, "ffffffff82%06x t later_%u\n", i, i);
	strbuf_puts(
		&symbols, "ffffffffc0000000 t _text\t[module]\nffffffffc0000000 t _stext\n");
	fake_tree_file(&tree, "kallsyms", strbuf_text(&symbols));
	assert_int_equal(kernel_text_read(&proc, &text), 0);
	assert_int_equal(text.stext, 0xffffffff81000000);
	assert_int_equal(text.text, 0xffffffff80ff0000);
	fake_tree_file(
		&tree, "kallsyms", "0000000000000000 T _stext\n0000000000000000 T _text\n");
	assert_int_equal(kernel_text_read(&proc, &text), 0);
	assert_true(!text.text && !text.stext);
	fake_tree_file(&tree, "kallsyms", "garbage\n\nffff\nffffffff81000000 T _stext\n");
	assert_int_equal(kernel_text_read(&proc, &text), 0);
	assert_int_equal(text.stext, 0xffffffff81000000);
	assert_int_equal(text.text, 0);
	strbuf_reset(&symbols);
	for (uint32_t i = 0; i < 10000; i++)
		strbuf_putc(&symbols, 'x');
	fake_tree_file(&tree, "kallsyms", strbuf_text(&symbols));
	assert_int_equal(kernel_text_read(&proc, &text), -EBADMSG);
	strbuf_done(&symbols);
	proc_close(&proc);
	fake_tree_done(&tree);
}

static int print_module(void *ctx, const struct kernel_module *module)
{
	strbuf_printf(
		ctx, "%s %" PRIx64 " %" PRIu64 "\n", module->name, module->addr, module->size);
	return 0;
}

static int refuse_module(void *ctx, const struct kernel_module *module)
{
	(void)ctx;
	(void)module;
	return -ENOSPC;
}

static void modules_are_listed(void **state)
{
	struct strbuf out = {0};
	struct fake_tree tree;
	struct proc proc;

	(void)state;
	open_fake(&tree, &proc);
	assert_int_equal(kernel_modules_read(&proc, print_module, &out), 0);
	fake_tree_file(&tree, "modules",
		"ext4 1003520 1 - Live 0xffffffffc0a00000\n"
		"mbcache 16384 1 ext4, Live 0xffffffffc0900000 (E)\n"
		"hidden 20480 2 a,b, Loading 0x0000000000000000\n"
		"cut 1 2\n"
		"\n"
		"bad x 1 - Live 0x1\n");
	assert_int_equal(kernel_modules_read(&proc, print_module, &out), 3);
	assert_string_equal(strbuf_text(&out), "ext4 ffffffffc0a00000 1003520\n"
					       "mbcache ffffffffc0900000 16384\n"
					       "hidden 0 20480\n");
	assert_int_equal(kernel_modules_read(&proc, refuse_module, NULL), -ENOSPC);
	strbuf_done(&out);
	proc_close(&proc);
	fake_tree_done(&tree);
}

static void knobs_may_be_missing(void **state)
{
	struct perf_limits limits;
	struct fake_tree tree;
	struct proc proc;

	(void)state;
	open_fake(&tree, &proc);
	fake_tree_file(&tree, "sys/kernel/perf_event_paranoid", "-1\n");
	fake_tree_file(&tree, "sys/kernel/perf_event_mlock_kb", "516\n");
	fake_tree_file(&tree, "sys/kernel/perf_event_max_sample_rate", "100000\n");
	fake_tree_file(&tree, "sys/kernel/perf_event_max_stack", "many\n");
	perf_limits_read(&proc, &limits);
	assert_int_equal(limits.paranoid, -1);
	assert_int_equal(limits.mlock_kb, 516);
	assert_int_equal(limits.max_sample_rate, 100000);
	assert_true(limits.max_stack == FACT_NONE && limits.kptr_restrict == FACT_NONE);
	assert_true(limits.ptrace_scope == FACT_NONE);
	proc_close(&proc);
	fake_tree_done(&tree);
}

static void the_host_is_described(void **state)
{
	struct host_facts facts;
	uint8_t id[KERNEL_BUILD_ID_MAX];
	struct fake_tree tree;
	struct proc proc;

	(void)state;
	open_fake(&tree, &proc);
	host_facts_read(&proc, &facts);
	assert_string_equal(facts.cpudesc, "");
	assert_int_equal(facts.cpus_online, 0);
	assert_int_equal(facts.mem_kb, 0);
	assert_true(*facts.osrelease && *facts.arch);
	assert_int_equal(kernel_build_id(&proc, id), -ENOENT);
	fake_tree_file(&tree, "cpuinfo",
		"processor\t: 0\ncpu family\t: 6\nmodel name\t: A CPU: 3 GHz\n\n"
		"processor\t: 1\nmodel name\t: Another\n");
	fake_tree_file(&tree, "meminfo", "MemFree:  12 kB\nMemTotal:       24684092 kB\n");
	fake_tree_file(&tree, "sys/kernel/osrelease", "9.9.9-fake\n");
	fake_tree_file(&tree, "devices/system/cpu/online", "0-2\n");
	fake_tree_file(&tree, "devices/system/cpu/possible", "0-7\n");
	host_facts_read(&proc, &facts);
	assert_string_equal(facts.cpudesc, "A CPU: 3 GHz");
	assert_string_equal(facts.osrelease, "9.9.9-fake");
	assert_int_equal(facts.mem_kb, 24684092);
	assert_int_equal(facts.cpus_online, 3);
	assert_int_equal(facts.cpus_possible, 8);
	fake_tree_file(&tree, "cpuinfo", "processor : 0\nCPU implementer : 0x41\n");
	host_facts_read(&proc, &facts);
	assert_string_equal(facts.cpudesc, "0x41");
	proc_close(&proc);
	fake_tree_done(&tree);
}

static void the_limit_of_files_rises_to_the_hard_one(void **state)
{
	struct rlimit before, low, after;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(nofile_raise(10), 64);
	assert_int_equal(nofile_raise(100), before.rlim_max < 100 ? before.rlim_max : 100);
	assert_int_equal(nofile_raise(UINT64_MAX), before.rlim_max);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
	assert_int_equal(after.rlim_cur, before.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_build_id_is_found_among_other_notes),
	cmocka_unit_test(notes_that_lie_are_bad),
	cmocka_unit_test(kernel_addresses_come_from_the_first_symbols),
	cmocka_unit_test(modules_are_listed),
	cmocka_unit_test(knobs_may_be_missing),
	cmocka_unit_test(the_host_is_described),
	cmocka_unit_test(the_limit_of_files_rises_to_the_hard_one),
};
UNIT_TESTS("facts", tests)
