/*
 * cpu-clock and task-clock: an event's count is the time while it is scheduled in, and its
 * overflow is a timer (perf_swevent_hrtimer() of the kernel's core.c), never closer than 10 us.
 */
#include "softperf/core.h"

#include <errno.h>

enum { TIMER_LEAST_NS = 10000 };

static int clock_event_init(struct core_event *event, uint64_t config)
{
	if (event->attr.type != PERF_TYPE_SOFTWARE || event->attr.config != config)
		return -ENOENT;
	/* Clocks know their frequency: the period is constant. */
	if (event->hw.freq) {
		event->hw.freq = false;
		event->attr.sample_period = 1000000000u / event->attr.sample_period;
		event->attr.flags &= ~ATTR_FREQ;
		event->hw.sample_period = event->hw.last_period = event->attr.sample_period;
		event->hw.period_left = (int64_t)event->hw.sample_period;
	}
	return 0;
}

static int cpu_clock_init(struct core_pmu *pmu, struct core_event *event)
{
	(void)pmu;
	return clock_event_init(event, PERF_COUNT_SW_CPU_CLOCK);
}

static int task_clock_init(struct core_pmu *pmu, struct core_event *event)
{
	(void)pmu;
	return clock_event_init(event, PERF_COUNT_SW_TASK_CLOCK);
}

static uint64_t timer_period(const struct core_event *event)
{
	uint64_t period = event->hw.sample_period;

	return period < TIMER_LEAST_NS ? TIMER_LEAST_NS : period;
}

static void clock_read(struct core_event *event)
{
	event->count += event->core->mono_ns - event->hw.prev;
	event->hw.prev = event->core->mono_ns;
}

static void clock_start(struct core_event *event, int flags)
{
	struct core_hw *hw = &event->hw;
	uint64_t period = timer_period(event);

	(void)flags;
	hw->prev = event->core->mono_ns;
	hw->stopped = false;
	if (!event->attr.sample_period)
		return;
	if (hw->period_left)
		period = hw->period_left < 0 ? TIMER_LEAST_NS : (uint64_t)hw->period_left;
	hw->period_left = 0;
	hw->deadline = event->core->mono_ns + period;
}

static void clock_stop(struct core_event *event, int flags)
{
	(void)flags;
	clock_read(event);
	if (event->hw.stopped)
		return;
	event->hw.stopped = true;
	if (event->attr.sample_period)
		event->hw.period_left = (int64_t)(event->hw.deadline - event->core->mono_ns);
}

static int clock_add(struct core_event *event, int flags)
{
	event->hw.prev = event->core->mono_ns;
	if (flags & CORE_EF_START)
		clock_start(event, flags);
	return 0;
}

static bool has_timer(const struct core_pmu *pmu, const struct core_event *event)
{
	return event->pmu == pmu && event->state == CORE_ACTIVE && !event->hw.stopped &&
	       event->attr.sample_period;
}

static uint64_t clock_until(struct core_pmu *pmu, int cpu)
{
	struct core_event *event = NULL;
	uint64_t least = CORE_NEVER, now = pmu->core->mono_ns;

	while ((event = core_cpu_events(pmu->core, cpu, event))) {
		if (!has_timer(pmu, event))
			continue;
		if (event->hw.deadline <= now)
			return 0;
		if (event->hw.deadline - now < least)
			least = event->hw.deadline - now;
	}
	return least;
}

static void timer_fires(struct core_event *event, const struct core_frame *frame, bool idle)
{
	core_trace(event->core, "interrupt", "the timer of event %llu on cpu %d",
		(unsigned long long)event->id, event->on_cpu);
	clock_read(event);
	event->hw.deadline += timer_period(event);
	if (core_excluded(event, frame) || (idle && event->attr.flags & ATTR_EXCLUDE_IDLE))
		return;
	if (core_overflow(event, true, event->hw.last_period, frame) &&
		event->state == CORE_ACTIVE) {
		event->hw.stopped = true; /* HRTIMER_NORESTART */
		event->hw.period_left = 0;
	}
}

static void clock_interrupt(struct core_pmu *pmu, int cpu)
{
	struct core_cpu *c = &pmu->core->cpus[cpu];
	struct core_event *event = NULL;

	while ((event = core_cpu_events(pmu->core, cpu, event)))
		if (has_timer(pmu, event) && event->hw.deadline <= pmu->core->mono_ns)
			timer_fires(event, &c->frame, !c->current);
}

int core_cpu_clock_register(struct core *core)
{
	struct core_pmu pmu = {
		.name = "cpu_clock",
		.type = CORE_PMU_DYNAMIC,
		.software = true,
		.event_init = cpu_clock_init,
		.add = clock_add,
		.del = clock_stop,
		.start = clock_start,
		.stop = clock_stop,
		.read = clock_read,
		.until = clock_until,
		.interrupt = clock_interrupt,
	};
	int rc = core_pmu_register(core, &pmu);

	pmu.name = "task_clock";
	pmu.event_init = task_clock_init;
	return rc < 0 ? rc : core_pmu_register(core, &pmu);
}
