#include "perf/event_names.h"

#include "abi/perf_abi.h"
#include "base/cleanup.h"

#include <string.h>

#define HW(name, alias, id, what)                                                              \
	{                                                                                      \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id, false, what               \
	}
#define SW(name, alias, id, is_ns, what)                                                       \
	{                                                                                      \
		name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id, is_ns, what               \
	}

/* PERF_TYPE_HW_CACHE: config is cache | op << 8 | result << 16. */
enum { L1D, L1I, LLC, DTLB, ITLB, BPU, NODE };
enum { READ, WRITE, PREFETCH };

#define CACHE_EVENT(name, cache, op, miss)                                                     \
	{                                                                                      \
		name, NULL, PERF_TYPE_HW_CACHE, (cache) | (op) << 8 | (miss) << 16, false,     \
			NULL                                                                   \
	}
#define CACHE_READS(name, cache)                                                               \
	CACHE_EVENT(name "-loads", cache, READ, 0),                                            \
		CACHE_EVENT(name "-load-misses", cache, READ, 1)
#define CACHE_WRITES(name, cache)                                                              \
	CACHE_EVENT(name "-stores", cache, WRITE, 0),                                          \
		CACHE_EVENT(name "-store-misses", cache, WRITE, 1)
#define CACHE_PREFETCHES(name, cache)                                                          \
	CACHE_EVENT(name "-prefetches", cache, PREFETCH, 0),                                   \
		CACHE_EVENT(name "-prefetch-misses", cache, PREFETCH, 1)
#define CACHE_ALL(name, cache)                                                                 \
	CACHE_READS(name, cache), CACHE_WRITES(name, cache), CACHE_PREFETCHES(name, cache)

const struct event_name event_names[] = {
	HW("cycles", "cpu-cycles", CPU_CYCLES, "of the CPU, while it runs"),
	HW("instructions", NULL, INSTRUCTIONS, "completed"),
	HW("cache-references", NULL, CACHE_REFERENCES, "to the last cache, mostly"),
	HW("cache-misses", NULL, CACHE_MISSES, "of the last cache, mostly"),
	HW("branches", "branch-instructions", BRANCH_INSTRUCTIONS, "jumps and calls"),
	HW("branch-misses", NULL, BRANCH_MISSES, "mispredicted branches"),
	HW("bus-cycles", NULL, BUS_CYCLES, NULL),
	HW("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND,
		"waiting for instructions"),
	HW("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND,
		"waiting for data or units"),
	HW("ref-cycles", NULL, REF_CPU_CYCLES, "at a fixed frequency"),
	SW("cpu-clock", NULL, CPU_CLOCK, true, "CPU time in ns, by a timer"),
	SW("task-clock", NULL, TASK_CLOCK, true, "CPU time of the thread in ns"),
	SW("page-faults", "faults", PAGE_FAULTS, false, "first touch of a page"),
	SW("minor-faults", NULL, PAGE_FAULTS_MIN, false, "page faults without I/O"),
	SW("major-faults", NULL, PAGE_FAULTS_MAJ, false, "page faults with I/O"),
	SW("context-switches", "cs", CONTEXT_SWITCHES, false, "the thread leaves the CPU"),
	SW("cpu-migrations", "migrations", CPU_MIGRATIONS, false, "to another CPU"),
	SW("alignment-faults", NULL, ALIGNMENT_FAULTS, false, "mended by the kernel"),
	SW("emulation-faults", NULL, EMULATION_FAULTS, false, "done by the kernel"),
	SW("cgroup-switches", NULL, CGROUP_SWITCHES, false, "to a thread of another cgroup"),
	SW("dummy", NULL, DUMMY, false, "counts nothing; brings side-band"),
	CACHE_ALL("L1-dcache", L1D),
	CACHE_READS("L1-icache", L1I),
	CACHE_PREFETCHES("L1-icache", L1I),
	CACHE_ALL("LLC", LLC),
	CACHE_ALL("dTLB", DTLB),
	CACHE_READS("iTLB", ITLB),
	CACHE_READS("branch", BPU),
	CACHE_ALL("node", NODE),
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
