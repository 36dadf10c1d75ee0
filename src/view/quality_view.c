/*
 * One function a measure; each adds the line or lines that it has to say, or none. The order is
 * the order of importance: is there anything, how much, does it cover what ran, what is hidden
 * or lost, how good are stacks and names, and what else there is to know.
 *
 *       Samples   4,934 in 5.01 s, none lost
 *     ! Kernel    kernel time is hidden (...): 40 % of the CPU time is not in this profile; ...
 *     |    |        `- text, wrapped at the width
 *     |    `- about
 *     `- '!' trust with care, '!!' do not trust
 */
#include "view/quality_view.h"

#include "base/array.h"
#include "view/figure.h"
#include "view/label.h"
#include "view/printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX   1000
#define MODULES_MAX 5 /* told by name */

/* Shares below which a measure is no longer good, and is bad. */
#define COVERAGE_GOOD 0.97
#define COVERAGE_BAD  0.90
#define LOST_BAD      0.01
#define HIDDEN_BAD    0.50
#define STACKS_GOOD   0.95
#define STACKS_BAD    0.50
#define NAMES_GOOD    0.95
#define NAMES_BAD     0.50
#define FEW_SAMPLES   100

/* A new line's text; a bin to write to when memory is out. */
static struct strbuf *add_line(
	struct quality_lines *lines, enum quality_level level, const char *about)
{
	struct quality_line *line;

	if (array_reserve(&lines->lines, &lines->cap, (uint64_t)lines->count + 1, sizeof(*line),
		    LINES_MAX) < 0) {
		lines->failed = true;
		return NULL;
	}
	line = &lines->lines[lines->count++];
	*line = (struct quality_line){level, about, {0}};
	return &line->text;
}

__attribute__((format(printf, 4, 5))) static void say(struct quality_lines *lines,
	enum quality_level level, const char *about, const char *fmt, ...)
{
	struct strbuf *text = add_line(lines, level, about);
	char buf[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);
	if (text)
		strbuf_puts(text, buf);
}

static bool known(uint64_t value)
{
	return value != QUALITY_UNKNOWN;
}

/* Nanoseconds of CPU time a sample stands for; 0 where that cannot be said. */
static uint64_t sample_interval_ns(const struct quality *q)
{
	if (q->weight_is_ns && known(q->period) && q->period > 0)
		return q->period;
	if (known(q->frequency_hz) && q->frequency_hz > 0)
		return 1000000000 / q->frequency_hz;
	return 0;
}

/* How long was recorded: enabled time where it is known, else between the samples. */
static uint64_t duration_ns(const struct quality *q)
{
	if (known(q->wall_ns))
		return q->wall_ns;
	if (known(q->first_ns) && known(q->last_ns) && q->last_ns >= q->first_ns)
		return q->last_ns - q->first_ns;
	return QUALITY_UNKNOWN;
}

static void say_why_nothing(struct quality_lines *lines, const struct quality *q)
{
	uint64_t interval = sample_interval_ns(q), lost;
	char a[FIGURE_BYTES], b[FIGURE_BYTES];
	double share;
	uint32_t before = lines->count;

	if (quality_lost(q, &lost, &share) && lost > 0)
		say(lines, LEVEL_BAD, "likely",
			"%s samples were taken, and all of them were lost: a bigger buffer "
			"(-m) or a lower "
			"rate (-F) keeps them",
			figure_thousands(lost, a));
	if (quality_hidden(q, &share) && share > 0.5)
		say(lines, LEVEL_BAD, "likely",
			"%s of the CPU time was spent in the kernel, which is hidden: sysctl "
			"kernel.perf_event_paranoid=1 shows it",
			figure_percent(share, a));
	if (known(q->cpu_ns) && interval > 0 && q->cpu_ns < 3 * interval)
		say(lines, LEVEL_BAD, "likely",
			"the program used %s of CPU time, and a sample is due every %s: give "
			"it more to do, "
			"or sample it faster (-F 9999)",
			q->cpu_ns ? figure_time(q->cpu_ns, a) : "no measurable amount",
			figure_time(interval, b));
	else if (known(q->event_count) && q->event_count == 0)
		say(lines, LEVEL_BAD, "likely",
			"the event %s never happened, or this machine does not deliver it: try "
			"-e cpu-clock",
			q->event);
	else if (!q->weight_is_ns && known(q->period) && q->period > 0 &&
		 known(q->event_count) && q->event_count < q->period)
		say(lines, LEVEL_BAD, "likely",
			"%s happened %s times, and a sample is due every %s: ask for a smaller "
			"period (-c)",
			q->event, figure_thousands(q->event_count, a),
			figure_thousands(q->period, b));
	if (lines->count == before)
		say(lines, LEVEL_BAD, "likely",
			"the program was waiting all the time, or the event does not deliver "
			"here: try "
			"-e cpu-clock, and a longer recording");
}

/* Samples, duration, and what was lost of them where that is nothing. */
static void say_samples(struct quality_lines *lines, const struct quality *q)
{
	uint64_t duration = duration_ns(q), interval = sample_interval_ns(q), lost = 0;
	char n[FIGURE_BYTES], t[FIGURE_BYTES], every[FIGURE_BYTES];
	double share = 0;
	bool told = quality_lost(q, &lost, &share), few = q->samples < FEW_SAMPLES;
	struct strbuf *text;
	unsigned off = 50;

	if (q->samples == 0) {
		say(lines, LEVEL_BAD, "samples", "NONE%s%s: there is no profile to show",
			known(duration) ? " in " : "",
			known(duration) ? figure_time(duration, t) : "");
		say_why_nothing(lines, q);
		return;
	}
	while (off > 1 && (uint64_t)off * off * q->samples > 2500)
		off--; /* 50 points / sqrt(samples), the spread of a share near a half */
	text = add_line(lines, few ? LEVEL_WARN : LEVEL_GOOD, "samples");
	if (!text)
		return;
	strbuf_puts(text, figure_thousands(q->samples, n));
	if (known(duration))
		strbuf_printf(text, " in %s", figure_time(duration, t));
	if (told && lost == 0)
		strbuf_puts(text, ", none lost");
	if (few && interval > 0)
		strbuf_printf(text,
			": few, so that shares may be off by %u points or more; one is due "
			"every %s of CPU "
			"time (record longer, or faster with -F)",
			off, figure_time(interval, every));
	else if (few)
		strbuf_printf(
			text, ": few, so that shares may be off by %u points or more", off);
}

static void say_event(struct quality_lines *lines, const struct quality *q)
{
	struct strbuf *text = add_line(lines, LEVEL_INFO, "event");
	char n[FIGURE_BYTES];

	if (!text)
		return;
	strbuf_puts(text, q->event[0] ? q->event : "not known");
	if (known(q->frequency_hz) && q->frequency_hz > 0)
		strbuf_printf(text, " at %s Hz", figure_thousands(q->frequency_hz, n));
	else if (known(q->period) && q->period > 0 && q->weight_is_ns)
		strbuf_printf(text, ", a sample every %s", figure_time(q->period, n));
	else if (known(q->period) && q->period > 0)
		strbuf_printf(text, ", a sample every %s", figure_thousands(q->period, n));
	if (q->source != SOURCE_UNKNOWN)
		strbuf_printf(text, ", %s", quality_source_name(q->source));
	if (q->clock[0])
		strbuf_printf(text, ", %s", q->clock);
	if (q->why_event[0])
		strbuf_printf(text, "; %s", q->why_event);
}

static void say_cpu_time(struct quality_lines *lines, const struct quality *q)
{
	char t[FIGURE_BYTES], w[FIGURE_BYTES], p[FIGURE_BYTES];
	struct strbuf *text;
	double cpus;

	if (!known(q->cpu_ns)) {
		if (known(q->event_count))
			say(lines, LEVEL_INFO, "CPU time",
				"not known: no independent clock was read");
		return;
	}
	text = add_line(lines, LEVEL_INFO, "CPU time");
	if (!text)
		return;
	strbuf_puts(text, q->cpu_ns ? figure_time(q->cpu_ns, t) : "none");
	if (known(q->user_ns) && known(q->kernel_ns) && q->cpu_ns > 0)
		strbuf_printf(text, " (%s in the kernel)",
			figure_percent(figure_share(q->kernel_ns,
					       add_saturating(q->user_ns, q->kernel_ns)),
				p));
	if (!quality_on_cpu(q, &cpus))
		return;
	if (cpus >= 1.05)
		strbuf_printf(text, ": %.1f CPUs busy on average", cpus);
	else if (cpus >= 0.95)
		strbuf_puts(text, ": on CPU all the time");
	else
		strbuf_printf(text,
			": on CPU %s of %s, the rest waiting, which a CPU profile does not "
			"show",
			figure_percent(cpus, p), figure_time(q->wall_ns, w));
}

static enum quality_level coverage_level(double share)
{
	if (share < COVERAGE_BAD || share > 2 - COVERAGE_BAD)
		return LEVEL_BAD;
	return share < COVERAGE_GOOD || share > 2 - COVERAGE_GOOD ? LEVEL_WARN : LEVEL_GOOD;
}

/* Why the samples may account for too little. */
static const char *coverage_advice(const struct quality *q)
{
	uint64_t lost;
	double share;

	if (quality_lost(q, &lost, &share) && share > LOST_BAD)
		return "; samples were lost, see below";
	if (q->throttled > 0)
		return "; the kernel throttled the event, see below";
	return "; threads that live shorter than a sample's interval are missed, a higher rate "
	       "(-F) "
	       "sees more of them";
}

static void say_no_coverage(struct quality_lines *lines, const struct quality *q)
{
	if (quality_too_short(q))
		say(lines, LEVEL_INFO, "coverage",
			"not applicable: the recording is too short, a handful of samples was "
			"due");
	else if (!known(q->event_count) && !known(q->cpu_ns))
		say(lines, LEVEL_INFO, "coverage",
			"not known: the recording does not say how much there was to sample");
	else if (known(q->event_count) && q->event_count == 0)
		say(lines, LEVEL_BAD, "coverage", "not applicable: the event counted nothing");
	else if (q->weight_is_ns)
		say(lines, LEVEL_INFO, "coverage",
			"not known: how much of the CPU time the hidden kernel took was not "
			"measured");
	else
		say(lines, LEVEL_INFO, "coverage",
			"not applicable: %s counts no time, and how often it happened was not "
			"read",
			q->event[0] ? q->event : "the event");
}

/* What is off by no more than chance and the targets' last periods is not off. */
static enum quality_level coverage_level_of(const struct quality *q, double share)
{
	double slack = 0;

	if (quality_coverage_slack(q, &slack) && share < 1)
		share = share + slack < 1 ? share + slack : 1;
	return coverage_level(share);
}

static void say_coverage(struct quality_lines *lines, const struct quality *q)
{
	bool by_event, by_clock;
	double event_share = 0, clock_share = 0, worst;
	char a[FIGURE_BYTES], b[FIGURE_BYTES];
	struct strbuf *text;

	by_event = quality_coverage(q, &event_share);
	by_clock = quality_coverage_clock(q, &clock_share);
	if (!by_event && !by_clock) {
		say_no_coverage(lines, q);
		return;
	}
	worst = by_event ? event_share : clock_share;
	text = add_line(lines, coverage_level_of(q, worst), "coverage");
	if (!text)
		return;
	strbuf_puts(text, figure_percent(worst, a));
	if (by_event)
		strbuf_printf(text, " of %s is in the samples",
			q->weight_is_ns ? "the visible CPU time" : "what the event counted");
	else
		strbuf_puts(text, " of the CPU time is in the samples");
	if (by_event && by_clock)
		strbuf_printf(text, "; cross-check by %s: %s",
			q->cpu_clock_name[0] ? q->cpu_clock_name : "another clock",
			figure_percent(clock_share, b));
	else if (by_event && !q->weight_is_ns)
		strbuf_puts(text, "; no cross-check: the event does not count time");
	if (worst < 1 && coverage_level_of(q, worst) > LEVEL_GOOD)
		strbuf_puts(text, coverage_advice(q));
	else if (worst > 2 - COVERAGE_GOOD)
		strbuf_puts(text, "; more than all: the recording is not consistent");
	if (!by_event || !by_clock ||
		coverage_level_of(q, clock_share) <= coverage_level_of(q, worst))
		return;
	lines->lines[lines->count - 1].level = coverage_level_of(q, clock_share);
	if (clock_share < COVERAGE_GOOD)
		strbuf_puts(text, "; threads that are missing here were not followed, or lived "
				  "too short");
}

static void say_hidden(struct quality_lines *lines, const struct quality *q)
{
	static const char remedy[] =
		"; sysctl kernel.perf_event_paranoid=1 (or root) and no :u shows it";
	char p[FIGURE_BYTES];
	double share;

	if (quality_hidden(q, &share)) {
		if (share < 0.005)
			return;
		say(lines, share > HIDDEN_BAD ? LEVEL_BAD : LEVEL_WARN, "kernel",
			"kernel time is hidden (user mode only): %s of the CPU time is in the "
			"kernel and "
			"not in this profile%s",
			figure_percent(share, p), remedy);
	} else if (q->source == SOURCE_KERNEL_USER_ONLY) {
		say(lines, LEVEL_WARN, "kernel",
			"kernel time is hidden (user mode only), how much is not known%s",
			remedy);
	}
}

static void say_lost(struct quality_lines *lines, const struct quality *q)
{
	char n[FIGURE_BYTES], p[FIGURE_BYTES], a[FIGURE_BYTES], b[FIGURE_BYTES];
	struct strbuf *text;
	uint64_t lost = 0;
	double share = 0;

	if (quality_lost(q, &lost, &share) && lost > 0 && q->samples > 0) {
		text = add_line(lines, share > LOST_BAD ? LEVEL_BAD : LEVEL_WARN, "lost");
		if (!text)
			return;
		strbuf_printf(text, "%s samples (%s)", figure_thousands(lost, n),
			figure_percent(share, p));
		if (q->lost == 0)
			strbuf_puts(text, " at the very end, as the event's own count says");
		else if (known(q->first_loss_ns) && known(q->last_loss_ns))
			strbuf_printf(text, " between %s and %s",
				figure_time(q->first_loss_ns, a),
				figure_time(q->last_loss_ns, b));
		strbuf_puts(text, ": the buffer was full; ");
		if (known(q->ring_pages) && q->ring_pages > 0 && q->ring_pages < 1u << 20)
			strbuf_printf(text, "a bigger one (-m %llu)",
				(unsigned long long)q->ring_pages * 4);
		else
			strbuf_puts(text, "a bigger one (-m)");
		strbuf_puts(text, " or a lower rate (-F) keeps them");
	}
	if (q->throttled > 0)
		say(lines, LEVEL_WARN, "throttled",
			"the kernel paused the event %s times%s%s, as sampling took too long "
			"(kernel.perf_cpu_time_max_percent): a lower rate (-F) avoids it",
			figure_thousands(q->throttled, n), q->throttled_ns ? ", in all " : "",
			q->throttled_ns ? figure_time(q->throttled_ns, a) : "");
	if (known(q->ring_pages) && known(q->ring_pages_asked) &&
		q->ring_pages < q->ring_pages_asked)
		say(lines, LEVEL_INFO, "buffer",
			"%s pages a CPU instead of %s: more is not allowed (RLIMIT_MEMLOCK, "
			"kernel.perf_event_mlock_kb)",
			figure_thousands(q->ring_pages, a),
			figure_thousands(q->ring_pages_asked, b));
}

static const char *stop_remedy(enum stack_stop stop)
{
	switch (stop) {
	case STOP_NOT_ROOT:
		return " (built without frame pointers? -fno-omit-frame-pointer)";
	case STOP_TRUNCATED_KERNEL:
		return " (sysctl kernel.perf_event_max_stack=1024)";
	case STOP_COPY_EXHAUSTED:
		return " (--stack-bytes copies more)";
	case STOP_NO_CFI:
		return " (debug symbols or frame pointers help)";
	default:
		return "";
	}
}

static bool stop_is_fine(enum stack_stop stop)
{
	return stop == STOP_ROOT || stop == STOP_LATE || stop == STOP_NO_USER;
}

static void say_stacks(struct quality_lines *lines, const struct quality *q)
{
	uint64_t left[STOP_COUNT], owed = 0;
	char p[FIGURE_BYTES];
	struct strbuf *text;
	double share;

	if (q->samples == 0)
		return;
	if (!quality_complete(q, &share)) {
		say(lines, LEVEL_INFO, "stacks", "not applicable: no user stack was due");
		return;
	}
	text = add_line(lines,
		share < STACKS_BAD    ? LEVEL_BAD
		: share < STACKS_GOOD ? LEVEL_WARN
				      : LEVEL_GOOD,
		"stacks");
	if (!text)
		return;
	strbuf_printf(text, "%s complete", figure_percent(share, p));
	for (unsigned i = 0; i < STOP_COUNT; i++) {
		left[i] = stop_is_fine(i) ? 0 : q->stops[i];
		owed = add_saturating(owed, i == STOP_NO_USER ? 0 : q->stops[i]);
	}
	if (q->stops[STOP_LATE] > 0)
		strbuf_printf(text, " (%s completed late)",
			figure_percent(figure_share(q->stops[STOP_LATE], owed), p));
	for (unsigned told = 0; told < 3; told++) {
		unsigned most = 0;

		for (unsigned i = 1; i < STOP_COUNT; i++)
			most = left[i] > left[most] ? i : most;
		if (left[most] == 0)
			break;
		strbuf_printf(text, "%s %s %s%s", told ? "," : "; others end early:",
			figure_percent(figure_share(left[most], owed), p),
			quality_stop_name(most), stop_remedy(most));
		left[most] = 0;
	}
}

static void say_module(struct quality_lines *lines, const struct quality_view *view,
	const struct module_note *note)
{
	struct strbuf *text = add_line(lines, LEVEL_WARN, "names");
	char p[FIGURE_BYTES];

	if (!text)
		return;
	strbuf_printf(text, "%s in ",
		figure_percent(figure_share(note->unnamed, view->quality->user_frames), p));
	if (view->profile)
		printable_add(text, module_shown(view->profile, note->module), view->utf8);
	else
		strbuf_puts(text, "[unknown]");
	if (note->why && *note->why)
		strbuf_printf(text, ": %s", note->why);
}

static void say_names(struct quality_lines *lines, const struct quality_view *view)
{
	const struct quality *q = view->quality;
	uint32_t top[MODULES_MAX], tops = 0;
	char p[FIGURE_BYTES];
	double named;

	if (q->samples == 0 || q->user_frames == 0)
		return;
	named = 1 - figure_share(q->unnamed_frames, q->user_frames);
	say(lines,
		named < NAMES_BAD    ? LEVEL_BAD
		: named < NAMES_GOOD ? LEVEL_WARN
				     : LEVEL_GOOD,
		"names", "%s of the user frames have a function name%s",
		figure_percent(named, p),
		named < NAMES_GOOD && view->note_count == 0
			? "; debug symbols of what shows as [unknown] bring more"
			: "");
	if (named >= NAMES_GOOD)
		return;
	for (uint32_t i = 0; i < view->note_count; i++) { /* the five with the most, in order */
		uint32_t at = tops < MODULES_MAX ? tops++ : MODULES_MAX;

		for (; at > 0 && view->notes[i].unnamed > view->notes[top[at - 1]].unnamed;
			at--)
			if (at < MODULES_MAX)
				top[at] = top[at - 1];
		if (at < MODULES_MAX)
			top[at] = i;
	}
	for (uint32_t i = 0; i < tops; i++)
		if (view->notes[top[i]].unnamed > 0)
			say_module(lines, view, &view->notes[top[i]]);
}

static void say_file(struct quality_lines *lines, const struct quality_view *view)
{
	const struct quality *q = view->quality;
	char n[FIGURE_BYTES];

	if (known(q->truncated_at))
		say(lines, LEVEL_BAD, "file",
			"ends too early, at byte %s (was the recorder killed, or the disk "
			"full?): what came "
			"after is missing",
			figure_thousands(q->truncated_at, n));
	if (q->bad_records > 0)
		say(lines, LEVEL_WARN, "file", "%s damaged records were skipped",
			figure_thousands(q->bad_records, n));
	if (q->unknown_records > 0)
		say(lines, LEVEL_INFO, "file",
			"%s records of a kind that wick does not know were skipped",
			figure_thousands(q->unknown_records, n));
	if (q->out_of_order > 0)
		say(lines, LEVEL_WARN, "file",
			"%s records came too late to be put in order: some frames may have the "
			"wrong module",
			figure_thousands(q->out_of_order, n));
	if (view->profile && view->profile->refused > 0)
		say(lines, LEVEL_WARN, "limits",
			"%s additions met a limit of wick's tables: "
			"the profile is not whole",
			figure_thousands(view->profile->refused, n));
}

static void say_notes(struct quality_lines *lines, const struct quality_view *view)
{
	const struct quality *q = view->quality;
	const char *at = q->notes, *end = q->notes + strnlen(q->notes, sizeof(q->notes));

	if (q->exit_status > 128)
		say(lines, LEVEL_WARN, "command", "was ended by signal %d",
			q->exit_status - 128);
	else if (q->exit_status > 0)
		say(lines, LEVEL_WARN, "command", "ended with status %d", q->exit_status);
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((newline ? newline : end) - at);

		if (len > 0) {
			struct strbuf *text = add_line(lines, LEVEL_INFO, "note");

			if (text)
				strbuf_add(text, at, len);
		}
		at += len + 1;
	}
}

/* Texts of the file (event names, notes) are made safe for the terminal here, once for all. */
static void make_safe(struct quality_line *line, bool utf8)
{
	struct strbuf safe = {0};

	printable_add(&safe, strbuf_text(&line->text), utf8);
	strbuf_done(&line->text);
	line->text = safe;
}

int quality_lines_make(struct quality_lines *lines, const struct quality_view *view)
{
	const struct quality *q = view->quality;

	*lines = (struct quality_lines){0};
	say_samples(lines, q);
	say_event(lines, q);
	say_cpu_time(lines, q);
	say_coverage(lines, q);
	say_hidden(lines, q);
	say_lost(lines, q);
	say_stacks(lines, q);
	say_names(lines, view);
	say_file(lines, view);
	say_notes(lines, view);
	for (uint32_t i = 0; i < lines->count; i++) {
		make_safe(&lines->lines[i], view->utf8);
		lines->failed |= lines->lines[i].text.failed;
	}
	if (!lines->failed)
		return 0;
	quality_lines_done(lines);
	return -ENOMEM;
}

void quality_lines_done(struct quality_lines *lines)
{
	for (uint32_t i = 0; i < lines->count; i++)
		strbuf_done(&lines->lines[i].text);
	free(lines->lines);
	*lines = (struct quality_lines){0};
}
