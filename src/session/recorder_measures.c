/* What a recording measures about itself. */
#include "session/recorder_internal.h"

#include "session/copies.h"
#include "session/header.h"
#include "session/stacks.h"

/* The first events share a unit unless the user named several: coverage is about those. */
static uint32_t coverage_events(const struct recorder *r)
{
	return r->options->event_count ? 1 : r->events.count;
}

void recorder_read_counts(struct recorder *r)
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

/* What was copied, and whether there was time for it. */
static void take_stacks(const struct recorder *r, struct quality *quality)
{
	struct stacks_stats stats;

	if (!r->stacks)
		return;
	stacks_stats(r->stacks, &stats);
	quality->copy_bytes = r->targets.stack_bytes;
	quality->behind_ns = strain_lowered_ns(&r->strain, recorder_now_ns());
	quality->behind_times = r->strain.lowered_times;
	quality->by_pointers = stats.by_pointers;
}

void recorder_take_measures(struct recorder *r)
{
	struct quality *quality = quality_of(r);

	quality->wall_ns =
		r->span.total_ns + (r->span.on ? recorder_now_ns() - r->span.since_ns : 0);
	quality->out_of_order = r->pump.merge.late;
	take_stacks(r, quality);
	recorder_read_counts(r);
	if (!r->span.begun)
		return;
	if (!r->span.paused_once)
		targets_clocks_take(&r->targets, quality);
}

/* wait4() tells what a command used in all; that is comparable when all of it was sampled. */
void recorder_take_usage(struct recorder *r)
{
	struct quality *quality = quality_of(r);

	if (r->status < 0)
		return;
	r->out->exit_status = quality->exit_status = r->status;
	if (r->targets.scope == SCOPE_INHERIT && !r->options->delay_ns &&
		!r->options->start_paused && !r->span.paused_once)
		clocks_take_usage(quality, &r->usage);
}

void recorder_say_limits(struct recorder *r)
{
	const struct capture *capture = r->targets.capture;
	struct quality *quality = quality_of(r);
	clockid_t clock = capture_clock(capture);
	uint64_t hz;

	quality->coverage_events = coverage_events(r);
	quality->ring_pages = capture_pages(capture);
	if (capture_frequency_capped(capture, &hz)) {
		if (r->options->frequency_hz && r->options->frequency_hz != UINT32_MAX)
			recorder_note(r,
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

void recorder_say_forbidden(struct recorder *r)
{
	struct stacks_stats stats = {.late_forbidden = 0};

	if (r->stacks)
		stacks_stats(r->stacks, &stats);
	if (stats.late_forbidden && !r->targets.late_refused)
		recorder_note(r,
			"process %d may not be read (it made itself not dumpable, is another "
			"user's, or kernel.yama.ptrace_scope is 1 and its parent has ended): "
			"%llu stacks ended with what was copied; "
			"--stack-bytes %d copies the most, root may read on",
			stats.forbidden_by, (unsigned long long)stats.late_forbidden,
			COPY_LARGE);
}
