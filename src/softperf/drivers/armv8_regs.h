/*
 * The registers of one CPU's PMU, as the ARMv8 manual has them (D11, "The Performance Monitors
 * Extension"): a cycle counter of 64 bits and up to 6 event counters of 32, of which an odd one
 * may count how often the one before it has wrapped (CHAIN).
 *
 * Pure: the driver writes and reads registers, the machine says what the CPU did, and the
 * interrupt line is a function of the state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ARMV8_COUNTERS = 6, ARMV8_CYCLE_IDX = 31 };

enum armv8_reg {
	PMCR_EL0,
	PMCNTENSET_EL0,
	PMCNTENCLR_EL0,
	PMINTENSET_EL1,
	PMINTENCLR_EL1,
	PMOVSSET_EL0,
	PMOVSCLR_EL0,
	PMSELR_EL0,
	PMCCNTR_EL0,
	PMCCFILTR_EL0,
	PMXEVTYPER_EL0,
	PMXEVCNTR_EL0,
};

#define PMCR_E		(1u << 0) /* all counters on */
#define PMCR_P		(1u << 1) /* reset event counters */
#define PMCR_C		(1u << 2) /* reset the cycle counter */
#define PMCR_LC		(1u << 6) /* the cycle counter overflows at 64 bits */
#define PMCR_N_SHIFT	11
#define PMEVTYPER_P	(1u << 31) /* do not count at EL1 */
#define PMEVTYPER_U	(1u << 30) /* do not count at EL0 */
#define PMEVTYPER_EVENT 0xffffu

enum {
	ARMV8_EVENT_INST_RETIRED = 0x08,
	ARMV8_EVENT_CPU_CYCLES = 0x11,
	ARMV8_EVENT_CHAIN = 0x1e,
};

struct armv8_regs {
	uint32_t pmcr, enabled, interrupts, overflowed, selected;
	uint32_t type[ARMV8_COUNTERS], cycle_filter;
	uint32_t counter[ARMV8_COUNTERS];
	uint64_t cycles;
};

void armv8_reset(struct armv8_regs *regs, uint32_t counters);
void armv8_write(struct armv8_regs *regs, enum armv8_reg reg, uint64_t value);
uint64_t armv8_read(const struct armv8_regs *regs, enum armv8_reg reg);

/* The interrupt line: a counter has overflowed that may interrupt, and the PMU is on. */
bool armv8_line(const struct armv8_regs *regs);

/* The CPU ran: what the counters that are on and not filtered see. */
void armv8_run(struct armv8_regs *regs, bool kernel, uint64_t cycles, uint64_t instructions);

/* How many cycles at `instructions_per_1000` instructions each 1,000 until the line rises. */
uint64_t armv8_cycles_until(
	const struct armv8_regs *regs, bool kernel, uint64_t instructions_per_1000);
