/*
 * perf_event_open(2): the attr's rules (perf_copy_attr), then those of task, CPU and group, in
 * the kernel's order, because the first that is broken gives the error.
 */
#include "softperf/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KNOWN_FLAGS	 ((1ull << 38) - 1)
#define KNOWN_FORMATS	 ((1ull << 5) - 1)
#define KNOWN_OPEN_FLAGS 15ul

#define ATTR_SIZE_MOST 4096u /* a page */

/* attr.aux_action */
#define AUX_START_PAUSED 1u
#define AUX_PAUSE	 2u
#define AUX_RESUME	 4u

/* x86-64: ds, es, fs and gs cannot be had, 24 to 31 are nothing, 32 and up are XMM. */
#define RESERVED_REGS ((0xffull << 24) | (0xfull << 12))
#define EXTENDED_REGS (~0ull << 32)

/* aarch64: x0 to x30, sp, pc */
#define AARCH64_REGS ((1ull << 33) - 1)

static int attr_size_wrong(struct perf_event_attr *attr)
{
	attr->size = PERF_ATTR_SIZE_VER8;
	return -E2BIG;
}

/* An attr of any size, as far as it is: longer ones must be zero where we know nothing. */
static int attr_copy(struct perf_event_attr *from, struct perf_event_attr *ret_attr)
{
	uint32_t size = from->size ? from->size : PERF_ATTR_SIZE_VER0;
	struct perf_event_attr attr = {.type = 0};

	if (size < PERF_ATTR_SIZE_VER0 || size > ATTR_SIZE_MOST)
		return attr_size_wrong(from);
	for (uint32_t i = PERF_ATTR_SIZE_VER8; i < size; i++)
		if (((const char *)from)[i])
			return attr_size_wrong(from);
	memcpy(&attr, from, size < PERF_ATTR_SIZE_VER8 ? size : PERF_ATTR_SIZE_VER8);
	attr.size = size;
	*ret_attr = attr;
	return 0;
}

/* perf_reg_validate() */
static bool regs_wrong(const struct core *core, uint64_t mask)
{
	return !mask || mask & (core->options.aarch64 ? ~AARCH64_REGS : RESERVED_REGS);
}

static bool regs_extended(const struct core *core, uint64_t mask)
{
	return !core->options.aarch64 && mask & EXTENDED_REGS;
}

static int sample_type_check(const struct core *core, const struct perf_event_attr *attr)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_BRANCH_STACK && !(attr->branch_sample_type & ~7ull))
		return -EINVAL;
	if (type & PERF_SAMPLE_REGS_USER && regs_wrong(core, attr->sample_regs_user))
		return -EINVAL;
	if (type & PERF_SAMPLE_STACK_USER &&
		(attr->sample_stack_user >= 65535 || attr->sample_stack_user % 8))
		return -EINVAL;
	if (type & PERF_SAMPLE_REGS_INTR && regs_wrong(core, attr->sample_regs_intr))
		return -EINVAL;
	if ((type & PERF_SAMPLE_WEIGHT) && (type & PERF_SAMPLE_WEIGHT_STRUCT))
		return -EINVAL;
	return 0;
}

static int attr_check(const struct core *core, const struct perf_event_attr *attr)
{
	uint64_t flags = attr->flags;
	int rc;

	if (flags & ~KNOWN_FLAGS || attr->reserved_2 ||
		attr->aux_action & ~(AUX_START_PAUSED | AUX_PAUSE | AUX_RESUME))
		return -EINVAL;
	if (attr->sample_type & ~(PERF_SAMPLE_MAX - 1) || attr->read_format & ~KNOWN_FORMATS)
		return -EINVAL;
	rc = sample_type_check(core, attr);
	if (rc < 0)
		return rc;
	if (!(flags & ATTR_INHERIT) && flags & ATTR_INHERIT_THREAD)
		return -EINVAL;
	if (flags & ATTR_REMOVE_ON_EXEC && flags & ATTR_ENABLE_ON_EXEC)
		return -EINVAL;
	if (flags & ATTR_SIGTRAP && !(flags & ATTR_REMOVE_ON_EXEC))
		return -EINVAL;
	return 0;
}

static int period_check(const struct core *core, const struct perf_event_attr *attr)
{
	if (attr->flags & ATTR_FREQ)
		return attr->sample_period > core->options.max_sample_rate ? -EINVAL : 0;
	return attr->sample_period >> 63 ? -EINVAL : 0;
}

static bool clock_known(const struct perf_event_attr *attr)
{
	if (!(attr->flags & ATTR_USE_CLOCKID))
		return true;
	return attr->clockid == CLOCK_MONOTONIC || attr->clockid == CLOCK_MONOTONIC_RAW ||
	       attr->clockid == CLOCK_REALTIME || attr->clockid == CLOCK_BOOTTIME ||
	       attr->clockid == CLOCK_TAI;
}

static bool same_clock(const struct core_event *a, const struct core_event *b)
{
	return (a->attr.flags & ATTR_USE_CLOCKID) == (b->attr.flags & ATTR_USE_CLOCKID) &&
	       a->attr.clockid == b->attr.clockid;
}

/* By type first, then everybody is asked. */
static int pmu_find(struct core *core, struct core_event *event)
{
	struct core_pmu *pmu = core_pmu_by_type(core, event->attr.type);
	int rc = -ENOENT;

	if (pmu) {
		rc = pmu->event_init(pmu, event);
		event->pmu = pmu;
	}
	for (uint32_t i = 0; rc == -ENOENT && i < core->pmu_count; i++) {
		event->pmu = &core->pmus[i];
		rc = event->pmu->event_init(event->pmu, event);
	}
	if (rc == 0)
		core_trace(core, "pmu", "type %u, config %llu: event_init() of %s takes it",
			event->attr.type, (unsigned long long)event->attr.config,
			event->pmu->name);
	return rc;
}

/* perf_event_alloc() */
static int event_alloc(struct core *core, const struct perf_event_attr *attr,
	struct core_event *leader, struct core_event **ret_event)
{
	struct core_event *event;
	int rc;

	/* One ring of the parent cannot tell whose counts those are without a tid. */
	if (attr->flags & ATTR_INHERIT && attr->sample_type & PERF_SAMPLE_READ &&
		!(attr->sample_type & PERF_SAMPLE_TID))
		return -EINVAL;
	event = core_event_new(core, attr);
	if (!event)
		return -ENOMEM;
	if (leader && leader->leader == leader)
		event->leader = leader; /* drivers look whether the group fits */
	rc = pmu_find(core, event);
	event->leader = event;
	if (rc == 0 && attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		rc = -EOPNOTSUPP;
	if (rc == 0 && regs_extended(core, attr->sample_regs_user | attr->sample_regs_intr))
		rc = -EOPNOTSUPP;
	if (rc == 0 && attr->sample_period && event->pmu->no_interrupt)
		rc = -EOPNOTSUPP;
	if (rc == 0 && !clock_known(attr))
		rc = -EINVAL;
	/* No PMU here writes traces into an AUX area. */
	if (rc == 0 && (attr->flags & ATTR_AUX_OUTPUT || attr->aux_action & AUX_START_PAUSED))
		rc = -EOPNOTSUPP;
	if (rc == 0 && attr->sample_type & PERF_SAMPLE_CALLCHAIN &&
		attr->sample_max_stack > CORE_CHAIN_MAX)
		rc = -EOVERFLOW;
	if (rc < 0) {
		core_event_free(event);
		return rc;
	}
	*ret_event = event;
	return 0;
}

static int file_new(struct core *core, struct core_event *event)
{
	struct core_event **grown;
	uint32_t fd = 0, cap;

	while (fd < core->file_cap && core->files[fd])
		fd++;
	if (fd == core->file_cap) {
		cap = core->file_cap ? core->file_cap * 2 : 16;
		if (cap > CORE_EVENTS_MAX)
			return -EMFILE;
		grown = reallocarray(core->files, cap, sizeof(struct core_event *));
		if (!grown)
			return -ENOMEM;
		for (uint32_t i = core->file_cap; i < cap; i++)
			grown[i] = NULL;
		core->files = grown;
		core->file_cap = cap;
	}
	core->files[fd] = event;
	event->fd = (int)fd;
	return (int)fd;
}

static int group_check(const struct core_event *event, const struct core_event *leader,
	const struct core_context *ctx)
{
	if (leader->leader != leader || !same_clock(leader, event) ||
		leader->cpu != event->cpu || leader->ctx != ctx)
		return -EINVAL;
	if (leader->sibling_count == CORE_GROUP_MAX - 1)
		return -ENOSPC;
	if (event->attr.flags & (ATTR_EXCLUSIVE | ATTR_PINNED))
		return -EINVAL;
	return 0;
}

static int event_bind(struct core *core, struct core_event *event, struct core_task *task,
	struct core_event *leader, struct core_event *output)
{
	struct core_context *ctx = task ? task->ctx : &core->cpus[event->cpu].ctx;
	struct core_event **link;
	int rc = leader ? group_check(event, leader, ctx) : 0;

	/* perf_get_aux_event(): in a group with one that writes traces. */
	if (rc == 0 && (event->attr.aux_sample_size ||
			       event->attr.aux_action & (AUX_PAUSE | AUX_RESUME)))
		rc = -EINVAL;
	if (rc == 0)
		rc = file_new(core, event);
	if (rc < 0)
		return rc;
	event->ctx = ctx;
	if (output && core_ioctl(core, rc, PERF_EVENT_IOC_SET_OUTPUT, (uint64_t)output->fd)) {
		core->files[rc] = NULL;
		return -EINVAL;
	}
	if (leader) {
		event->leader = leader;
		for (link = &leader->next_sibling; *link;)
			link = &(*link)->next_sibling;
		*link = event;
		leader->sibling_count++;
	}
	core_context_add(ctx, event);
	return rc;
}

/* Who and where, before there is an event. */
static int target_find(struct core *core, const struct perf_event_attr *attr,
	struct core_task *caller, int32_t pid, int cpu, const struct core_event *leader,
	struct core_task **ret_task)
{
	struct core_task *task = NULL;

	if (pid != -1) {
		task = pid ? core_task_find(core, pid) : caller;
		if (!task)
			return -ESRCH;
	}
	if (task && leader && (leader->attr.flags ^ attr->flags) & ATTR_INHERIT)
		return -EINVAL;
	if ((cpu < 0 || cpu >= (int)core->options.cpus) && (!task || cpu != -1))
		return -EINVAL;
	if (attr->flags & ATTR_SIGTRAP && !task)
		return -EINVAL;
	*ret_task = task;
	return 0;
}

int core_open(struct core *core, struct perf_event_attr *user_attr, struct core_task *caller,
	int32_t pid, int cpu, int group_fd, unsigned long flags)
{
	struct core_event *event, *group = NULL, *output, *leader;
	struct perf_event_attr attr;
	struct core_task *task;
	int rc;

	if (flags & ~KNOWN_OPEN_FLAGS)
		return -EINVAL;
	rc = attr_copy(user_attr, &attr);
	if (rc == 0)
		rc = attr_check(core, &attr);
	if (rc == 0)
		rc = period_check(core, &attr);
	if (rc < 0)
		return rc;
	if (flags & PERF_FLAG_PID_CGROUP)
		return pid == -1 || cpu == -1 ? -EINVAL : -EBADF; /* there are no cgroups */
	if (group_fd != -1 && !(group = core_event_of(core, group_fd)))
		return -EBADF;
	output = flags & PERF_FLAG_FD_OUTPUT ? group : NULL;
	leader = flags & PERF_FLAG_FD_NO_GROUP ? NULL : group;
	rc = target_find(core, &attr, caller, pid, cpu, leader, &task);
	if (rc < 0)
		return rc;
	rc = event_alloc(core, &attr, leader, &event);
	if (rc < 0)
		return rc;
	event->cpu = cpu;
	rc = event_bind(core, event, task, leader, output);
	if (rc < 0) {
		core_event_free(event);
		return rc;
	}
	core_trace(core, "open", "event %llu is descriptor %d, in the context of %s",
		(unsigned long long)event->id, rc, task ? "its task" : "its cpu");
	return rc;
}
