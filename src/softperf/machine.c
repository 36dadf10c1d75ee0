/*
 * Plays a scenario line by line on a core. After each line the machine looks whether poll()
 * would return, and lets the reader drain then, unless the scenario has it rest (`reader off`):
 * that is how losses are made.
 *
 * A task that does something (fork, exec, map, exit) does it while it runs; where the scenario
 * did not schedule it, it gets CPU 0 for that moment.
 */
#include "softperf/machine.h"

#include "softperf/machine_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define SAMPLE_TYPE                                                                            \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |                \
		PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |                 \
		PERF_SAMPLE_IDENTIFIER)
#define SIDEBAND                                                                               \
	(ATTR_MMAP | ATTR_MMAP2 | ATTR_COMM | ATTR_COMM_EXEC | ATTR_TASK | ATTR_SAMPLE_ID_ALL)

/* ---- the recorder's half */

static void attr_fill(const struct machine *machine, struct perf_event_attr *attr, bool first)
{
	attr->size = PERF_ATTR_SIZE_VER8;
	attr->sample_type = SAMPLE_TYPE;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			    PERF_FORMAT_ID | PERF_FORMAT_LOST;
	attr->flags |= ATTR_DISABLED | ATTR_WATERMARK | ATTR_USE_CLOCKID | ATTR_SAMPLE_ID_ALL;
	attr->flags |= first ? SIDEBAND : 0;
	attr->flags |= machine->record_pid		  ? ATTR_INHERIT
		       : attr->type == PERF_TYPE_SOFTWARE ? ATTR_EXCLUDE_IDLE
							  : 0; /* no PMU of ours can */
	attr->flags |= machine->on_exec ? ATTR_ENABLE_ON_EXEC : 0;
	attr->flags |= machine->overwrite ? ATTR_WRITE_BACKWARD : 0;
	if (machine->memory.copy_bytes) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = MACHINE_REGS;
		attr->sample_stack_user = (uint32_t)machine->memory.copy_bytes;
		attr->flags |= ATTR_EXCLUDE_CALLCHAIN_USER;
	}
	attr->wakeup_events = (uint32_t)(machine->pages * 4096 / 4);
	attr->clockid = CLOCK_MONOTONIC;
}

static int open_one(struct machine *machine, uint32_t i, uint32_t cpu, struct error *err)
{
	struct machine_event *event = &machine->events[i];
	int32_t pid = machine->record_pid ? machine->record_pid : -1;
	struct perf_event_attr attr = event->attr;
	int fd = core_open(machine->core, &attr, NULL, pid, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC),
	    rc;

	if (fd < 0)
		return error_set(err, fd, "%s cannot be opened: %s%s", event->name,
			strerror(-fd),
			fd == -ENOENT ? " (cycles and instructions want a `pmu`)" : "");
	machine->fds[i][cpu] = fd;
	rc = i ? core_ioctl(machine->core, fd, PERF_EVENT_IOC_SET_OUTPUT,
			 (uint64_t)machine->fds[0][cpu])
	       : core_mmap(machine->core, fd, machine->pages, !machine->overwrite);
	if (rc < 0)
		return error_set(err, rc, "no ring for %s: %s", event->name, strerror(-rc));
	return core_ioctl(
		machine->core, fd, PERF_EVENT_IOC_ID, (uint64_t)(uintptr_t)&event->ids[cpu]);
}

static int open_all(struct machine *machine, struct error *err)
{
	for (uint32_t i = 0; i < machine->event_count; i++) {
		attr_fill(machine, &machine->events[i].attr, i == 0);
		for (uint32_t cpu = 0; cpu < machine->options.cpus; cpu++) {
			int rc = open_one(machine, i, cpu, err);

			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

static void all_events(struct machine *machine, unsigned long request)
{
	for (uint32_t i = 0; i < machine->event_count; i++)
		for (uint32_t cpu = 0; cpu < machine->options.cpus; cpu++)
			core_ioctl(machine->core, machine->fds[i][cpu], request, 0);
}

static int build(struct machine *machine, struct error *err)
{
	struct core_task *task;
	int rc;

	machine->options.aarch64 = true;
	machine->options.memory = (struct core_memory){memory_reg, memory_stack, machine};
	rc = core_new(&machine->options, &machine->core);

	if (rc == 0 && machine->has_pmu)
		rc = armv8_probe(machine->core, &machine->pmu);
	for (uint32_t i = 0; rc == 0 && i < machine->process_count; i++)
		rc = core_task_fork(machine->core, NULL, machine->processes[i].pid,
			machine->processes[i].pid, machine->processes[i].comm, &task);
	if (rc < 0)
		return error_set(err, rc, "the machine cannot be built: %s", strerror(-rc));
	return open_all(machine, err);
}

int machine_new(const char *text, size_t len, core_trace_fn trace, void *trace_ctx,
	struct machine **ret_machine, struct error *err)
{
	struct machine *machine = calloc(1, sizeof(*machine));
	struct words words;
	int rc;

	if (!machine || !(machine->symbols = calloc(SYMBOLS_MAX, sizeof(struct symbol)))) {
		free(machine);
		return error_set(err, -ENOMEM, "out of memory");
	}
	machine->reader = (struct reader){.text = text, .len = len};
	machine->options = (struct core_options){
		.cpus = 1, .start_ns = 1000000000u, .trace = trace, .trace_ctx = trace_ctx};
	machine->pmu = (struct armv8_node){
		.compatible = "arm,armv8-pmuv3", .interrupts = CORE_CPUS_MAX, .cpu_mhz = 1000};
	machine->pages = 16;
	machine->memory = (struct memory){.frame_bytes = MACHINE_FRAME_BYTES,
		.short_bytes = UINT64_MAX,
		.changed = UINT64_MAX};
	while ((rc = words_next(&machine->reader, &words, err)) > 0) {
		if (!strcmp(words.at[0], "start"))
			break;
		rc = machine_setup(machine, &words, err);
		if (rc < 0)
			break;
	}
	if (rc == 0)
		rc = error_set(err, -EINVAL, "the scenario has no `start`");
	else if (rc > 0 && !machine->event_count)
		rc = error_set(err, -EINVAL, "the scenario samples nothing: no `event`");
	if (rc >= 0)
		rc = build(machine, err);
	if (rc < 0) {
		machine_free(machine);
		return rc;
	}
	*ret_machine = machine;
	return 0;
}

void machine_free(struct machine *machine)
{
	if (!machine)
		return;
	core_free(machine->core);
	free(machine->symbols);
	free(machine);
}

uint32_t machine_cpus(const struct machine *machine)
{
	return machine->options.cpus;
}

uint32_t machine_event_count(const struct machine *machine)
{
	return machine->event_count;
}

const struct machine_event *machine_event(const struct machine *machine, uint32_t index)
{
	return &machine->events[index];
}

bool machine_overwrites(const struct machine *machine)
{
	return machine->overwrite;
}

size_t machine_pages(const struct machine *machine)
{
	return machine->pages;
}

int machine_ring_fd(const struct machine *machine, uint32_t cpu)
{
	return ringwriter_fd(core_event_of(machine->core, machine->fds[0][cpu])->ring->writer);
}

struct core *machine_core(struct machine *machine)
{
	return machine->core;
}

uint64_t machine_wakeups(const struct machine *machine)
{
	return machine->wakeups;
}

const char *machine_function(const struct machine *machine, uint64_t addr, uint64_t *ret_start)
{
	for (uint32_t i = 0; i < machine->symbol_count; i++) {
		const struct symbol *symbol = &machine->symbols[i];

		if (addr >= symbol->addr && addr - symbol->addr < symbol->size) {
			*ret_start = symbol->addr;
			return symbol->name;
		}
	}
	return NULL;
}

int machine_read(
	struct machine *machine, uint32_t index, uint64_t *ret_count, uint64_t *ret_lost)
{
	uint64_t words[5], count = 0, lost = 0;

	for (uint32_t cpu = 0; cpu < machine->options.cpus; cpu++) {
		int64_t rc = core_read(
			machine->core, machine->fds[index][cpu], words, sizeof(words));

		if (rc < 0)
			return (int)rc;
		count += words[0];
		lost += words[4];
	}
	*ret_count = count;
	*ret_lost = lost;
	return 0;
}

/* ---- what happens */

static int task_of(struct machine *machine, const struct words *words, uint32_t i,
	struct core_task **ret_task)
{
	uint64_t tid;
	int rc = word_number(words, i, 1 << 22, &tid, machine->err);

	if (rc < 0)
		return rc;
	*ret_task = core_task_find(machine->core, (int32_t)tid);
	if (!*ret_task)
		return words_fail(words, machine->err, "there is no such task");
	if ((*ret_task)->cpu < 0 && strcmp(words->at[0], "on") != 0)
		core_switch(machine->core, 0, *ret_task, true);
	return 0;
}

static int cpu_of(const struct machine *machine, const struct words *words, int *ret_cpu)
{
	uint64_t cpu;
	int rc = word_number(words, 1, machine->options.cpus - 1, &cpu, machine->err);

	*ret_cpu = rc < 0 ? 0 : (int)cpu;
	return rc;
}

static const char *name_of(const struct words *words, uint32_t i)
{
	return i < words->count ? words->at[i] : NULL;
}

/* fork PID CHILD [NAME], thread PID TID [NAME] */
static int do_fork(struct machine *machine, const struct words *words)
{
	bool thread = !strcmp(words->at[0], "thread");
	struct core_task *parent = NULL, *child;
	uint64_t tid = 0;
	int rc = task_of(machine, words, 1, &parent);

	if (rc == 0)
		rc = word_number(words, 2, 1 << 22, &tid, machine->err);
	if (rc < 0)
		return rc;
	rc = core_task_fork(machine->core, parent, thread ? parent->pid : (int32_t)tid,
		(int32_t)tid, NULL, &child);
	if (rc < 0)
		return words_fail(words, machine->err, strerror(-rc));
	if (words->count > 3)
		core_task_comm(child, machine->core, words->at[3]);
	return 0;
}

static int do_exec(struct machine *machine, const struct words *words)
{
	struct core_task *task;
	int rc = task_of(machine, words, 1, &task);

	if (rc < 0)
		return rc;
	if (words->count < 3)
		return words_fail(words, machine->err, "the new name is missing");
	if (!strcmp(words->at[0], "exec"))
		core_task_exec(task, machine->core, name_of(words, 2));
	else
		core_task_comm(task, machine->core, name_of(words, 2));
	return 0;
}

static int do_exit(struct machine *machine, const struct words *words)
{
	struct core_task *task;
	int rc = task_of(machine, words, 1, &task);

	if (rc == 0)
		core_task_exit(task, machine->core);
	return rc;
}

/* map TID ADDR LENGTH OFFSET FILE */
static int do_map(struct machine *machine, const struct words *words)
{
	struct wick_record_mmap map = {
		.prot = PROT_READ | PROT_EXEC, .flags = MAP_PRIVATE, .has_inode = true};
	struct core_task *task;
	int rc = task_of(machine, words, 1, &task);

	if (rc == 0)
		rc = word_number(words, 2, UINT64_MAX, &map.addr, machine->err);
	if (rc == 0)
		rc = word_number(words, 3, UINT64_MAX - map.addr, &map.len, machine->err);
	if (rc == 0)
		rc = word_number(words, 4, INT64_MAX, &map.pgoff, machine->err);
	if (rc < 0)
		return rc;
	if (words->count < 6)
		return words_fail(words, machine->err, "the file is missing");
	map.filename = (struct wick_name){words->at[5], (uint32_t)strlen(words->at[5])};
	core_task_mmap(task, machine->core, &map);
	return 0;
}

static int do_on(struct machine *machine, const struct words *words)
{
	struct core_task *task = NULL;
	int cpu, rc = cpu_of(machine, words, &cpu);

	if (rc == 0 && !strcmp(words->at[0], "on"))
		rc = task_of(machine, words, 2, &task);
	if (rc == 0)
		core_switch(machine->core, cpu, task, task != NULL);
	return rc;
}

/* cpu N user CHAIN, cpu N kernel CHAIN [USER_CHAIN] */
static int do_cpu(struct machine *machine, const struct words *words)
{
	uint64_t user[CORE_CHAIN_MAX], kernel[CORE_CHAIN_MAX];
	struct core_frame frame = {.user_chain = user, .kernel_chain = kernel};
	int cpu, rc = cpu_of(machine, words, &cpu);

	if (rc < 0)
		return rc;
	frame.kernel = words->count > 2 && !strcmp(words->at[2], "kernel");
	if (!frame.kernel && (words->count < 3 || strcmp(words->at[2], "user") != 0))
		return words_fail(words, machine->err, "user or kernel must follow the CPU");
	if (frame.kernel)
		rc = word_chain(machine, words, 3, kernel, &frame.kernel_depth, machine->err);
	if (rc == 0 && (!frame.kernel || words->count > 4))
		rc = word_chain(machine, words, frame.kernel ? 4 : 3, user, &frame.user_depth,
			machine->err);
	if (rc == 0)
		core_execute(machine->core, cpu, &frame);
	return rc;
}

static int drain_rings(struct machine *machine)
{
	struct ringwriter *writer =
		core_event_of(machine->core, machine->fds[0][0])->ring->writer;
	uint64_t head, tail, tail_now;
	int rc;

	ringwriter_head_tail(writer, &head, &tail);
	rc = machine->drain(machine->ctx);
	ringwriter_head_tail(writer, &head, &tail_now);
	core_trace(machine->core, "drain",
		"the reader has read %lld bytes and gives the room back: data_tail %llu",
		(long long)(head - tail), (unsigned long long)tail_now);
	return rc;
}

static int look(struct machine *machine, bool always)
{
	bool woken = always;

	for (uint32_t cpu = 0; cpu < machine->options.cpus; cpu++)
		if (core_poll(machine->core, machine->fds[0][cpu]) & POLLIN) {
			machine->wakeups++;
			woken = true;
		}
	/* Nobody waits for the reader of a ring that is overwritten: he comes at the end. */
	if (!woken || !machine->drain || (machine->overwrite && !always))
		return 0;
	return drain_rings(machine);
}

/* Time passes from tick to tick, so that the reader can do its work in between. */
static int do_run(struct machine *machine, const struct words *words)
{
	uint64_t ns, tick = 1000000000u / machine->core->options.tick_hz;
	int rc = word_time(words, 1, &ns, machine->err);

	while (rc == 0 && ns) {
		uint64_t stretch = ns < tick ? ns : tick;

		core_advance(machine->core, stretch);
		ns -= stretch;
		if (!machine->reader_off)
			rc = look(machine, false);
	}
	return rc;
}

/* faults CPU N ADDR: of pages that follow each other */
static int do_faults(struct machine *machine, const struct words *words)
{
	uint64_t n = 0, addr = 0;
	int cpu, rc = cpu_of(machine, words, &cpu);

	if (rc == 0)
		rc = word_number(words, 2, 1000000, &n, machine->err);
	if (rc == 0)
		rc = word_number(words, 3, INT64_MAX, &addr, machine->err);
	for (uint64_t i = 0; rc == 0 && i < n; i++)
		core_fault(machine->core, cpu, addr + i * 4096);
	return rc;
}

/* clock-step forward|back TIME */
static int do_clock_step(struct machine *machine, const struct words *words)
{
	uint64_t ns;
	int rc = word_time(words, 2, &ns, machine->err);

	if (rc < 0)
		return rc;
	if (strcmp(words->at[1], "back") != 0)
		machine->core->now_ns += ns;
	else if (ns > machine->core->now_ns)
		return words_fail(words, machine->err, "that is before the clock's beginning");
	else
		machine->core->now_ns -= ns;
	return 0;
}

static int do_reader(struct machine *machine, const struct words *words)
{
	const char *what = words->count > 1 ? words->at[1] : "";

	if (strcmp(what, "on") != 0 && strcmp(what, "off") != 0)
		return words_fail(words, machine->err, "on or off must follow");
	machine->reader_off = !strcmp(what, "off");
	return 0;
}

static int do_torn(struct machine *machine, const struct words *words)
{
	return memory_torn(machine, words, machine->err);
}

static int do_sampling(struct machine *machine, const struct words *words)
{
	all_events(machine,
		strcmp(words->at[0], "pause") ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE);
	return 0;
}

static int do_repeat(struct machine *machine, const struct words *words)
{
	struct loop *loop = &machine->loops[machine->loop_count];
	uint64_t times = 0;
	int rc = word_number(words, 1, 1000000, &times, machine->err);

	if (rc < 0)
		return rc;
	if (!times || machine->loop_count == LOOPS_MAX)
		return words_fail(words, machine->err, "not that often, or nested too deep");
	*loop = (struct loop){machine->reader.at, machine->reader.line, times};
	machine->loop_count++;
	return 0;
}

static int do_end(struct machine *machine, const struct words *words)
{
	struct loop *loop;

	if (!machine->loop_count)
		return words_fail(words, machine->err, "there is nothing to end");
	loop = &machine->loops[machine->loop_count - 1];
	if (!--loop->left) {
		machine->loop_count--;
		return 0;
	}
	machine->reader.at = loop->offset;
	machine->reader.line = loop->line;
	return 0;
}

static int step(struct machine *machine, const struct words *words)
{
	static const struct {
		const char *name;
		int (*act)(struct machine *machine, const struct words *words);
	} steps[] = {
		{"fork", do_fork},
		{"thread", do_fork},
		{"exec", do_exec},
		{"comm", do_exec},
		{"exit", do_exit},
		{"map", do_map},
		{"on", do_on},
		{"idle", do_on},
		{"cpu", do_cpu},
		{"run", do_run},
		{"faults", do_faults},
		{"clock-step", do_clock_step},
		{"reader", do_reader},
		{"torn", do_torn},
		{"pause", do_sampling},
		{"resume", do_sampling},
		{"repeat", do_repeat},
		{"end", do_end},
	};

	if (++machine->steps > MACHINE_STEPS_MAX)
		return words_fail(words, machine->err, "the scenario takes too many steps");
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (!strcmp(steps[i].name, words->at[0]))
			return steps[i].act(machine, words);
	return words_fail(words, machine->err, "not understood behind `start`");
}

int machine_run(struct machine *machine, int (*drain)(void *ctx), void *ctx, struct error *err)
{
	struct words words;
	int rc;

	machine->drain = drain;
	machine->ctx = ctx;
	machine->err = err;
	if (!machine->on_exec)
		all_events(machine, PERF_EVENT_IOC_ENABLE);
	while ((rc = words_next(&machine->reader, &words, err)) > 0) {
		rc = step(machine, &words);
		if (rc == 0 && !machine->reader_off)
			rc = look(machine, false);
		if (rc < 0)
			return rc;
	}
	if (rc == 0 && machine->loop_count)
		return error_set(err, -EINVAL, "a `repeat` has no `end`");
	all_events(machine, PERF_EVENT_IOC_DISABLE);
	return rc < 0 ? rc : look(machine, true);
}
