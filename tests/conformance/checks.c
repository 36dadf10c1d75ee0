/* All of them, in the order of expected.txt. */
#include "checks.h"

const struct check checks[] = {
	{"argument errors", check_arguments},
	{"groups: opening", check_groups_open},
	{"mmap", check_mmap},
	{"ioctls", check_ioctls},
	{"a full ring, losses, pausing", check_ring_full},
	{"wakeups", check_wakeups},
	{"backward and overwritten", check_overwrite},
	{"a sample, bit by bit", check_samples},
	{"periods and limits", check_periods},
	{"read formats", check_read},
	{"times", check_times},
	{"groups", check_groups},
	{"inheritance", check_inherit},
	{"inheritance: ids", check_child_stream},
	{"poll", check_poll},
	{"side-band", check_sideband},
	{"clocks", check_clock},
};
const uint32_t check_count = sizeof(checks) / sizeof(checks[0]);
