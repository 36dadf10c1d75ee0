/*
 * The core's own life: CPUs, tasks, the registry of PMUs, and the passing of time.
 *
 * Time goes from one interrupt to the next: the smallest `until` of all PMUs on all CPUs, or
 * the tick, whichever comes first. So a stretch of any length costs what its interrupts cost.
 */
#include "softperf/core.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int core_new(const struct core_options *options, struct core **ret_core)
{
	struct core *core;
	int rc;

	if (!options->cpus || options->cpus > CORE_CPUS_MAX)
		return -EINVAL;
	core = calloc(1, sizeof(*core));
	if (!core)
		return -ENOMEM;
	core->options = *options;
	if (!core->options.tick_hz)
		core->options.tick_hz = 250;
	if (!core->options.max_sample_rate)
		core->options.max_sample_rate = 100000;
	core->now_ns = core->mono_ns = options->start_ns;
	core->next_tick_ns = core->mono_ns + 1000000000u / core->options.tick_hz;
	core->cpus = calloc(options->cpus, sizeof(*core->cpus));
	core->stack = calloc(1, PERF_RECORD_SIZE_MAX + 1);
	core->records[0] = malloc(PERF_RECORD_SIZE_MAX + 1);
	core->records[1] = malloc(PERF_RECORD_SIZE_MAX + 1);
	if (!core->cpus || !core->stack || !core->records[0] || !core->records[1]) {
		core_free(core);
		return -ENOMEM;
	}
	for (uint32_t cpu = 0; cpu < options->cpus; cpu++) {
		core->cpus[cpu].ctx.cpu = (int)cpu;
		core->cpus[cpu].ctx.stamp = core->mono_ns;
	}
	rc = core_software_register(core);
	if (rc == 0)
		rc = core_cpu_clock_register(core);
	if (rc < 0) {
		core_free(core);
		return rc;
	}
	*ret_core = core;
	return 0;
}

static void tasks_free(struct core *core)
{
	while (core->tasks) {
		struct core_task *task = core->tasks;

		core->tasks = task->next;
		free(task->ctx);
		free(task);
	}
}

void core_free(struct core *core)
{
	if (!core)
		return;
	for (uint32_t fd = 0; fd < core->file_cap; fd++)
		if (core->files[fd]) {
			core->files[fd]->maps = 0;
			core_close(core, (int)fd);
		}
	free(core->files);
	for (uint32_t i = 0; i < core->pmu_count; i++)
		if (core->pmus[i].free)
			core->pmus[i].free(&core->pmus[i]);
	tasks_free(core);
	free(core->cpus);
	free(core->stack);
	free(core->records[0]);
	free(core->records[1]);
	free(core);
}

void core_trace(struct core *core, const char *who, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (!core->options.trace)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	core->options.trace(
		core->options.trace_ctx, core->mono_ns - core->options.start_ns, who, text);
}

/* ---- the registry */

int core_pmu_register(struct core *core, const struct core_pmu *pmu)
{
	uint32_t type = pmu->type;
	struct core_pmu *mine;

	if (core->pmu_count == CORE_PMUS_MAX)
		return -ENOSPC;
	if (core_pmu_by_name(core, pmu->name))
		return -EEXIST;
	if (type == CORE_PMU_DYNAMIC)
		for (type = PERF_TYPE_MAX; core_pmu_by_type(core, type);)
			type++;
	mine = &core->pmus[core->pmu_count++];
	*mine = *pmu;
	mine->type = type;
	mine->core = core;
	core_trace(core, "pmu", "pmu_register(\"%s\"): type %u", mine->name, type);
	return 0;
}

struct core_pmu *core_pmu_by_name(struct core *core, const char *name)
{
	for (uint32_t i = 0; i < core->pmu_count; i++)
		if (!strcmp(core->pmus[i].name, name))
			return &core->pmus[i];
	return NULL;
}

struct core_pmu *core_pmu_by_type(struct core *core, uint32_t type)
{
	for (uint32_t i = 0; i < core->pmu_count; i++)
		if (core->pmus[i].type == type)
			return &core->pmus[i];
	return NULL;
}

/* ---- tasks */

struct core_task *core_task_find(struct core *core, int32_t tid)
{
	for (struct core_task *task = core->tasks; task; task = task->next)
		if (task->tid == tid && !task->dead)
			return task;
	return NULL;
}

static void comm_set(struct core_task *task, const char *comm)
{
	snprintf(task->comm, sizeof(task->comm), "%s", comm);
}

static struct wick_record task_record(
	const struct core *core, const struct core_task *task, uint32_t type)
{
	return (struct wick_record){.type = type,
		.task = {(uint32_t)task->pid, (uint32_t)task->ppid, (uint32_t)task->tid,
			(uint32_t)task->ptid, core->now_ns}};
}

#define TASK_FLAGS (ATTR_COMM | ATTR_MMAP | ATTR_MMAP2 | ATTR_MMAP_DATA | ATTR_TASK)

int core_task_fork(struct core *core, struct core_task *parent, int32_t pid, int32_t tid,
	const char *comm, struct core_task **ret_task)
{
	struct core_task *task;
	int rc;

	if (core_task_find(core, tid))
		return -EEXIST;
	if (core->task_count == CORE_TASKS_MAX)
		return -EAGAIN;
	task = calloc(1, sizeof(*task));
	if (!task || !(task->ctx = calloc(1, sizeof(*task->ctx)))) {
		free(task);
		return -ENOMEM;
	}
	task->pid = pid;
	task->tid = tid;
	task->ppid = parent ? (parent->pid == pid ? parent->ppid : parent->pid) : 1;
	task->ptid = parent ? parent->tid : 1;
	task->cpu = -1;
	task->ctx->task = task;
	task->ctx->cpu = -1;
	comm_set(task, parent && !comm ? parent->comm : comm);
	task->next = core->tasks;
	core->tasks = task;
	core->task_count++;
	if (parent) {
		struct wick_record record;

		rc = core_event_inherit(parent, task, core);
		if (rc < 0)
			return rc;
		record = task_record(core, task, PERF_RECORD_FORK);
		record.task.ppid = (uint32_t)parent->pid;
		core_sideband(core, parent, parent->cpu, TASK_FLAGS, &record);
	}
	*ret_task = task;
	return 0;
}

void core_task_comm(struct core_task *task, struct core *core, const char *comm)
{
	struct wick_record record = {.type = PERF_RECORD_COMM};

	comm_set(task, comm);
	record.comm.pid = (uint32_t)task->pid;
	record.comm.tid = (uint32_t)task->tid;
	record.comm.name = (struct wick_name){task->comm, (uint32_t)strlen(task->comm)};
	core_sideband(core, task, task->cpu, ATTR_COMM, &record);
}

/* What a dying child counted goes to its parent; the events of a root stay, and say POLLHUP. */
static void event_task_gone(struct core_event *event)
{
	struct core_event *parent = event->parent, **link;

	core_event_time(event);
	core_context_remove(event);
	event->state = CORE_EXIT;
	event->ctx = NULL;
	if (!parent) {
		if (event->ring)
			ringwriter_wake(event->ring->writer);
		return;
	}
	parent->child_count += event->count;
	parent->child_enabled += event->enabled;
	parent->child_running += event->running;
	for (link = &parent->children; *link != event;)
		link = &(*link)->next_child;
	*link = event->next_child;
	core_event_free(event);
}

void core_task_exec(struct core_task *task, struct core *core, const char *comm)
{
	struct wick_record record = {.type = PERF_RECORD_COMM};
	struct core_event *event, *next;

	for (event = task->ctx->first; event; event = next) {
		next = event->next_in_context;
		if (event->attr.flags & ATTR_REMOVE_ON_EXEC) {
			event_task_gone(event);
			continue;
		}
		if (event->attr.flags & ATTR_ENABLE_ON_EXEC) {
			event->attr.flags &= ~ATTR_ENABLE_ON_EXEC;
			if (event->state == CORE_OFF)
				core_event_enable(event);
		}
	}
	comm_set(task, comm);
	record.comm.pid = (uint32_t)task->pid;
	record.comm.tid = (uint32_t)task->tid;
	record.comm.name = (struct wick_name){task->comm, (uint32_t)strlen(task->comm)};
	record.misc = PERF_RECORD_MISC_COMM_EXEC;
	core_sideband(core, task, task->cpu, ATTR_COMM, &record);
}

void core_task_exit(struct core_task *task, struct core *core)
{
	struct wick_record record = task_record(core, task, PERF_RECORD_EXIT);
	int cpu = task->cpu;

	record.task.ptid =
		record.task.ppid; /* perf_event_task_output(): the process's, twice */
	core_sideband(core, task, cpu, TASK_FLAGS, &record);
	if (task->ctx->cpu >= 0)
		core_context_out(core, task->ctx);
	while (task->ctx->first)
		event_task_gone(task->ctx->first);
	task->dead = true;
	if (cpu >= 0)
		core->cpus[cpu].current = NULL;
	task->cpu = -1;
}

void core_task_mmap(
	struct core_task *task, struct core *core, const struct wick_record_mmap *mapping)
{
	struct wick_record record = {.type = PERF_RECORD_MMAP2, .mmap = *mapping};

	record.misc = PERF_RECORD_MISC_USER;
	record.mmap.pid = (uint32_t)task->pid;
	record.mmap.tid = (uint32_t)task->tid;
	core_sideband(core, task, task->cpu, ATTR_MMAP | ATTR_MMAP2, &record);
}

/* ---- CPUs and time */

void core_switch(struct core *core, int cpu, struct core_task *task, bool preempted)
{
	struct core_cpu *c = &core->cpus[cpu];
	struct wick_record record = {.type = PERF_RECORD_SWITCH};
	struct core_task *old = c->current;

	if (old == task)
		return;
	if (old) {
		record.misc = PERF_RECORD_MISC_SWITCH_OUT |
			      (preempted ? PERF_RECORD_MISC_SWITCH_OUT_PREEMPT : 0);
		core_sideband(core, old, cpu, ATTR_CONTEXT_SWITCH, &record);
		core_context_out(core, old->ctx);
		old->cpu = -1;
	}
	c->current = task;
	c->frame = (struct core_frame){.kernel = true};
	if (!task)
		return;
	if (task->cpu >= 0)
		core_switch(core, task->cpu, NULL, false);
	task->cpu = cpu;
	core_context_in(core, task->ctx, cpu);
	record.misc = 0;
	core_sideband(core, task, cpu, ATTR_CONTEXT_SWITCH, &record);
}

void core_execute(struct core *core, int cpu, const struct core_frame *frame)
{
	struct core_cpu *c = &core->cpus[cpu];

	c->frame = *frame;
	if (c->frame.kernel_depth > CORE_CHAIN_MAX)
		c->frame.kernel_depth = CORE_CHAIN_MAX;
	if (c->frame.user_depth > CORE_CHAIN_MAX)
		c->frame.user_depth = CORE_CHAIN_MAX;
	for (uint32_t i = 0; i < c->frame.kernel_depth; i++)
		c->kernel_chain[i] = frame->kernel_chain[i];
	for (uint32_t i = 0; i < c->frame.user_depth; i++)
		c->user_chain[i] = frame->user_chain[i];
	c->frame.kernel_chain = c->kernel_chain;
	c->frame.user_chain = c->user_chain;
}

/* While a record is copied the tick waits: it would move events about under the writer. */
static uint64_t until_tick(const struct core *core)
{
	if (core->copying)
		return CORE_NEVER;
	return core->next_tick_ns > core->mono_ns ? core->next_tick_ns - core->mono_ns : 0;
}

static uint64_t time_until_next(struct core *core, uint64_t most)
{
	uint64_t least = most;

	if (until_tick(core) < least)
		least = until_tick(core);
	for (uint32_t i = 0; i < core->pmu_count; i++)
		for (uint32_t cpu = 0; core->pmus[i].until && cpu < core->options.cpus; cpu++) {
			uint64_t ns = core->pmus[i].until(&core->pmus[i], (int)cpu);

			if (ns < least)
				least = ns;
		}
	return least;
}

static void interrupts(struct core *core)
{
	for (uint32_t i = 0; i < core->pmu_count; i++)
		for (uint32_t cpu = 0; core->pmus[i].until && cpu < core->options.cpus; cpu++)
			if (!core->pmus[i].until(&core->pmus[i], (int)cpu))
				core->pmus[i].interrupt(&core->pmus[i], (int)cpu);
	if (until_tick(core))
		return;
	core->next_tick_ns += 1000000000u / core->options.tick_hz;
	for (uint32_t cpu = 0; cpu < core->options.cpus; cpu++)
		core_tick(core, (int)cpu);
}

static void step(struct core *core, uint64_t ns)
{
	core->now_ns += ns;
	core->mono_ns += ns;
	for (uint32_t cpu = 0; cpu < core->options.cpus; cpu++)
		if (core->cpus[cpu].current)
			core->busy_ns += ns;
	for (uint32_t i = 0; i < core->pmu_count; i++)
		for (uint32_t cpu = 0; core->pmus[i].advance && cpu < core->options.cpus; cpu++)
			core->pmus[i].advance(&core->pmus[i], (int)cpu, ns);
	core->in_interrupt = true;
	interrupts(core);
	core->in_interrupt = false;
	core_wakeups(core);
}

void core_advance(struct core *core, uint64_t ns)
{
	uint64_t end = core->mono_ns + ns;

	while (core->mono_ns < end)
		step(core, time_until_next(core, end - core->mono_ns));
}
