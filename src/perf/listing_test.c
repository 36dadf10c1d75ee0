/* Listing out of made-up trees, and the names of cache events. */
#include "perf/listing.h"

#include "abi/perf_abi.h"
#include "perf/event_names.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a tree */

static char tree[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *out;

	(void)snprintf(path, sizeof(path), "%s/%s", tree, name);
	for (char *p = path + strlen(tree) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
		*p = '/';
	}
	out = fopen(path, "we");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static int tree_make(void **state)
{
	(void)state;
	strcpy(tree, "/tmp/wick-list-XXXXXX");
	assert_non_null(mkdtemp(tree));
	return 0;
}

static int tree_remove(void **state)
{
	(void)state;
	return nftw(tree, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct seen {
	char text[2048];
	int stop; /* answered to the visitor's caller */
};

static int on_event(void *ctx, const struct list_event *event)
{
	struct seen *seen = ctx;
	size_t used = strlen(seen->text);

	(void)snprintf(seen->text + used, sizeof(seen->text) - used, "%s ", event->name);
	return seen->stop;
}

static int on_field(void *ctx, const struct list_field *field)
{
	struct seen *seen = ctx;
	size_t used = strlen(seen->text);

	(void)snprintf(seen->text + used, sizeof(seen->text) - used, "%s/%s=%s(%u) ",
		field->pmu, field->field, field->format, field->type);
	return seen->stop;
}

static int on_subsystem(void *ctx, const char *subsystem, uint32_t events)
{
	struct seen *seen = ctx;
	size_t used = strlen(seen->text);

	(void)snprintf(
		seen->text + used, sizeof(seen->text) - used, "%s=%u ", subsystem, events);
	return seen->stop;
}

/* ---- tests */

static void patterns_match_parts_or_wholes(void **state)
{
	(void)state;
	assert_true(list_matches(NULL, "cycles") && list_matches("", "cycles"));
	assert_true(list_matches("YCL", "cycles"));
	assert_false(list_matches("cycle?", "bus-cycles"));
	assert_true(list_matches("*cycles", "bus-cycles"));
	assert_true(list_matches("sched:*", "sched:sched_switch"));
	assert_true(list_matches("[bc]*", "cycles"));
	assert_false(list_matches("x", NULL));
}

static void cache_events_are_numbered_as_the_kernel_does(void **state)
{
	static const struct {
		const char *name;
		uint64_t config; /* cache | op << 8 | result << 16 */
	} truth[] = {
		{"L1-dcache-loads", 0x00000},
		{"L1-dcache-load-misses", 0x10000},
		{"L1-dcache-store-misses", 0x10100},
		{"L1-icache-load-misses", 0x10001},
		{"LLC-prefetch-misses", 0x10202},
		{"dTLB-stores", 0x00103},
		{"iTLB-load-misses", 0x10004},
		{"branch-load-misses", 0x10005},
		{"node-loads", 0x00006},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++) {
		struct event_spec spec;

		assert_int_equal(spec_parse(truth[i].name, &spec, NULL), 0);
		assert_int_equal(spec.type, PERF_TYPE_HW_CACHE);
		assert_int_equal(spec.config, truth[i].config);
	}
}

static void names_are_unique(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < event_name_count; i++) {
		assert_ptr_equal(event_name_find(event_names[i].name,
					 (uint32_t)strlen(event_names[i].name)),
			&event_names[i]);
		if (event_names[i].alias)
			assert_ptr_equal(event_name_find(event_names[i].alias,
						 (uint32_t)strlen(event_names[i].alias)),
				&event_names[i]);
	}
}

static void fields_and_events_of_pmus(void **state)
{
	struct list_roots roots = {.pmus = tree};
	struct seen seen = {.text = ""};

	(void)state;
	put("zpu/type", "9\n");
	put("zpu/format/umask", "config:8-15\n");
	put("zpu/format/event", "config:0-7,32-35\n");
	put("apu/type", "8\n");
	put("apu/format/ldlat", "config1:0-15\n");
	put("apu/events/energy", "event=0x2\n");
	put("apu/events/energy.scale", "2.3e-10\n");
	put("apu/events/energy.unit", "Joules\n");
	put("broken/type", "no number\n");
	put("broken/format/x", "config:0\n");
	assert_int_equal(list_pmu_fields(&roots, NULL, on_field, &seen), 0);
	assert_string_equal(seen.text,
		"apu/ldlat=config1:0-15(8) "
		"zpu/event=config:0-7,32-35(9) zpu/umask=config:8-15(9) ");
	seen.text[0] = '\0';
	assert_int_equal(list_pmu_fields(&roots, "umask", on_field, &seen), 0);
	assert_string_equal(seen.text, "zpu/umask=config:8-15(9) ");
	seen.text[0] = '\0';
	assert_int_equal(list_pmu_events(&roots, NULL, on_event, &seen), 0);
	assert_string_equal(seen.text, "apu/energy/ ");
	seen.stop = -EPIPE;
	assert_int_equal(list_pmu_events(&roots, NULL, on_event, &seen), -EPIPE);
}

static void subsystems_are_counted(void **state)
{
	struct list_roots roots = {.tracepoints = tree};
	struct seen seen = {.text = ""};

	(void)state;
	put("enable", "0\n");
	put("header_page", "\n");
	put("sched/enable", "0\n");
	put("sched/sched_switch/id", "1\n");
	put("sched/sched_wakeup/id", "2\n");
	put("irq/irq_entry/id", "3\n");
	put("irq/strange/format", "\n");
	put("empty/enable", "0\n");
	assert_int_equal(list_subsystems(&roots, on_subsystem, &seen), 0);
	assert_string_equal(seen.text, "irq=1 sched=2 ");
	seen.text[0] = '\0';
	assert_int_equal(list_tracepoints(&roots, "*switch", 0, on_event, &seen), 0);
	assert_string_equal(seen.text, "sched:sched_switch ");
	roots.tracepoints = NULL;
	assert_int_equal(list_subsystems(&roots, on_subsystem, &seen), -ENOENT);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(patterns_match_parts_or_wholes),
	cmocka_unit_test(cache_events_are_numbered_as_the_kernel_does),
	cmocka_unit_test(names_are_unique),
	cmocka_unit_test_setup_teardown(fields_and_events_of_pmus, tree_make, tree_remove),
	cmocka_unit_test_setup_teardown(subsystems_are_counted, tree_make, tree_remove),
};
UNIT_TESTS("list", tests)
