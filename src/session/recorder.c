/*
 * A recording's life:
 *
 *     events -> targets (fork, attach) -> file -> begin (exec, enable)
 *        -> [ wait, pump, checkpoint ] -> disable -> pump the rest -> counts -> header -> done
 *
 * The pump hands each record to recorder_sink(): it is interpreted (apply) and written. A
 * process that no record has told about is read from /proc in between, so its records stand in
 * the file before the first sample that needs them.
 */
#include "session/recorder.h"

#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "perf/capture.h"
#include "perfdata/perfdata.h"
#include "proc/cpus.h"
#include "proc/facts.h"
#include "record/encode.h"
#include "session/apply.h"
#include "session/clocks.h"
#include "session/control.h"
#include "session/embed.h"
#include "session/ends.h"
#include "session/events.h"
#include "session/header.h"
#include "session/jit.h"
#include "session/keep.h"
#include "session/layouts.h"
#include "session/pump.h"
#include "session/resolve.h"
#include "session/stacks.h"
#include "session/synth.h"
#include "session/targets.h"
#include "session/waitname.h"
#include "symbolize/symbolize.h"
#include "target/target.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>

enum {
	POLL_MS = 250, /* records wait no longer than this for their merge */
	CHECKPOINT_NS = 1000 * 1000 * 1000, /* what a killed recorder may lose */
	EXIT_GRACE_MS = 5000,
	PRIORITY_MOST = -20, /* nice */
};

/* When the sampling events count. */
struct span {
	bool on, begun, paused_once;
	uint64_t since_ns, total_ns;
};

struct recorder {
	const struct record_options *options;
	struct record_options waited; /* with --wait-name: the options, and the process */
	int32_t waited_pid;
	struct recorded *out;
	struct error *err;
	struct proc proc;
	struct cpu_list cpus;
	struct events events;
	struct targets targets;
	struct control control;
	struct layouts layouts;
	struct pump pump;
	struct target target;
	struct symbolizer *symbolizer;
	struct apply *apply;
	struct synth synth;
	struct perfdata_writer *writer;
	struct perfdata_features features;
	struct ends ends;
	struct span span;
	uint64_t started_ns;
	struct stacks *stacks; /* NULL: the kernel's chains are taken */
	struct keep keep;
	struct jit jit;
	struct wick_layout file_layout;
	bool disk_full, stop;
	bool rewritten; /* the record at hand was written in another form */
	bool priority_raised;
	int priority; /* nice, as it was */
	int status;   /* of the command; -1: it runs, or there is none */
	struct rusage usage;
	_Alignas(8) uint8_t record[PERF_RECORD_SIZE_MAX + 1];
};

static struct quality *quality_of(struct recorder *r)
{
	return &r->out->profile.quality;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

__attribute__((format(printf, 2, 3))) static void note(struct recorder *r, const char *fmt, ...)
{
	char *notes = quality_of(r)->notes;
	size_t used = strlen(notes), cap = sizeof(quality_of(r)->notes);
	va_list ap;

	if (used && used + 1 < cap)
		notes[used++] = '\n';
	va_start(ap, fmt);
	vsnprintf(notes + used, cap - used, fmt, ap);
	va_end(ap);
}

/* ---- records on their way */

static int recorder_write(struct recorder *r, const void *record, uint32_t size)
{
	int rc;

	if (r->disk_full)
		return 0;
	rc = perfdata_write(r->writer, record, size, r->err);
	if (rc < 0) {
		r->disk_full = true;
		return rc;
	}
	return 0;
}

/* A sample whose stack was unwound: written with its chain in place of registers and stack. */
static int recorder_counted(void *ctx, const struct wick_record *record)
{
	struct recorder *r = ctx;
	int size = record_encode(&r->file_layout, record, r->record, sizeof(r->record));

	r->rewritten = true;
	return size < 0 ? 0 : recorder_write(r, r->record, (uint32_t)size);
}

static int recorder_sink(void *ctx, const void *record, uint32_t size)
{
	struct recorder *r = ctx;
	int rc;

	r->rewritten = false;
	rc = apply_record(r->apply, capture_layout(r->targets.capture),
		layouts_find(&r->layouts, record), record, size);
	return rc < 0 || r->rewritten ? rc : recorder_write(r, record, size);
}

static void recorder_need_process(void *ctx, int32_t pid, int32_t tid, uint64_t time_ns)
{
	struct recorder *r = ctx;
	uint32_t process;

	(void)tid;
	process = target_process(&r->target, pid);
	if (process == TARGET_NONE)
		return;
	r->target.processes[process].known = true; /* asked once, whatever comes of it */
	if (pid > 0)
		synth_process(&r->synth, pid, time_ns);
}

static bool recorder_is_root(void *ctx, struct profile *profile, uint32_t frame)
{
	const struct recorder *r = ctx;

	return resolve_is_root(r->symbolizer, profile, frame);
}

/* The file holds call chains, not what they were unwound from. */
static void attr_as_written(struct perf_event_attr *attr)
{
	attr->sample_type &= ~(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	attr->flags &= ~ATTR_EXCLUDE_CALLCHAIN_USER;
	attr->sample_regs_user = 0;
	attr->sample_stack_user = 0;
}

static int make_file(struct recorder *r)
{
	const struct capture *capture = r->targets.capture;
	uint32_t count = capture_event_count(capture);
	cleanup_free struct perfdata_event *events = calloc(count, sizeof(*events));
	struct perfdata_info info = {.events = events, .event_count = count};
	struct perfdata_writer_options options = {
		.path = r->out->path,
		.events = events,
		.event_count = count,
		.owner_uid = -1,
		.owner_gid = -1,
		.compression_level = r->options->compression_level,
	};
	char sideband[] = "dummy:u";
	int rc;

	if (!events)
		return error_set(
			r->err, -ENOMEM, "out of memory while preparing the recording");
	for (uint32_t i = 0; i < count; i++) {
		events[i].attr = *capture_attr(capture, i);
		attr_as_written(&events[i].attr);
		events[i].ids =
			(uint64_t *)(uintptr_t)capture_ids(capture, i, &events[i].id_count);
		events[i].name = i < r->events.count ? r->events.specs[i].name : sideband;
	}
	rc = layouts_update(&r->layouts, &info, r->err);
	if (rc == 0)
		rc = wick_layout_init(&r->file_layout, &events[0].attr);
	if (rc == 0)
		rc = header_fill(
			&r->features, &r->proc, r->options->own_argv, capture_clock(capture));
	if (rc < 0)
		return error_set(r->err, rc, "out of memory while preparing the recording");
	return perfdata_create(&options, &r->writer, r->err);
}

static int make_stacks(struct recorder *r, struct apply_options *apply)
{
	struct stacks_options options = {.target = &r->target,
		.proc = &r->proc,
		.arch = (enum unwind_arch)stacks_arch_here()};
	int rc = stacks_new(&options, &r->stacks);

	apply->stacks = r->stacks;
	apply->on_counted = recorder_counted;
	return rc;
}

static void recorder_module_seen(void *ctx, const struct dso *dso, uint32_t module)
{
	struct recorder *r = ctx;

	keep_module(&r->keep, dso, module);
}

/* A jitdump is opened when it is mapped, and read at the end. */
static int recorder_mapping(void *ctx, const struct wick_record_mmap *mmap)
{
	struct recorder *r = ctx;
	struct pin_request request = {(int32_t)mmap->pid, mmap->addr, mmap->addr + mmap->len,
		mmap->filename.text, mmap->ino};
	enum pin_trust trust;
	int fd;

	if (jit_wants(&r->jit, request.pid, request.path) &&
		pin_open(&r->proc, &request, &fd, &trust) == 0)
		jit_add(&r->jit, request.pid, request.path, fd);
	return 0;
}

static int recorder_map_folder(void *ctx, int32_t pid, int32_t *ret_own_pid, uint32_t *ret_uid)
{
	const struct recorder *r = ctx;
	const struct keep_folder *folder = keep_folder(&r->keep, pid);

	if (!folder)
		return -1;
	*ret_own_pid = folder->own_pid;
	*ret_uid = folder->uid;
	return folder->fd;
}

static int recorder_pinned_fd(void *ctx, const struct profile *profile, uint32_t module)
{
	const struct recorder *r = ctx;

	(void)profile;
	return keep_fd(&r->keep, module);
}

static int make_pipeline(struct recorder *r)
{
	const struct capture *capture = r->targets.capture;
	uint32_t sideband =
		capture_event_count(capture) > r->events.count ? r->events.count : 0;
	struct symbolizer_options symbols = {
		.live = true,
		.pinned_fd = recorder_pinned_fd,
		.map_folder = recorder_map_folder,
		.ctx = r,
	};
	struct perf_limits limits;
	struct apply_options apply = {
		.target = &r->target,
		.profile = &r->out->profile,
		.is_root = recorder_is_root,
		.need_process = recorder_need_process,
		.module_seen = r->options->no_embed ? NULL : recorder_module_seen,
		.mapping_seen = r->options->no_embed ? NULL : recorder_mapping,
		.ctx = r,
		.count_only = true,
		.counted_frames_most = r->options->no_embed ? 0 : EMBED_FRAMES_MOST,
	};
	uint32_t id_count;
	int rc;

	perf_limits_read(&r->proc, &limits);
	if (limits.max_stack > 0 && limits.max_stack < APPLY_DEPTH_MAX)
		apply.kernel_depth_limit = (uint32_t)limits.max_stack;
	r->synth = (struct synth){
		.proc = &r->proc,
		.layout = capture_layout(capture),
		.event_id = capture_ids(capture, sideband, &id_count)[0],
		.build_ids = (capture_attr(capture, sideband)->flags & ATTR_BUILD_ID) != 0,
		.emit = recorder_sink,
		.ctx = r,
	};
	keep_init(&r->keep, &r->proc, &r->target);
	jit_init(&r->jit);
	r->jit.no_time = capture_clock(capture) != CLOCK_MONOTONIC;
	rc = symbolizer_new(&symbols, &r->symbolizer);
	if (rc == 0 && r->targets.stack_bytes)
		rc = make_stacks(r, &apply);
	if (rc == 0)
		rc = apply_new(&apply, &r->apply);
	if (rc == 0)
		rc = pump_init(&r->pump, r->targets.capture, recorder_sink, r);
	if (rc == 0 && !r->events.specs[0].exclude_kernel)
		rc = synth_kernel(&r->synth);
	return rc < 0 ? error_set(r->err, rc, "out of memory while preparing the recording")
		      : 0;
}

/* ---- sampling begins, rests, ends */

static void span_on(struct recorder *r)
{
	if (r->span.on)
		return;
	if (!r->span.begun)
		targets_clocks_start(&r->targets);
	if (r->targets.by_hand || r->span.begun)
		capture_enable(r->targets.capture);
	r->span.on = r->span.begun = true;
	r->span.since_ns = now_ns();
}

static void span_off(struct recorder *r)
{
	if (!r->span.on)
		return;
	capture_disable(r->targets.capture);
	r->span.on = false;
	r->span.total_ns += now_ns() - r->span.since_ns;
}

static void span_pause(struct recorder *r)
{
	r->span.paused_once |= r->span.on;
	span_off(r);
}

/* What shells exit with: 127 where there is no such command, 126 where it cannot be executed.
 */
static int exec_failed(struct recorder *r, int code)
{
	r->out->command_failed = true;
	r->out->exit_status = code == -ENOENT || code == -ENOTDIR ? 127 : 126;
	return code;
}

/*
 * On a busy machine a reader that waits for its turn finds its rings full: where it is
 * permitted (root, CAP_SYS_NICE) it goes first while it samples. The command was forked before.
 */
static void priority_raise(struct recorder *r)
{
	r->priority = getpriority(PRIO_PROCESS, 0);
	r->priority_raised = setpriority(PRIO_PROCESS, 0, PRIORITY_MOST) == 0;
}

static void priority_restore(struct recorder *r)
{
	if (r->priority_raised)
		setpriority(PRIO_PROCESS, 0, r->priority);
	r->priority_raised = false;
}

/* Without a delay, everything is ready: sampling starts with the command's exec, or has
 * started. */
static int recorder_begin(struct recorder *r)
{
	const struct record_options *options = r->options;
	int rc = 0;

	r->started_ns = now_ns();
	if (!options->delay_ns && !options->start_paused)
		span_on(r);
	if (options->command)
		rc = command_exec(&r->targets.command, options->command[0], r->err);
	if (rc < 0)
		return exec_failed(r, rc);
	priority_raise(r);
	if (options->started)
		options->started(options->ctx, quality_of(r));
	return 0;
}

static void read_signals(struct recorder *r)
{
	struct signalfd_siginfo info;

	while (read(r->options->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGUSR2)
			r->stop = true;
		else if (r->span.on)
			span_pause(r);
		else
			span_on(r);
	}
}

static void read_control(struct recorder *r)
{
	enum control_word word;

	while ((word = control_next(&r->control)) != CONTROL_NONE) {
		if (word == CONTROL_ENABLE)
			span_on(r);
		else if (word == CONTROL_DISABLE)
			span_pause(r);
		else if (word == CONTROL_STOP)
			r->stop = true;
		if (word != CONTROL_UNKNOWN)
			control_ack(&r->control);
	}
}

/* ---- waiting */

static int make_ends(struct recorder *r)
{
	const struct record_options *options = r->options;
	const struct capture *capture = r->targets.capture;
	uint32_t rings = capture_ring_count(capture);
	int rc = ends_init(&r->ends, rings + options->pid_count + 3);

	for (uint32_t i = 0; rc == 0 && i < rings; i++)
		ends_add_ring(&r->ends, capture_ring_fd(capture, i));
	if (rc < 0)
		return error_set(r->err, rc, "out of memory while preparing the recording");
	ends_add_signal(&r->ends, options->signal_fd);
	ends_add_control(&r->ends, r->control.ctl_fd);
	if (options->command)
		ends_add_process(&r->ends, r->targets.command.pidfd);
	for (uint32_t i = 0; i < options->pid_count; i++)
		ends_add_pid(&r->ends, options->pids[i]);
	return 0;
}

/* A thread given by -t has no pidfd on most kernels: it has ended when /proc knows it no more.
 */
static bool threads_ended(const struct recorder *r)
{
	for (uint32_t i = 0; i < r->options->tid_count; i++)
		if (proc_tgid(&r->proc, r->options->tids[i]) > 0)
			return false;
	return r->options->tid_count > 0;
}

/* Without pidfds (before Linux 5.3) the command's end is seen by asking. */
static bool command_ended(struct recorder *r)
{
	return r->options->command && command_poll(&r->targets.command, &r->status, &r->usage);
}

/* When something is due by the clock: the end, or the end of the delay. */
static uint64_t next_moment(const struct recorder *r)
{
	const struct record_options *options = r->options;
	uint64_t at = UINT64_MAX;

	if (options->duration_ns)
		at = r->started_ns + options->delay_ns + options->duration_ns;
	if (options->delay_ns && !r->span.begun && r->started_ns + options->delay_ns < at)
		at = r->started_ns + options->delay_ns;
	return at;
}

static int poll_timeout(const struct recorder *r)
{
	uint64_t now = now_ns(), at = next_moment(r), left;

	if (at == UINT64_MAX)
		return POLL_MS;
	left = at > now ? (at - now + 999999) / 1000000 : 0;
	return left < POLL_MS ? (int)left : POLL_MS;
}

static bool duration_over(const struct recorder *r)
{
	const struct record_options *options = r->options;

	return options->duration_ns &&
	       now_ns() >= r->started_ns + options->delay_ns + options->duration_ns;
}

/* Waits, and carries out what has come. 1: the recording ends; 0, or a negative errno. */
static int recorder_wait(struct recorder *r)
{
	const struct record_options *options = r->options;
	int seen = ends_wait(&r->ends, poll_timeout(r));
	uint64_t now = now_ns();

	if (seen < 0)
		return error_set(r->err, seen, "waiting for samples: %s", strerror(-seen));
	if (seen & ENDS_SIGNAL)
		read_signals(r);
	if (seen & ENDS_CONTROL)
		read_control(r);
	if (options->delay_ns && !r->span.begun && now >= r->started_ns + options->delay_ns)
		span_on(r);
	r->stop |= duration_over(r);
	targets_clocks_read(&r->targets);
	if (r->stop)
		quality_of(r)->interrupted = true;
	return r->stop || (seen & ENDS_TARGETS_GONE) || command_ended(r) || threads_ended(r);
}

static void take_measures(struct recorder *r);

static int recorder_checkpoint(struct recorder *r)
{
	int rc;

	take_measures(r);
	quality_of(r)->unfinished = true;
	rc = header_refresh(&r->features, quality_of(r), &r->target);
	if (rc == 0)
		rc = perfdata_checkpoint(r->writer, &r->features, r->err);
	r->disk_full = rc < 0;
	return rc;
}

static int recorder_loop(struct recorder *r)
{
	uint64_t checkpoint_ns = r->started_ns;
	int ended = 0;

	while (!ended) {
		uint64_t now;
		int rc;

		ended = recorder_wait(r);
		if (ended < 0)
			return ended;
		rc = pump_round(&r->pump, false);
		if (rc == 0)
			rc = perfdata_write_round(r->writer, r->err);
		now = now_ns();
		if (rc == 0 && now - checkpoint_ns >= CHECKPOINT_NS) {
			rc = recorder_checkpoint(r);
			checkpoint_ns = now;
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- the end */

/* The first events share a unit unless the user named several: coverage is about those. */
static uint32_t coverage_events(const struct recorder *r)
{
	return r->options->event_count ? 1 : r->events.count;
}

static void read_counts(struct recorder *r)
{
	struct quality *quality = quality_of(r);
	uint64_t count = 0, lost = 0;

	for (uint32_t i = 0; i < capture_event_count(r->targets.capture); i++) {
		struct capture_count one;

		if (capture_read(r->targets.capture, i, &one) < 0)
			return; /* unknown */
		if (i < coverage_events(r))
			count += one.value;
		lost = one.has_lost ? lost + one.lost : QUALITY_UNKNOWN;
		quality->scaled |= one.scaled;
	}
	/* A clock of whole CPUs counts their idle time too, which is not sampled. */
	if (r->targets.scope != SCOPE_SYSTEM || !quality->weight_is_ns)
		quality->event_count = count;
	quality->lost_read = lost;
}

static void take_measures(struct recorder *r)
{
	struct quality *quality = quality_of(r);

	quality->wall_ns = r->span.total_ns + (r->span.on ? now_ns() - r->span.since_ns : 0);
	quality->out_of_order = r->pump.merge.late;
	read_counts(r);
	if (!r->span.begun)
		return;
	if (!r->span.paused_once)
		targets_clocks_take(&r->targets, quality);
}

/* wait4() tells what a command used in all; that is comparable when all of it was sampled. */
static void take_usage(struct recorder *r)
{
	struct quality *quality = quality_of(r);

	if (r->status < 0)
		return;
	r->out->exit_status = quality->exit_status = r->status;
	if (r->targets.scope == SCOPE_INHERIT && !r->options->delay_ns &&
		!r->options->start_paused && !r->span.paused_once)
		clocks_take_usage(quality, &r->usage);
}

/*
 * After a failure (a full disk) the command goes on without us; whoever wants it to end, or the
 * time that was given, still ends it.
 */
static void command_linger(struct recorder *r)
{
	struct pollfd polls[] = {{.fd = r->targets.command.pidfd, .events = POLLIN},
		{.fd = r->options->signal_fd, .events = POLLIN}};
	struct signalfd_siginfo info;

	while (!command_ended(r) && !r->stop) {
		if (poll(polls, ARRAY_LEN(polls), POLL_MS) > 0 && polls[1].revents)
			while (read(polls[1].fd, &info, sizeof(info)) == sizeof(info))
				r->stop |= info.ssi_signo != SIGUSR2;
		r->stop |= duration_over(r);
	}
	quality_of(r)->interrupted |= r->stop;
}

static bool command_ends_within(struct recorder *r, uint32_t ms)
{
	struct pollfd ended = {.fd = r->targets.command.pidfd, .events = POLLIN};
	uint64_t until = now_ns() + ms * 1000000ull;

	while (!command_ended(r)) {
		if (now_ns() >= until)
			return false;
		poll(&ended, 1, ended.fd < 0 ? 10 : POLL_MS);
	}
	return true;
}

/* Ends a command that outlives its recording (Ctrl-C, -d), as perf does: with SIGTERM. */
static void command_end(struct recorder *r)
{
	struct command *command = &r->targets.command;

	if (command->pid && !quality_of(r)->interrupted)
		command_linger(r);
	if (!command->pid)
		return;
	kill(command->pid, SIGTERM);
	if (command_ends_within(r, EXIT_GRACE_MS))
		return;
	kill(command->pid, SIGKILL);
	command_wait(command, &r->status, &r->usage);
}

static void say_limits(struct recorder *r)
{
	const struct capture *capture = r->targets.capture;
	struct quality *quality = quality_of(r);
	clockid_t clock = capture_clock(capture);
	uint64_t hz;

	quality->coverage_events = coverage_events(r);
	quality->ring_pages = capture_pages(capture);
	if (capture_frequency_capped(capture, &hz)) {
		if (r->options->frequency_hz && r->options->frequency_hz != UINT32_MAX)
			note(r,
				"%llu Hz asked, %llu Hz used: "
				"kernel.perf_event_max_sample_rate",
				(unsigned long long)quality->frequency_hz,
				(unsigned long long)hz);
		quality->frequency_hz = hz;
	}
	snprintf(quality->clock, sizeof(quality->clock), "%s",
		clock == CLOCK_MONOTONIC       ? "CLOCK_MONOTONIC"
		: clock == CLOCK_MONOTONIC_RAW ? "CLOCK_MONOTONIC_RAW"
					       : "perf's own clock");
}

/* A file without names is a good file; why it has none is said. */
static void embed(struct recorder *r)
{
	struct profile *profile = &r->out->profile;
	int rc;

	if (r->options->no_embed || r->disk_full)
		return;
	if (profile->frame_count >= EMBED_FRAMES_MOST)
		note(r,
			"more than %d distinct addresses were sampled: the file has the names "
			"of "
			"the first ones only",
			EMBED_FRAMES_MOST);
	rc = jit_read(&r->jit, profile);
	if (rc == 0)
		rc = embed_names(r->symbolizer, profile, r->jit.codes, &r->features);
	if (rc < 0)
		note(r, "the names are not in the file: %s", strerror(-rc));
}

static int write_file_end(struct recorder *r)
{
	struct error disk_error = {.text = ""};
	int rc;

	embed(r);
	quality_of(r)->unfinished = false;
	rc = header_refresh(&r->features, quality_of(r), &r->target);
	if (rc < 0)
		return error_set(r->err, rc, "out of memory while finishing %s", r->out->path);
	if (!r->disk_full)
		perfdata_write_round(r->writer, &disk_error);
	rc = perfdata_finish(r->writer, &r->features, r->disk_full ? &disk_error : r->err);
	r->out->file_bytes = perfdata_bytes(r->writer);
	return rc;
}

/* Everything from the stop to the file's end; `failed` is what ended the loop, if anything. */
static int recorder_finish(struct recorder *r, int failed)
{
	int rc, file_rc;

	span_off(r);
	take_measures(r);
	rc = pump_round(&r->pump, true);
	failed = failed < 0 ? failed : rc;
	if (rc < 0) /* the disk is full, or memory out: still count and finish what is there */
		pump_round(&r->pump, true);
	priority_restore(r);
	read_counts(r);
	command_end(r);
	take_usage(r);
	if (r->span.paused_once)
		note(r, "sampling was paused meanwhile: CPU time is that of the sampled spans "
			"only");
	if (!r->span.begun)
		note(r, "sampling was never begun: nobody told it to, or the delay was not "
			"over");
	if (quality_of(r)->scaled)
		note(r, "the PMU was shared with other events; counts are scaled up");
	if (r->disk_full)
		note(r, "the file ends early: it could not be written further");
	if (r->pump.broken_bytes)
		note(r, "%llu bytes of a ring held no record and were given up",
			(unsigned long long)r->pump.broken_bytes);
	file_rc = write_file_end(r);
	return failed < 0 ? failed : file_rc;
}

/* The CPUs to sample: those that are online, and of them those that were asked for. */
static int choose_cpus(struct recorder *r)
{
	cleanup_with(cpu_list_done) struct cpu_list asked = {0};
	const char *text = r->options->cpus;
	uint32_t kept = 0;
	int rc = cpus_online(&r->proc, &r->cpus);

	if (rc < 0)
		return error_set(r->err, rc, "the CPUs cannot be listed: %s", strerror(-rc));
	if (!text)
		return 0;
	if (cpu_list_parse(text, strlen(text), &asked) < 0 || !asked.count)
		return error_set(r->err, -EINVAL, "-C %.60s: not a list of CPUs (0-3,8)", text);
	for (uint32_t i = 0; i < r->cpus.count; i++)
		for (uint32_t k = 0; k < asked.count; k++)
			if (asked.cpus[k] == r->cpus.cpus[i])
				r->cpus.cpus[kept++] = asked.cpus[k];
	if (kept < asked.count)
		return error_set(
			r->err, -ENODEV, "-C %.60s: not all of these CPUs are online", text);
	r->cpus.count = kept;
	return 0;
}

static int wait_name(struct recorder *r)
{
	bool exact;

	r->waited_pid = wait_for_name(&r->proc, &r->cpus, r->options->wait_name,
		r->options->signal_fd, &exact, r->err);
	if (r->waited_pid < 0)
		return r->waited_pid;
	if (!exact)
		note(r, "the process was found in /proc some milliseconds after its start; "
			"root or "
			"CAP_PERFMON sees its exec");
	r->waited = *r->options;
	r->waited.pids = &r->waited_pid;
	r->waited.pid_count = 1;
	r->options = &r->waited;
	return 0;
}

static int recorder_start(struct recorder *r)
{
	const struct record_options *options = r->options;
	int rc = proc_open(&r->proc, NULL, NULL, r->err);

	if (rc == 0)
		rc = choose_cpus(r);
	if (rc == 0 && options->command) {
		rc = command_check(options->command[0], r->err);
		if (rc < 0)
			return exec_failed(r, rc);
	}
	if (rc == 0 && options->control)
		rc = control_open(&r->control, options->control, r->err);
	if (rc == 0)
		rc = events_choose(&r->events, options, quality_of(r), r->err);
	if (rc == 0 && options->wait_name)
		rc = wait_name(r);
	if (rc == 0)
		rc = targets_open(&r->targets, r->options, &r->proc, &r->events, &r->cpus,
			quality_of(r), r->err);
	if (rc == 0)
		rc = make_file(r);
	if (rc == 0)
		say_limits(r);
	if (rc == 0)
		rc = make_pipeline(r);
	if (rc == 0)
		rc = make_ends(r);
	return rc;
}

static void recorder_done(struct recorder *r)
{
	ends_done(&r->ends);
	pump_done(&r->pump);
	apply_free(r->apply);
	stacks_free(r->stacks);
	symbolizer_free(r->symbolizer);
	keep_done(&r->keep);
	jit_done(&r->jit);
	perfdata_writer_free(r->writer);
	perfdata_features_done(&r->features);
	targets_done(&r->targets);
	control_done(&r->control);
	layouts_done(&r->layouts);
	target_done(&r->target);
	cpu_list_done(&r->cpus);
	proc_close(&r->proc);
}

int record_run(
	const struct record_options *options, struct recorded *ret_recorded, struct error *err)
{
	struct error local = {.text = ""};
	struct recorder *r = calloc(1, sizeof(*r));
	int rc;

	*ret_recorded = (struct recorded){
		.exit_status = -1, .path = options->output ? options->output : "perf.data"};
	quality_init(&ret_recorded->profile.quality);
	if (!r)
		return error_set(err, -ENOMEM, "out of memory while preparing the recording");
	r->options = options;
	r->out = ret_recorded;
	r->err = err ? err : &local;
	r->status = -1;
	r->proc.root = r->proc.sys = -1;
	r->control.ctl_fd = r->control.ack_fd = -1;
	rc = recorder_start(r);
	if (rc == 0)
		rc = recorder_begin(r);
	if (rc == 0)
		rc = recorder_finish(r, recorder_loop(r));
	if (rc < 0 && !r->err->text[0])
		error_set(r->err, rc,
			"%s: %s while interpreting what was sampled; what was written stays "
			"readable",
			r->out->path, rc == -ENOMEM ? "out of memory" : strerror(-rc));
	recorder_done(r);
	free(r);
	return rc;
}

void recorded_done(struct recorded *recorded)
{
	profile_done(&recorded->profile);
}
