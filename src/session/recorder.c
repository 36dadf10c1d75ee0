/*
 * A recording's life:
 *
 *     choose events -> fork the command -> attach -> make the file -> let the command exec
 *        -> [ wait, pump ] -> disable -> pump the rest -> counts -> header -> done
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
#include "session/apply.h"
#include "session/attach.h"
#include "session/clocks.h"
#include "session/command.h"
#include "session/ends.h"
#include "session/events.h"
#include "session/header.h"
#include "session/pump.h"
#include "session/resolve.h"
#include "session/synth.h"
#include "symbolize/symbolize.h"
#include "target/target.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	POLL_MS = 250,		       /* records wait no longer than this for their merge */
	ROUND_NS = 1000 * 1000 * 1000, /* FINISHED_ROUND at least that often */
	EXIT_GRACE_MS = 5000,
};

struct recorder {
	const struct record_options *options;
	struct recorded *out;
	struct error *err;
	struct proc proc;
	struct cpu_list online;
	struct events events;
	struct command command;
	struct capture *capture;
	struct pump pump;
	struct target target;
	struct symbolizer *symbolizer;
	struct apply *apply;
	struct synth synth;
	struct perfdata_writer *writer;
	struct ends ends;
	uint64_t started_ns;
	struct process_clock *clocks; /* of options.pids */
	bool disk_full;
	int status; /* of the command; -1: it runs, or there is none */
	struct rusage usage;
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

static int attach_all(struct recorder *r)
{
	const struct record_options *options = r->options;
	uint64_t attached = 0;
	int rc = 0;

	if (options->command) {
		rc = capture_attach(r->capture, r->command.pid, r->err);
		attached = 1;
	}
	for (uint32_t i = 0; rc >= 0 && i < options->tid_count; i++) {
		rc = attach_thread(r->capture, options->tids[i], r->err);
		attached++;
	}
	for (uint32_t i = 0; rc >= 0 && i < options->pid_count; i++) {
		process_clock_start(&r->clocks[i], &r->proc, options->pids[i]);
		rc = attach_process(r->capture, &r->proc, options->pids[i], r->err);
		attached += rc > 0 ? (uint64_t)rc : 0;
	}
	if (rc == -ESRCH && options->command)
		return error_set(r->err, rc, "%s: ended before it could be recorded",
			options->command[0]);
	quality_of(r)->targets = attached;
	return rc < 0 ? rc : 0;
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

static uint32_t event_of(struct recorder *r, const void *record)
{
	uint64_t id;

	if (r->events.count < 2)
		return 0;
	id = wick_record_id(capture_layout(r->capture), record);
	for (uint32_t i = 0; i < r->events.count; i++) {
		uint32_t count;
		const uint64_t *ids = capture_ids(r->capture, i, &count);

		for (uint32_t k = 0; k < count; k++)
			if (ids[k] == id)
				return i;
	}
	return 0;
}

static int recorder_sink(void *ctx, const void *record, uint32_t size)
{
	struct recorder *r = ctx;
	int rc = apply_record(
		r->apply, capture_layout(r->capture), event_of(r, record), record, size);

	return rc < 0 ? rc : recorder_write(r, record, size);
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

static int make_file(struct recorder *r)
{
	cleanup_free struct perfdata_event *events = calloc(r->events.count, sizeof(*events));
	struct perfdata_writer_options options = {
		.path = r->out->path,
		.events = events,
		.event_count = r->events.count,
		.owner_uid = -1,
		.owner_gid = -1,
	};

	if (!events)
		return error_set(
			r->err, -ENOMEM, "out of memory while preparing the recording");
	for (uint32_t i = 0; i < r->events.count; i++) {
		events[i].attr = *capture_attr(r->capture, i);
		events[i].ids =
			(uint64_t *)(uintptr_t)capture_ids(r->capture, i, &events[i].id_count);
		events[i].name = r->events.specs[i].name;
	}
	return perfdata_create(&options, &r->writer, r->err);
}

static int make_pipeline(struct recorder *r)
{
	struct symbolizer_options symbols = {.live = true};
	struct perf_limits limits;
	struct apply_options apply = {
		.target = &r->target,
		.profile = &r->out->profile,
		.is_root = recorder_is_root,
		.need_process = recorder_need_process,
		.ctx = r,
		.count_only = true,
	};
	uint32_t id_count;
	int rc;

	perf_limits_read(&r->proc, &limits);
	if (limits.max_stack > 0 && limits.max_stack < APPLY_DEPTH_MAX)
		apply.kernel_depth_limit = (uint32_t)limits.max_stack;
	r->synth = (struct synth){
		.proc = &r->proc,
		.layout = capture_layout(r->capture),
		.event_id = capture_ids(r->capture, 0, &id_count)[0],
		.build_ids = (capture_attr(r->capture, 0)->flags & ATTR_BUILD_ID) != 0,
		.emit = recorder_sink,
		.ctx = r,
	};
	rc = symbolizer_new(&symbols, &r->symbolizer);
	if (rc == 0)
		rc = apply_new(&apply, &r->apply);
	if (rc == 0)
		rc = pump_init(&r->pump, r->capture, recorder_sink, r);
	if (rc == 0 && !r->events.specs[0].exclude_kernel)
		rc = synth_kernel(&r->synth);
	return rc < 0 ? error_set(r->err, rc, "out of memory while preparing the recording")
		      : 0;
}

/* ---- waiting */

static void read_clocks(struct recorder *r)
{
	for (uint32_t i = 0; i < r->options->pid_count; i++)
		process_clock_read(&r->clocks[i], &r->proc);
}

static int make_ends(struct recorder *r)
{
	const struct record_options *options = r->options;
	int rc = ends_init(&r->ends, capture_ring_count(r->capture) + options->pid_count + 2);

	for (uint32_t i = 0; rc == 0 && i < capture_ring_count(r->capture); i++)
		ends_add_ring(&r->ends, capture_ring_fd(r->capture, i));
	if (rc < 0)
		return error_set(r->err, rc, "out of memory while preparing the recording");
	ends_add_stop(&r->ends, options->stop_fd);
	if (options->command)
		ends_add_process(&r->ends, r->command.pidfd);
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

static int poll_timeout(const struct recorder *r, uint64_t now)
{
	uint64_t end = r->started_ns + r->options->duration_ns, left;

	if (!r->options->duration_ns)
		return POLL_MS;
	left = end > now ? (end - now + 999999) / 1000000 : 0;
	return left < POLL_MS ? (int)left : POLL_MS;
}

/* Without pidfds (before Linux 5.3) the command's end is seen by asking. */
static bool command_ended(struct recorder *r)
{
	return r->options->command && command_poll(&r->command, &r->status, &r->usage);
}

static int recorder_loop(struct recorder *r)
{
	uint64_t round_ns = r->started_ns;
	bool ended = false;

	while (!ended) {
		uint64_t now = now_ns();
		int rc;

		if (r->options->duration_ns && now - r->started_ns >= r->options->duration_ns) {
			quality_of(r)->interrupted = true;
			break;
		}
		rc = ends_wait(&r->ends, poll_timeout(r, now));
		if (rc < 0)
			return error_set(r->err, rc, "waiting for samples: %s", strerror(-rc));
		quality_of(r)->interrupted = rc == ENDS_STOPPED;
		ended = rc != ENDS_NOT_YET || command_ended(r) || threads_ended(r);
		read_clocks(r);
		rc = pump_round(&r->pump, false);
		if (rc == 0 && now - round_ns >= ROUND_NS && !r->disk_full) {
			rc = perfdata_write_round(r->writer, r->err);
			round_ns = now;
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- the end */

static void read_counts(struct recorder *r)
{
	struct quality *quality = quality_of(r);
	struct capture_count count;

	quality->event_count = quality->lost_read = 0;
	for (uint32_t i = 0; i < r->events.count; i++) {
		if (capture_read(r->capture, i, &count) < 0) {
			quality->event_count = quality->lost_read = QUALITY_UNKNOWN;
			return;
		}
		if (i == 0 || !r->options->event_count) /* -e a,b: other events, other units */
			quality->event_count += count.value;
		if (count.has_lost)
			quality->lost_read += count.lost;
		else
			quality->lost_read = QUALITY_UNKNOWN;
		if (count.scaled)
			note(r,
				"%s: the PMU was shared with other events; counts are scaled "
				"up",
				r->events.specs[i].name);
	}
}

/* Ends a command that outlives its recording (Ctrl-C, -d), as perf does: with SIGTERM. */
static void command_end(struct recorder *r)
{
	if (!r->command.pid)
		return;
	if (quality_of(r)->interrupted && r->command.pidfd >= 0) {
		struct pollfd ended = {.fd = r->command.pidfd, .events = POLLIN};

		kill(r->command.pid, SIGTERM);
		if (poll(&ended, 1, EXIT_GRACE_MS) == 0)
			kill(r->command.pid, SIGKILL);
	}
	command_wait(&r->command, &r->status, &r->usage);
}

static void say_limits(struct recorder *r)
{
	struct quality *quality = quality_of(r);
	uint64_t hz;

	quality->ring_pages = capture_pages(r->capture);
	if (quality->ring_pages < quality->ring_pages_asked)
		note(r,
			"ring buffers of %u pages a CPU, not %llu: RLIMIT_MEMLOCK and "
			"kernel.perf_event_mlock_kb allow no more",
			capture_pages(r->capture),
			(unsigned long long)quality->ring_pages_asked);
	if (capture_frequency_capped(r->capture, &hz)) {
		if (r->options->frequency_hz && r->options->frequency_hz != UINT32_MAX)
			note(r,
				"%llu Hz asked, %llu Hz used: "
				"kernel.perf_event_max_sample_rate",
				(unsigned long long)quality->frequency_hz,
				(unsigned long long)hz);
		quality->frequency_hz = hz;
	}
	snprintf(quality->clock, sizeof(quality->clock), "%s",
		capture_clock(r->capture) == CLOCK_MONOTONIC	   ? "CLOCK_MONOTONIC"
		: capture_clock(r->capture) == CLOCK_MONOTONIC_RAW ? "CLOCK_MONOTONIC_RAW"
								   : "perf's own clock");
}

static int write_file_end(struct recorder *r)
{
	cleanup_with(perfdata_features_done) struct perfdata_features features = {0};
	struct error disk_error = {.text = ""};
	int rc;

	rc = header_fill(&features, &r->proc, quality_of(r), &r->target, r->options->own_argv,
		capture_clock(r->capture));
	if (rc < 0)
		return error_set(r->err, rc, "out of memory while finishing %s", r->out->path);
	if (!r->disk_full)
		perfdata_write_round(r->writer, &disk_error);
	rc = perfdata_finish(r->writer, &features, r->disk_full ? &disk_error : r->err);
	r->out->file_bytes = perfdata_bytes(r->writer);
	return rc;
}

/* Everything from the stop to the file's end; `failed` is what ended the loop, if anything. */
static int recorder_finish(struct recorder *r, int failed)
{
	struct quality *quality = quality_of(r);
	int rc, file_rc;

	capture_disable(r->capture);
	quality->wall_ns = now_ns() - r->started_ns;
	if (r->options->pid_count) {
		read_clocks(r);
		clocks_take_processes(quality, r->clocks, r->options->pid_count);
	}
	rc = pump_round(&r->pump, true);
	failed = failed < 0 ? failed : rc;
	if (failed <
		0) /* the disk is full, or memory out: still count and finish what is there */
		pump_round(&r->pump, true);
	read_counts(r);
	quality->out_of_order = r->pump.merge.late;
	command_end(r);
	if (r->status >= 0) {
		clocks_take_usage(quality, &r->usage);
		r->out->exit_status = quality->exit_status = r->status;
	}
	if (r->disk_full)
		note(r, "the file ends early: it could not be written further");
	if (r->pump.broken_bytes)
		note(r, "%llu bytes of a ring held no record and were given up",
			(unsigned long long)r->pump.broken_bytes);
	file_rc = write_file_end(r);
	return failed < 0 ? failed : file_rc;
}

/* What shells exit with: 127 where there is no such command, 126 where it cannot be executed.
 */
static int exec_failed(struct recorder *r, int code)
{
	r->out->command_failed = true;
	r->out->exit_status = code == -ENOENT || code == -ENOTDIR ? 127 : 126;
	return code;
}

static int recorder_start(struct recorder *r)
{
	const struct record_options *options = r->options;
	int rc = proc_open(&r->proc, NULL, NULL, r->err);

	if (rc == 0)
		rc = cpus_online(&r->proc, &r->online);
	if (rc < 0)
		return r->err->text[0] ? rc
				       : error_set(r->err, rc, "the CPUs cannot be listed");
	nofile_raise(UINT64_MAX);
	rc = options->command ? command_check(options->command[0], r->err) : 0;
	if (rc < 0)
		return exec_failed(r, rc);
	rc = events_choose(&r->events, options, quality_of(r), r->err);
	if (rc == 0 && options->command)
		rc = command_fork(options->command, options->command_mask, &r->command, r->err);
	if (rc == 0)
		rc = events_capture(
			&r->events, options, &r->online, quality_of(r), &r->capture, r->err);
	if (rc == 0)
		rc = attach_all(r);
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

static int recorder_exec(struct recorder *r)
{
	int rc;

	r->started_ns = now_ns();
	if (!r->options->command)
		return 0;
	rc = command_exec(&r->command, r->options->command[0], r->err);
	return rc < 0 ? exec_failed(r, rc) : 0;
}

static void recorder_done(struct recorder *r)
{
	ends_done(&r->ends);
	pump_done(&r->pump);
	apply_free(r->apply);
	symbolizer_free(r->symbolizer);
	perfdata_writer_free(r->writer);
	capture_free(r->capture);
	command_done(&r->command);
	target_done(&r->target);
	cpu_list_done(&r->online);
	proc_close(&r->proc);
	free(r->clocks);
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
		return error_set(err, -ENOMEM, "out of memory");
	r->options = options;
	r->out = ret_recorded;
	r->status = -1;
	r->err = err ? err : &local;
	r->proc.root = r->proc.sys = -1;
	r->clocks = calloc(options->pid_count + 1u, sizeof(*r->clocks));
	rc = r->clocks ? recorder_start(r) : -ENOMEM;
	if (rc == 0)
		rc = recorder_exec(r);
	if (rc == 0) {
		if (options->started)
			options->started(options->ctx, quality_of(r));
		rc = recorder_loop(r);
		rc = recorder_finish(r, rc);
	}
	recorder_done(r);
	free(r);
	return rc;
}

void recorded_done(struct recorded *recorded)
{
	profile_done(&recorded->profile);
}
