/*
 * Contexts: which events count now.
 *
 *     OFF --enable--> INACTIVE --sched in: pmu->add--> ACTIVE --sched out: pmu->del--> INACTIVE
 *
 * A context has a clock of its own that runs while it is scheduled in; an event's time_enabled
 * follows it from INACTIVE on, time_running while ACTIVE. A group goes in as a whole or not at
 * all. Where one finds no counters no other is tried, though it may be smaller: they would
 * never let the large one in. They wait for their turn, which the tick brings (rotation):
 *
 *     counters 6   groups A 4, B 4, C 2   tick:  A | -   B C | -   C A | -   A | - ...
 *                                                B and C wait, A waits, B waits
 */
#include "softperf/core.h"

#include <errno.h>
#include <stdlib.h>

void core_context_time(struct core_context *ctx, struct core *core)
{
	if (ctx->cpu >= 0)
		ctx->time += core->mono_ns - ctx->stamp;
	ctx->stamp = core->mono_ns;
}

/* Without its leader a sibling rests, whatever it says itself. */
static enum core_state effective_state(const struct core_event *event)
{
	if (event->leader->state <= CORE_OFF)
		return event->leader->state;
	return event->state;
}

void core_event_time(struct core_event *event)
{
	enum core_state state = effective_state(event);
	uint64_t delta;

	if (!event->ctx)
		return;
	core_context_time(event->ctx, event->core);
	delta = event->ctx->time - event->stamp;
	event->stamp = event->ctx->time;
	if (state >= CORE_INACTIVE)
		event->enabled += delta;
	if (state >= CORE_ACTIVE)
		event->running += delta;
}

static void set_state(struct core_event *event, enum core_state state)
{
	core_event_time(event);
	if (event->leader == event)
		for (struct core_event *s = event->next_sibling; s; s = s->next_sibling)
			core_event_time(s);
	event->state = state;
}

static int event_in(struct core_event *event, int cpu)
{
	struct core_pmu *pmu = event->pmu;
	int rc;

	if (event->hw.interrupts == UINT64_MAX) {
		core_write_throttle(event, true);
		event->hw.interrupts = 0;
	}
	set_state(event, CORE_ACTIVE);
	event->on_cpu = cpu;
	if (pmu->disable)
		pmu->disable(pmu, cpu);
	rc = pmu->add(event, CORE_EF_START);
	if (pmu->enable)
		pmu->enable(pmu, cpu);
	if (rc < 0)
		set_state(event, CORE_INACTIVE);
	if (rc < 0)
		return rc;
	if (event->attr.flags & ATTR_EXCLUSIVE && !pmu->software)
		event->core->cpus[cpu].exclusive = true;
	core_trace(event->core, "sched in", "event %llu: %s->add() on cpu %d",
		(unsigned long long)event->id, pmu->name, cpu);
	return 0;
}

static void event_out(struct core_event *event)
{
	struct core_pmu *pmu = event->pmu;

	if (event->state != CORE_ACTIVE)
		return;
	if (pmu->disable)
		pmu->disable(pmu, event->on_cpu);
	pmu->del(event, CORE_EF_UPDATE);
	if (pmu->enable)
		pmu->enable(pmu, event->on_cpu);
	if (event->attr.flags & ATTR_EXCLUSIVE && !pmu->software)
		event->core->cpus[event->on_cpu].exclusive = false;
	set_state(event, CORE_INACTIVE);
}

static void group_out(struct core_event *leader)
{
	for (struct core_event *s = leader->next_sibling; s; s = s->next_sibling)
		event_out(s);
	event_out(leader);
}

static bool is_pinned(const struct core_event *leader)
{
	return leader->attr.flags & ATTR_PINNED;
}

static bool group_is_software(const struct core_event *leader)
{
	for (const struct core_event *e = leader; e; e = e->next_sibling)
		if (!e->pmu->software)
			return false;
	return true;
}

/* No counter: what is pinned never gets one by turns, the others wait for theirs. */
static void group_waits(struct core_event *leader)
{
	group_out(leader);
	if (is_pinned(leader))
		set_state(leader, CORE_ERROR);
	else
		leader->ctx->rotate = true;
}

/* Of the same kind, pinned or not, and on hardware. */
static bool others_are_on(const struct core_event *leader)
{
	for (const struct core_event *e = leader->ctx->first; e; e = e->next_in_context)
		if (e->leader == e && e->state == CORE_ACTIVE &&
			is_pinned(e) == is_pinned(leader) && !group_is_software(e))
			return true;
	return false;
}

/* group_can_go_on() */
static bool group_can_go_on(const struct core_event *leader, int cpu)
{
	if (group_is_software(leader))
		return true;
	if (leader->core->cpus[cpu].exclusive ||
		(leader->attr.flags & ATTR_EXCLUSIVE && others_are_on(leader)))
		return false;
	return is_pinned(leader) || !leader->ctx->rotate;
}

/* All or nothing. */
static void group_in(struct core_event *leader, int cpu)
{
	if (leader->state != CORE_INACTIVE || (leader->cpu >= 0 && leader->cpu != cpu))
		return;
	if (!group_can_go_on(leader, cpu) || event_in(leader, cpu) < 0) {
		group_waits(leader);
		return;
	}
	for (struct core_event *s = leader->next_sibling; s; s = s->next_sibling)
		if (s->state == CORE_INACTIVE && event_in(s, cpu) < 0) {
			group_waits(leader);
			return;
		}
}

/* One more of a group that counts: without a counter for it the whole group waits. */
static void sibling_in(struct core_event *event, int cpu)
{
	if (event->leader->state == CORE_ACTIVE && event_in(event, cpu) < 0)
		group_waits(event->leader);
}

static void groups_in(struct core_context *ctx, int cpu, bool pinned)
{
	if (!pinned)
		ctx->rotate = false;
	for (struct core_event *event = ctx->first; event; event = event->next_in_context)
		if (event->leader == event && is_pinned(event) == pinned)
			group_in(event, cpu);
}

static void flexible_out(struct core_context *ctx)
{
	for (struct core_event *event = ctx->first; event; event = event->next_in_context)
		if (event->leader == event && !is_pinned(event))
			group_out(event);
}

/* One that comes later: what is pinned goes before all that are not, whoever they follow. */
static void leader_in(struct core_event *leader, int cpu)
{
	struct core_cpu *c = &leader->core->cpus[cpu];
	struct core_context *task = c->current ? c->current->ctx : NULL;

	if (!is_pinned(leader) || group_is_software(leader)) {
		group_in(leader, cpu);
		return;
	}
	if (task)
		flexible_out(task);
	flexible_out(&c->ctx);
	group_in(leader, cpu);
	groups_in(&c->ctx, cpu, false);
	if (task && task->cpu == cpu)
		groups_in(task, cpu, false);
}

void core_context_in(struct core *core, struct core_context *ctx, int cpu)
{
	core_context_time(ctx, core);
	ctx->cpu = cpu;
	groups_in(ctx, cpu, true);
	groups_in(ctx, cpu, false);
}

void core_context_out(struct core *core, struct core_context *ctx)
{
	for (struct core_event *event = ctx->first; event; event = event->next_in_context)
		event_out(event);
	core_context_time(ctx, core);
	if (ctx->task)
		ctx->cpu = -1;
}

/* ctx_event_to_rotate(): the first that has counters; where none has, the first that wants
 * some. */
static struct core_event *group_to_rotate(struct core_context *ctx)
{
	struct core_event *first = NULL;

	for (struct core_event *e = ctx->first; e; e = e->next_in_context) {
		if (e->leader != e || is_pinned(e) || group_is_software(e))
			continue;
		if (e->state == CORE_ACTIVE)
			return e;
		first = first ? first : e;
	}
	return first;
}

static void move_to_end(struct core_context *ctx, struct core_event *event)
{
	struct core_event **link = &ctx->first;

	for (; *link; link = &(*link)->next_in_context)
		if (*link == event) {
			*link = event->next_in_context;
			break;
		}
	event->next_in_context = NULL;
	while (*link)
		link = &(*link)->next_in_context;
	*link = event;
}

/* rotate_ctx(): a group goes behind the others. */
void core_context_rotate(struct core *core, struct core_context *ctx)
{
	struct core_event *group = group_to_rotate(ctx);
	int cpu = ctx->cpu;

	if (!ctx->rotate || cpu < 0 || !group)
		return;
	core_context_out(core, ctx);
	for (; group; group = group->next_sibling) /* its siblings stay behind their leader */
		move_to_end(ctx, group);
	core_context_in(core, ctx, cpu);
}

void core_context_add(struct core_context *ctx, struct core_event *event)
{
	struct core_event **link = &ctx->first;

	while (*link)
		link = &(*link)->next_in_context;
	*link = event;
	event->ctx = ctx;
	core_context_time(ctx, event->core);
	event->stamp = ctx->time;
	if (event->state == CORE_INACTIVE && ctx->cpu >= 0) {
		if (event->leader == event)
			leader_in(event, ctx->cpu);
		else
			sibling_in(event, ctx->cpu);
	}
}

/* A leader's siblings are on their own from then on: perf_group_detach(). */
static void group_leave(struct core_event *event)
{
	struct core_event **link = &event->leader->next_sibling;

	if (event->leader == event) {
		while (event->next_sibling) {
			struct core_event *s = event->next_sibling;

			event->next_sibling = s->next_sibling;
			core_event_time(s);
			s->next_sibling = NULL;
			s->leader = s;
		}
		event->sibling_count = 0;
		return;
	}
	while (*link != event)
		link = &(*link)->next_sibling;
	*link = event->next_sibling;
	event->leader->sibling_count--;
	event->next_sibling = NULL;
	event->leader = event;
}

void core_context_remove(struct core_event *event)
{
	struct core_event **link = &event->ctx->first;

	event_out(event);
	group_leave(event);
	while (*link != event)
		link = &(*link)->next_in_context;
	*link = event->next_in_context;
	event->next_in_context = NULL;
}

void core_event_enable(struct core_event *event)
{
	if ((event->state != CORE_OFF && event->state != CORE_ERROR) || !event->ctx)
		return;
	set_state(event, CORE_INACTIVE);
	if (event->ctx->cpu < 0)
		return;
	if (event->leader == event)
		leader_in(event, event->ctx->cpu);
	else
		sibling_in(event, event->ctx->cpu);
}

void core_event_disable(struct core_event *event)
{
	if (event->state <= CORE_OFF)
		return;
	if (event->leader == event)
		group_out(event);
	else
		event_out(event);
	set_state(event, CORE_OFF);
}

/* ---- events */

struct core_event *core_event_new(struct core *core, const struct perf_event_attr *attr)
{
	struct core_event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	event->core = core;
	event->attr = *attr;
	event->id = ++core->last_id;
	event->fd = event->cpu = event->on_cpu = event->hw.idx = -1;
	event->leader = event;
	event->state = attr->flags & ATTR_DISABLED ? CORE_OFF : CORE_INACTIVE;
	event->hw.freq = attr->flags & ATTR_FREQ && attr->sample_period;
	event->hw.sample_period = event->hw.freq ? 1 : attr->sample_period;
	event->hw.last_period = event->hw.sample_period;
	event->hw.period_left = (int64_t)event->hw.sample_period;
	event->hw.stopped = true;
	/* What core_open() refuses does not come here. */
	(void)wick_layout_init(&event->layout, attr);
	return event;
}

void core_event_free(struct core_event *event)
{
	free(event);
}

static struct core_event *counterpart(struct core_context *ctx, const struct core_event *root)
{
	for (struct core_event *event = ctx->first; event; event = event->next_in_context)
		if (event->parent == root)
			return event;
	return NULL;
}

static int inherit_one(struct core_event *event, struct core_task *child)
{
	struct core_event *root = event->parent ? event->parent : event, *copy, *leader;

	copy = core_event_new(event->core, &root->attr);
	if (!copy)
		return -ENOMEM;
	copy->pmu = event->pmu;
	copy->cpu = event->cpu;
	copy->parent = root;
	copy->state = event->state >= CORE_INACTIVE ? CORE_INACTIVE : CORE_OFF;
	copy->hw.freq = event->hw.freq;
	copy->hw.sample_period = copy->hw.last_period = event->hw.sample_period;
	copy->hw.period_left = (int64_t)copy->hw.sample_period;
	copy->limit = event->limit;
	copy->next_child = root->children;
	root->children = copy;
	leader = event->leader == event
			 ? NULL
			 : counterpart(child->ctx, event->leader->parent ? event->leader->parent
									 : event->leader);
	if (leader) {
		struct core_event **link = &leader->next_sibling;

		while (*link)
			link = &(*link)->next_sibling;
		*link = copy;
		leader->sibling_count++;
		copy->leader = leader;
	}
	core_context_add(child->ctx, copy);
	return 0;
}

int core_event_inherit(struct core_task *parent, struct core_task *child, struct core *core)
{
	int rc = 0;

	(void)core;
	for (struct core_event *event = parent->ctx->first; event && rc == 0;
		event = event->next_in_context) {
		if (!(event->attr.flags & ATTR_INHERIT))
			continue;
		if (event->attr.flags & ATTR_INHERIT_THREAD && child->pid != parent->pid)
			continue;
		rc = inherit_one(event, child);
	}
	return rc;
}
