#include "proc/identity.h"

#include "tests/unit_test.h"

#include "proc/fake_tree.h"

#include <sys/wait.h>
#include <time.h>

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void a_child_is_as_old_as_it_is(void **state)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), status;
	uint64_t before = wall_ns(), after;
	struct proc_identity who;
	pid_t child = fork();

	(void)state;
	if (!child) {
		pause();
		_exit(0);
	}
	after = wall_ns();
	assert_true(proc >= 0 && child > 0);
	assert_int_equal(proc_identity_read(proc, child, &who), 0);
	assert_int_equal(who.uid, geteuid());
	assert_true(who.own_pid > 0);
	/* Ticks are of 10 ms. */
	assert_true(who.started_ns + 100000000 > before);
	assert_true(who.started_ns < after + 100000000);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(proc_identity_read(proc, child, &who), -ESRCH);
	assert_int_equal(proc_identity_read(proc, 0, &who), -ESRCH);
	close(proc);
}

static void fields_are_read_with_care(void **state)
{
	static const char stat[] =
		"7 (a) 1 ( b)) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 "
		"500 1000 20 18446744073709551615\n";
	struct proc_identity who;
	struct fake_tree tree;
	int root;

	(void)state;
	fake_tree_init(&tree);
	root = open(tree.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fake_tree_file(&tree, "4711/status", "Name:\tNSpid:\t3\nNSpid:\t4711\t12\t7\nVm:\t1\n");
	fake_tree_bytes(&tree, "4711/stat", stat, sizeof(stat) - 1);
	assert_int_equal(proc_identity_read(root, 4711, &who), 0);
	assert_int_equal(who.own_pid, 7);
	assert_true(who.started_ns > 0 && who.started_ns < wall_ns());
	/* What makes no sense is not known. */
	fake_tree_file(&tree, "12/status", "NSpid:\t12\t99999999999\nNSpid:\t\n");
	fake_tree_file(&tree, "12/stat", "12 (x) S 1 2 3");
	assert_int_equal(proc_identity_read(root, 12, &who), 0);
	assert_int_equal(who.own_pid, 12);
	assert_true(!who.started_ns);
	fake_tree_file(&tree, "13/comm", "x");
	assert_int_equal(proc_identity_read(root, 13, &who), 0);
	assert_int_equal(who.own_pid, 13);
	close(root);
	fake_tree_done(&tree);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_child_is_as_old_as_it_is),
	cmocka_unit_test(fields_are_read_with_care),
};
UNIT_TESTS("identity", tests)
