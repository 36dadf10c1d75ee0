/* The core's side: one CPU, one task of ours, and children that come and go. */
#include "side.h"

#include "softperf/drivers/armv8_pmuv3.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint64_t chain[] = {0x401010, 0x401120, 0x401230};

struct state {
	struct core *core;
	struct core_task *self, *child;
	int32_t next_pid;
	uint64_t at;
};

static struct state *state_of(struct side *side)
{
	return side->data;
}

static void execute(struct state *state)
{
	struct core_frame frame = {.user_chain = chain, .user_depth = 3};

	core_execute(state->core, 0, &frame);
}

static void run_task(struct state *state, struct core_task *task)
{
	core_switch(state->core, 0, task, true);
	execute(state);
}

static int c_open(struct side *side, struct perf_event_attr *attr, int pid, int cpu, int group,
	unsigned long flags)
{
	struct state *state = state_of(side);

	if (pid == SIDE_CHILD)
		pid = state->child->tid;
	return core_open(state->core, attr, state->self, pid, cpu, group, flags);
}

static void c_close(struct side *side, int fd)
{
	while (core_munmap(state_of(side)->core, fd) == 0)
		;
	core_close(state_of(side)->core, fd);
}

static int c_ioctl(struct side *side, int fd, unsigned long request, uint64_t arg)
{
	return core_ioctl(state_of(side)->core, fd, request, arg);
}

static int64_t c_read(struct side *side, int fd, void *buf, size_t size)
{
	return core_read(state_of(side)->core, fd, buf, size);
}

static int c_poll(struct side *side, int fd)
{
	return core_poll(state_of(side)->core, fd);
}

static int c_map(struct side *side, int fd, size_t pages)
{
	int rc = core_mmap(state_of(side)->core, fd, pages, true);

	if (rc >= 0)
		core_munmap(state_of(side)->core, fd);
	return rc < 0 ? rc : 0;
}

static int c_ring(struct side *side, int fd, size_t pages, struct perf_ringbuf **ret_ring)
{
	int memfd = core_mmap(state_of(side)->core, fd, pages, true);

	return memfd < 0 ? memfd : perf_ringbuf_open(memfd, pages, ret_ring);
}

static const void *c_map_overwrite(struct side *side, int fd, size_t pages)
{
	int memfd = core_mmap(state_of(side)->core, fd, pages, false);
	void *map;

	if (memfd < 0)
		return NULL;
	map = mmap(NULL, (pages + 1) * (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
		memfd, 0);
	return map == MAP_FAILED ? NULL : map;
}

static void c_unmap(struct side *side, int fd, const void *map, size_t pages)
{
	munmap((void *)(uintptr_t)map, (pages + 1) * (size_t)sysconf(_SC_PAGESIZE));
	core_munmap(state_of(side)->core, fd);
}

static void c_fault(struct side *side, uint32_t n)
{
	struct state *state = state_of(side);

	for (uint32_t i = 0; i < n; i++, state->at += 4096) {
		if (state->at >= side->region_end)
			state->at = side->region;
		core_advance(state->core, 1000);
		core_fault(state->core, 0, state->at);
	}
}

static void c_spin(struct side *side, uint64_t ns)
{
	core_advance(state_of(side)->core, ns);
}

static void c_in_kernel(struct side *side, uint64_t ns)
{
	struct state *state = state_of(side);
	struct core_frame frame = {.kernel = true, .user_chain = chain, .user_depth = 3};

	core_execute(state->core, 0, &frame);
	core_advance(state->core, ns);
	execute(state);
}

static void c_child_begin(struct side *side)
{
	struct state *state = state_of(side);
	int32_t pid = state->next_pid++;

	if (core_task_fork(state->core, state->self, pid, pid, NULL, &state->child) < 0)
		abort();
}

static void c_child_end(struct side *side)
{
	struct state *state = state_of(side);

	run_task(state, state->child);
	core_task_exit(state->child, state->core);
	run_task(state, state->self);
}

static void c_child_exec(struct side *side)
{
	struct state *state = state_of(side);

	run_task(state, state->child);
	core_task_exec(state->child, state->core, "child");
	c_fault(side, 10);
	c_child_end(side);
}

static int c_limit(struct side *side, uint64_t rate)
{
	state_of(side)->core->options.max_sample_rate = rate ? rate : 100000;
	return 0;
}

static void c_child(struct side *side, uint32_t n)
{
	struct state *state = state_of(side);

	c_child_begin(side);
	run_task(state, state->child);
	c_fault(side, n);
	c_child_end(side);
}

static void c_rename(struct side *side, const char *comm)
{
	core_task_comm(state_of(side)->self, state_of(side)->core, comm);
}

int side_core(struct side *ret_side)
{
	struct core_options options = {.cpus = 1, .start_ns = 1000000};
	struct armv8_node node = {"arm,armv8-pmuv3", 1, 6, 1000, 1000};
	struct state *state = calloc(1, sizeof(*state));
	int rc;

	if (!state)
		return -ENOMEM;
	*ret_side = (struct side){.name = "core",
		.data = state,
		.open = c_open,
		.close = c_close,
		.ioctl = c_ioctl,
		.read = c_read,
		.poll = c_poll,
		.map = c_map,
		.ring = c_ring,
		.map_overwrite = c_map_overwrite,
		.unmap = c_unmap,
		.fault = c_fault,
		.spin = c_spin,
		.in_kernel = c_in_kernel,
		.child = c_child,
		.child_begin = c_child_begin,
		.child_end = c_child_end,
		.child_exec = c_child_exec,
		.rename = c_rename,
		.limit = c_limit,
		.region = 0x10000000,
		.region_end = 0x20000000,
		.pid = 100};
	state->next_pid = 200;
	state->at = ret_side->region;
	rc = core_new(&options, &state->core);
	if (rc == 0)
		rc = armv8_probe(state->core, &node);
	if (rc == 0)
		rc = core_task_fork(state->core, NULL, 100, 100, "self", &state->self);
	if (rc == 0)
		run_task(state, state->self);
	return rc;
}

void side_core_done(struct side *side)
{
	core_free(state_of(side)->core);
	free(side->data);
}
