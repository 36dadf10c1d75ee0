#include "tests/unit_test.h"

#include "softperf/drivers/armv8_regs.h"

#define CYCLES (1u << ARMV8_CYCLE_IDX)

static void bits_are_set_and_cleared(void **state)
{
	struct armv8_regs regs;

	(void)state;
	armv8_reset(&regs, 4);
	assert_int_equal(armv8_read(&regs, PMCR_EL0) >> PMCR_N_SHIFT & 31, 4);
	armv8_write(&regs, PMCNTENSET_EL0, UINT32_MAX);
	assert_int_equal(armv8_read(&regs, PMCNTENCLR_EL0), CYCLES | 0xf);
	armv8_write(&regs, PMCNTENCLR_EL0, 3);
	assert_int_equal(armv8_read(&regs, PMCNTENSET_EL0), CYCLES | 0xc);
	armv8_write(&regs, PMOVSSET_EL0, 5);
	armv8_write(&regs, PMOVSCLR_EL0, 4);
	assert_int_equal(armv8_read(&regs, PMOVSSET_EL0), 1);
	/* A counter that is not there reads as zero. */
	armv8_write(&regs, PMSELR_EL0, 5);
	armv8_write(&regs, PMXEVCNTR_EL0, 7);
	assert_int_equal(armv8_read(&regs, PMXEVCNTR_EL0), 0);
}

static void only_what_is_on_counts(void **state)
{
	struct armv8_regs regs;

	(void)state;
	armv8_reset(&regs, 6);
	armv8_write(&regs, PMSELR_EL0, 2);
	armv8_write(&regs, PMXEVTYPER_EL0, ARMV8_EVENT_INST_RETIRED | PMEVTYPER_P);
	armv8_write(&regs, PMCNTENSET_EL0, CYCLES | 4);
	armv8_run(&regs, false, 100, 150); /* PMCR.E is 0 */
	assert_int_equal(armv8_read(&regs, PMCCNTR_EL0), 0);
	armv8_write(&regs, PMCR_EL0, PMCR_E | PMCR_LC);
	armv8_run(&regs, false, 100, 150);
	armv8_run(&regs, true, 10, 15); /* counter 2 is filtered at EL1 */
	assert_int_equal(armv8_read(&regs, PMCCNTR_EL0), 110);
	assert_int_equal(armv8_read(&regs, PMXEVCNTR_EL0), 150);
}

static void a_wrap_raises_the_line(void **state)
{
	struct armv8_regs regs;

	(void)state;
	armv8_reset(&regs, 6);
	armv8_write(&regs, PMCR_EL0, PMCR_E | PMCR_LC);
	armv8_write(&regs, PMCCNTR_EL0, (uint64_t)-1000);
	armv8_write(&regs, PMCNTENSET_EL0, CYCLES);
	assert_true(armv8_cycles_until(&regs, false, 1000) == UINT64_MAX);
	armv8_write(&regs, PMINTENSET_EL1, CYCLES);
	assert_int_equal(armv8_cycles_until(&regs, false, 1000), 1000);
	armv8_run(&regs, false, 999, 999);
	assert_false(armv8_line(&regs));
	armv8_run(&regs, false, 1, 1);
	assert_true(armv8_line(&regs));
	assert_int_equal(armv8_read(&regs, PMOVSCLR_EL0), CYCLES);
	armv8_write(&regs, PMOVSCLR_EL0, CYCLES);
	assert_false(armv8_line(&regs));
}

static void event_counters_have_32_bits(void **state)
{
	struct armv8_regs regs;

	(void)state;
	armv8_reset(&regs, 6);
	armv8_write(&regs, PMCR_EL0, PMCR_E | PMCR_LC);
	armv8_write(&regs, PMSELR_EL0, 0);
	armv8_write(&regs, PMXEVTYPER_EL0, ARMV8_EVENT_INST_RETIRED);
	armv8_write(&regs, PMXEVCNTR_EL0, UINT32_MAX - 9);
	armv8_write(&regs, PMCNTENSET_EL0, 1);
	armv8_write(&regs, PMINTENSET_EL1, 1);
	assert_int_equal(armv8_cycles_until(&regs, false, 2000), 5); /* 2 a cycle */
	armv8_run(&regs, false, 6, 12);
	assert_true(armv8_line(&regs));
	assert_int_equal(armv8_read(&regs, PMXEVCNTR_EL0), 2);
}

static void an_odd_counter_counts_the_wraps_before_it(void **state)
{
	struct armv8_regs regs;

	(void)state;
	armv8_reset(&regs, 6);
	armv8_write(&regs, PMCR_EL0, PMCR_E | PMCR_LC);
	for (uint32_t i = 1; i <= 4;
		i++) { /* 1 and 3 can chain; 4 is even: it counts nothing */
		armv8_write(&regs, PMSELR_EL0, i);
		armv8_write(&regs, PMXEVTYPER_EL0,
			i == 2 ? ARMV8_EVENT_CPU_CYCLES : ARMV8_EVENT_CHAIN);
	}
	armv8_write(&regs, PMCNTENSET_EL0, 0x1e);
	armv8_write(&regs, PMINTENSET_EL1, 1u << 3);
	armv8_write(&regs, PMSELR_EL0, 3);
	armv8_write(&regs, PMXEVCNTR_EL0, UINT32_MAX - 1); /* two wraps, less 100 cycles */
	armv8_write(&regs, PMSELR_EL0, 2);
	armv8_write(&regs, PMXEVCNTR_EL0, 100);
	assert_true(armv8_cycles_until(&regs, false, 1000) == (2ull << 32) - 100);
	armv8_run(&regs, false, (1ull << 32) - 100, 0);
	assert_int_equal(armv8_read(&regs, PMOVSCLR_EL0), 1u << 2);
	assert_false(armv8_line(&regs));
	assert_int_equal(armv8_cycles_until(&regs, false, 1000), 1ull << 32);
	armv8_run(&regs, false, 1ull << 32, 0);
	assert_int_equal(armv8_read(&regs, PMOVSCLR_EL0), 3u << 2);
	assert_true(armv8_line(&regs));
	assert_int_equal(armv8_read(&regs, PMXEVCNTR_EL0), 0);
	armv8_write(&regs, PMSELR_EL0, 4);
	assert_int_equal(armv8_read(&regs, PMXEVCNTR_EL0), 0);
	/* Without the counter before it a chained one waits for ever. */
	armv8_write(&regs, PMOVSCLR_EL0, 3u << 2);
	armv8_write(&regs, PMCNTENCLR_EL0, 1u << 2);
	assert_true(armv8_cycles_until(&regs, false, 1000) == UINT64_MAX);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(bits_are_set_and_cleared),
	cmocka_unit_test(only_what_is_on_counts),
	cmocka_unit_test(a_wrap_raises_the_line),
	cmocka_unit_test(event_counters_have_32_bits),
	cmocka_unit_test(an_odd_counter_counts_the_wraps_before_it),
};
UNIT_TESTS("armv8_regs", tests)
