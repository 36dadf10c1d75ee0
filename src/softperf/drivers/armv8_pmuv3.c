/*
 * armv8_pmuv3: counters count up and interrupt when they wrap, so a period is set by writing
 * minus the period.
 *
 *     add: find a counter, program its event, set_period, enable
 *     interrupt: read and clear PMOVSCLR; PMCR.E = 0; each overflowed counter: update the
 *                count, set the next period, perf_event_overflow(); PMCR.E = 1
 *
 * Cycles take the cycle counter while it is free, which leaves the others to other events.
 *
 * An event counter has 32 bits, and so has the period; the cycle counter has 64, and is used as
 * if its upper half had run out already. An event that asks for 64 bits (format/long: config1
 * bit 0) gets the whole cycle counter, or a pair of counters: the even one counts the event,
 * the odd one its wraps (CHAIN), and the odd one's interrupt is the event's.
 *
 *     idx - 1 (even)  idx (odd)             config1:0 = 1, hw.idx = idx
 *     [ event, low ] -> [ CHAIN, high ] -> PMOVSSET, bit idx
 */
#include "softperf/drivers/armv8_pmuv3.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * From the overflow to the handler. It matters: the kernel's frequency mode starts at a period
 * of 1 and would be thrown far off by interrupts that follow each other without any time.
 */
enum { INTERRUPT_NS = 2000 };

struct armv8_cpu {
	struct armv8_regs regs;
	uint64_t due_ns; /* the line is up: when the handler will run; 0: it is not */
	struct core_event
		*events[ARMV8_CYCLE_IDX + 1];	 /* by counter; a pair's is the odd one */
	uint32_t used;				 /* counters, by bit */
	uint64_t cycles_left, instructions_left; /* thousandths that are no whole one yet */
};

struct armv8_pmu {
	struct armv8_node node;
	uint32_t counters;
	struct armv8_cpu cpus[CORE_CPUS_MAX];
};

static struct armv8_cpu *cpu_of(const struct core_event *event)
{
	return &((struct armv8_pmu *)event->pmu->data)->cpus[event->on_cpu];
}

/* armv8_pmuv3_perf_map[] and raw event numbers */
static int event_number(const struct core_pmu *pmu, const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_HARDWARE) {
		if (attr->config == PERF_COUNT_HW_CPU_CYCLES)
			return ARMV8_EVENT_CPU_CYCLES;
		if (attr->config == PERF_COUNT_HW_INSTRUCTIONS)
			return ARMV8_EVENT_INST_RETIRED;
		return attr->config > PERF_COUNT_HW_REF_CPU_CYCLES ? -EINVAL : -ENOENT;
	}
	if (attr->type == PERF_TYPE_RAW || attr->type == pmu->type)
		return (int)(attr->config & PMEVTYPER_EVENT);
	return -ENOENT;
}

/* armv8pmu_event_is_64bit() */
static bool is_long(const struct core_event *event)
{
	return event->attr.config1 & 1;
}

/* armv8pmu_event_is_chained() */
static bool is_chained(const struct core_event *event)
{
	return is_long(event) && event->hw.idx != ARMV8_CYCLE_IDX;
}

/* arm_pmu_event_max_period() */
static uint64_t max_period(const struct core_event *event)
{
	return is_long(event) ? UINT64_MAX : UINT32_MAX;
}

/*
 * armv8pmu_get_event_idx(): takes from the bits of those that are taken. -EAGAIN: none is
 * left.
 */
static int counter_take(
	const struct core_pmu *pmu, const struct core_event *event, uint32_t *used)
{
	uint32_t counters = ((const struct armv8_pmu *)pmu->data)->counters;
	uint32_t step = is_long(event) ? 2 : 1;

	if (event_number(pmu, &event->attr) == ARMV8_EVENT_CPU_CYCLES &&
		!(*used >> ARMV8_CYCLE_IDX)) {
		*used |= 1u << ARMV8_CYCLE_IDX;
		return ARMV8_CYCLE_IDX;
	}
	for (uint32_t i = 0; i + step <= counters; i += step) {
		uint32_t bits = (step == 2 ? 3u : 1u) << i;

		if (*used & bits)
			continue;
		*used |= bits;
		return (int)(i + step - 1);
	}
	return -EAGAIN;
}

static bool has_room(const struct core_pmu *pmu, const struct core_event *event, uint32_t *used)
{
	/* Somebody else's, or one that rests and may never run with the others. */
	if (event_number(pmu, &event->attr) < 0 ||
		(event->state == CORE_OFF && !(event->attr.flags & ATTR_ENABLE_ON_EXEC)))
		return true;
	return counter_take(pmu, event, used) >= 0;
}

/* validate_group(): could the leader, its siblings and this one ever count together? */
static bool group_fits(const struct core_pmu *pmu, const struct core_event *event)
{
	uint32_t used = 0;

	for (const struct core_event *e = event->leader; e; e = e->next_sibling)
		if (!has_room(pmu, e, &used))
			return false;
	return event->leader == event || has_room(pmu, event, &used);
}

static int armv8_event_init(struct core_pmu *pmu, struct core_event *event)
{
	int number = event_number(pmu, &event->attr);

	if (number < 0)
		return number;
	/* The filter knows exception levels, no tasks. */
	if (event->attr.flags & ATTR_EXCLUDE_IDLE)
		return -EOPNOTSUPP;
	if (!group_fits(pmu, event))
		return -EINVAL;
	if (event->attr.sample_period && pmu->no_interrupt)
		return -EOPNOTSUPP;
	/* A count without samples still must not miss a wrap. */
	if (!event->attr.sample_period) {
		event->hw.sample_period = max_period(event) >> 1;
		event->hw.last_period = event->hw.sample_period;
		event->hw.period_left = (int64_t)event->hw.sample_period;
	}
	return 0;
}

static uint32_t register_read(struct armv8_cpu *cpu, int idx)
{
	armv8_write(&cpu->regs, PMSELR_EL0, (uint64_t)idx);
	return (uint32_t)armv8_read(&cpu->regs, PMXEVCNTR_EL0);
}

static void register_write(struct armv8_cpu *cpu, int idx, enum armv8_reg reg, uint64_t value)
{
	armv8_write(&cpu->regs, PMSELR_EL0, (uint64_t)idx);
	armv8_write(&cpu->regs, reg, value);
}

/* armv8pmu_read_counter() */
static uint64_t counter_read(const struct core_event *event)
{
	struct armv8_cpu *cpu = cpu_of(event);
	int idx = event->hw.idx;

	if (idx == ARMV8_CYCLE_IDX)
		return armv8_read(&cpu->regs, PMCCNTR_EL0) & max_period(event);
	if (is_chained(event))
		return (uint64_t)register_read(cpu, idx) << 32 | register_read(cpu, idx - 1);
	return register_read(cpu, idx);
}

/* armv8pmu_write_counter(); the cycle counter overflows at 64 bits, whatever the event has. */
static void counter_write(const struct core_event *event, uint64_t value)
{
	struct armv8_cpu *cpu = cpu_of(event);
	int idx = event->hw.idx;

	if (idx == ARMV8_CYCLE_IDX) {
		armv8_write(&cpu->regs, PMCCNTR_EL0, value | ~max_period(event));
		return;
	}
	if (is_chained(event)) {
		register_write(cpu, idx, PMXEVCNTR_EL0, value >> 32);
		idx--;
	}
	register_write(cpu, idx, PMXEVCNTR_EL0, value & UINT32_MAX);
}

/* armpmu_event_update() */
static void armv8_update(struct core_event *event)
{
	uint64_t now = counter_read(event);
	uint64_t delta = (now - event->hw.prev) & max_period(event);

	event->hw.prev = now;
	event->count += delta;
	event->hw.period_left -= (int64_t)delta;
}

static void armv8_event_read(struct core_event *event)
{
	if (event->hw.idx >= 0)
		armv8_update(event);
}

/* armpmu_event_set_period(): true when a period has ended */
static bool armv8_set_period(struct core_event *event)
{
	struct core_hw *hw = &event->hw;
	int64_t left = hw->period_left, period = (int64_t)hw->sample_period;
	uint64_t most = max_period(event) >> 1;
	bool ended = false;

	if (left <= -period) {
		left = period;
		hw->period_left = left;
		hw->last_period = hw->sample_period;
		ended = true;
	}
	if (left <= 0) {
		left += period;
		hw->period_left = left;
		hw->last_period = hw->sample_period;
		ended = true;
	}
	/* Half of the counter, so that the interrupt may be late. */
	if ((uint64_t)left > most)
		left = (int64_t)most;
	hw->prev = (uint64_t)-left & max_period(event);
	counter_write(event, hw->prev);
	core_trace(event->core, "driver", "set_period(): %s = -%lld (%#llx)",
		hw->idx == ARMV8_CYCLE_IDX ? "PMCCNTR" : "PMXEVCNTR", (long long)left,
		(unsigned long long)hw->prev);
	return ended;
}

/* The bits of the event's counters; its interrupt is the last one's. */
static uint32_t counter_bits(const struct core_event *event)
{
	return is_chained(event) ? 3u << (event->hw.idx - 1) : 1u << event->hw.idx;
}

static void counter_enable(struct core_event *event)
{
	struct armv8_cpu *cpu = cpu_of(event);
	uint32_t type = (uint32_t)event_number(event->pmu, &event->attr);
	int idx = event->hw.idx;

	armv8_write(&cpu->regs, PMCNTENCLR_EL0, counter_bits(event));
	if (event->attr.flags & ATTR_EXCLUDE_KERNEL)
		type |= PMEVTYPER_P;
	if (event->attr.flags & ATTR_EXCLUDE_USER)
		type |= PMEVTYPER_U;
	if (idx == ARMV8_CYCLE_IDX)
		armv8_write(&cpu->regs, PMCCFILTR_EL0, type);
	else if (is_chained(event)) {
		register_write(cpu, idx - 1, PMXEVTYPER_EL0, type);
		register_write(cpu, idx, PMXEVTYPER_EL0, ARMV8_EVENT_CHAIN);
	} else {
		register_write(cpu, idx, PMXEVTYPER_EL0, type);
	}
	armv8_write(&cpu->regs, PMINTENSET_EL1, 1u << idx);
	armv8_write(&cpu->regs, PMCNTENSET_EL0, counter_bits(event));
	core_trace(event->core, "driver",
		"PMINTENSET %#x: it may interrupt; PMCNTENSET %#x: it counts", 1u << idx,
		counter_bits(event));
}

static void counter_disable(struct core_event *event)
{
	struct armv8_regs *regs = &cpu_of(event)->regs;

	armv8_write(regs, PMCNTENCLR_EL0, counter_bits(event));
	armv8_write(regs, PMINTENCLR_EL1, 1u << event->hw.idx);
	armv8_write(regs, PMOVSCLR_EL0, counter_bits(event));
}

static void armv8_start(struct core_event *event, int flags)
{
	(void)flags;
	event->hw.stopped = false;
	/* Always: the counter may have been stopped with its interrupt pending. */
	armv8_set_period(event);
	counter_enable(event);
}

static void armv8_stop(struct core_event *event, int flags)
{
	(void)flags;
	if (event->hw.stopped)
		return;
	counter_disable(event);
	armv8_update(event);
	event->hw.stopped = true;
}

static int armv8_add(struct core_event *event, int flags)
{
	struct armv8_cpu *cpu = cpu_of(event);
	int idx = counter_take(event->pmu, event, &cpu->used);

	if (idx < 0)
		return idx;
	event->hw.idx = idx;
	cpu->events[idx] = event;
	event->hw.stopped = true;
	core_trace(event->core, "driver", "armv8_pmuv3: event %llu gets %s %d%s",
		(unsigned long long)event->id,
		idx == ARMV8_CYCLE_IDX ? "the cycle counter, bit" : "counter", idx,
		is_chained(event) ? ", chained to the one before" : "");
	if (flags & CORE_EF_START)
		armv8_start(event, CORE_EF_RELOAD);
	return 0;
}

static void armv8_del(struct core_event *event, int flags)
{
	(void)flags;
	armv8_stop(event, CORE_EF_UPDATE);
	cpu_of(event)->events[event->hw.idx] = NULL;
	cpu_of(event)->used &= ~counter_bits(event);
	event->hw.idx = -1;
}

static void armv8_enable(struct core_pmu *pmu, int cpu)
{
	struct armv8_regs *regs = &((struct armv8_pmu *)pmu->data)->cpus[cpu].regs;

	armv8_write(regs, PMCR_EL0, armv8_read(regs, PMCR_EL0) | PMCR_E);
}

static void armv8_disable(struct core_pmu *pmu, int cpu)
{
	struct armv8_regs *regs = &((struct armv8_pmu *)pmu->data)->cpus[cpu].regs;

	armv8_write(regs, PMCR_EL0, armv8_read(regs, PMCR_EL0) & ~(uint64_t)PMCR_E);
}

/* armv8pmu_handle_irq() */
static void armv8_interrupt(struct core_pmu *pmu, int cpu)
{
	struct armv8_cpu *state = &((struct armv8_pmu *)pmu->data)->cpus[cpu];
	uint32_t overflowed = (uint32_t)armv8_read(&state->regs, PMOVSCLR_EL0);

	armv8_write(&state->regs, PMOVSCLR_EL0, overflowed);
	state->due_ns = 0;
	if (!overflowed)
		return;
	core_trace(pmu->core, "interrupt",
		"armv8_pmuv3 on cpu %d, %u ns after the wrap: PMOVSCLR %#x, PMCR.E = 0", cpu,
		(unsigned)INTERRUPT_NS, overflowed);
	armv8_disable(pmu, cpu);
	for (int idx = 0; idx <= ARMV8_CYCLE_IDX; idx++) {
		struct core_event *event = state->events[idx];

		if (!event || !(overflowed >> idx & 1))
			continue;
		armv8_update(event);
		core_trace(pmu->core, "driver", "event %llu has counted %llu",
			(unsigned long long)event->id, (unsigned long long)event->count);
		if (!armv8_set_period(event))
			continue;
		if (core_overflow(
			    event, true, event->hw.last_period, &pmu->core->cpus[cpu].frame) &&
			event->state == CORE_ACTIVE)
			armv8_stop(event, 0);
	}
	armv8_enable(pmu, cpu);
}

/* ---- the hardware's side */

static bool cpu_runs(const struct core_pmu *pmu, int cpu)
{
	return pmu->core->cpus[cpu].current != NULL;
}

static uint64_t armv8_until(struct core_pmu *pmu, int cpu)
{
	const struct armv8_pmu *armv8 = pmu->data;
	const struct armv8_cpu *state = &armv8->cpus[cpu];
	uint64_t now = pmu->core->mono_ns, cycles;

	if (state->due_ns)
		return state->due_ns > now ? state->due_ns - now : 0;
	cycles = armv8_cycles_until(&state->regs, pmu->core->cpus[cpu].frame.kernel,
		armv8->node.instructions_per_1000);
	if (!cycles)
		return 0;
	/* At most an hour: nothing below overflows. */
	if (!cpu_runs(pmu, cpu) || cycles > armv8->node.cpu_mhz * 3600000000u)
		return CORE_NEVER;
	return (cycles * 1000 - state->cycles_left + armv8->node.cpu_mhz - 1) /
	       armv8->node.cpu_mhz;
}

static void armv8_advance(struct core_pmu *pmu, int cpu, uint64_t ns)
{
	const struct armv8_pmu *armv8 = pmu->data;
	struct armv8_cpu *state = &((struct armv8_pmu *)pmu->data)->cpus[cpu];
	uint64_t cycles, instructions;

	if (!cpu_runs(pmu, cpu))
		return;
	cycles = ns * armv8->node.cpu_mhz + state->cycles_left;
	state->cycles_left = cycles % 1000;
	cycles /= 1000;
	instructions = cycles * armv8->node.instructions_per_1000 + state->instructions_left;
	state->instructions_left = instructions % 1000;
	armv8_run(&state->regs, pmu->core->cpus[cpu].frame.kernel, cycles, instructions / 1000);
	if (!state->due_ns && armv8_line(&state->regs))
		state->due_ns = pmu->core->mono_ns + INTERRUPT_NS;
}

static void armv8_free(struct core_pmu *pmu)
{
	free(pmu->data);
}

/* ---- probing */

static void hardware_reset(struct core *core, struct armv8_pmu *armv8)
{
	for (uint32_t cpu = 0; cpu < core->options.cpus; cpu++) {
		struct armv8_regs *regs = &armv8->cpus[cpu].regs;

		armv8_reset(regs, armv8->node.counters);
		armv8_write(regs, PMCNTENCLR_EL0, UINT32_MAX);
		armv8_write(regs, PMINTENCLR_EL1, UINT32_MAX);
		armv8_write(regs, PMCR_EL0, PMCR_P | PMCR_C | PMCR_LC);
		armv8->counters = armv8_read(regs, PMCR_EL0) >> PMCR_N_SHIFT & 31;
	}
}

int armv8_probe(struct core *core, const struct armv8_node *node)
{
	struct core_pmu pmu = {
		.name = "armv8_pmuv3",
		.type = CORE_PMU_DYNAMIC,
		.no_interrupt = node->interrupts < core->options.cpus,
		.event_init = armv8_event_init,
		.add = armv8_add,
		.del = armv8_del,
		.start = armv8_start,
		.stop = armv8_stop,
		.read = armv8_event_read,
		.enable = armv8_enable,
		.disable = armv8_disable,
		.until = armv8_until,
		.advance = armv8_advance,
		.interrupt = armv8_interrupt,
		.free = armv8_free,
	};
	struct armv8_pmu *armv8;
	int rc;

	if (strcmp(node->compatible, "arm,armv8-pmuv3") != 0)
		return -ENODEV;
	if (!node->cpu_mhz || node->cpu_mhz > 100000 || node->counters > ARMV8_COUNTERS ||
		node->instructions_per_1000 > 100000)
		return -EINVAL;
	armv8 = calloc(1, sizeof(*armv8));
	if (!armv8)
		return -ENOMEM;
	armv8->node = *node;
	hardware_reset(core, armv8);
	pmu.data = armv8;
	core_trace(core, "probe", "compatible \"%s\": PMCR.N says %u counters and cycles",
		node->compatible, armv8->counters);
	rc = core_pmu_register(core, &pmu);
	if (rc < 0)
		free(armv8);
	return rc;
}
