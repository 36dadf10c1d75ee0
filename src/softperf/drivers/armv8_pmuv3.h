/* The driver of the ARMv8 PMU: drivers/perf/arm_pmuv3.c and arm_pmu.c over armv8_regs.h. */
#pragma once

#include "softperf/core.h"
#include "softperf/drivers/armv8_regs.h"

/*
 * What the device tree says:
 *
 *     pmu { compatible = "arm,cortex-a57-pmu", "arm,armv8-pmuv3"; interrupts = <1 7 4>; };
 *
 * and what the simulated CPUs are like.
 */
struct armv8_node {
	const char *compatible;		/* "arm,armv8-pmuv3" */
	uint32_t interrupts;		/* a line for each CPU; fewer: the PMU cannot sample */
	uint32_t counters;		/* event counters that the hardware has, to 6 */
	uint64_t cpu_mhz;		/* cycles per us of a CPU that is not idle */
	uint32_t instructions_per_1000; /* cycles */
};

/* Resets the hardware, counts its counters and registers "armv8_pmuv3". -ENODEV: not this node.
 */
int armv8_probe(struct core *core, const struct armv8_node *node);
