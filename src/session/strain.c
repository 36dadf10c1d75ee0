/*
 * Down: a ring is not emptied twice as fast as it fills, and will be full soon; at once to the
 * bottom when it nearly is. Samples that were lost although reading is fast were lost
 * because the recorder had to wait for its turn. Doing less makes that a little less likely:
 * one step, when it happens again within a second.
 *
 * Up: no ring more than a third full for the time of `hold`, which is four times as long each
 * time that a step up was followed by one down soon, and is short again after a long time of
 * rest. A program that is too much for the recorder at full effort thus costs it little to find
 * out.
 */
#include "session/strain.h"

#define MS 1000000ull

enum { QUARTER = 250, THIRD = 375, NEARLY = 875, FULL = 1000 };

static const uint64_t hold_least = 60 * MS, hold_most = 8000 * MS, soon = 1000 * MS;
static const uint64_t loss_settles = 100 * MS, full_soon = 75 * MS;

/* A ring that is full takes in only what is read: there the speed of reading alone counts. */
static bool falls_behind(
	const struct strain *strain, const struct pressure *pressure, uint64_t now_ns)
{
	uint64_t elapsed = now_ns - strain->round_ns, waiting = pressure->waiting;

	if (waiting >= NEARLY && pressure->read &&
		waiting * elapsed > pressure->read * full_soon)
		return true;
	return waiting >= QUARTER && 2 * pressure->arrived > pressure->read &&
	       (FULL - waiting) * elapsed < pressure->arrived * full_soon;
}

uint64_t strain_lowered_ns(const struct strain *strain, uint64_t now_ns)
{
	return strain->lowered_ns +
	       (strain->effort != EFFORT_FULL ? now_ns - strain->changed_ns : 0);
}

static void change(struct strain *strain, enum effort effort, uint64_t now_ns)
{
	strain->lowered_ns = strain_lowered_ns(strain, now_ns);
	strain->raised = effort < strain->effort;
	strain->effort = effort;
	strain->changed_ns = now_ns;
	strain->calm_ns = 0;
}

static void go_down(struct strain *strain, enum effort effort, uint64_t now_ns)
{
	uint64_t rested = now_ns - strain->changed_ns;

	if (strain->effort == EFFORT_FULL)
		strain->lowered_times++;
	if (!strain->hold_ns || (strain->raised && rested > hold_most))
		strain->hold_ns = hold_least;
	else if (strain->raised && rested < soon)
		strain->hold_ns =
			strain->hold_ns < hold_most / 4 ? 4 * strain->hold_ns : hold_most;
	change(strain, effort, now_ns);
}

static void look_up(struct strain *strain, const struct pressure *pressure, uint64_t now_ns)
{
	if (pressure->waiting > THIRD) {
		strain->calm_ns = 0;
		return;
	}
	if (!strain->calm_ns)
		strain->calm_ns = now_ns;
	if (strain->effort != EFFORT_FULL && now_ns - strain->calm_ns >= strain->hold_ns)
		change(strain, strain->effort - 1, now_ns);
}

/* A loss that is not the first one of late. */
static bool loses_again(struct strain *strain, uint64_t lost, uint64_t now_ns)
{
	uint64_t since = now_ns - strain->loss_ns;
	bool first = !strain->loss_ns || since > soon;

	if (lost == strain->lost)
		return false;
	strain->lost = lost;
	strain->calm_ns = 0;
	if (!first && since < loss_settles)
		return false;
	strain->loss_ns = now_ns;
	return !first;
}

enum effort strain_update(
	struct strain *strain, const struct pressure *pressure, uint64_t lost, uint64_t now_ns)
{
	bool again = loses_again(strain, lost, now_ns), behind;

	/* No time has passed then: whatever came in would have come infinitely fast. */
	if (pressure->begins)
		strain->round_ns = now_ns;
	behind = !pressure->begins && falls_behind(strain, pressure, now_ns);
	if (behind && pressure->waiting >= NEARLY && strain->effort != EFFORT_POINTERS)
		go_down(strain, EFFORT_POINTERS, now_ns);
	else if (behind && strain->effort != EFFORT_POINTERS)
		go_down(strain, strain->effort + 1, now_ns);
	else if (again && strain->effort == EFFORT_FULL)
		go_down(strain, EFFORT_SHORT, now_ns);
	else
		look_up(strain, pressure, now_ns);
	return strain->effort;
}
