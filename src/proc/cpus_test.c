#include "proc/cpus.h"
#include "tests/unit_test.h"
#include "proc/fake_tree.h"

static void check_list(const struct cpu_list *list, const char *expected)
{
	char text[256] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < list->count; i++)
		len += (size_t)snprintf(
			text + len, sizeof(text) - len, "%s%u", i ? " " : "", list->cpus[i]);
	assert_string_equal(text, expected);
}

static void lists_are_parsed_strictly(void **state)
{
	static const struct {
		const char *text;
		int rc;
		const char *cpus;
	} cases[] = {
		{"", 0, ""},
		{"\n", 0, ""},
		{"0", 0, "0"},
		{"0\n", 0, "0"},
		{"0-3,8", 0, "0 1 2 3 8"},
		{"8,0-1", 0, "0 1 8"},
		{"0-2,1-3,2", 0, "0 1 2 3"},
		{"65535", 0, "65535"},
		{"65536", -ERANGE, NULL},
		{"0-65536", -ERANGE, NULL},
		{"99999999999999999999", -EINVAL, NULL},
		{"3-1", -EINVAL, NULL},
		{",", -EINVAL, NULL},
		{"1,", -EINVAL, NULL},
		{",1", -EINVAL, NULL},
		{"1,,2", -EINVAL, NULL},
		{"1-", -EINVAL, NULL},
		{"-1", -EINVAL, NULL},
		{"1--2", -EINVAL, NULL},
		{"1-2-3", -EINVAL, NULL},
		{" 1", -EINVAL, NULL},
		{"1 ", -EINVAL, NULL},
		{"1- 2", -EINVAL, NULL},
		{"0x1", -EINVAL, NULL},
		{"a", -EINVAL, NULL},
		{"1\n\n", -EINVAL, NULL},
	};
	struct cpu_list list = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(cpu_list_parse("7", 1, &list), 0);
		assert_int_equal(cpu_list_parse(cases[i].text, strlen(cases[i].text), &list),
			cases[i].rc);
		check_list(&list, cases[i].rc < 0 ? "7" : cases[i].cpus);
	}
	cpu_list_done(&list);
	cpu_list_done(&list);
}

static void the_tree_decides(void **state)
{
	struct fake_tree tree;
	struct cpu_list list = {0};
	struct proc proc;

	(void)state;
	fake_tree_init(&tree);
	fake_tree_file(&tree, "sys/devices/system/cpu/online", "0-1,4\n");
	fake_tree_file(&tree, "sys/devices/system/cpu/possible", "0-5\n");
	fake_tree_file(&tree, "stat", "cpu  1 2 3\ncpu0 1 2\ncpu17 1 2\nintr 5 cpu3\n");
	(void)fake_tree_path(&tree, "sys/x");
	assert_int_equal(
		proc_open(&proc, tree.dir, strcat(strcpy(tree.path, tree.dir), "/sys"), NULL),
		0);
	assert_int_equal(cpus_online(&proc, &list), 0);
	check_list(&list, "0 1 4");
	assert_int_equal(cpus_possible(&proc, &list), 0);
	check_list(&list, "0 1 2 3 4 5");
	proc_close(&proc);
	/* Without a sysfs. */
	assert_int_equal(proc_open(&proc, tree.dir, "/nowhere", NULL), 0);
	assert_int_equal(cpus_online(&proc, &list), 0);
	check_list(&list, "0 17");
	proc_close(&proc);
	cpu_list_done(&list);
	fake_tree_done(&tree);
}

static void this_machine_has_cpus(void **state)
{
	struct cpu_list online = {0}, possible = {0};
	struct proc proc;

	(void)state;
	assert_int_equal(proc_open(&proc, NULL, NULL, NULL), 0);
	assert_int_equal(cpus_online(&proc, &online), 0);
	assert_int_equal(cpus_possible(&proc, &possible), 0);
	assert_int_equal(online.count, sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(possible.count >= online.count);
	proc_close(&proc);
	cpu_list_done(&online);
	cpu_list_done(&possible);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(lists_are_parsed_strictly),
	cmocka_unit_test(the_tree_decides),
	cmocka_unit_test(this_machine_has_cpus),
};
UNIT_TESTS("cpus", tests)
