/*
 * Software events: page-faults, context-switches, dummy. Nothing interrupts: what happens is
 * counted where it happens (perf_swevent_event() of the kernel's core.c).
 *
 * Unlike a counter, period_left of these events counts up from -period to 0.
 */
#include "softperf/core.h"

#include <errno.h>

static int sw_event_init(struct core_pmu *pmu, struct core_event *event)
{
	(void)pmu;
	if (event->attr.type != PERF_TYPE_SOFTWARE)
		return -ENOENT;
	switch (event->attr.config) {
	case PERF_COUNT_SW_PAGE_FAULTS:
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
	case PERF_COUNT_SW_DUMMY:
		return 0;
	default:
		return -ENOENT;
	}
}

/* How many periods have gone by; period_left goes below zero again. */
static uint64_t next_period(struct core_event *event)
{
	struct core_hw *hw = &event->hw;
	uint64_t period = hw->sample_period, n;

	hw->last_period = period;
	if (hw->period_left < 0)
		return 0;
	n = (period + (uint64_t)hw->period_left) / period;
	hw->period_left -= (int64_t)(n * period);
	return n;
}

static int sw_add(struct core_event *event, int flags)
{
	event->hw.stopped = !(flags & CORE_EF_START);
	if (event->attr.sample_period) {
		event->hw.last_period = event->hw.sample_period;
		next_period(event);
	}
	return 0;
}

static void sw_del(struct core_event *event, int flags)
{
	(void)event;
	(void)flags;
}

static void sw_start(struct core_event *event, int flags)
{
	(void)flags;
	event->hw.stopped = false;
}

static void sw_stop(struct core_event *event, int flags)
{
	(void)flags;
	event->hw.stopped = true;
}

static void sw_read(struct core_event *event)
{
	(void)event;
}

static void overflows(
	struct core_event *event, uint64_t n, uint64_t period, const struct core_frame *frame)
{
	bool throttle = false;

	if (!n)
		n = next_period(event);
	if (event->hw.interrupts == UINT64_MAX)
		return;
	for (; n; n--) {
		if (core_overflow(event, throttle, period, frame))
			return;
		throttle = true;
	}
}

static void sw_event(struct core_event *event, uint64_t nr, const struct core_frame *frame)
{
	struct core_hw *hw = &event->hw;

	event->count += nr;
	if (!event->attr.sample_period)
		return;
	/* With PERIOD every happening is a sample that says how many it stands for. */
	if (event->attr.sample_type & PERF_SAMPLE_PERIOD && !hw->freq) {
		overflows(event, 1, nr, frame);
		return;
	}
	if (nr == 1 && hw->sample_period == 1 && !hw->freq) {
		overflows(event, 1, hw->last_period, frame);
		return;
	}
	hw->period_left += (int64_t)nr;
	if (hw->period_left >= 0)
		overflows(event, 0, hw->last_period, frame);
}

void core_software(struct core *core, int cpu, uint64_t config, uint64_t nr,
	const struct core_frame *frame)
{
	struct core_event *event = NULL;

	while ((event = core_cpu_events(core, cpu, event)))
		if (event->state == CORE_ACTIVE && !event->hw.stopped &&
			event->attr.type == PERF_TYPE_SOFTWARE &&
			event->attr.config == config && !core_excluded(event, frame))
			sw_event(event, nr, frame);
}

void core_fault(struct core *core, int cpu, uint64_t addr)
{
	struct core_frame frame = core->cpus[cpu].frame;

	frame.addr = addr;
	core_software(core, cpu, PERF_COUNT_SW_PAGE_FAULTS, 1, &frame);
	core_software(core, cpu, PERF_COUNT_SW_PAGE_FAULTS_MIN, 1, &frame);
}

int core_software_register(struct core *core)
{
	static const struct core_pmu software = {
		.name = "software",
		.type = PERF_TYPE_SOFTWARE,
		.software = true,
		.event_init = sw_event_init,
		.add = sw_add,
		.del = sw_del,
		.start = sw_start,
		.stop = sw_stop,
		.read = sw_read,
	};

	return core_pmu_register(core, &software);
}
