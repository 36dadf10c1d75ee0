/* When sampling begins and rests, and what the recorder waits for meanwhile. */
#include "session/recorder_internal.h"

#include "session/stacks.h"

#include <errno.h>
#include <sys/signalfd.h>

enum { CLOCKS_NS = POLL_MS * 1000 * 1000 };

/* ---- sampling begins, rests, ends */

static void span_on(struct recorder *r)
{
	if (r->span.on)
		return;
	if (!r->span.begun)
		targets_clocks_start(&r->targets);
	if (r->targets.by_hand || r->span.begun)
		capture_enable(r->targets.capture);
	r->span.since_ns = recorder_now_ns();
	if (!r->span.begun)
		r->span.begun_ns = r->span.since_ns;
	r->span.on = r->span.begun = true;
}

void recorder_span_off(struct recorder *r)
{
	if (!r->span.on)
		return;
	capture_disable(r->targets.capture);
	r->span.on = false;
	r->span.total_ns += recorder_now_ns() - r->span.since_ns;
}

static void span_pause(struct recorder *r)
{
	r->span.paused_once |= r->span.on;
	recorder_span_off(r);
}

/* What shells exit with: 127 where there is no such command, 126 where it cannot be executed.
 */
int recorder_exec_failed(struct recorder *r, int code)
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

void recorder_priority_restore(struct recorder *r)
{
	if (r->priority_raised)
		setpriority(PRIO_PROCESS, 0, r->priority);
	r->priority_raised = false;
}

/* Without a delay, everything is ready: sampling starts with the command's exec, or has
 * started. */
int recorder_begin(struct recorder *r)
{
	const struct record_options *options = r->options;
	int rc = 0;

	r->started_ns = recorder_now_ns();
	if (!options->delay_ns && !options->start_paused)
		span_on(r);
	if (options->command)
		rc = child_exec(&r->targets.command, options->command[0], r->err);
	if (rc < 0)
		return recorder_exec_failed(r, rc);
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

int recorder_make_ends(struct recorder *r)
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
bool recorder_command_ended(struct recorder *r)
{
	return r->options->command && child_poll(&r->targets.command, &r->status, &r->usage);
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

/* Since it was asked last: were there stacks that go on above what was copied? */
static bool deep_stacks(struct recorder *r)
{
	struct stacks_stats stats = {0};
	uint64_t had = r->late_tried;

	if (r->stacks)
		stacks_stats(r->stacks, &stats);
	r->late_tried = stats.late + stats.late_refused;
	return r->late_tried != had;
}

static int poll_timeout(struct recorder *r)
{
	bool early = r->span.begun && r->now_ns < r->span.begun_ns + EARLY_NS;
	int most = deep_stacks(r) ? POLL_LATE_MS : POLL_MS;
	uint64_t at = next_moment(r), now, left;

	if (early)
		most = POLL_EARLY_MS;
	if (at == UINT64_MAX)
		return most;
	now = recorder_now_ns();
	left = at > now ? (at - now + 999999) / 1000000 : 0;
	return left < (uint64_t)most ? (int)left : most;
}

static bool duration_over_at(const struct recorder *r, uint64_t now_ns)
{
	const struct record_options *options = r->options;

	return options->duration_ns &&
	       now_ns >= r->started_ns + options->delay_ns + options->duration_ns;
}

bool recorder_duration_over(const struct recorder *r)
{
	return duration_over_at(r, recorder_now_ns());
}

/* A clock goes with its process: it is read again and again, and when one has ended. */
static void read_clocks(struct recorder *r, bool ended)
{
	if (!ended && r->now_ns - r->clocks_ns < CLOCKS_NS)
		return;
	r->clocks_ns = r->now_ns;
	targets_clocks_read(&r->targets);
}

/* Waits, and carries out what has come. 1: the recording ends; 0, or a negative errno. */
int recorder_wait(struct recorder *r)
{
	const struct record_options *options = r->options;
	int seen = ends_wait(&r->ends, poll_timeout(r));
	bool by_asking = r->targets.command.pidfd < 0;

	r->now_ns = recorder_now_ns();
	if (seen < 0)
		return error_set(r->err, seen, "waiting for samples: %s", strerror(-seen));
	if (seen & ENDS_SIGNAL)
		read_signals(r);
	if (seen & ENDS_CONTROL)
		read_control(r);
	if (options->delay_ns && !r->span.begun &&
		r->now_ns >= r->started_ns + options->delay_ns)
		span_on(r);
	r->stop |= duration_over_at(r, r->now_ns);
	read_clocks(r, r->stop || (seen & ENDS_PROCESS_GONE));
	if (r->stop)
		quality_of(r)->interrupted = true;
	return r->stop || (seen & ENDS_TARGETS_GONE) ||
	       ((by_asking || (seen & ENDS_PROCESS_GONE)) && recorder_command_ended(r)) ||
	       threads_ended(r);
}
