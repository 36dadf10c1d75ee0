#include "softperf/drivers/armv8_regs.h"

#include <string.h>

#define CYCLE_BIT (1u << ARMV8_CYCLE_IDX)

void armv8_reset(struct armv8_regs *regs, uint32_t counters)
{
	memset(regs, 0, sizeof(*regs));
	regs->pmcr = counters << PMCR_N_SHIFT;
}

static uint32_t counters_of(const struct armv8_regs *regs)
{
	return regs->pmcr >> PMCR_N_SHIFT & 31;
}

/* The bits of the counters that there are. */
static uint32_t counter_mask(const struct armv8_regs *regs)
{
	return CYCLE_BIT | ((1u << counters_of(regs)) - 1);
}

static void write_pmcr(struct armv8_regs *regs, uint32_t value)
{
	if (value & PMCR_P)
		memset(regs->counter, 0, sizeof(regs->counter));
	if (value & PMCR_C)
		regs->cycles = 0;
	regs->pmcr = (regs->pmcr & 31u << PMCR_N_SHIFT) | (value & (PMCR_E | PMCR_LC));
}

void armv8_write(struct armv8_regs *regs, enum armv8_reg reg, uint64_t value)
{
	uint32_t bits = (uint32_t)value & counter_mask(regs), at = regs->selected;
	bool there = at < counters_of(regs);

	switch (reg) {
	case PMCR_EL0:
		write_pmcr(regs, (uint32_t)value);
		break;
	case PMCNTENSET_EL0:
		regs->enabled |= bits;
		break;
	case PMCNTENCLR_EL0:
		regs->enabled &= ~bits;
		break;
	case PMINTENSET_EL1:
		regs->interrupts |= bits;
		break;
	case PMINTENCLR_EL1:
		regs->interrupts &= ~bits;
		break;
	case PMOVSSET_EL0:
		regs->overflowed |= bits;
		break;
	case PMOVSCLR_EL0:
		regs->overflowed &= ~bits;
		break;
	case PMSELR_EL0:
		regs->selected = (uint32_t)value & 31;
		break;
	case PMCCNTR_EL0:
		regs->cycles = value;
		break;
	case PMCCFILTR_EL0:
		regs->cycle_filter = (uint32_t)value & (PMEVTYPER_P | PMEVTYPER_U);
		break;
	case PMXEVTYPER_EL0:
		if (there)
			regs->type[at] = (uint32_t)value;
		else if (at == ARMV8_CYCLE_IDX)
			regs->cycle_filter = (uint32_t)value & (PMEVTYPER_P | PMEVTYPER_U);
		break;
	case PMXEVCNTR_EL0:
		if (there)
			regs->counter[at] = (uint32_t)value;
		break;
	}
}

uint64_t armv8_read(const struct armv8_regs *regs, enum armv8_reg reg)
{
	uint32_t at = regs->selected;
	bool there = at < counters_of(regs);

	switch (reg) {
	case PMCR_EL0:
		return regs->pmcr;
	case PMCNTENSET_EL0:
	case PMCNTENCLR_EL0:
		return regs->enabled;
	case PMINTENSET_EL1:
	case PMINTENCLR_EL1:
		return regs->interrupts;
	case PMOVSSET_EL0:
	case PMOVSCLR_EL0:
		return regs->overflowed;
	case PMSELR_EL0:
		return at;
	case PMCCNTR_EL0:
		return regs->cycles;
	case PMCCFILTR_EL0:
		return regs->cycle_filter;
	case PMXEVTYPER_EL0:
		return there ? regs->type[at] : at == ARMV8_CYCLE_IDX ? regs->cycle_filter : 0;
	case PMXEVCNTR_EL0:
		return there ? regs->counter[at] : 0;
	}
	return 0;
}

bool armv8_line(const struct armv8_regs *regs)
{
	return regs->pmcr & PMCR_E && regs->overflowed & regs->interrupts;
}

static bool counts(const struct armv8_regs *regs, uint32_t idx, uint32_t filter, bool kernel)
{
	return regs->pmcr & PMCR_E && regs->enabled >> idx & 1 &&
	       !(filter & (kernel ? PMEVTYPER_P : PMEVTYPER_U));
}

void armv8_run(struct armv8_regs *regs, bool kernel, uint64_t cycles, uint64_t instructions)
{
	uint64_t carried = 0; /* wraps of the counter before */

	if (counts(regs, ARMV8_CYCLE_IDX, regs->cycle_filter, kernel)) {
		uint64_t before = regs->cycles;
		bool wrapped;

		regs->cycles += cycles;
		wrapped = regs->pmcr & PMCR_LC ? regs->cycles < before
					       : regs->cycles >> 32 != before >> 32;
		if (wrapped)
			regs->overflowed |= CYCLE_BIT;
	}
	for (uint32_t i = 0; i < counters_of(regs); i++) {
		uint64_t value = regs->counter[i], before = carried;

		carried = 0;
		if (!counts(regs, i, regs->type[i], kernel))
			continue;
		switch (regs->type[i] & PMEVTYPER_EVENT) {
		case ARMV8_EVENT_CPU_CYCLES:
			value += cycles;
			break;
		case ARMV8_EVENT_INST_RETIRED:
			value += instructions;
			break;
		case ARMV8_EVENT_CHAIN:
			value += i & 1 ? before : 0;
			break;
		}
		regs->counter[i] = (uint32_t)value;
		carried = value >> 32;
		if (carried)
			regs->overflowed |= 1u << i;
	}
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Cycles until so many of the event have happened. */
static uint64_t cycles_for(uint32_t type, uint64_t events, uint64_t instructions_per_1000)
{
	unsigned __int128 cycles = events;

	if ((type & PMEVTYPER_EVENT) == ARMV8_EVENT_INST_RETIRED && instructions_per_1000)
		cycles = (cycles * 1000 + instructions_per_1000 - 1) / instructions_per_1000;
	else if ((type & PMEVTYPER_EVENT) != ARMV8_EVENT_CPU_CYCLES)
		return UINT64_MAX;
	return cycles > UINT64_MAX ? UINT64_MAX : (uint64_t)cycles;
}

/* Until counter i wraps; a chained one has to wait for the wraps of the one before. */
static uint64_t cycles_until_wrap(
	const struct armv8_regs *regs, uint32_t i, bool kernel, uint64_t instructions_per_1000)
{
	uint64_t left = (1ull << 32) - regs->counter[i];

	if ((regs->type[i] & PMEVTYPER_EVENT) != ARMV8_EVENT_CHAIN)
		return cycles_for(regs->type[i], left, instructions_per_1000);
	if (!(i & 1) || !counts(regs, i - 1, regs->type[i - 1], kernel))
		return UINT64_MAX;
	left = -((uint64_t)regs->counter[i] << 32 | regs->counter[i - 1]);
	return left ? cycles_for(regs->type[i - 1], left, instructions_per_1000) : UINT64_MAX;
}

uint64_t armv8_cycles_until(
	const struct armv8_regs *regs, bool kernel, uint64_t instructions_per_1000)
{
	uint64_t cycles = UINT64_MAX;

	if (armv8_line(regs))
		return 0;
	if (regs->interrupts & CYCLE_BIT &&
		counts(regs, ARMV8_CYCLE_IDX, regs->cycle_filter, kernel))
		cycles = regs->pmcr & PMCR_LC ? -regs->cycles
					      : (1ull << 32) - (uint32_t)regs->cycles;
	for (uint32_t i = 0; i < counters_of(regs); i++)
		if (regs->interrupts >> i & 1 && counts(regs, i, regs->type[i], kernel))
			cycles = least(cycles,
				cycles_until_wrap(regs, i, kernel, instructions_per_1000));
	return cycles;
}
