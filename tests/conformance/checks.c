/* All of them, in the order of expected.txt. */
#include "checks.h"

const struct check checks[] = {
	{"argument errors", check_arguments},
	{"attr sizes", check_sizes},
	{"groups: opening", check_groups_open},
	{"mmap", check_mmap},
	{"ioctls", check_ioctls},
	{"a full ring, losses, pausing", check_ring_full},
	{"wakeups", check_wakeups},
	{"backward and overwritten", check_overwrite},
	{"forward and overwritten", check_overwrite_forward},
	{"two events, one ring", check_output},
	{"throttled", check_throttled},
	{"not throttled", check_not_throttled},
	{"the limit of the rate", check_throttle_limit},
	{"a sample, bit by bit", check_samples},
	{"periods and limits", check_periods},
	{"periods that change", check_period_changes},
	{"samples of groups", check_group_samples},
	{"read formats", check_read},
	{"times", check_times},
	{"groups", check_groups},
	{"inheritance", check_inherit},
	{"inheritance: ids", check_child_stream},
	{"times of a task that waits", check_waiting},
	{"exec", check_on_exec},
	{"poll", check_poll},
	{"side-band", check_sideband},
	{"clocks", check_clock},
};
const uint32_t check_count = sizeof(checks) / sizeof(checks[0]);
