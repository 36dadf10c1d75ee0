#include "session/stacks.h"

#include "abi/perf_abi.h"
#include "tests/unit_test.h"

#include <sys/mman.h>

enum { PC = 0x401200, SP = 0x7ff000, REG_SP = 7, REG_IP = 8 };

struct fixture {
	struct target target;
	struct stacks *stacks;
	uint32_t process;
	uint64_t regs[20], kernel_chain[2];
	uint8_t stack[256];
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
	cmocka_unit_test(machines_are_known_by_their_names),
};
UNIT_TESTS("stacks", tests)
