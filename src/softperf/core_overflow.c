/*
 * What happens when a counter has overflowed: __perf_event_overflow() and the tick's half.
 *
 *     overflow: count interrupts in this tick --too many--> THROTTLE, the event stops
 *               frequency: the period follows the distance of two overflows
 *               REFRESH's limit; write the sample
 *     tick:     UNTHROTTLE and start; frequency: the period follows what was counted;
 *               who found no counter has his turn (rotation)
 */
#include "softperf/core.h"

#define NS_PER_SEC     1000000000ull
#define MAX_INTERRUPTS UINT64_MAX

/* Its events and its task's, in one walk. */
struct core_event *core_cpu_events(struct core *core, int cpu, struct core_event *after)
{
	struct core_cpu *c = &core->cpus[cpu];

	if (after && after->next_in_context)
		return after->next_in_context;
	if (!after && c->ctx.first)
		return c->ctx.first;
	if ((!after || after->ctx == &c->ctx) && c->current)
		return c->current->ctx->first;
	return NULL;
}

bool core_excluded(const struct core_event *event, const struct core_frame *frame)
{
	return (frame->kernel && event->attr.flags & ATTR_EXCLUDE_KERNEL) ||
	       (!frame->kernel && event->attr.flags & ATTR_EXCLUDE_USER);
}

/* So many counts in so many ns, at this frequency: how many counts to a sample? */
static uint64_t calculate_period(const struct core_event *event, uint64_t ns, uint64_t count)
{
	unsigned __int128 dividend = (unsigned __int128)count * NS_PER_SEC;
	unsigned __int128 divisor = (unsigned __int128)ns * event->attr.sample_period;
	unsigned __int128 period = divisor ? dividend / divisor : dividend;

	return period >> 62 ? 1ull << 62 : (uint64_t)period;
}

static void adjust_period(struct core_event *event, uint64_t ns, uint64_t count, bool disable)
{
	struct core_hw *hw = &event->hw;
	int64_t delta = (int64_t)(calculate_period(event, ns, count) - hw->sample_period);

	/* A low-pass filter, rounded away from zero. */
	delta = (delta >= 0 ? delta + 7 : delta - 7) / 8;
	hw->sample_period += (uint64_t)delta;
	if (!hw->sample_period)
		hw->sample_period = 1;
	if (hw->period_left <= (int64_t)(8 * hw->sample_period))
		return;
	if (disable)
		event->pmu->stop(event, CORE_EF_UPDATE);
	hw->period_left = 0;
	if (disable)
		event->pmu->start(event, CORE_EF_RELOAD);
}

static bool account(struct core_event *event, bool throttle)
{
	struct core *core = event->core;
	struct core_hw *hw = &event->hw;
	uint64_t seq = core->cpus[event->on_cpu].throttle_seq;
	uint64_t hz = core->options.tick_hz;
	uint64_t most = (core->options.max_sample_rate + hz - 1) / hz;
	bool stop = false;
	uint64_t delta;

	if (seq != hw->interrupts_seq) {
		hw->interrupts_seq = seq;
		hw->interrupts = 1;
	} else {
		hw->interrupts++;
	}
	if (throttle && hw->interrupts >= most) {
		hw->interrupts = MAX_INTERRUPTS;
		core_trace(core, "overflow", "the %lluth interrupt in this tick: throttled",
			(unsigned long long)most);
		core_write_throttle(event, false);
		stop = true;
	}
	if (hw->freq) {
		delta = core->mono_ns - hw->freq_stamp_ns;
		hw->freq_stamp_ns = core->mono_ns;
		if (delta > 0 && delta < 2 * NS_PER_SEC / hz)
			adjust_period(event, delta, hw->last_period, true);
	}
	return stop;
}

bool core_overflow(struct core_event *event, bool throttle, uint64_t period,
	const struct core_frame *frame)
{
	bool stop, last = false;

	if (!event->attr.sample_period)
		return false;
	core_trace(event->core, "overflow", "event %llu: perf_event_overflow(), period %llu",
		(unsigned long long)event->id, (unsigned long long)period);
	stop = account(event, throttle);
	if (event->limit)
		last = --event->limit == 0;
	core_write_sample(event, period, frame);
	/* The kernel leaves it to an irq_work, which runs right behind the interrupt. */
	if (last)
		core_event_disable(event);
	return stop || last;
}

static void tick_event(struct core_event *event)
{
	struct core_hw *hw = &event->hw;
	uint64_t before, delta;

	if (event->state != CORE_ACTIVE)
		return;
	if (hw->interrupts == MAX_INTERRUPTS) {
		hw->interrupts = 0;
		core_write_throttle(event, true);
		if (!hw->freq)
			event->pmu->start(event, 0);
	}
	if (!hw->freq)
		return;
	event->pmu->stop(event, CORE_EF_UPDATE);
	before = hw->freq_count_stamp;
	hw->freq_count_stamp = event->count;
	delta = event->count - before;
	if (delta > 0)
		adjust_period(event, NS_PER_SEC / event->core->options.tick_hz, delta, false);
	event->pmu->start(event, delta > 0 ? CORE_EF_RELOAD : 0);
}

void core_tick(struct core *core, int cpu)
{
	struct core_cpu *c = &core->cpus[cpu];
	struct core_event *event = NULL;

	c->throttle_seq++;
	while ((event = core_cpu_events(core, cpu, event)))
		tick_event(event);
	core_context_rotate(core, &c->ctx);
	if (c->current)
		core_context_rotate(core, c->current->ctx);
}
