#include "session/stacks.h"

#include "abi/perf_abi.h"
#include "tests/unit_test.h"

#include <string.h>
#include <sys/mman.h>

enum { PC = 0x401200, SP = 0x7ff000, REG_FP = 6, REG_SP = 7, REG_IP = 8 };

struct fixture {
	struct target target;
	struct stacks *stacks;
	uint32_t process;
	uint64_t regs[20], kernel_chain[2];
	_Alignas(8) uint8_t stack[4096];
	struct wick_record record;
};

static void setup(struct fixture *f)
{
	struct stacks_options options = {.target = &f->target, .arch = UNWIND_X86_64};
	struct dso_key key = {.kind = DSO_FILE, .ino = 1};
	struct mapping mapping = {
		.start = 0x401000, .end = 0x402000, .prot = PROT_READ | PROT_EXEC};

	*f = (struct fixture){.kernel_chain = {PERF_CONTEXT_KERNEL, 0xffffffff81000010}};
	assert_int_equal(strings_add(&f->target.strings, "/nowhere/at/all", 15, &key.path), 0);
	assert_int_equal(target_dso(&f->target, &key, &mapping.dso), 0);
	assert_int_equal(target_map(&f->target, 10, &mapping), 0);
	f->process = target_process(&f->target, 10);
	f->regs[REG_SP] = SP;
	f->regs[REG_IP] = PC;
	f->record.misc = PERF_RECORD_MISC_KERNEL;
	f->record.id.pid = f->record.id.tid = 10;
	f->record.sample = (struct wick_sample){
		.callchain = {f->kernel_chain, 2},
		.regs_user = {.abi = PERF_SAMPLE_REGS_ABI_64,
			.mask = UNWIND_REGS_X86_64,
			.values = {f->regs, 20}},
		.stack = f->stack,
		.stack_bytes = sizeof(f->stack),
		.stack_asked = sizeof(f->stack),
	};
	assert_int_equal(stacks_new(&options, &f->stacks), 0);
}

static void teardown(struct fixture *f)
{
	stacks_free(f->stacks);
	target_done(&f->target);
}

static void the_kernels_part_stays_and_the_leaf_follows(void **state)
{
	struct wick_words chain;
	struct fixture f;

	(void)state;
	setup(&f);
	/* Nothing is known of the file and the stack is zeros: the leaf is all there is. */
	stacks_unwind(f.stacks, f.process, &f.record, &chain);
	assert_true(chain.n >= 4);
	assert_int_equal(wick_word(chain, 0), PERF_CONTEXT_KERNEL);
	assert_int_equal(wick_word(chain, 1), f.kernel_chain[1]);
	assert_int_equal(wick_word(chain, 2), PERF_CONTEXT_USER);
	assert_int_equal(wick_word(chain, 3), PC);
	teardown(&f);
}

static void nothing_is_owed_between_two_programs(void **state)
{
	struct wick_words chain;
	struct fixture f;

	(void)state;
	setup(&f);
	f.record.sample.stack_bytes = 0; /* the old memory is gone */
	assert_int_equal(stacks_unwind(f.stacks, f.process, &f.record, &chain), STOP_NO_USER);
	assert_int_equal(chain.n, 2);
	f.record.sample.stack_bytes = sizeof(f.stack);
	f.regs[REG_IP] = 0x999000; /* where it called execve() nothing is mapped any more */
	assert_int_equal(stacks_unwind(f.stacks, f.process, &f.record, &chain), STOP_NO_USER);
	assert_int_equal(chain.n, 2);
	teardown(&f);
}

static void a_32_bit_process_gives_its_leaf(void **state)
{
	struct wick_words chain;
	struct fixture f;

	(void)state;
	setup(&f);
	f.record.sample.regs_user.abi = PERF_SAMPLE_REGS_ABI_32;
	assert_int_equal(stacks_unwind(f.stacks, f.process, &f.record, &chain), STOP_NO_CFI);
	assert_int_equal(chain.n, 4);
	assert_int_equal(wick_word(chain, 3), PC);
	teardown(&f);
}

/* `frames` of them, 32 bytes each, up to the outermost, which says that there is no more. */
static void frames_lay(struct fixture *f, unsigned frames)
{
	f->record.misc = PERF_RECORD_MISC_USER;
	f->record.sample.callchain.n = 0;
	f->regs[REG_FP] = SP + 16;
	for (unsigned i = 0; i < frames; i++) {
		uint64_t pair[] = {SP + 16 + 32 * (i + 1), 0x401300 + i};

		if (i + 1 == frames)
			pair[0] = pair[1] = 0;
		memcpy(f->stack + 16 + (size_t)32 * i, pair, sizeof(pair));
	}
}

static void less_effort_gives_the_inner_frames_and_says_so(void **state)
{
	struct stacks_stats stats;
	struct wick_words chain;
	struct fixture f;

	(void)state;
	setup(&f);
	frames_lay(&f, 100);
	assert_int_not_equal(
		stacks_unwind(f.stacks, f.process, &f.record, &chain), STOP_BEHIND);
	assert_int_equal(chain.n, 1 + 100);
	stacks_set_effort(f.stacks, EFFORT_SHORT);
	assert_int_equal(stacks_unwind(f.stacks, f.process, &f.record, &chain), STOP_BEHIND);
	assert_int_equal(chain.n, 1 + 32);
	assert_int_equal(wick_word(chain, 1), PC);
	assert_int_equal(wick_word(chain, 2), 0x401300);
	frames_lay(&f, 20); /* short enough to be whole */
	assert_int_not_equal(
		stacks_unwind(f.stacks, f.process, &f.record, &chain), STOP_BEHIND);
	assert_int_equal(chain.n, 1 + 20);
	stacks_stats(f.stacks, &stats);
	assert_int_equal(stats.by_pointers, 0);
	teardown(&f);
}

static void frame_pointers_alone_are_followed_within_the_copy(void **state)
{
	uint64_t pair[] = {SP + 8, 0x401300};
	struct stacks_stats stats;
	struct wick_words chain;
	struct fixture f;

	(void)state;
	setup(&f);
	stacks_set_effort(f.stacks, EFFORT_POINTERS);
	frames_lay(&f, 50);
	assert_int_equal(stacks_unwind(f.stacks, f.process, &f.record, &chain), STOP_BEHIND);
	assert_int_equal(chain.n, 1 + 50);
	assert_int_equal(wick_word(chain, 0), PERF_CONTEXT_USER);
	assert_int_equal(wick_word(chain, 1), PC);
	assert_int_equal(wick_word(chain, 50), 0x401300 + 48);
	f.regs[REG_FP] = SP + 4096 - 8; /* half of a pair lies outside */
	stacks_unwind(f.stacks, f.process, &f.record, &chain);
	assert_int_equal(chain.n, 2);
	f.regs[REG_FP] = 0x1234567; /* it holds something else */
	stacks_unwind(f.stacks, f.process, &f.record, &chain);
	assert_int_equal(chain.n, 2);
	f.regs[REG_FP] = SP + 16; /* a frame that points at itself or downwards is the last */
	memcpy(f.stack + 16, pair, sizeof(pair));
	stacks_unwind(f.stacks, f.process, &f.record, &chain);
	assert_int_equal(chain.n, 3);
	stacks_stats(f.stacks, &stats);
	assert_int_equal(stats.by_pointers, 4);
	teardown(&f);
}

static void a_stack_that_was_not_copied_says_so(void **state)
{
	struct wick_words chain;
	struct fixture f;

	(void)state;
	setup(&f);
	frames_lay(&f, 5);
	f.record.sample.stack_bytes = 0; /* the page was not there */
	for (int effort = EFFORT_FULL; effort < EFFORT_COUNT; effort++) {
		stacks_set_effort(f.stacks, (enum effort)effort);
		assert_int_equal(
			stacks_unwind(f.stacks, f.process, &f.record, &chain), STOP_NO_COPY);
		assert_int_equal(chain.n, 2);
		assert_int_equal(wick_word(chain, 1), PC);
	}
	teardown(&f);
}

static void machines_are_known_by_their_names(void **state)
{
	(void)state;
	assert_int_equal(stacks_arch_of("x86_64"), UNWIND_X86_64);
	assert_int_equal(stacks_arch_of("aarch64"), UNWIND_AARCH64);
	assert_true(stacks_arch_of("riscv64") < 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_kernels_part_stays_and_the_leaf_follows),
	cmocka_unit_test(nothing_is_owed_between_two_programs),
	cmocka_unit_test(a_32_bit_process_gives_its_leaf),
	cmocka_unit_test(less_effort_gives_the_inner_frames_and_says_so),
	cmocka_unit_test(frame_pointers_alone_are_followed_within_the_copy),
	cmocka_unit_test(a_stack_that_was_not_copied_says_so),
	cmocka_unit_test(machines_are_known_by_their_names),
};
UNIT_TESTS("stacks", tests)
