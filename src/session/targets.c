#include "session/targets.h"

#include "base/cleanup.h"
#include "proc/facts.h"
#include "session/attach.h"
#include "session/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_A_RING = 16, COPY_LEAST = 512 };

static int open_capture(struct targets *targets, const struct events *events,
	const struct cpu_list *cpus, enum capture_start start, struct quality *quality,
	struct error *err)
{
	struct events_how how = {
		.start = start,
		.per_cpu = targets->scope != SCOPE_INHERIT,
		.no_idle = targets->scope == SCOPE_SYSTEM,
		.sideband_event = targets->options->start_paused ||
				  targets->options->delay_ns || targets->options->can_pause,
		.no_callchain = targets->options->stacks == RECORD_STACKS_NONE,
		.user_regs = targets->user_regs,
		.stack_bytes = targets->stack_bytes,
	};

	targets->by_hand = start == CAPTURE_BY_HAND;
	capture_free(targets->capture);
	targets->capture = NULL;
	return events_capture(
		events, targets->options, cpus, &how, quality, &targets->capture, err);
}

/* Sampling must wait: for a delay, for somebody's word. */
static bool must_wait(const struct record_options *options)
{
	return options->start_paused || options->delay_ns;
}

/* The command's own cgroup; a negative errno where that is not permitted, and nothing stays. */
static int open_confined(struct targets *targets, const struct events *events,
	const struct cpu_list *cpus, struct quality *quality)
{
	int rc = confine_new(&targets->confine, targets->proc);

	targets->scope = SCOPE_CGROUP;
	if (rc == 0)
		rc = open_capture(targets, events, cpus, CAPTURE_BY_HAND, quality, NULL);
	if (rc == 0)
		rc = capture_attach_cgroup(targets->capture, targets->confine.fd, NULL);
	if (rc < 0)
		confine_done(&targets->confine);
	return rc;
}

static int open_command(struct targets *targets, const struct events *events,
	const struct cpu_list *cpus, struct quality *quality, struct error *err)
{
	const struct record_options *options = targets->options;
	int rc = options->inherit_only ? -EPERM : open_confined(targets, events, cpus, quality);
	bool confined = rc == 0;

	rc = child_fork(options->command, options->command_mask, targets->confine.fd,
		&targets->command, err);
	if (rc < 0 || confined)
		return rc;
	targets->scope = SCOPE_INHERIT;
	rc = open_capture(targets, events, cpus,
		must_wait(options) ? CAPTURE_BY_HAND : CAPTURE_ON_EXEC, quality, err);
	if (rc == 0)
		rc = capture_attach(targets->capture, targets->command.pid, err);
	if (rc == -ESRCH)
		error_set(
			err, rc, "%s: ended before it could be recorded", options->command[0]);
	return rc;
}

static int open_processes(struct targets *targets, const struct events *events,
	const struct cpu_list *cpus, struct quality *quality, struct error *err)
{
	const struct record_options *options = targets->options;
	uint64_t attached = 0;
	int rc;

	targets->scope = SCOPE_INHERIT;
	nofile_raise(UINT64_MAX);
	rc = open_capture(targets, events, cpus,
		must_wait(options) ? CAPTURE_BY_HAND : CAPTURE_AT_ONCE, quality, err);
	for (uint32_t i = 0; rc >= 0 && i < options->tid_count; i++) {
		rc = attach_thread(targets->capture, options->tids[i], err);
		attached++;
	}
	for (uint32_t i = 0; rc >= 0 && i < options->pid_count; i++) {
		process_clock_start(&targets->clocks[i], targets->proc, options->pids[i]);
		rc = attach_process(targets->capture, targets->proc, options->pids[i], err);
		attached += rc > 0 ? (uint64_t)rc : 0;
	}
	quality->targets = attached;
	return rc < 0 ? rc : 0;
}

static int open_machine(struct targets *targets, const struct events *events,
	const struct cpu_list *cpus, struct quality *quality, struct error *err)
{
	const struct record_options *options = targets->options;
	int rc = 0;

	targets->scope = options->cgroup ? SCOPE_CGROUP : SCOPE_SYSTEM;
	if (options->cgroup)
		rc = confine_open(&targets->confine, targets->proc, options->cgroup, err);
	if (rc == 0)
		rc = open_capture(targets, events, cpus,
			must_wait(options) ? CAPTURE_BY_HAND : CAPTURE_AT_ONCE, quality, err);
	if (rc < 0)
		return rc;
	rc = options->cgroup ? capture_attach_cgroup(targets->capture, targets->confine.fd, err)
			     : capture_attach_cpus(targets->capture, err);
	if (rc == -EACCES)
		error_set(err, rc,
			"%s: whole CPUs may be sampled by root, with CAP_PERFMON, or where "
			"kernel.perf_event_paranoid is 0 or less (sysctl "
			"kernel.perf_event_paranoid=0)",
			options->cgroup ? "-G" : "-a");
	return rc;
}

/* A ring that the user made small still holds some samples: the copies shrink with it. */
static uint32_t copy_that_fits(uint32_t pages, uint32_t bytes)
{
	uint64_t most = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) / SAMPLES_A_RING;

	if (bytes <= most)
		return bytes;
	return most < COPY_LEAST ? COPY_LEAST : (uint32_t)most / 8 * 8;
}

/* Registers and stack are copied where they can be unwound. */
static int choose_copy(struct targets *targets, struct error *err)
{
	const struct record_options *options = targets->options;
	int arch;

	if (options->stacks == RECORD_STACKS_FP || options->stacks == RECORD_STACKS_NONE)
		return 0;
	arch = stacks_arch_here();
	if (arch < 0)
		return options->stacks == RECORD_STACKS_AUTO
			       ? 0
			       : error_set(err, arch,
					 "--call-graph dwarf: stacks of this machine's "
					 "architecture "
					 "cannot be unwound; use --call-graph fp");
	targets->user_regs = stacks_regs(arch);
	targets->stack_bytes = options->stack_bytes ? options->stack_bytes : RECORD_STACK_BYTES;
	if (options->pages && !options->stack_bytes)
		targets->stack_bytes = copy_that_fits(options->pages, targets->stack_bytes);
	return 0;
}

int targets_open(struct targets *targets, const struct record_options *options,
	const struct proc *proc, const struct events *events, const struct cpu_list *cpus,
	struct quality *quality, struct error *err)
{
	int rc;

	*targets = (struct targets){
		.options = options, .proc = proc, .cpus = cpus, .confine.fd = -1};
	rc = choose_copy(targets, err);
	if (rc < 0)
		return rc;
	targets->clocks = calloc(options->pid_count + 1u, sizeof(*targets->clocks));
	if (!targets->clocks)
		return error_set(err, -ENOMEM, "out of memory while preparing the recording");
	quality->targets = 1;
	if (options->command)
		rc = open_command(targets, events, cpus, quality, err);
	else if (options->pid_count || options->tid_count)
		rc = open_processes(targets, events, cpus, quality, err);
	else
		rc = open_machine(targets, events, cpus, quality, err);
	quality->scope = targets->scope;
	return rc;
}

void targets_done(struct targets *targets)
{
	if (!targets->options)
		return;
	capture_free(targets->capture);
	child_done(&targets->command);
	confine_done(&targets->confine);
	free(targets->clocks);
	*targets = (struct targets){.confine.fd = -1};
}

/* ---- clocks */

void targets_clocks_start(struct targets *targets)
{
	for (uint32_t i = 0; i < targets->options->pid_count; i++)
		process_clock_start(
			&targets->clocks[i], targets->proc, targets->options->pids[i]);
	if (targets->confine.fd >= 0 &&
		confine_cpu(&targets->confine, &targets->cgroup_cpu, &targets->cgroup_user,
			&targets->cgroup_kernel) < 0)
		targets->cgroup_cpu = QUALITY_UNKNOWN;
	if (targets->scope == SCOPE_SYSTEM)
		targets->busy_ns = machine_busy_ns(targets->proc, targets->cpus);
}

void targets_clocks_read(struct targets *targets)
{
	for (uint32_t i = 0; i < targets->options->pid_count; i++)
		process_clock_read(&targets->clocks[i], targets->proc);
}

void targets_clocks_take(struct targets *targets, struct quality *quality)
{
	uint64_t cpu, user, kernel;

	if (targets->options->pid_count) {
		targets_clocks_read(targets);
		clocks_take_processes(quality, targets->clocks, targets->options->pid_count);
	} else if (targets->confine.fd >= 0 && targets->cgroup_cpu != QUALITY_UNKNOWN &&
		   confine_cpu(&targets->confine, &cpu, &user, &kernel) == 0) {
		clocks_split(
			quality, user - targets->cgroup_user, kernel - targets->cgroup_kernel);
		quality->cpu_ns = cpu - targets->cgroup_cpu;
		snprintf(quality->cpu_clock_name, sizeof(quality->cpu_clock_name),
			"cgroup cpu.stat");
	} else if (targets->scope == SCOPE_SYSTEM && targets->busy_ns != QUALITY_UNKNOWN) {
		quality->cpu_ns =
			machine_busy_ns(targets->proc, targets->cpus) - targets->busy_ns;
		snprintf(
			quality->cpu_clock_name, sizeof(quality->cpu_clock_name), "/proc/stat");
	}
}
