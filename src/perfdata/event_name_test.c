#include "base/cleanup.h"
#include "perfdata/perfdata.h"
#include "tests/unit_test.h"

static void events_have_perfs_names(void **state)
{
	static const struct {
		struct perf_event_attr attr;
		const char *name;
	} cases[] = {
		{{.type = 0, .config = 0}, "cycles"},
		{{.type = 0, .config = 1 | 4ull << 32}, "instructions"},
		{{.type = 0, .config = 77}, "hardware-0x4d"},
		{{.type = 1, .config = 0, .flags = ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV},
			"cpu-clock:u"},
		{{.type = 1, .config = 3}, "context-switches"},
		{{.type = 3, .config = 0x10000}, "L1-dcache-load-misses"},
		{{.type = 3, .config = 0x102}, "LLC-stores"},
		{{.type = 4, .config = 0x1a8, .flags = 2ull << ATTR_PRECISE_IP_SHIFT},
			"r1a8:pp"},
		{{.type = 0, .flags = ATTR_EXCLUDE_USER | ATTR_EXCLUDE_HV}, "cycles:k"},
		{{.type = 9, .config = 1}, "pmu-9/0x1/"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct perfdata_event event = {.attr = cases[i].attr};
		char name[64];

		perfdata_event_name(&event, name, sizeof(name));
		assert_string_equal(name, cases[i].name);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(events_have_perfs_names),
};
UNIT_TESTS("perfdata-event-name", tests)
