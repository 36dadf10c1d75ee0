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
#include "session/recorder_internal.h"

#include "session/apply.h"
#include "session/embed.h"
#include "session/header.h"
#include "session/waitname.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/signalfd.h>

uint64_t recorder_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void recorder_note(struct recorder *r, const char *fmt, ...)
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

static int recorder_checkpoint(struct recorder *r)
{
	int rc;

	recorder_take_measures(r);
	keep_refresh(&r->keep);
	quality_of(r)->unfinished = true;
	rc = header_refresh(&r->features, quality_of(r), &r->target);
	/* The records are in order already: a round's end now and then lets readers forget. */
	if (rc == 0)
		rc = perfdata_write_round(r->writer, r->err);
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
		recorder_watch_copies(r);
		now = recorder_now_ns();
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

/*
 * After a failure (a full disk) the command goes on without us; whoever wants it to end, or the
 * time that was given, still ends it.
 */
static void command_linger(struct recorder *r)
{
	struct pollfd polls[] = {{.fd = r->targets.command.pidfd, .events = POLLIN},
		{.fd = r->options->signal_fd, .events = POLLIN}};
	struct signalfd_siginfo info;

	while (!recorder_command_ended(r) && !r->stop) {
		if (poll(polls, ARRAY_LEN(polls), POLL_MS) > 0 && polls[1].revents)
			while (read(polls[1].fd, &info, sizeof(info)) == sizeof(info))
				r->stop |= info.ssi_signo != SIGUSR2;
		r->stop |= recorder_duration_over(r);
	}
	quality_of(r)->interrupted |= r->stop;
}

static bool command_ends_within(struct recorder *r, uint32_t ms)
{
	struct pollfd ended = {.fd = r->targets.command.pidfd, .events = POLLIN};
	uint64_t until = recorder_now_ns() + ms * 1000000ull;

	while (!recorder_command_ended(r)) {
		if (recorder_now_ns() >= until)
			return false;
		poll(&ended, 1, ended.fd < 0 ? 10 : POLL_MS);
	}
	return true;
}

/* Ends a command that outlives its recording (Ctrl-C, -d), as perf does: with SIGTERM. */
static void command_end(struct recorder *r)
{
	struct child *command = &r->targets.command;

	if (command->pid && !quality_of(r)->interrupted)
		command_linger(r);
	if (!command->pid)
		return;
	kill(command->pid, SIGTERM);
	if (command_ends_within(r, EXIT_GRACE_MS))
		return;
	kill(command->pid, SIGKILL);
	child_wait(command, &r->status, &r->usage);
}

/* The names have been made by now; code takes them along. */
static int embed_hot_code(struct recorder *r)
{
	cleanup_with(excerpts_done) struct excerpts excerpts = {0};
	struct gather gather = {.symbolizer = r->symbolizer,
		.profile = &r->out->profile,
		.jit = &r->jit,
		.codes = r->jit.codes,
		.self = &r->self};
	int rc = gather_code(&gather, &excerpts);

	return rc < 0 ? rc : embed_code(&excerpts, gather.profile, &r->features);
}

/* A file without names is a good file; why it has none is said. */
static void embed(struct recorder *r)
{
	const struct symbolize_budget budget = {
		.cpu_ns = r->options->embed_ns, .bytes = RECORD_EMBED_BYTES};
	struct profile *profile = &r->out->profile;
	int rc;

	if (r->options->no_embed || r->disk_full)
		return;
	if (profile->frame_count >= EMBED_FRAMES_MOST)
		recorder_note(r,
			"more than %d distinct addresses were sampled: the file has the names "
			"of "
			"the first ones only",
			EMBED_FRAMES_MOST);
	if (r->options->downloads)
		downloads_run(r->options->downloads, r->symbolizer, profile);
	rc = jit_read(&r->jit, profile);
	jit_say(&r->jit, quality_of(r));
	if (rc == 0)
		rc = embed_names(r->symbolizer, profile, r->jit.codes, &budget, &r->frames_left,
			&r->features);
	if (rc < 0) {
		recorder_note(r, "the names are not in the file: %s", strerror(-rc));
		return;
	}
	rc = embed_hot_code(r);
	if (rc < 0)
		recorder_note(
			r, "the code of hot functions is not in the file: %s", strerror(-rc));
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
	if (r->frames_left) /* for who waits now; whoever reads the file sees for himself */
		recorder_note(r,
			"inlined functions and lines of %u of %u addresses are left to wick "
			"report, as there was time for the most frequent ones only "
			"(--embed-time); wick export -o FILE.data adds them",
			r->frames_left, r->out->profile.frame_count);
	if (!r->disk_full)
		perfdata_write_round(r->writer, &disk_error);
	rc = perfdata_finish(r->writer, &r->features, r->disk_full ? &disk_error : r->err);
	r->out->file_bytes = perfdata_file_bytes(r->writer);
	return rc;
}

/* Everything from the stop to the file's end; `failed` is what ended the loop, if anything. */
static int recorder_finish(struct recorder *r, int failed)
{
	int rc, file_rc;

	recorder_span_off(r);
	recorder_take_measures(r);
	rc = pump_round(&r->pump, true);
	failed = failed < 0 ? failed : rc;
	if (rc < 0) /* the disk is full, or memory out: still count and finish what is there */
		pump_round(&r->pump, true);
	recorder_priority_restore(r);
	recorder_read_counts(r);
	command_end(r);
	recorder_take_usage(r);
	if (r->span.paused_once)
		recorder_note(r,
			"sampling was paused meanwhile: CPU time is that of the sampled spans "
			"only");
	if (!r->span.begun)
		recorder_note(r,
			"sampling was never begun: nobody told it to, or the delay was not "
			"over");
	if (quality_of(r)->scaled)
		recorder_note(r, "the PMU was shared with other events; counts are scaled up");
	recorder_say_forbidden(r);
	if (r->disk_full)
		recorder_note(r, "the file ends early: it could not be written further");
	if (r->pump.broken_bytes)
		recorder_note(r, "%llu bytes of a ring held no record and were given up",
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
		recorder_note(r,
			"the process was found in /proc some milliseconds after its start; "
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
		rc = child_check(options->command[0], r->err);
		if (rc < 0)
			return recorder_exec_failed(r, rc);
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
		rc = recorder_make_file(r);
	if (rc == 0)
		recorder_say_limits(r);
	if (rc == 0)
		rc = recorder_make_pipeline(r);
	if (rc == 0)
		rc = recorder_make_ends(r);
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
	self_counts_done(&r->self);
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
