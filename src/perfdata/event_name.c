/*
 * An event's name from its attr, as perf's tables have it (tools/perf/util/evsel.c), followed
 * by perf's modifiers where something is excluded: "cycles", "cpu-clock:u", "r1a8",
 * "cycles:kp".
 */
#include "base/cleanup.h"
#include "perfdata/perfdata.h"

#include <inttypes.h>
#include <string.h>

static const char *const hardware_names[] = {"cycles", "instructions", "cache-references",
	"cache-misses", "branches", "branch-misses", "bus-cycles", "stalled-cycles-frontend",
	"stalled-cycles-backend", "ref-cycles"};

static const char *const software_names[] = {"cpu-clock", "task-clock", "page-faults",
	"context-switches", "cpu-migrations", "minor-faults", "major-faults",
	"alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches"};

static const char *const cache_names[] = {
	"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"};
static const char *const cache_ops[][2] = {
	{"load", "loads"}, {"store", "stores"}, {"prefetch", "prefetches"}};

static void cache_name(uint64_t config, char *ret_name, size_t len)
{
	unsigned cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;

	if (cache >= ARRAY_LEN(cache_names) || op >= ARRAY_LEN(cache_ops) || result > 1)
		snprintf(ret_name, len, "cache-0x%" PRIx64, config);
	else if (result)
		snprintf(ret_name, len, "%s-%s-misses", cache_names[cache], cache_ops[op][0]);
	else
		snprintf(ret_name, len, "%s-%s", cache_names[cache], cache_ops[op][1]);
}

static void base_name(const struct perf_event_attr *attr, char *ret_name, size_t len)
{
	/* The upper half names the PMU of a hybrid machine. */
	uint64_t config = attr->config & UINT32_MAX;

	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
		if (config < ARRAY_LEN(hardware_names))
			snprintf(ret_name, len, "%s", hardware_names[config]);
		else
			snprintf(ret_name, len, "hardware-0x%" PRIx64, config);
		break;
	case PERF_TYPE_SOFTWARE:
		if (config < ARRAY_LEN(software_names))
			snprintf(ret_name, len, "%s", software_names[config]);
		else
			snprintf(ret_name, len, "software-0x%" PRIx64, config);
		break;
	case PERF_TYPE_TRACEPOINT:
		snprintf(ret_name, len, "tracepoint-%" PRIu64, attr->config);
		break;
	case PERF_TYPE_HW_CACHE:
		cache_name(config, ret_name, len);
		break;
	case PERF_TYPE_RAW:
		snprintf(ret_name, len, "r%" PRIx64, attr->config);
		break;
	case PERF_TYPE_BREAKPOINT: /* config1 is the address */
		snprintf(ret_name, len, "mem:0x%" PRIx64, attr->config1);
		break;
	default:
		snprintf(ret_name, len, "pmu-%" PRIu32 "/0x%" PRIx64 "/", attr->type,
			attr->config);
	}
}

static void add_modifiers(uint64_t flags, char *ret_name, size_t len)
{
	char mods[10] = ":";
	size_t n = 1, used = strlen(ret_name);

	if (flags & (ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_USER | ATTR_EXCLUDE_HV)) {
		if (!(flags & ATTR_EXCLUDE_KERNEL))
			mods[n++] = 'k';
		if (!(flags & ATTR_EXCLUDE_USER))
			mods[n++] = 'u';
		if (!(flags & ATTR_EXCLUDE_HV))
			mods[n++] = 'h';
	}
	for (unsigned precise = flags >> ATTR_PRECISE_IP_SHIFT & 3; precise; precise--)
		mods[n++] = 'p';
	if (flags & ATTR_EXCLUDE_HOST)
		mods[n++] = 'G';
	mods[n] = '\0';
	if (n > 1)
		snprintf(ret_name + used, len - used, "%s", mods);
}

void perfdata_event_name(const struct perfdata_event *event, char *ret_name, size_t len)
{
	if (!len)
		return;
	if (event->name && event->name[0]) {
		snprintf(ret_name, len, "%s", event->name);
		return;
	}
	base_name(&event->attr, ret_name, len);
	add_modifiers(event->attr.flags, ret_name, len);
}
