#include "session/targets.h"

#include "base/cleanup.h"
#include "proc/facts.h"
#include "session/attach.h"
#include "session/copies.h"
#include "session/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { GROW_CPUS = 8, GROW_FDS = 256 };

/*
 * Events that may take over with larger copies cost a descriptor each, and where the others are
 * inherited they are, too, at each clone().
 */
static bool can_grow(const struct targets *targets, const struct events *events)
{
	uint32_t cpus = targets->cpus->count;

	return targets->stack_bytes && !targets->options->stack_bytes &&
	       targets->late_refused >= 0 && (uint64_t)cpus * events->count <= GROW_FDS &&
	       (targets->scope != SCOPE_INHERIT ||
		       (targets->options->command && cpus <= GROW_CPUS));
}

static int open_capture(struct targets *targets, const struct events *events,
	enum capture_start start, struct quality *quality, struct error *err)
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

	if (!can_grow(targets, events))
		targets->grown_bytes = 0;
	how.grown_stack_bytes = targets->grown_bytes;

	targets->by_hand = start == CAPTURE_BY_HAND;
	capture_free(targets->capture);
	targets->capture = NULL;
	return events_capture(
		events, targets->options, targets->cpus, &how, quality, &targets->capture, err);
}

/* Samples a second, as the kernel took it; 0: not known beforehand. */
static uint64_t rate_of(const struct targets *targets, const struct quality *quality)
{
	const struct perf_event_attr *attr = capture_attr(targets->capture, 0);

	if (attr->flags & ATTR_FREQ)
		return attr->sample_period;
	return quality->weight_is_ns && attr->sample_period ? 1000000000 / attr->sample_period
							    : 0;
}

/* The same for the events that may take over; they go where they would copy no more. */
static bool grown_shrinks(struct targets *targets, size_t ring, uint64_t hz)
{
	uint32_t grown = targets->grown_bytes, fit = copies_fit(ring, hz, grown, true);

	targets->grown_bytes = fit > targets->stack_bytes ? fit : 0;
	return targets->grown_bytes && targets->grown_bytes < grown;
}

/* True: the rings that could be had hold the copies for a short while only; now smaller ones.
 */
static bool copy_shrinks(struct targets *targets, struct quality *quality)
{
	size_t ring = (size_t)capture_pages(targets->capture) * (size_t)sysconf(_SC_PAGESIZE);
	uint64_t hz = rate_of(targets, quality);
	char text[192];
	uint32_t fit;

	if (!targets->stack_bytes || targets->options->stack_bytes)
		return false;
	if (grown_shrinks(targets, ring, hz))
		return true;
	fit = copies_fit(ring, hz, targets->stack_bytes, targets->late_refused < 0);
	if (fit >= targets->stack_bytes)
		return false;
	snprintf(text, sizeof(text),
		"%.4g KiB of stack are copied with each sample, not %.4g: a buffer of %zu KiB "
		"holds no more for long enough (--stack-bytes, -m)",
		fit / 1024.0, targets->stack_bytes / 1024.0, ring / 1024);
	quality_note(quality, text);
	targets->stack_bytes = fit;
	return true;
}

typedef int (*attach_fn)(struct targets *targets, struct quality *quality, struct error *err);

static int open_and_attach(struct targets *targets, const struct events *events,
	enum capture_start start, attach_fn attach, struct quality *quality, struct error *err)
{
	int rc;

	do {
		rc = open_capture(targets, events, start, quality, err);
		if (rc == 0)
			rc = attach(targets, quality, err);
	} while (rc == 0 && copy_shrinks(targets, quality));
	return rc;
}

static int attach_confined(struct targets *targets, struct quality *quality, struct error *err)
{
	(void)quality;
	return capture_attach_cgroup(targets->capture, targets->confine.fd, err);
}

static int attach_command(struct targets *targets, struct quality *quality, struct error *err)
{
	(void)quality;
	return capture_attach(targets->capture, targets->command.pid, err);
}

static int attach_processes(struct targets *targets, struct quality *quality, struct error *err)
{
	const struct record_options *options = targets->options;
	uint64_t attached = 0;
	int rc = 0;

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

static int attach_machine(struct targets *targets, struct quality *quality, struct error *err)
{
	(void)quality;
	return targets->options->cgroup
		       ? capture_attach_cgroup(targets->capture, targets->confine.fd, err)
		       : capture_attach_cpus(targets->capture, err);
}

/* Sampling must wait: for a delay, for somebody's word. */
static bool must_wait(const struct record_options *options)
{
	return options->start_paused || options->delay_ns;
}

/* The command's own cgroup; a negative errno where that is not permitted, and nothing stays. */
static int open_confined(
	struct targets *targets, const struct events *events, struct quality *quality)
{
	int rc = confine_new(&targets->confine, targets->proc);

	targets->scope = SCOPE_CGROUP;
	if (rc == 0)
		rc = open_and_attach(
			targets, events, CAPTURE_BY_HAND, attach_confined, quality, NULL);
	if (rc < 0)
		confine_done(&targets->confine);
	return rc;
}

static int open_command(struct targets *targets, const struct events *events,
	struct quality *quality, struct error *err)
{
	const struct record_options *options = targets->options;
	int rc = options->inherit_only ? -EPERM : open_confined(targets, events, quality);
	bool confined = rc == 0;

	rc = child_fork(options->command, options->command_mask, targets->confine.fd,
		&targets->command, err);
	if (rc < 0 || confined)
		return rc;
	targets->scope = SCOPE_INHERIT;
	rc = open_and_attach(targets, events,
		must_wait(options) ? CAPTURE_BY_HAND : CAPTURE_ON_EXEC, attach_command, quality,
		err);
	if (rc == -ESRCH)
		error_set(
			err, rc, "%s: ended before it could be recorded", options->command[0]);
	return rc;
}

static int open_processes(struct targets *targets, const struct events *events,
	struct quality *quality, struct error *err)
{
	targets->scope = SCOPE_INHERIT;
	nofile_raise(UINT64_MAX);
	return open_and_attach(targets, events,
		must_wait(targets->options) ? CAPTURE_BY_HAND : CAPTURE_AT_ONCE,
		attach_processes, quality, err);
}

static int open_machine(struct targets *targets, const struct events *events,
	struct quality *quality, struct error *err)
{
	const struct record_options *options = targets->options;
	int rc = 0;

	targets->scope = options->cgroup ? SCOPE_CGROUP : SCOPE_SYSTEM;
	if (options->cgroup)
		rc = confine_open(&targets->confine, targets->proc, options->cgroup, err);
	if (rc == 0)
		rc = open_and_attach(targets, events,
			must_wait(options) ? CAPTURE_BY_HAND : CAPTURE_AT_ONCE, attach_machine,
			quality, err);
	if (rc == -EACCES)
		error_set(err, rc,
			"%s: whole CPUs may be sampled by root, with CAP_PERFMON, or where "
			"kernel.perf_event_paranoid is 0 or less (sysctl "
			"kernel.perf_event_paranoid=0)",
			options->cgroup ? "-G" : "-a");
	return rc;
}

/* Where the copy is all there will be of a stack it is a large one, and that is said. */
static void say_refused(const struct targets *targets, struct quality *quality)
{
	char text[256], whose[96] = "other users' processes may not be read; CAP_SYS_PTRACE "
				    "allows it";

	if (targets->late_refused >= 0 || targets->options->stack_bytes)
		return;
	if (targets->refused_by > 0)
		snprintf(whose, sizeof(whose),
			"process %d may not be read; root may, kernel.yama.ptrace_scope=0 "
			"allows it",
			targets->refused_by);
	else if (targets->refused_by < 0)
		snprintf(whose, sizeof(whose), "process_vm_readv: %s (a seccomp filter?)",
			strerror(-targets->late_refused));
	snprintf(text, sizeof(text),
		"%.4g KiB of stack are copied with each sample, and deeper stacks end there: "
		"%s",
		targets->stack_bytes / 1024.0, whose);
	quality_note(quality, text);
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
	targets->late_refused = copies_late_refused(options, &targets->refused_by);
	targets->stack_bytes = copies_first(options, targets->late_refused < 0);
	targets->grown_bytes = COPY_LARGE;
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
		rc = open_command(targets, events, quality, err);
	else if (options->pid_count || options->tid_count)
		rc = open_processes(targets, events, quality, err);
	else
		rc = open_machine(targets, events, quality, err);
	quality->scope = targets->scope;
	if (rc == 0 && targets->stack_bytes)
		say_refused(targets, quality);
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
