/*
 * What follows from the numbers.
 *
 *     event_count   |#####################################|   read() of the sampling events
 *     hidden        |                          :::::::::::|   event_count * kernel_ns / cpu_ns
 *     visible       |##########################|
 *     period_sum    |=======================|                 coverage = period_sum / visible
 *
 * Only a clock that samples user mode alone has a hidden part: its count runs on in the kernel,
 * but a tick that falls there makes no sample. A hardware event that excludes the kernel does
 * not count there, so its count is what is visible.
 *
 * How exact coverage can be, as a share of the visible part; the verdict grants it:
 *   - a sample comes when a period is full, so each target may end one period short. Most of
 *     many targets may have been idle, so more than one period is granted only up to 5 %;
 *   - where the hidden part is subtracted, two estimates meet that both come from looking now
 * and then: ours (every period) and the kernel's split of CPU time into user and kernel (every
 *     tick, 4 ms at HZ=250). N looks at a share k are off by sqrt(N k (1 - k)) looks; two such
 *     deviations are granted.
 */
#include "profile/quality.h"

#include <math.h>
#include <string.h>

#define MANY_TARGETS 0.05 /* of the visible part */
#define NS_PER_S     1e9
#define TICK_NS	     4e6 /* the kernel's own look at who is running, at the usual HZ=250 */
/* fork, exec, moving into a cgroup: the clock counts it, the event does not */
#define START_NS 25e6

enum { SHORTEST_PERIODS = 10 }; /* below this coverage says nothing */

static bool known(uint64_t number)
{
	return number != QUALITY_UNKNOWN;
}

/* Only user mode is sampled: the rung says it, or the event's modifiers do ("cpu-clock:u"). */
static bool kernel_hidden(const struct quality *quality)
{
	const char *modifiers = strrchr(quality->event, ':');

	if (quality->source == SOURCE_KERNEL_USER_ONLY)
		return true;
	return modifiers && strchr(modifiers, 'u') && !strchr(modifiers, 'k') &&
	       strspn(modifiers + 1, "ukhHGpPSDWIe") == strlen(modifiers + 1);
}

bool quality_hidden(const struct quality *quality, double *ret_share)
{
	double share;

	if (!kernel_hidden(quality) || !known(quality->kernel_ns) || !known(quality->cpu_ns) ||
		!quality->cpu_ns)
		return false;
	share = (double)quality->kernel_ns / (double)quality->cpu_ns;
	*ret_share = share > 1 ? 1 : share;
	return true;
}

/* A period in the unit of the count; 0 where it cannot be told. */
static double period_length(const struct quality *quality)
{
	if (known(quality->period) && quality->period)
		return (double)quality->period;
	if (quality->weight_is_ns && known(quality->frequency_hz) && quality->frequency_hz)
		return NS_PER_S / (double)quality->frequency_hz;
	if (quality->samples && known(quality->samples) && known(quality->period_sum))
		return (double)quality->period_sum / (double)quality->samples;
	return 0;
}

/* The part of `total` (an event count, or ns of the clock) that can be sampled. */
static bool visible_part(const struct quality *quality, uint64_t total, double *ret_visible)
{
	double hidden = 0;

	if (!known(total) || !total)
		return false;
	if (quality->weight_is_ns && kernel_hidden(quality) &&
		!quality_hidden(quality, &hidden))
		return false;
	*ret_visible = (double)total * (1 - hidden);
	return true;
}

static bool covered_share(const struct quality *quality, uint64_t total, double *ret_share)
{
	double visible;

	if (!known(quality->period_sum) || !visible_part(quality, total, &visible))
		return false;
	if (visible <= 0 || visible < SHORTEST_PERIODS * period_length(quality))
		return false;
	*ret_share = (double)quality->period_sum / visible;
	return true;
}

bool quality_coverage(const struct quality *quality, double *ret_share)
{
	return covered_share(quality, quality->event_count, ret_share);
}

bool quality_coverage_clock(const struct quality *quality, double *ret_share)
{
	return quality->weight_is_ns && covered_share(quality, quality->cpu_ns, ret_share);
}

bool quality_too_short(const struct quality *quality)
{
	double visible;

	return visible_part(quality, quality->event_count, &visible) &&
	       visible < SHORTEST_PERIODS * period_length(quality);
}

/* See the top; `total` as in covered_share(), which has said yes to it. */
static double slack_share(const struct quality *quality, uint64_t total)
{
	double period = period_length(quality), visible = 0, hidden = 0, targets = 1, slack;

	if (!visible_part(quality, total, &visible) || visible <= 0)
		return 0;
	if (known(quality->targets) && quality->targets)
		targets = (double)quality->targets;
	slack = fmax(period, fmin(period * targets, MANY_TARGETS * visible));
	if (quality->weight_is_ns && quality_hidden(quality, &hidden))
		slack += 2 * sqrt(hidden * (1 - hidden) * (double)total * (period + TICK_NS));
	return slack / visible;
}

bool quality_coverage_slack(const struct quality *quality, double *ret_share)
{
	double coverage;

	if (!quality_coverage(quality, &coverage))
		return false;
	*ret_share = slack_share(quality, quality->event_count);
	return true;
}

bool quality_on_cpu(const struct quality *quality, double *ret_cpus)
{
	uint64_t cpu_ns = quality->cpu_ns;

	/* a clock that follows tasks counts the same; one that follows CPUs counts idle too */
	if (!known(cpu_ns) && quality->weight_is_ns &&
		(quality->scope == SCOPE_INHERIT || quality->scope == SCOPE_CGROUP))
		cpu_ns = quality->event_count;
	if (!known(cpu_ns) || !known(quality->wall_ns) || !quality->wall_ns)
		return false;
	*ret_cpus = (double)cpu_ns / (double)quality->wall_ns;
	return true;
}

bool quality_lost(const struct quality *quality, uint64_t *ret_lost, double *ret_share)
{
	uint64_t lost = quality->lost;

	if (!known(lost) || (known(quality->lost_read) && quality->lost_read > lost))
		lost = quality->lost_read;
	if (!known(lost) || !known(quality->samples))
		return false;
	*ret_lost = lost;
	*ret_share = lost ? (double)lost / ((double)lost + (double)quality->samples) : 0;
	return true;
}

bool quality_complete(const struct quality *quality, double *ret_share)
{
	double owed = 0;

	for (int stop = 0; stop < STOP_COUNT; stop++) {
		if (stop != STOP_NO_USER && known(quality->stops[stop]))
			owed += (double)quality->stops[stop];
	}
	if (owed <= 0)
		return false;
	*ret_share = ((double)quality->stops[STOP_ROOT] + (double)quality->stops[STOP_LATE] +
			     (double)quality->stops[STOP_SWITCHED]) /
		     owed;
	return true;
}

static int no_samples(const struct quality *quality, struct error *ret_why)
{
	double visible, hidden;
	uint64_t lost;
	double share;

	if (quality_lost(quality, &lost, &share) && lost)
		return error_set(ret_why, 3,
			"no samples: all %llu were lost (more ring pages, -m)",
			(unsigned long long)lost);
	if (known(quality->event_count) && !quality->event_count)
		return error_set(ret_why, 3,
			"no samples: the event %s counted nothing while the target ran",
			quality->event);
	if (quality_hidden(quality, &hidden) && hidden > 0.9)
		return error_set(ret_why, 3,
			"no samples: %.0f %% of the CPU time was in the kernel, which %s "
			"cannot "
			"see without privilege",
			hidden * 100, quality->event);
	if (visible_part(quality, quality->event_count, &visible) &&
		visible < 2 * period_length(quality))
		return error_set(ret_why, 3,
			"no samples: the target ran for about one sampling period or less (a "
			"higher -F makes it shorter)");
	return error_set(ret_why, 3, "no samples were recorded");
}

/* 4 where `total` says that too little was covered; `extra` is granted beside the slack. */
static int falls_short(const struct quality *quality, uint64_t total, double extra, double min)
{
	double coverage, visible = 1;

	if (!covered_share(quality, total, &coverage) ||
		!visible_part(quality, total, &visible))
		return 0;
	return coverage + slack_share(quality, total) + extra / visible < min ? 4 : 0;
}

static int coverage_verdict(const struct quality *quality, double min, struct error *ret_why)
{
	double coverage, by_clock;

	if (!quality_coverage(quality, &coverage)) {
		if (quality_too_short(quality))
			return 0;
		return error_set(ret_why, 4,
			"coverage cannot be told: the recording does not say %s",
			known(quality->event_count) ? "how much of the CPU time the kernel took"
						    : "how much the event counted");
	}
	if (falls_short(quality, quality->event_count, 0, min))
		return error_set(ret_why, 4,
			"coverage is %.1f %% of what %s can see, below %.1f %%", coverage * 100,
			quality->event, min * 100);
	if (quality_coverage_clock(quality, &by_clock) &&
		falls_short(quality, quality->cpu_ns, START_NS, min))
		return error_set(ret_why, 4,
			"coverage is %.1f %% by the clock (%s), below %.1f %%: threads ran "
			"that "
			"were not followed",
			by_clock * 100, quality->cpu_clock_name, min * 100);
	return 0;
}

int quality_verdict(const struct quality *quality, double min_coverage, double max_lost,
	struct error *ret_why)
{
	uint64_t lost;
	double share;
	int verdict;

	if (!quality->samples || !known(quality->samples))
		return no_samples(quality, ret_why);
	if (min_coverage > 0) {
		verdict = coverage_verdict(quality, min_coverage, ret_why);
		if (verdict)
			return verdict;
	}
	if (quality_lost(quality, &lost, &share) && share > max_lost)
		return error_set(ret_why, 4, "%llu samples were lost (%.2f %%), above %.2f %%",
			(unsigned long long)lost, share * 100, max_lost * 100);
	return 0;
}
