#include "unwind/unwind.h"

#include "abi/perf_abi.h"
#include "object/elf_symbols.h"
#include "object/gopclntab.h"
#include "tests/unit_test.h"
#include "tests/unwind_elf.h"
#include "unwind/arch/arch.h"
#include "unwind/rules.h"

#include <errno.h>
#include <sys/mman.h>

/*
 * One Go program of functions of 64 bytes, whose frames do not change inside; and two stacks of
 * one page: the scheduler's, of which a piece is copied, and the goroutine's.
 */
enum { FN_BYTES = 64, PAGE = 4096, WORDS = PAGE / 8, COPIED = 256, SP = 7, BP = 6, IP = 8 };
enum { CALLER, WORK, SYSTEMSTACK, GOEXIT, GROWN, MORESTACK, MCALL, FUNCTIONS };

#define MODULE_AT    0x550000000000ull
#define SCHEDULER_AT 0x7ffd00000000ull
#define GOROUTINE_AT 0xc000000000ull
#define TEXT_OFF     ((sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 15) / 16 * 16)
#define TEXT_VADDR   (MADE_BASE + TEXT_OFF)
#define FN(i, at)    (MODULE_AT + TEXT_OFF + (uint64_t)(i)*FN_BYTES + (at))

static const struct {
	const char *name;
	uint32_t sp_delta;
	uint8_t flags;
	enum go_special special;
} functions[FUNCTIONS] = {
	[CALLER] = {"main.caller", 24, 0, GO_ORDINARY},
	[WORK] = {"main.work", 16, 0, GO_ORDINARY},
	[SYSTEMSTACK] = {"runtime.systemstack", 0, GO_SP_WRITE | GO_ASM, GO_SWITCH},
	[GOEXIT] = {"runtime.goexit", 0, GO_TOP_FRAME | GO_ASM, GO_FIRST},
	[GROWN] = {"main.grown", 0, 0, GO_ORDINARY},
	[MORESTACK] = {"runtime.morestack", 0, GO_SP_WRITE | GO_ASM, GO_GROW},
	[MCALL] = {"runtime.mcall", 8, GO_SP_WRITE | GO_ASM, GO_LEFT},
};

enum version { GO_116, GO_118, GO_120, GO_126, VERSIONS };

struct table {
	uint8_t bytes[2048];
	size_t len;
};

static size_t put(struct table *t, uint64_t value, size_t width)
{
	memcpy(t->bytes + t->len, &value, width);
	t->len += width;
	return t->len;
}

static void put_function(
	struct table *t, enum version version, int i, uint32_t name, uint32_t pcsp)
{
	uint64_t entry = (uint64_t)i * FN_BYTES;

	if (version == GO_116)
		put(t, TEXT_VADDR + entry, 8);
	else
		put(t, entry, 4);
	put(t, name, 4);
	put(t, 0, 4); /* args */
	put(t, 0, 4); /* deferreturn */
	put(t, pcsp, 4);
	for (int j = 0; j < 4; j++) /* pcfile, pcln, npcdata, cu */
		put(t, 0, 4);
	if (version >= GO_120)
		put(t, 1, 4); /* start line */
	put(t, 99, 1);	      /* an id that nobody looks at */
	put(t, functions[i].flags, 1);
	put(t, 0, 2);
}

/* The index: entry, -> function; and where the last one ends. */
static void put_index(
	struct table *t, enum version version, const uint32_t *name, const uint32_t *pcsp)
{
	size_t wide = version == GO_116 ? 8 : 4, pcln = t->len;
	size_t records = pcln + 2 * wide * FUNCTIONS + wide;

	for (int i = 0; i <= FUNCTIONS; i++) {
		size_t record = records + (size_t)i * 64, next;

		put(t, (version == GO_116 ? TEXT_VADDR : 0) + (uint64_t)i * FN_BYTES, wide);
		if (i == FUNCTIONS)
			break;
		put(t, record - pcln, wide);
		next = t->len;
		t->len = record;
		put_function(t, version, i, name[i], pcsp[i]);
		t->len = next;
	}
	t->len = records + FUNCTIONS * 64;
}

/* header | names | pcsp sequences | index | functions */
static void table_make(struct table *t, enum version version)
{
	static const uint32_t magic[] = {0xfffffffa, 0xfffffff0, 0xfffffff1, 0xfffffff1};
	uint32_t name[FUNCTIONS], pcsp[FUNCTIONS];
	size_t offsets, pctab, end;

	*t = (struct table){.len = 0};
	put(t, magic[version], 4);
	put(t, 0x08010000, 4); /* pointers of 8 bytes, instructions of 1 */
	put(t, FUNCTIONS, 8);
	put(t, 0, 8);
	if (version != GO_116)
		put(t, version == GO_126 ? 0 : TEXT_VADDR, 8);
	offsets = t->len;
	t->len += 5 * 8;
	for (int i = 0; i < FUNCTIONS; i++) {
		name[i] = (uint32_t)(t->len - offsets - 40);
		for (const char *c = functions[i].name; *c; c++)
			put(t, (uint8_t)*c, 1);
		put(t, 0, 1);
	}
	pctab = t->len++;
	for (int i = 0; i < FUNCTIONS; i++) {
		pcsp[i] = (uint32_t)(t->len - pctab);
		put(t, 2 * (functions[i].sp_delta + 1), 1); /* from -1, zigzag */
		put(t, FN_BYTES, 1);
		put(t, 0, 1);
	}
	end = t->len;
	t->len = offsets;
	put(t, offsets + 40, 8);
	t->len += 16;
	put(t, pctab, 8);
	put(t, end, 8);
	t->len = end;
	put_index(t, version, name, pcsp);
}

static void call(uint8_t *text, int from, int at, int to)
{
	int32_t by = to * FN_BYTES - (from * FN_BYTES + at + 5);

	text[from * FN_BYTES + at] = 0xe8;
	memcpy(text + from * FN_BYTES + at + 1, &by, sizeof(by));
}

/* Return addresses: behind each of these calls. */
#define CALLER_TO_SYSTEMSTACK FN(CALLER, 37)
#define CALLER_TO_GROWN	      FN(CALLER, 53)
#define SYSTEMSTACK_TO_WORK   FN(SYSTEMSTACK, 32)
#define GROWN_TO_MORESTACK    FN(GROWN, 25)
#define MORESTACK_TO_WORK     FN(MORESTACK, 35)
#define MCALL_TO_WORK	      FN(MCALL, 32)

static void text_make(uint8_t *text)
{
	memset(text, 0x90, FUNCTIONS * FN_BYTES);
	call(text, CALLER, 32, SYSTEMSTACK);
	call(text, CALLER, 48, GROWN);
	call(text, GROWN, 20, MORESTACK);
	call(text, MORESTACK, 30, WORK);
	text[SYSTEMSTACK * FN_BYTES + 30] = text[MCALL * FN_BYTES + 30] = 0xff; /* call *%rdi */
	text[SYSTEMSTACK * FN_BYTES + 31] = 0xd7;
	text[MCALL * FN_BYTES + 31] = 0xd0;
}

struct world {
	struct made_elf made;
	struct target target;
	struct unwinder *unwinder;
	uint64_t regs[20], scheduler[WORDS], goroutine[WORDS], copy[COPIED / 8];
	struct wick_regs wick_regs;
	uint64_t addrs[16];
	struct unwind_result r;
	bool no_memory;
};

static int open_module(
	void *ctx, const struct target *target, uint32_t dso, struct elf *ret_elf)
{
	struct world *w = ctx;

	(void)target, (void)dso;
	return elf_open_bytes(w->made.bytes, w->made.len, ret_elf, NULL);
}

static int read_memory(void *ctx, uint64_t addr, void *ret_bytes, size_t len)
{
	const struct world *w = ctx;
	const uint64_t *page = addr == SCHEDULER_AT   ? w->scheduler
			       : addr == GOROUTINE_AT ? w->goroutine
						      : NULL;

	if (!page || len != PAGE)
		return -EFAULT;
	memcpy(ret_bytes, page, len);
	return PAGE;
}

static void made_cut(enum version version, size_t len, struct made_elf *ret)
{
	static uint8_t text[FUNCTIONS * FN_BYTES];
	static struct table table;
	uint64_t module[32] = {[22] = TEXT_VADDR};
	struct made_part parts[] = {{".text", text, sizeof(text), 0},
		{".gopclntab", table.bytes, 0, 0},
		{version == GO_126 ? ".go.module" : ".data", module, sizeof(module), 0},
		{NULL, NULL, 0, 0}};

	text_make(text);
	table_make(&table, version);
	parts[1].len = len < table.len ? len : table.len;
	assert_true(made_elf(parts, EM_X86_64, ret));
	assert_int_equal(parts[0].vaddr, TEXT_VADDR);
}

static void made_make(enum version version, struct made_elf *ret)
{
	made_cut(version, SIZE_MAX, ret);
}

static void world_make(struct world *w, enum version version)
{
	struct unwinder_options options = {.open_module = open_module, .ctx = w};
	struct dso_key key = {.kind = DSO_FILE, .ino = 1};
	struct mapping m = {MODULE_AT, MODULE_AT + 0x10000, 0, 0, PROT_READ | PROT_EXEC};

	*w = (struct world){.no_memory = false};
	made_make(version, &w->made);
	assert_int_equal(strings_add(&w->target.strings, "/go", 3, &key.path), 0);
	assert_int_equal(target_process(&w->target, 1), 0);
	assert_int_equal(target_dso(&w->target, &key, &m.dso), 0);
	assert_int_equal(target_map(&w->target, 1, &m), 0);
	assert_int_equal(unwinder_new(&options, &w->unwinder), 0);
	w->regs[IP] = FN(WORK, 10);
	w->regs[SP] = SCHEDULER_AT;
}

static void world_done(struct world *w)
{
	unwinder_free(w->unwinder);
	target_done(&w->target);
	free(w->made.bytes);
}

/* Copies the scheduler's stack, and unwinds. */
static void run(struct world *w)
{
	struct unwind_input in = {.arch = UNWIND_X86_64,
		.target = &w->target,
		.regs = &w->wick_regs,
		.stack = w->copy,
		.stack_bytes = COPIED,
		.read_memory = w->no_memory ? NULL : read_memory,
		.read_ctx = w};

	w->wick_regs = (struct wick_regs){
		PERF_SAMPLE_REGS_ABI_64, UNWIND_REGS_X86_64, {w->regs, ARRAY_LEN(w->regs)}};
	memcpy(w->copy, w->scheduler, COPIED);
	w->r = (struct unwind_result){.addrs = w->addrs, .cap = 16};
	unwind_run(w->unwinder, &in, &w->r);
}

#define ASSERT_STACK(w, want_stop, ...)                                                        \
	do {                                                                                   \
		const uint64_t want[] = {__VA_ARGS__};                                         \
                                                                                               \
		run(w);                                                                        \
		assert_int_equal((w)->r.stop, want_stop);                                      \
		assert_int_equal((w)->r.count, ARRAY_LEN(want));                               \
		assert_memory_equal((w)->addrs, want, sizeof(want));                           \
	} while (0)

/* work's frame on the scheduler's stack, and main.caller's on the goroutine's, up to goexit. */
static uint64_t *stacks_make(struct world *w, uint64_t into)
{
	enum { AT = 100 }; /* where caller's frame pointer points */

	w->scheduler[1] = GOROUTINE_AT + AT * 8;
	w->scheduler[2] = into;
	w->goroutine[AT] = 0;
	w->goroutine[AT + 1] = FN(GOEXIT, 1);
	return &w->goroutine[AT];
}

static void systemstack_leads_to_the_goroutine(void **state)
{
	(void)state;
	for (enum version version = 0; version < VERSIONS; version++) {
		struct world w;
		uint64_t *fp;

		world_make(&w, version);
		fp = stacks_make(&w, SYSTEMSTACK_TO_WORK);
		fp[-3] = CALLER_TO_SYSTEMSTACK;
		fp[-2] = CALLER_TO_SYSTEMSTACK; /* not so near */
		ASSERT_STACK(&w, STOP_ROOT, FN(WORK, 10), SYSTEMSTACK_TO_WORK,
			CALLER_TO_SYSTEMSTACK, FN(GOEXIT, 1));
		assert_true(w.r.late);
		/* Of the right size, but it called somebody else. */
		fp[-3] = CALLER_TO_GROWN;
		ASSERT_STACK(&w, STOP_SWITCHED, FN(WORK, 10), SYSTEMSTACK_TO_WORK);
		w.no_memory = true;
		fp[-3] = CALLER_TO_SYSTEMSTACK;
		ASSERT_STACK(&w, STOP_SWITCHED, FN(WORK, 10), SYSTEMSTACK_TO_WORK);
		assert_false(w.r.late);
		world_done(&w);
	}
}

static void morestack_is_called_without_a_frame(void **state)
{
	struct world w;
	uint64_t *fp;

	(void)state;
	world_make(&w, GO_120);
	fp = stacks_make(&w, MORESTACK_TO_WORK);
	fp[-3] = CALLER_TO_GROWN;
	fp[-4] = GROWN_TO_MORESTACK;
	ASSERT_STACK(&w, STOP_ROOT, FN(WORK, 10), MORESTACK_TO_WORK, GROWN_TO_MORESTACK,
		CALLER_TO_GROWN, FN(GOEXIT, 1));
	fp[-4] = CALLER_TO_GROWN;
	ASSERT_STACK(&w, STOP_SWITCHED, FN(WORK, 10), MORESTACK_TO_WORK);
	world_done(&w);
}

static void nobody_returns_to_mcall(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, GO_118);
	stacks_make(&w, MCALL_TO_WORK);
	ASSERT_STACK(&w, STOP_ROOT, FN(WORK, 10), MCALL_TO_WORK);
	assert_false(w.r.late);
	world_done(&w);
}

/* Zeros where the goroutine's caller was: its stack was given back. */
static void a_stack_that_was_given_back(void **state)
{
	struct world w;
	uint64_t *fp;

	(void)state;
	world_make(&w, GO_120);
	fp = stacks_make(&w, SYSTEMSTACK_TO_WORK);
	fp[-3] = CALLER_TO_SYSTEMSTACK;
	fp[1] = 0;
	ASSERT_STACK(&w, STOP_SWITCHED, FN(WORK, 10), SYSTEMSTACK_TO_WORK);
	assert_true(w.r.late_refused);
	world_done(&w);
}

static void functions_are_known_by_name(void **state)
{
	(void)state;
	for (enum version version = 0; version < VERSIONS; version++) {
		struct elf_symbols symbols;
		struct made_elf made;
		struct gopclntab *go;
		struct elf elf;

		made_make(version, &made);
		assert_int_equal(elf_open_bytes(made.bytes, made.len, &elf, NULL), 0);
		assert_int_equal(gopclntab_open(&elf, 1 << 20, &go), 0);
		assert_int_equal(elf_symbols_load(&elf, NULL, &symbols), 0);
		assert_true(symbols.has_symtab);
		for (int i = 0; i < FUNCTIONS; i++) {
			uint64_t vaddr = TEXT_VADDR + (uint64_t)i * FN_BYTES + 20;
			const struct symbol *symbol = symtab_find(&symbols.table, vaddr);
			struct go_function f;

			assert_int_equal(gopclntab_find(go, vaddr, &f), 0);
			assert_int_equal(f.sp_delta, functions[i].sp_delta);
			assert_int_equal(f.special, functions[i].special);
			assert_string_equal(gopclntab_name(go, vaddr), functions[i].name);
			assert_non_null(symbol);
			assert_string_equal(
				symbol_name(&symbols.table, symbol), functions[i].name);
		}
		assert_null(symtab_find(&symbols.table, TEXT_VADDR + FUNCTIONS * FN_BYTES));
		elf_symbols_done(&symbols);
		gopclntab_free(go);
		elf_close(&elf);
		free(made.bytes);
	}
}

/* Wherever the table ends: what is left of it is read, and nothing behind. */
static void cut_tables(void **state)
{
	unsigned known = 0, unknown = 0;

	(void)state;
	for (size_t len = 0; len < 1024; len++) {
		struct gopclntab *go = NULL;
		uint64_t start, end;
		struct made_elf made;
		struct elf elf;
		const char *name;

		made_cut(GO_120, len, &made);
		assert_int_equal(elf_open_bytes(made.bytes, made.len, &elf, NULL), 0);
		if (gopclntab_open(&elf, 1 << 20, &go) < 0)
			unknown++;
		for (uint64_t i = 0; go && gopclntab_at(go, i, &start, &end, &name); i++) {
			struct go_function f;

			known += gopclntab_find(go, start, &f) == 0 && name;
		}
		gopclntab_free(go);
		elf_close(&elf);
		free(made.bytes);
	}
	assert_true(known > 0 && unknown > 0);
}

static void a_frame_that_cannot_be_stays_bad(void **state)
{
	static const enum go_special all[] = {GO_ORDINARY, GO_SWITCH, GO_GROW, GO_LEFT};
	const struct arch *archs[] = {&arch_x86_64, &arch_aarch64};

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct go_function function = {
			.sp_delta = 4, .flags = GO_SP_WRITE, .special = all[i / 2]};
		struct rule rule;

		rule_of_go(archs[i % 2], &function, true, &rule);
		assert_int_equal(rule.kind, RULE_BAD);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_frame_that_cannot_be_stays_bad),
	cmocka_unit_test(cut_tables),
	cmocka_unit_test(functions_are_known_by_name),
	cmocka_unit_test(systemstack_leads_to_the_goroutine),
	cmocka_unit_test(morestack_is_called_without_a_frame),
	cmocka_unit_test(nobody_returns_to_mcall),
	cmocka_unit_test(a_stack_that_was_given_back),
};

UNIT_TESTS("go_stacks", tests)
