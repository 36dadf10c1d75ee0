/*
 * The PMUs of sysfs: /sys/bus/event_source/devices/NAME/{type,cpus,format/,events/}.
 *
 *     format/event:  "config:0-7,32-35"
 *     events/cycles: "event=0x3c"
 *     type:          "4"
 */
#pragma once

#include "base/error.h"
#include "perf/spec.h"

#include <stddef.h>
#include <stdint.h>

#define PMU_SYSFS "/sys/bus/event_source/devices"

struct pmu {
	char name[64];
	uint32_t type;
	char cpus[256]; /* core PMUs of hybrid machines list theirs; "" else */
	bool is_core;	/* counts the cycles of its CPUs */
};

/* All PMUs below `root` (PMU_SYSFS), at most `cap`; how many, or a negative errno. */
int pmu_list(const char *root, struct pmu *ret_pmus, uint32_t cap);

/*
 * "pmu/terms/": terms are field=value (the format says which bits of config, config1 or
 * config2), a named event of events/, or a bare field (1). Fills type and configs.
 */
int pmu_parse(const char *root, const char *text, size_t len, struct event_spec *ret_spec,
	struct error *err);
