/* What the conformance suite cannot compare with a kernel: counters that run out, and scenarios
 * that say nonsense. */
#include "tests/unit_test.h"

#include "softperf/drivers/armv8_pmuv3.h"
#include "softperf/machine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct core *core_with_pmu(struct core_task **ret_task)
{
	struct core_options options = {.cpus = 1, .start_ns = 1000};
	struct armv8_node node = {"arm,armv8-pmuv3", 1, 6, 1000, 1000};
	struct core *core;

	assert_int_equal(core_new(&options, &core), 0);
	assert_int_equal(armv8_probe(core, &node), 0);
	assert_int_equal(core_task_fork(core, NULL, 100, 100, "self", ret_task), 0);
	core_switch(core, 0, *ret_task, false);
	core->cpus[0].frame.kernel = false;
	return core;
}

static struct perf_event_attr instructions(void)
{
	return (struct perf_event_attr){.type = PERF_TYPE_HARDWARE,
		.size = PERF_ATTR_SIZE_VER8,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
}

static void probing_looks_at_the_node(void **state)
{
	struct core_options options = {.cpus = 2};
	struct armv8_node node = {"arm,cortex-m", 2, 6, 1000, 1000};
	struct perf_event_attr attr = instructions();
	struct core *core;

	(void)state;
	assert_int_equal(core_new(&options, &core), 0);
	assert_int_equal(armv8_probe(core, &node), -ENODEV);
	assert_int_equal(core_open(core, &attr, NULL, -1, 0, -1, 0), -ENOENT);
	node.compatible = "arm,armv8-pmuv3";
	node.interrupts = 1; /* too few for two CPUs: it counts, and does not sample */
	assert_int_equal(armv8_probe(core, &node), 0);
	assert_true(core_open(core, &attr, NULL, -1, 0, -1, 0) >= 0);
	attr.sample_period = 1000;
	assert_int_equal(core_open(core, &attr, NULL, -1, 0, -1, 0), -EOPNOTSUPP);
	core_free(core);
}

static void events_take_turns(void **state)
{
	struct perf_event_attr attr = instructions();
	struct core_task *task;
	struct core *core = core_with_pmu(&task);
	uint64_t words[3], sum = 0;
	int fds[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		fds[i] = core_open(core, &attr, task, 0, -1, -1, 0);
		assert_true(fds[i] >= 0);
	}
	core_advance(core, 800000000);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(core_read(core, fds[i], words, sizeof(words)), 24);
		assert_int_equal(words[1], 800000000);
		assert_true(words[2] > 0 && words[2] < words[1]);
		/* An instruction a ns, while it ran. */
		assert_true(words[0] + 8 >= words[2] && words[0] <= words[2] + 8);
		sum += words[2];
	}
	/* Six of eight at any time. */
	assert_int_equal(sum, 6 * 800000000ull);
	core_free(core);
}

static void a_group_goes_in_as_a_whole(void **state)
{
	struct perf_event_attr attr = instructions();
	struct core_task *task;
	struct core *core = core_with_pmu(&task);
	uint64_t words[3];
	int single = core_open(core, &attr, task, 0, -1, -1, 0);
	int leader = core_open(core, &attr, task, 0, -1, -1, 0), fd = leader;

	(void)state;
	for (int i = 1; i < 6; i++)
		assert_true((fd = core_open(core, &attr, task, 0, -1, leader, 0)) >= 0);
	/* A seventh would never fit; cycles have a counter of their own. */
	assert_int_equal(core_open(core, &attr, task, 0, -1, leader, 0), -EINVAL);
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	assert_true(core_open(core, &attr, task, 0, -1, leader, 0) >= 0);
	/* Six counters: the single event, or the group. */
	core_advance(core, 400000000);
	assert_int_equal(core_read(core, single, words, sizeof(words)), 24);
	assert_true(words[2] > 0 && words[2] < words[1]);
	assert_int_equal(core_read(core, fd, words + 1, 16), -ENOSPC);
	core_read(core, leader, words, sizeof(words));
	assert_true(words[2] > 0 && words[2] < words[1]);
	core_read(core, fd, words, sizeof(words));
	assert_true(words[0] > 0);
	core_free(core);
}

/* A leader and siblings of instructions; returns the leader's descriptor. */
static int group_open(struct core *core, struct core_task *task, int n)
{
	struct perf_event_attr attr = instructions();
	int leader = core_open(core, &attr, task, 0, -1, -1, 0);

	for (int i = 1; i < n; i++)
		assert_true(core_open(core, &attr, task, 0, -1, leader, 0) >= 0);
	return leader;
}

/* merge_sched_in(): behind one that does not fit no other is tried, though it would. */
static void groups_take_turns(void **state)
{
	static const int sizes[] = {4, 4, 2}, thirds[] = {2, 1, 2};
	struct core_task *task;
	struct core *core = core_with_pmu(&task);
	uint64_t words[3], tick_ns = 4000000;
	int fds[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		fds[i] = group_open(core, task, sizes[i]);
	core_advance(core, 300 * tick_ns);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(core_read(core, fds[i], words, sizeof(words)), 24);
		assert_int_equal(words[1], 300 * tick_ns);
		assert_int_equal(words[2], 100 * tick_ns * (unsigned)thirds[i]);
		assert_true(words[0] + 100 >= words[2] && words[0] <= words[2] + 100);
	}
	core_free(core);
}

/* Pinned later: the others are taken off for it, and take turns in what is left. */
static void what_is_pinned_goes_first(void **state)
{
	struct perf_event_attr attr = instructions();
	struct core_task *task;
	struct core *core = core_with_pmu(&task);
	uint64_t words[3];
	int group = group_open(core, task, 6), fd;

	(void)state;
	core_advance(core, 40000000);
	attr.flags |= ATTR_PINNED;
	fd = core_open(core, &attr, task, 0, -1, -1, 0);
	core_advance(core, 40000000);
	core_read(core, fd, words, sizeof(words));
	assert_int_equal(words[1], 40000000);
	assert_int_equal(words[2], 40000000);
	/* Six counters, less one: the group finds no place any more. */
	core_read(core, group, words, sizeof(words));
	assert_int_equal(words[1], 80000000);
	assert_int_equal(words[2], 40000000);
	core_free(core);
}

static void what_is_exclusive_is_alone(void **state)
{
	struct perf_event_attr attr = instructions(), exclusive = attr;
	struct core_task *task;
	struct core *core = core_with_pmu(&task);
	uint64_t shared[3], alone[3], clock[3];
	int shared_fd = core_open(core, &attr, task, 0, -1, -1, 0), alone_fd, clock_fd;

	(void)state;
	exclusive.flags |= ATTR_EXCLUSIVE;
	alone_fd = core_open(core, &exclusive, task, 0, -1, -1, 0);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	clock_fd = core_open(core, &attr, task, 0, -1, -1, 0);
	core_advance(core, 400000000);
	core_read(core, shared_fd, shared, sizeof(shared));
	core_read(core, alone_fd, alone, sizeof(alone));
	core_read(core, clock_fd, clock, sizeof(clock));
	/* By turns, although there are six counters; a clock does not mind, nor take a turn. */
	assert_int_equal(shared[2], 200000000);
	assert_int_equal(alone[2], 200000000);
	assert_int_equal(clock[2], 400000000);
	core_free(core);
}

/* A software event has a place whoever waits. */
static void software_does_not_wait(void **state)
{
	struct perf_event_attr attr = instructions();
	struct core_task *task;
	struct core *core = core_with_pmu(&task);
	uint64_t words[3];
	int fd;

	(void)state;
	group_open(core, task, 4);
	group_open(core, task, 4);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	fd = core_open(core, &attr, task, 0, -1, -1, 0);
	core_advance(core, 100000000);
	core_read(core, fd, words, sizeof(words));
	assert_int_equal(words[0], 100000000);
	assert_int_equal(words[1], 100000000);
	assert_int_equal(words[2], 100000000);
	core_free(core);
}

static void long_counters_are_pairs(void **state)
{
	struct perf_event_attr attr = instructions(), single = attr;
	struct core_task *task;
	struct core *core = core_with_pmu(&task);
	uint64_t words[3];
	int leader, fd;

	(void)state;
	attr.config1 = 1; /* format/long */
	leader = core_open(core, &attr, task, 0, -1, -1, 0);
	assert_int_equal(core_event_of(core, leader)->hw.idx, 1);
	fd = core_open(core, &single, task, 0, -1, leader, 0);
	assert_int_equal(core_event_of(core, fd)->hw.idx, 2);
	/* Counters 3 and 4 are no pair: the next one begins at an even counter. */
	fd = core_open(core, &attr, task, 0, -1, leader, 0);
	assert_int_equal(core_event_of(core, fd)->hw.idx, 5);
	assert_int_equal(core_open(core, &attr, task, 0, -1, leader, 0), -EINVAL);
	fd = core_open(core, &single, task, 0, -1, leader, 0);
	assert_int_equal(core_event_of(core, fd)->hw.idx, 3);
	/* Cycles have 64 bits of their own; the second of them would want a pair. */
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	fd = core_open(core, &attr, task, 0, -1, leader, 0);
	assert_int_equal(core_event_of(core, fd)->hw.idx, ARMV8_CYCLE_IDX);
	assert_int_equal(core_open(core, &attr, task, 0, -1, leader, 0), -EINVAL);
	/* 20 s at an instruction a ns: beyond 32 bits, several times. */
	core_advance(core, 20000000000ull);
	core_read(core, leader, words, sizeof(words));
	assert_int_equal(words[0], 20000000000ull);
	assert_int_equal(words[2], words[1]);
	core_read(core, fd, words, sizeof(words));
	assert_int_equal(words[0], 20000000000ull);
	core_free(core);
}

static void count_interrupts(void *ctx, uint64_t ns, const char *who, const char *text)
{
	(void)ns;
	(void)text;
	*(uint32_t *)ctx += !strcmp(who, "interrupt");
}

/* A period of 6,000,000,000: a counter of 32 bits continues it from half to half. */
static void long_periods_interrupt_once(void **state)
{
	(void)state;
	for (unsigned is_long = 0; is_long < 2; is_long++) {
		struct perf_event_attr attr = instructions();
		struct core_task *task;
		struct core *core = core_with_pmu(&task);
		uint32_t interrupts = 0;
		uint64_t words[3];
		int fd;

		core->options.trace = count_interrupts;
		core->options.trace_ctx = &interrupts;
		attr.config1 = is_long;
		attr.sample_period = 6000000000;
		attr.sample_type = PERF_SAMPLE_IP;
		fd = core_open(core, &attr, task, 0, -1, -1, 0);
		assert_true(fd >= 0 && core_mmap(core, fd, 1, true) >= 0);
		core_advance(core, 31000000000ull);
		core_read(core, fd, words, sizeof(words));
		assert_int_equal(words[0], 31000000000ull);
		assert_int_equal(core->samples, 5);
		assert_int_equal(interrupts, is_long ? 5 : 15);
		core_free(core);
	}
}

static void the_sampled_periods_are_the_count(void **state)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
		.size = PERF_ATTR_SIZE_VER8,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = 1000000,
		.sample_type = PERF_SAMPLE_IP};
	struct core_task *task;
	struct core *core = core_with_pmu(&task);
	uint64_t count;
	int fd;

	(void)state;
	fd = core_open(core, &attr, task, 0, -1, -1, 0);
	assert_true(fd >= 0 && core_mmap(core, fd, 16, true) >= 0);
	core_advance(core, 495600000);
	assert_int_equal(core_read(core, fd, &count, sizeof(count)), 8);
	assert_int_equal(count, 495600000);
	assert_int_equal(core->samples, 495);
	core_free(core);
}

static void nonsense_names_its_line(void **state)
{
	static const struct {
		const char *text, *names;
	} bad[] = {
		{"event cpu-clock freq 1000\n", "no `start`"},
		{"start\n", "samples nothing"},
		{"event dogs freq 1\nstart\n", "line 1"},
		{"event cpu-clock freq\nstart\n", "line 1"},
		{"event cpu-clock freq 0\nstart\n", "line 1"},
		{"event cycles period 1\nstart\n", "`pmu`"},
		{"cpus 1000\n", "line 1"},
		{"pages 3\n", "line 1"},
		{"run 10ms\n", "line 1"},
		{"stack 12\n", "line 1"},
		{"stack 0\n", "line 1"},
		{"stack 64 8\n", "line 1"},
		{"stack 40000\n", "line 1"},
		{"copy-time 5\n", "line 1"},
		{"overwrite 1\n", "line 1"},
		{"a b c d e f g h i j k l m n o p q r\n", "too many words"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct machine *machine = NULL;
		struct error err = {.text = ""};

		assert_true(machine_new(bad[i].text, strlen(bad[i].text), NULL, NULL, &machine,
				    &err) < 0);
		assert_non_null(strstr(err.text, bad[i].names));
		assert_null(machine);
	}
}

static void nonsense_behind_start_names_its_line(void **state)
{
	static const char *const bad[] = {"jump", "on 0 7", "on 9 100", "cpu 0 user nobody",
		"cpu 0 both main", "run", "run 10", "run 5h", "exit 7", "end", "fork 100 100",
		"map 100 1", "repeat 0", "clock-step back 100s", "reader", "faults 0 1",
		"torn off", "torn short 8"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = {.text = ""};
		struct machine *machine;
		char text[256];

		snprintf(text, sizeof(text),
			"event cpu-clock freq 1000\ncode main 0x1000\nprocess 100 "
			"x\nstart\n%s\n",
			bad[i]);
		assert_int_equal(
			machine_new(text, strlen(text), NULL, NULL, &machine, &err), 0);
		assert_int_equal(machine_run(machine, NULL, NULL, &err), -EINVAL);
		assert_non_null(strstr(err.text, "line 5"));
		machine_free(machine);
	}
}

static void torn_stacks_are_of_three_kinds(void **state)
{
	static const char *const bad[] = {
		"torn", "torn apart", "torn short", "torn changed", "torn changed 1000"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = {.text = ""};
		struct machine *machine;
		char text[256];

		snprintf(text, sizeof(text), "event cpu-clock freq 1000\nstack 64\nstart\n%s\n",
			bad[i]);
		assert_int_equal(
			machine_new(text, strlen(text), NULL, NULL, &machine, &err), 0);
		assert_int_equal(machine_run(machine, NULL, NULL, &err), -EINVAL);
		assert_non_null(strstr(err.text, "line 4"));
		machine_free(machine);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(probing_looks_at_the_node),
	cmocka_unit_test(events_take_turns),
	cmocka_unit_test(a_group_goes_in_as_a_whole),
	cmocka_unit_test(groups_take_turns),
	cmocka_unit_test(what_is_pinned_goes_first),
	cmocka_unit_test(what_is_exclusive_is_alone),
	cmocka_unit_test(software_does_not_wait),
	cmocka_unit_test(long_counters_are_pairs),
	cmocka_unit_test(long_periods_interrupt_once),
	cmocka_unit_test(the_sampled_periods_are_the_count),
	cmocka_unit_test(nonsense_names_its_line),
	cmocka_unit_test(nonsense_behind_start_names_its_line),
	cmocka_unit_test(torn_stacks_are_of_three_kinds),
};
UNIT_TESTS("core", tests)
