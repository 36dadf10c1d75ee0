#include "perf/event_names.h"

#include "abi/perf_abi.h"
#include "base/cleanup.h"

#include <string.h>

#define HW(name, alias, id)                                                                    \
	{                                                                                      \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id, false                     \
	}
#define SW(name, alias, id)                                                                    \
	{                                                                                      \
		name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id, false                     \
	}

const struct event_name event_names[] = {
	HW("cycles", "cpu-cycles", CPU_CYCLES),
	HW("instructions", NULL, INSTRUCTIONS),
	HW("cache-references", NULL, CACHE_REFERENCES),
	HW("cache-misses", NULL, CACHE_MISSES),
	HW("branches", "branch-instructions", BRANCH_INSTRUCTIONS),
	HW("branch-misses", NULL, BRANCH_MISSES),
	HW("bus-cycles", NULL, BUS_CYCLES),
	HW("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HW("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND),
	HW("ref-cycles", NULL, REF_CPU_CYCLES),
	{"cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true},
	{"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true},
	SW("page-faults", "faults", PAGE_FAULTS),
	SW("minor-faults", NULL, PAGE_FAULTS_MIN),
	SW("major-faults", NULL, PAGE_FAULTS_MAJ),
	SW("context-switches", "cs", CONTEXT_SWITCHES),
	SW("cpu-migrations", "migrations", CPU_MIGRATIONS),
	SW("alignment-faults", NULL, ALIGNMENT_FAULTS),
	SW("emulation-faults", NULL, EMULATION_FAULTS),
	SW("cgroup-switches", NULL, CGROUP_SWITCHES),
	SW("dummy", NULL, DUMMY),
};

const uint32_t event_name_count = ARRAY_LEN(event_names);

static bool name_is(const char *name, const char *text, uint32_t len)
{
	return name && strlen(name) == len && !memcmp(name, text, len);
}

const struct event_name *event_name_find(const char *name, uint32_t len)
{
	for (uint32_t i = 0; i < event_name_count; i++)
		if (name_is(event_names[i].name, name, len) ||
			name_is(event_names[i].alias, name, len))
			return &event_names[i];
	return NULL;
}
