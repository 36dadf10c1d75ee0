/*
 * The measures of how much there is: samples, the event, CPU time, what of it the samples
 * cover, and what this way of looking cannot see.
 */
#include "view/quality_lines.h"

#include "view/figure.h"

#include <string.h>

/* Shares below which coverage is no longer good, and is bad; of hidden time that is bad. */
#define COVERAGE_GOOD 0.97
#define COVERAGE_BAD  0.90
#define HIDDEN_BAD    0.50
#define EVENTS_MAX    3 /* told by name */
#define FEW_SAMPLES   100

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
	if (lines->count > before)
		return;
	if (!known(q->event_count) && !known(q->cpu_ns) && !known(q->wall_ns))
		say(lines, LEVEL_BAD, "likely",
			"the file does not say why; whoever recorded it saw more: record again "
			"and look at "
			"what the recorder says");
	else
		say(lines, LEVEL_BAD, "likely",
			"the program was waiting all the time, or the event does not deliver "
			"here: try "
			"-e cpu-clock, and a longer recording");
}

/* Samples, duration, and what was lost of them where that is nothing. */
void say_samples(struct quality_lines *lines, const struct quality *q)
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

/* The recorder's word, else the names of the profile's events. */
static void add_event_name(struct strbuf *text, const struct quality_view *view)
{
	const struct profile *profile = view->profile;

	if (view->quality->event[0] || !profile || profile->event_count == 0) {
		strbuf_puts(text, view->quality->event[0] ? view->quality->event : "not known");
		return;
	}
	for (uint32_t i = 0; i < profile->event_count && i < EVENTS_MAX; i++) {
		strbuf_puts(text, i > 0 ? ", " : "");
		strbuf_puts(text, profile_text(profile, profile->events[i].name));
	}
	if (profile->event_count > EVENTS_MAX)
		strbuf_puts(text, ", ...");
}

void say_event(struct quality_lines *lines, const struct quality_view *view)
{
	struct strbuf *text = add_line(lines, LEVEL_INFO, "event");
	const struct quality *q = view->quality;
	char n[FIGURE_BYTES];

	if (!text)
		return;
	add_event_name(text, view);
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

void say_cpu_time(struct quality_lines *lines, const struct quality *q)
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

void say_coverage(struct quality_lines *lines, const struct quality *q)
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

void say_hidden(struct quality_lines *lines, const struct quality *q)
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
