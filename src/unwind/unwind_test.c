/* Stacks made of arrays, against call frame information made by hand. */
#include "unwind/unwind.h"

#include "abi/perf_abi.h"
#include "tests/cfi_bytes.h"
#include "tests/unit_test.h"
#include "tests/unwind_elf.h"

#include <errno.h>
#include <sys/mman.h>

/*
 * One module: eight functions of 64 bytes of code, at FN(i) in memory. Function i is described
 * by program i; those behind the last program have no CFI.
 */
enum { FUNCTIONS = 8, FN_BYTES = 64, FRAMES = 100, SP = 7, BP = 6, RA = 16, WORDS = 128 };

#define MODULE_AT   0x550000000000ull
#define JIT_AT	    0x7f0000000000ull
#define STACK_AT    0x7ffd00000000ull
#define TEXT_OFF    ((sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 15) / 16 * 16)
#define FN(i)	    (MODULE_AT + TEXT_OFF + (uint64_t)(i)*FN_BYTES)
#define FN_VADDR(i) (MADE_BASE + TEXT_OFF + (uint64_t)(i)*FN_BYTES)

struct program {
	uint8_t bytes[32];
	size_t len;
	bool signal;
};

#define PROGRAM(...)                                                                           \
	{                                                                                      \
		{__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), false                   \
	}
#define SIGNAL_PROGRAM(...)                                                                    \
	{                                                                                      \
		{__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), true                    \
	}

#define CFA_SP(n)	  0x0c, SP, n
#define SAVED(reg, words) 0x80 | (reg), (words) /* at CFA - 8 * words */
#define RA_UNDEFINED	  0x07, RA

struct world {
	enum unwind_arch arch;
	struct made_elf made;
	struct target target;
	struct unwinder *unwinder;
	uint64_t regs[33];
	struct wick_regs wick_regs;
	uint64_t stack[WORDS];
	unsigned opened;
	struct unwind_input in;
	struct unwind_result r;
	uint64_t addrs[FRAMES];
	uint8_t hows[FRAMES];
	/* what read_memory() gives */
	const void *other;
	uint64_t other_at, other_bytes;
	unsigned reads;
};

static int open_module(
	void *ctx, const struct target *target, uint32_t dso, struct elf *ret_elf)
{
	struct world *w = ctx;

	(void)target, (void)dso;
	w->opened++;
	return elf_open_bytes(w->made.bytes, w->made.len, ret_elf, NULL);
}

static void cfi_make(
	struct cfi_bytes *b, const struct program *programs, size_t count, uint8_t ra)
{
	for (size_t i = 0; i < count; i++) {
		cb_cie(b, 1, programs[i].signal ? "zRS" : "zR", ra);
		CB(b, 1, 0x04);
		if (ra == RA)
			CB(b, CFA_SP(8), SAVED(RA, 1));
		else
			CB(b, 0x0c, 31, 0);
		cb_end(b);
		cb_fde(b);
		cb_u(b, FN_VADDR(i), 8);
		cb_u(b, FN_BYTES, 8);
		CB(b, 0);
		cb_put(b, programs[i].bytes, programs[i].len);
		cb_end(b);
	}
}

/* Code: nops, and at offset 11 of each function a call (its return address is FN(i) + 16). */
static void code_make(uint8_t *code, const int *callees)
{
	memset(code, 0x90, FUNCTIONS * FN_BYTES);
	for (int i = 0; i < FUNCTIONS; i++) {
		int32_t by = callees ? (callees[i] - i) * FN_BYTES - 16 : 0x100000;

		code[i * FN_BYTES + 11] = 0xe8;
		memcpy(code + i * FN_BYTES + 12, &by, 4);
	}
}

#define CALLER(i) (FN(i) + 16)

static void map_it(struct world *w, uint64_t at, uint64_t bytes, const struct dso_key *key)
{
	struct mapping mapping = {at, at + bytes, 0, 0, PROT_READ | PROT_EXEC};

	assert_int_equal(target_dso(&w->target, key, &mapping.dso), 0);
	assert_int_equal(target_map(&w->target, 1, &mapping), 0);
}

static void world_make(struct world *w, enum unwind_arch arch, const struct program *programs,
	size_t count, const uint8_t *code)
{
	struct dso_key file = {.kind = DSO_FILE, .ino = 1},
		       jit = {.kind = DSO_ANON, .anon_pid = 1};
	struct unwinder_options options = {.open_module = open_module, .ctx = w};
	struct cfi_bytes cfi = {0};
	uint8_t plain[FUNCTIONS * FN_BYTES];
	struct made_part parts[] = {{".text", code ? code : plain, sizeof(plain), 0},
		{".eh_frame", cfi.at, 0, 0}, {NULL, NULL, 0, 0}};
	bool arm = arch == UNWIND_AARCH64;

	memset(w, 0, sizeof(*w));
	w->arch = arch;
	code_make(plain, NULL);
	cfi_make(&cfi, programs, count, arm ? 30 : RA);
	parts[1].len = cfi.len;
	assert_true(made_elf(parts, arm ? EM_AARCH64 : EM_X86_64, &w->made));
	assert_int_equal(target_process(&w->target, 1), 0);
	map_it(w, MODULE_AT, 1 << 20, &file);
	map_it(w, JIT_AT, 1 << 20, &jit);
	assert_int_equal(unwinder_new(&options, &w->unwinder), 0);
	w->wick_regs.abi = PERF_SAMPLE_REGS_ABI_64;
	w->wick_regs.mask = arm ? UNWIND_REGS_AARCH64 : UNWIND_REGS_X86_64;
	w->wick_regs.values.bytes = w->regs;
	w->wick_regs.values.n = (uint64_t)__builtin_popcountll(w->wick_regs.mask);
	w->in = (struct unwind_input){.arch = arch,
		.target = &w->target,
		.regs = &w->wick_regs,
		.stack = w->stack,
		.stack_bytes = sizeof(w->stack)};
	w->regs[arm ? 31 : 7] = STACK_AT;
	w->r = (struct unwind_result){.addrs = w->addrs, .hows = w->hows, .cap = FRAMES};
}

static void world_done(struct world *w)
{
	unwinder_free(w->unwinder);
	target_done(&w->target);
	free(w->made.bytes);
}

enum { PERF_BX = 1, PERF_BP = 6, PERF_SP = 7, PERF_IP = 8 };

static void run(struct world *w)
{
	unwind_run(w->unwinder, &w->in, &w->r);
}

/* The answer, twice: the second time from the cache. */
static void assert_stack(
	struct world *w, enum stack_stop stop, size_t count, const uint64_t *want)
{
	for (int again = 0; again < 2; again++) {
		run(w);
		assert_int_equal(w->r.stop, stop);
		assert_int_equal(w->r.count, count);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(w->addrs[i], want[i]);
	}
}

#define ASSERT_STACK(w, stop, ...)                                                             \
	assert_stack(w, stop, sizeof((const uint64_t[]){__VA_ARGS__}) / 8,                     \
		(const uint64_t[]){__VA_ARGS__})

/* leaf: nothing pushed; middle: 32 bytes, rbx and rbp saved; first: nobody called it. */
static const struct program plain[] = {
	PROGRAM(0), PROGRAM(0x0e, 32, SAVED(3, 2), SAVED(BP, 3)), PROGRAM(RA_UNDEFINED)};

static void by_cfi_to_the_root(void **state)
{
	struct unwind_stats stats;
	struct world w;

	(void)state;
	world_make(&w, UNWIND_X86_64, plain, 3, NULL);
	w.regs[PERF_IP] = FN(0) + 3;
	w.stack[0] = CALLER(1);
	w.stack[1 + 3] = CALLER(2);
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 3, CALLER(1), CALLER(2));
	assert_int_equal(w.hows[0], UNWIND_LEAF | UNWIND_EXACT);
	assert_int_equal(w.hows[1], UNWIND_BY_CFI);
	assert_int_equal(w.r.edge_count, 2);
	assert_int_equal(w.r.edges[1].slot, STACK_AT + 4 * 8);
	assert_int_equal(w.r.edges[1].value, CALLER(2));
	assert_int_equal(w.r.edges[1].cfa, STACK_AT + 5 * 8);
	assert_int_equal(w.opened, 1);
	unwinder_stats(w.unwinder, &stats);
	assert_int_equal(stats.misses, 3);
	assert_int_equal(stats.hits, 3);
	/* An address 0 ends it, too. */
	w.stack[1 + 3] = 0;
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 3, CALLER(1));
	world_done(&w);
}

static void ends_are_typed(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, UNWIND_X86_64, plain, 3, NULL);
	w.regs[PERF_IP] = FN(0);
	w.stack[0] = CALLER(1);
	w.stack[4] = CALLER(1);
	w.in.stack_bytes = 5 * 8;
	ASSERT_STACK(&w, STOP_COPY_EXHAUSTED, FN(0), CALLER(1), CALLER(1));
	assert_int_equal(w.r.stop_read, STACK_AT + 8 * 8);
	assert_int_equal(w.r.stop_dso, 0);
	w.in.stack_bytes = 0;
	ASSERT_STACK(&w, STOP_UNREADABLE, FN(0));
	w.in.stack_bytes = sizeof(w.stack);
	w.in.depth_limit = 2;
	ASSERT_STACK(&w, STOP_DEPTH, FN(0), CALLER(1));
	w.in.depth_limit = 0;
	w.stack[4] = 0x1234;
	ASSERT_STACK(&w, STOP_BAD_CFI, FN(0), CALLER(1));
	w.stack[4] = JIT_AT + 5;
	ASSERT_STACK(&w, STOP_NO_CFI, FN(0), CALLER(1), JIT_AT + 5);
	assert_int_equal(w.r.stop_dso, 1);
	w.wick_regs.abi = 0;
	run(&w);
	assert_int_equal(w.r.stop, STOP_NO_USER);
	assert_int_equal(w.r.count, 0);
	world_done(&w);
}

static void stacks_that_point_into_themselves(void **state)
{
	static const struct program programs[] = {
		PROGRAM(0x0c, BP, 16, SAVED(BP, 2)), /* CFA = rbp + 16 */
		PROGRAM(0x0c, SP, 0),		     /* the CFA does not go up */
		PROGRAM(0x0f, 3, 0x77, 0, 0x06),     /* the CFA is the word at sp */
	};
	struct world w;

	(void)state;
	world_make(&w, UNWIND_X86_64, programs, 3, NULL);
	w.regs[PERF_IP] = FN(0);
	w.regs[PERF_BP] = STACK_AT + 64;
	w.stack[8] = STACK_AT + 64;
	w.stack[9] = CALLER(0);
	run(&w);
	assert_int_equal(w.r.stop, STOP_BAD_CFI);
	assert_true(w.r.count < 50);
	w.regs[PERF_IP] = FN(1);
	ASSERT_STACK(&w, STOP_BAD_CFI, FN(1));
	w.regs[PERF_IP] = FN(2);
	w.stack[0] = STACK_AT;
	run(&w);
	assert_int_equal(w.r.stop, STOP_BAD_CFI);
	world_done(&w);
}

static void registers_lead_to_the_frame(void **state)
{
	/* Realigned: CFA = [rbp - 8], rbp at [rbp + 0]; its caller counts from rbx, then rbp.
	 */
	static const struct program programs[] = {
		PROGRAM(0x0f, 3, 0x76, 0x78, 0x06, 0x10, BP, 2, 0x76, 0),
		PROGRAM(0x0c, 3, 40, SAVED(BP, 4)), PROGRAM(0x0c, BP, 16, SAVED(BP, 2)),
		PROGRAM(RA_UNDEFINED)};
	struct world w;

	(void)state;
	world_make(&w, UNWIND_X86_64, programs, 4, NULL);
	w.regs[PERF_IP] = FN(0) + 30;
	w.regs[PERF_BP] = STACK_AT + 3 * 8;
	w.regs[PERF_BX] = STACK_AT + 10 * 8;
	w.stack[2] = STACK_AT + 8 * 8; /* the CFA */
	w.stack[3] = 77;
	w.stack[7] = CALLER(1);
	w.stack[11] = STACK_AT + 20 * 8; /* rbx + 40 - 32 */
	w.stack[14] = CALLER(2);
	w.stack[20] = 0;
	w.stack[21] = CALLER(3);
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 30, CALLER(1), CALLER(2), CALLER(3));
	world_done(&w);
}

/* vfork() takes its return address from the stack: both processes would return to it. */
static void return_address_taken_from_the_stack(void **state)
{
	static const struct program programs[] = {
		PROGRAM(CFA_SP(0), 0x09, RA, 5), PROGRAM(RA_UNDEFINED)};
	struct world w;

	(void)state;
	world_make(&w, UNWIND_X86_64, programs, 2, NULL);
	w.regs[PERF_IP] = FN(0) + 30;
	w.regs[5] = CALLER(1); /* rdi, for both perf and DWARF */
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 30, CALLER(1));
	/* Nobody who called can have done that. */
	w.regs[5] = CALLER(0);
	ASSERT_STACK(&w, STOP_BAD_CFI, FN(0) + 30, CALLER(0));
	world_done(&w);
}

/* DW_OP_breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus: as linkers write it. */
static void plt_entries_depend_on_the_address(void **state)
{
	static const struct program programs[] = {
		PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
		PROGRAM(RA_UNDEFINED)};
	struct world w;

	(void)state;
	world_make(&w, UNWIND_X86_64, programs, 2, NULL);
	w.stack[0] = CALLER(1) + 1;
	w.stack[1] = CALLER(1);
	w.regs[PERF_IP] = FN(0) + 16 + 6;
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 22, CALLER(1) + 1);
	w.regs[PERF_IP] = FN(0) + 16 + 11;
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 27, CALLER(1));
	world_done(&w);
}

/*
 * A function of two rows: nothing pushed in its first 4 bytes, 8 bytes from there on. An
 * address is answered by what another one of its row gave, and by that only.
 */
static void addresses_of_one_row_share_its_rule(void **state)
{
	static const struct program programs[] = {
		PROGRAM(0x40 | 4, 0x0e, 16), PROGRAM(RA_UNDEFINED)};
	struct unwind_stats stats;
	struct world w;

	(void)state;
	world_make(&w, UNWIND_X86_64, programs, 2, NULL);
	w.stack[0] = CALLER(1) + 1;
	w.stack[1] = CALLER(1) + 2;
	for (unsigned at = 0; at < FN_BYTES; at++) {
		w.regs[PERF_IP] = FN(0) + at;
		if (at < 4)
			ASSERT_STACK(&w, STOP_ROOT, FN(0) + at, CALLER(1) + 1);
		else
			ASSERT_STACK(&w, STOP_ROOT, FN(0) + at, CALLER(1) + 2);
	}
	unwinder_stats(w.unwinder, &stats);
	assert_int_equal(stats.misses, FN_BYTES + 2);
	assert_true(stats.from_rows >= FN_BYTES - 4);
	/* Backwards they are other rows' neighbours. */
	unwinder_forget(w.unwinder, TARGET_NONE);
	for (unsigned at = FN_BYTES; at-- > 0;) {
		w.regs[PERF_IP] = FN(0) + at;
		run(&w);
		assert_int_equal(w.addrs[1], CALLER(1) + (at < 4 ? 1 : 2));
	}
	world_done(&w);
}

/* gcc leaves the rules of popped registers as they were. */
static void popped_registers_keep_their_value(void **state)
{
	static const struct program programs[] = {PROGRAM(0x0e, 16, SAVED(BP, 4), SAVED(3, 2)),
		PROGRAM(0x0c, BP, 16, SAVED(BP, 2)), PROGRAM(RA_UNDEFINED)};
	struct world w;

	(void)state;
	world_make(&w, UNWIND_X86_64, programs, 3, NULL);
	w.regs[PERF_IP] = FN(0) + 60;
	w.regs[PERF_BP] = STACK_AT + 6 * 8;
	w.stack[1] = CALLER(1);
	w.stack[7] = CALLER(2);
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 60, CALLER(1), CALLER(2));
	world_done(&w);
}

static int read_memory(void *ctx, uint64_t addr, void *ret_bytes, size_t len)
{
	struct world *w = ctx;
	uint64_t at = addr - w->other_at;

	w->reads++;
	if (at > w->other_bytes || len > w->other_bytes - at)
		return -EFAULT;
	memcpy(ret_bytes, (const uint8_t *)w->other + at, len);
	return (int)len;
}

/*
 * A handler on an alternate stack: the trampoline's CFA expression and registers are those of
 * the interrupted code, whose stack lies below and outside of the copy.
 */
static void signal_frames_change_the_stack(void **state)
{
	static const struct program programs[] = {PROGRAM(0),
		SIGNAL_PROGRAM(0x0f, 3, 0x77, 16, 0x06, /* CFA = [sp + 16] */
			0x10, SP, 2, 0x77, 16,		/* sp the same */
			0x10, RA, 2, 0x77, 24,		/* ra = [sp + 24] */
			0x10, BP, 2, 0x77, 32),
		PROGRAM(0), PROGRAM(RA_UNDEFINED)};
	static const int callees[FUNCTIONS] = {1, 2, 3, 2, 5, 6, 7, 0};
	enum { BELOW = 1 << 20 };
	uint8_t code[FUNCTIONS * FN_BYTES], *now = calloc(1, BELOW + 4096);
	struct world w;

	(void)state;
	assert_non_null(now);
	code_make(code, callees);
	world_make(&w, UNWIND_X86_64, programs, 4, code);
	w.regs[PERF_IP] = FN(0) + 1;
	w.stack[1] = FN(1) + 1;
	w.stack[3] = STACK_AT - BELOW + 64;
	w.stack[4] = FN(2);
	w.stack[5] = 99;
	w.in.stack_bytes = 16 * 8;
	w.stack[0] = FN(1) + 8;
	ASSERT_STACK(&w, STOP_UNREADABLE, FN(0) + 1, FN(1) + 8, FN(2));
	/* What was interrupted, and the trampoline, which nobody called either. */
	assert_int_equal(w.hows[2] & UNWIND_EXACT, UNWIND_EXACT);
	assert_int_equal(w.hows[1] & UNWIND_EXACT, UNWIND_EXACT);
	assert_int_equal(w.r.stop_read, STACK_AT - BELOW + 64);
	/* With the process's memory at hand it goes on. */
	memcpy(now + BELOW, w.stack, sizeof(w.stack));
	memcpy(now + 64, &(uint64_t){CALLER(3)}, 8);
	w.in.read_memory = read_memory;
	w.in.read_ctx = &w;
	w.other = now;
	w.other_at = STACK_AT - BELOW;
	w.other_bytes = BELOW + 4096;
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 1, FN(1) + 8, FN(2), CALLER(3));
	assert_true(w.r.late);
	world_done(&w);
	free(now);
}

/* ---- late memory */

/* A recursion of function 1 (16 bytes a frame), 40 deep, called by function 2, the first. */
static void recursion(struct world *w, uint64_t *stack)
{
	for (int i = 0; i < WORDS; i++)
		stack[i] = 0x1111;
	stack[0] = CALLER(1);
	for (int i = 0; i < 40; i++)
		stack[2 + 2 * i] = i < 39 ? CALLER(1) : CALLER(2);
	w->regs[PERF_IP] = FN(0) + 3;
}

static const struct program recursive[] = {
	PROGRAM(0), PROGRAM(0x0e, 16), PROGRAM(RA_UNDEFINED), PROGRAM(0x0e, 16)};

static const int calls_itself[FUNCTIONS] = {7, 1, 1, 4, 5, 6, 7, 0};

static void late_world(struct world *w, uint64_t *now)
{
	uint8_t code[FUNCTIONS * FN_BYTES];

	code_make(code, calls_itself);
	world_make(w, UNWIND_X86_64, recursive, 4, code);
	recursion(w, w->stack);
	memcpy(now, w->stack, sizeof(w->stack));
	w->in.stack_bytes = 20 * 8;
	w->in.late = now + 10;
	w->in.late_addr = STACK_AT + 10 * 8;
	w->in.late_bytes = (WORDS - 10) * 8;
}

static void late_memory_completes(void **state)
{
	uint64_t now[WORDS];
	struct world w;

	(void)state;
	late_world(&w, now);
	run(&w);
	assert_int_equal(w.r.stop, STOP_ROOT);
	assert_int_equal(w.r.count, 42);
	assert_true(w.r.late);
	assert_int_equal(w.addrs[41], CALLER(2));
	/* The same through the callback. */
	w.in.late = NULL;
	w.in.read_memory = read_memory;
	w.in.read_ctx = &w;
	w.other = now;
	w.other_at = STACK_AT;
	w.other_bytes = sizeof(now);
	run(&w);
	assert_int_equal(w.r.stop, STOP_COPY_EXHAUSTED); /* no whole page */
	assert_true(w.r.late_refused);
	world_done(&w);
}

static void late_memory_of_another_moment(void **state)
{
	uint64_t now[WORDS];
	struct world w;

	(void)state;
	late_world(&w, now);
	now[16] = CALLER(3); /* one of the outermost two frames of the copy */
	run(&w);
	assert_int_equal(w.r.stop, STOP_COPY_EXHAUSTED);
	assert_int_equal(w.r.count, 11);
	assert_true(w.r.late_refused && !w.r.late);
	/* The border is as it was, but above it somebody else's frames begin. */
	memcpy(now, w.stack, sizeof(now));
	now[50] = CALLER(3);
	now[52] = CALLER(2);
	run(&w);
	assert_int_equal(w.r.stop, STOP_COPY_EXHAUSTED);
	assert_int_equal(w.r.count, 11);
	assert_true(w.r.late_refused);
	/* No overlap: nothing to compare. */
	memcpy(now, w.stack, sizeof(now));
	w.in.late = now + 20;
	w.in.late_addr = STACK_AT + 20 * 8;
	w.in.late_bytes = (WORDS - 20) * 8;
	run(&w);
	assert_int_equal(w.r.stop, STOP_COPY_EXHAUSTED);
	assert_true(w.r.late_refused);
	world_done(&w);
}

/* ---- without CFI */

static void frame_pointers_through_jit_code(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, UNWIND_X86_64, plain, 3, NULL);
	w.regs[PERF_IP] = FN(0) + 3;
	w.regs[PERF_BP] = STACK_AT + 4 * 8;
	w.stack[0] = JIT_AT + 100;
	w.stack[4] = STACK_AT + 9 * 8;
	w.stack[5] = JIT_AT + 200;
	w.stack[9] = 0;
	w.stack[10] = CALLER(1);
	w.stack[14] = CALLER(2);
	ASSERT_STACK(
		&w, STOP_ROOT, FN(0) + 3, JIT_AT + 100, JIT_AT + 200, CALLER(1), CALLER(2));
	assert_int_equal(w.hows[2], UNWIND_BY_FP);
	assert_int_equal(w.hows[3], UNWIND_BY_FP);
	assert_int_equal(w.hows[4], UNWIND_BY_CFI);
	/* What is not behind a call is no return address. */
	w.stack[10] = CALLER(1) + 1;
	w.in.no_scan = true;
	ASSERT_STACK(&w, STOP_NO_CFI, FN(0) + 3, JIT_AT + 100, JIT_AT + 200);
	/* The scan finds the next one that is. */
	w.in.no_scan = false;
	w.stack[12] = CALLER(2);
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 3, JIT_AT + 100, JIT_AT + 200, CALLER(2));
	assert_int_equal(w.hows[3], UNWIND_BY_SCAN);
	world_done(&w);
}

/* sub $24, rsp; ...; a call; ...; add $24; pop rbp; ret, in function 3, which has no CFI. */
static void code_tells_what_cfi_does_not(void **state)
{
	uint8_t code[FUNCTIONS * FN_BYTES];
	static const uint8_t epilogue[] = {0x48, 0x83, 0xc4, 24, 0x5d, 0xc3};
	struct world w;

	(void)state;
	code_make(code, NULL);
	memcpy(code + 3 * FN_BYTES + 20, epilogue, sizeof(epilogue));
	world_make(&w, UNWIND_X86_64, plain, 3, code);
	w.regs[PERF_IP] = FN(0) + 3;
	w.stack[0] = CALLER(3);
	w.stack[1 + 3] = 1; /* rbp */
	w.stack[1 + 4] = CALLER(1);
	w.stack[1 + 5 + 3] = CALLER(2);
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 3, CALLER(3), CALLER(1), CALLER(2));
	assert_int_equal(w.hows[2], UNWIND_BY_CODE);
	world_done(&w);
}

static void changes_of_the_maps(void **state)
{
	struct dso_key other = {.kind = DSO_FILE, .ino = 2};
	struct unwind_stats stats;
	struct world w;

	(void)state;
	world_make(&w, UNWIND_X86_64, plain, 3, NULL);
	w.regs[PERF_IP] = FN(0) + 3;
	w.stack[0] = CALLER(2);
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 3, CALLER(2));
	map_it(&w, 0x10000000, 4096, &other);
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 3, CALLER(2));
	unwinder_stats(w.unwinder, &stats);
	assert_int_equal(stats.misses, 2);
	assert_int_equal(stats.rechecked, 2);
	/* Another file where the code was: opened and looked up anew. */
	map_it(&w, MODULE_AT, 1 << 20, &other);
	run(&w);
	unwinder_stats(w.unwinder, &stats);
	assert_int_equal(stats.misses, 4);
	assert_int_equal(w.opened, 2);
	unwinder_forget(w.unwinder, TARGET_NONE);
	run(&w);
	assert_int_equal(w.opened, 3);
	world_done(&w);
}

/* ---- AArch64 */

#define SIGNED(addr) ((addr) | 0x2a5ull << 52)

static void aarch64(void **state)
{
	/* leaf: all in registers; stp x29, x30, [sp, -32]!; the first */
	static const struct program programs[] = {PROGRAM(0),
		PROGRAM(0x2d, 0x0e, 32, 0x9d, 4, 0x9e, 3), PROGRAM(0x07, 30),
		PROGRAM(0x0c, 29, 16, 0x9d, 2, 0x9e, 1)};
	struct world w;

	(void)state;
	world_make(&w, UNWIND_AARCH64, programs, 4, NULL);
	w.regs[32] = FN(0) + 8;
	w.regs[30] = FN(1) + 16;
	w.regs[29] = 55;
	w.stack[0] = STACK_AT + 10 * 8; /* x29 of the caller */
	w.stack[1] = SIGNED(FN(3) + 16);
	w.stack[10] = 0;
	w.stack[11] = FN(2) + 16;
	ASSERT_STACK(&w, STOP_ROOT, FN(0) + 8, FN(1) + 16, FN(3) + 16, FN(2) + 16);
	/* The same leaf rule in a caller would go on forever. */
	w.regs[30] = FN(0) + 16;
	ASSERT_STACK(&w, STOP_BAD_CFI, FN(0) + 8, FN(0) + 16);
	world_done(&w);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(by_cfi_to_the_root),
	cmocka_unit_test(ends_are_typed),
	cmocka_unit_test(stacks_that_point_into_themselves),
	cmocka_unit_test(registers_lead_to_the_frame),
	cmocka_unit_test(return_address_taken_from_the_stack),
	cmocka_unit_test(plt_entries_depend_on_the_address),
	cmocka_unit_test(addresses_of_one_row_share_its_rule),
	cmocka_unit_test(popped_registers_keep_their_value),
	cmocka_unit_test(signal_frames_change_the_stack),
	cmocka_unit_test(late_memory_completes),
	cmocka_unit_test(late_memory_of_another_moment),
	cmocka_unit_test(frame_pointers_through_jit_code),
	cmocka_unit_test(code_tells_what_cfi_does_not),
	cmocka_unit_test(changes_of_the_maps),
	cmocka_unit_test(aarch64),
};

UNIT_TESTS("unwind", tests)
