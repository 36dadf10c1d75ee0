#include "target/target.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <string.h>

static uint32_t make_dso(struct target *target, const char *path)
{
	struct dso_key key = {.kind = dso_kind_of(path, false)};
	uint32_t dso;

	assert_int_equal(strings_add(&target->strings, path, strlen(path), &key.path), 0);
	assert_int_equal(target_dso(target, &key, &dso), 0);
	return dso;
}

static void map(struct target *target, int32_t pid, uint64_t start, uint64_t end, uint32_t dso)
{
	const struct mapping mapping = {start, end, 0, dso, 5};

	assert_int_equal(target_map(target, pid, &mapping), 0);
}

static const struct process *process_of(struct target *target, int32_t pid)
{
	return &target->processes[target_process(target, pid)];
}

/* The dso at an address, or -1. */
static int64_t dso_at(struct target *target, int32_t pid, uint64_t addr)
{
	const struct mapping *found = target_find(target, target_process(target, pid), addr);

	return found ? (int64_t)found->dso : -1;
}

static const char *comm_of(struct target *target, int32_t pid, int32_t tid)
{
	return strings_get(
		&target->strings, target->threads[target_thread(target, pid, tid)].comm);
}

static void fork_shares_maps_until_one_changes(void **state)
{
	struct target target = {0};
	uint32_t a = make_dso(&target, "/bin/a"), b = make_dso(&target, "/lib/b");
	uint32_t generation;

	(void)state;
	assert_int_equal(target_comm(&target, 10, 10, "shell", true), 0);
	map(&target, 10, 0x1000, 0x5000, a);
	assert_true(process_of(&target, 10)->known);
	assert_int_equal(target_fork(&target, 10, 10, 11, 11), 0);
	assert_ptr_equal(process_of(&target, 10)->maps, process_of(&target, 11)->maps);
	assert_true(process_of(&target, 11)->known);
	assert_int_equal(process_of(&target, 11)->ppid, 10);
	assert_string_equal(comm_of(&target, 11, 11), "shell");
	generation = process_of(&target, 11)->generation;
	map(&target, 11, 0x2000, 0x3000, b);
	assert_int_not_equal(process_of(&target, 11)->generation, generation);
	assert_int_equal(dso_at(&target, 11, 0x2fff), b);
	assert_int_equal(dso_at(&target, 11, 0x3000), a);
	assert_int_equal(dso_at(&target, 10, 0x2fff), a);
	assert_int_equal(
		target_find(&target, target_process(&target, 11), 0x3000)->pgoff, 0x2000);
	target_done(&target);
	target_done(&target);
}

static void a_child_of_an_unknown_parent_is_not_known(void **state)
{
	struct target target = {0};

	(void)state;
	assert_int_equal(target_fork(&target, 1, 1, 50, 50), 0);
	assert_false(process_of(&target, 50)->known);
	assert_int_equal(target.process_count, 1);
	assert_int_equal(dso_at(&target, 50, 0x1000), -1);
	target_done(&target);
}

static void exec_gives_fresh_maps_and_ends_the_other_threads(void **state)
{
	struct target target = {0};
	uint32_t a = make_dso(&target, "/bin/a"), process;

	(void)state;
	assert_int_equal(target_fork(&target, 1, 1, 20, 20), 0);
	process = target_process(&target, 20);
	map(&target, 20, 0x1000, 0x2000, a);
	for (int32_t tid = 21; tid < 25; tid++)
		assert_int_equal(target_fork(&target, 20, 20, 20, tid), 0);
	assert_int_equal(target.processes[process].live_threads, 5);
	/* A plain change of name keeps everything; the leader ends, then thread 23 execs as 20.
	 */
	assert_int_equal(target_comm(&target, 20, 23, "worker", false), 0);
	assert_string_equal(comm_of(&target, 20, 23), "worker");
	assert_string_equal(strings_get(&target.strings, target.processes[process].comm), "");
	assert_int_equal(dso_at(&target, 20, 0x1000), a);
	assert_int_equal(target_exit(&target, 20, 20), 0);
	assert_true(target.processes[process].alive);
	assert_int_equal(target_comm(&target, 20, 20, "fresh", true), 0);
	assert_int_equal(target_process(&target, 20), process);
	assert_int_equal(target.processes[process].live_threads, 1);
	assert_true(target.threads[target_thread(&target, 20, 20)].alive);
	assert_false(target.threads[target_thread(&target, 20, 23)].alive);
	assert_int_equal(dso_at(&target, 20, 0x1000), -1);
	assert_true(target.processes[process].known);
	assert_int_equal(target_exit(&target, 20, 20), 0);
	assert_false(target.processes[process].alive);
	target_done(&target);
}

static void more_threads_die_by_exec_than_are_remembered(void **state)
{
	struct target target = {0};
	enum { THREADS = TARGET_DEAD_LIMIT * 3 };
	uint32_t process, slots;

	(void)state;
	assert_int_equal(target_fork(&target, 1, 1, 20, 20), 0);
	process = target_process(&target, 20);
	for (uint32_t round = 0; round < 3; round++) {
		for (int32_t i = 1; i < THREADS; i++)
			assert_int_equal(target_fork(&target, 20, 20, 20, 20 + i), 0);
		assert_int_equal(target.processes[process].live_threads, THREADS);
		assert_int_equal(target_exit(&target, 20, 20), 0);
		assert_int_equal(target_comm(&target, 20, 20, "x", true), 0);
		assert_int_equal(target.processes[process].live_threads, 1);
		slots = target.thread_count;
		assert_true(slots <= THREADS + TARGET_DEAD_LIMIT);
	}
	assert_true(target.processes[process].alive);
	target_done(&target);
}

static void a_process_dies_with_its_last_thread(void **state)
{
	struct target target = {0};
	uint32_t a = make_dso(&target, "/bin/a"), process;

	(void)state;
	assert_int_equal(target_fork(&target, 1, 1, 30, 30), 0);
	assert_int_equal(target_fork(&target, 30, 30, 30, 31), 0);
	process = target_process(&target, 30);
	map(&target, 30, 0x1000, 0x2000, a);
	assert_int_equal(target_exit(&target, 30, 30), 0);
	assert_true(target.processes[process].alive);
	assert_int_equal(target_exit(&target, 30, 30), 0);
	assert_int_equal(target_exit(&target, 30, 99), 0);
	assert_true(target.processes[process].alive);
	assert_int_equal(target_exit(&target, 30, 31), 0);
	assert_false(target.processes[process].alive);
	/* Late records: the same process, thread and maps, and nobody comes back to life. */
	assert_int_equal(target_process(&target, 30), process);
	assert_int_equal(dso_at(&target, 30, 0x1fff), a);
	assert_int_equal(target.threads[target_thread(&target, 30, 31)].process, process);
	map(&target, 30, 0x3000, 0x4000, a);
	assert_false(target.processes[process].alive);
	/* A thread that nobody knew: it had not been the last one. */
	(void)target_thread(&target, 30, 32);
	assert_true(target.processes[process].alive);
	assert_int_equal(dso_at(&target, 30, 0x1fff), a);
	target_done(&target);
}

static void exit_of_the_unknown_makes_nothing(void **state)
{
	struct target target = {0};

	(void)state;
	assert_int_equal(target_exit(&target, 5, 5), 0);
	assert_int_equal(target.process_count, 0);
	(void)target_process(&target, 5);
	assert_int_equal(target_exit(&target, 5, 5), 0); /* none of its threads is known */
	assert_false(process_of(&target, 5)->alive);
	target_done(&target);
}

static void a_pid_is_reused(void **state)
{
	struct target target = {0};
	uint32_t a = make_dso(&target, "/bin/a"), birth;

	(void)state;
	assert_int_equal(target_comm(&target, 40, 40, "first", true), 0);
	birth = process_of(&target, 40)->birth;
	map(&target, 40, 0x1000, 0x2000, a);
	assert_int_equal(target_exit(&target, 40, 40), 0);
	assert_int_equal(target_fork(&target, 1, 1, 40, 40), 0);
	assert_int_not_equal(process_of(&target, 40)->birth, birth);
	assert_int_equal(dso_at(&target, 40, 0x1000), -1);
	assert_string_equal(comm_of(&target, 40, 40), "");
	/* The same when its death was lost. */
	map(&target, 40, 0x1000, 0x2000, a);
	assert_int_equal(target_fork(&target, 1, 1, 40, 40), 0);
	assert_int_equal(dso_at(&target, 40, 0x1000), -1);
	assert_int_equal(process_of(&target, 40)->live_threads, 1);
	/* And when the number was that of a thread of another process. */
	assert_int_equal(target_fork(&target, 40, 40, 40, 41), 0);
	assert_int_equal(target_fork(&target, 1, 1, 41, 41), 0);
	assert_int_equal(process_of(&target, 40)->live_threads, 1);
	assert_int_equal(process_of(&target, 41)->live_threads, 1);
	target_done(&target);
}

static void a_thread_moves_to_the_process_that_has_it_now(void **state)
{
	struct target target = {0};
	uint32_t first, second;

	(void)state;
	first = target_thread(&target, 60, 61);
	assert_int_equal(target_thread(&target, 60, 61), first);
	second = target_thread(&target, 70, 61);
	assert_int_equal(target.threads[second].process, target_process(&target, 70));
	assert_false(process_of(&target, 60)->alive); /* it had been its only thread */
	assert_int_equal(process_of(&target, 60)->live_threads, 0);
	assert_int_equal(process_of(&target, 70)->live_threads, 1);
	target_done(&target);
}

static void a_fork_that_proc_told_before_changes_nothing(void **state)
{
	struct target target = {0};
	uint32_t thread = target_thread(&target, 80, 81);

	(void)state;
	assert_int_equal(target_comm(&target, 80, 81, "named", false), 0);
	assert_int_equal(target_fork(&target, 80, 80, 80, 81), 0);
	assert_int_equal(target_thread(&target, 80, 81), thread);
	assert_string_equal(comm_of(&target, 80, 81), "named");
	assert_int_equal(process_of(&target, 80)->live_threads, 1);
	target_done(&target);
}

/* The tables stay as small as what lives and what is remembered, however long it goes on. */
static void short_lives_keep_the_tables_small(void **state)
{
	struct target target = {0};
	enum { LIVES = 100000, PIDS = 32000, AT_ONCE = 8 };
	uint32_t a = make_dso(&target, "/bin/a");

	(void)state;
	assert_int_equal(target_comm(&target, 1, 1, "init", true), 0);
	map(&target, 1, 0x1000, 0x9000, a);
	for (int32_t i = 0; i < LIVES + AT_ONCE; i++) {
		int32_t pid = 100 + i % PIDS, old = 100 + (i - AT_ONCE + PIDS) % PIDS;

		if (i < LIVES) {
			assert_int_equal(target_fork(&target, 1, 1, pid, pid), 0);
			assert_int_equal(target_fork(&target, pid, pid, pid, pid + 100000), 0);
			assert_int_equal(target_comm(&target, pid, pid, "cc1", i % 2), 0);
			map(&target, pid, 0x2000, 0x3000, a);
		}
		if (i >= AT_ONCE) {
			assert_int_equal(target_exit(&target, old, old), 0);
			assert_int_equal(target_exit(&target, old, old + 100000), 0);
		}
	}
	assert_true(target.process_count <= TARGET_DEAD_LIMIT + AT_ONCE + 2);
	assert_true(target.thread_count <= TARGET_DEAD_LIMIT + 2 * AT_ONCE + 2);
	assert_true(target.by_pid.cap <= 8192 && target.by_tid.cap <= 8192);
	assert_int_equal(target.by_pid.live, TARGET_DEAD_LIMIT + 1);
	assert_int_equal(target.refused, 0);
	assert_int_equal(dso_at(&target, 1, 0x2000), a);
	/* Birth numbers: no two the same among those that are there. */
	for (uint32_t i = 1; i < target.process_count; i++)
		assert_int_not_equal(target.processes[i].birth, target.processes[i - 1].birth);
	target_done(&target);
}

static void threads_of_one_process_come_and_go(void **state)
{
	struct target target = {0};

	(void)state;
	assert_int_equal(target_fork(&target, 1, 1, 90, 90), 0);
	for (int32_t i = 0; i < 100000; i++) {
		assert_int_equal(target_fork(&target, 90, 90, 90, 1000 + i), 0);
		assert_int_equal(target_exit(&target, 90, 1000 + i), 0);
	}
	assert_true(process_of(&target, 90)->alive);
	assert_int_equal(process_of(&target, 90)->live_threads, 1);
	assert_true(target.thread_count <= TARGET_DEAD_LIMIT + 2);
	target_done(&target);
}

/* A storm of random events over few numbers; the counts of the living must hold at every step.
 */
static void a_storm_of_events_leaves_the_lists_whole(void **state)
{
	struct target target = {0};
	uint64_t seed = 42;
	uint32_t a = make_dso(&target, "/bin/a");

	(void)state;
	for (uint32_t step = 0; step < 60000; step++) {
		uint32_t r;
		int32_t pid, tid;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		r = (uint32_t)(seed >> 33);
		pid = (int32_t)(r % 61);
		tid = r & 64 ? pid : (int32_t)(r / 128 % 97);
		if (r / 16384 % 5 == 0)
			(void)target_fork(&target, (int32_t)(r / 7 % 61), (int32_t)(r / 7 % 61),
				pid, tid);
		else if (r / 16384 % 5 == 1)
			(void)target_exit(&target, pid, tid);
		else if (r / 16384 % 5 == 2)
			(void)target_comm(&target, pid, tid, "x", r & 1);
		else if (r / 16384 % 5 == 3)
			map(&target, pid, 0x1000, 0x2000, a);
		else
			(void)target_thread(&target, pid, tid);
		if (step % 50)
			continue;
		for (uint32_t p = 0; p < target.process_count; p++) {
			const struct process *process = &target.processes[p];
			uint32_t live = 0, t = process->first_thread;

			if (!process->alive && !process->died)
				continue; /* a free slot */
			for (; t != TARGET_NONE; t = target.threads[t].next) {
				assert_int_equal(target.threads[t].process, p);
				live += target.threads[t].alive;
			}
			assert_int_equal(live, process->live_threads);
			assert_true(process->alive || !live);
		}
	}
	assert_true(target.process_count <= 61 + 1 && target.thread_count <= 97 + 1);
	target_done(&target);
}

static void absurd_mappings_are_refused(void **state)
{
	struct target target = {0};
	uint32_t a = make_dso(&target, "/bin/a");
	struct mapping mapping = {0x2000, 0x2000, 0, a, 0};

	(void)state;
	assert_int_equal(target_map(&target, 1, &mapping), -EINVAL);
	mapping.end = 0x1000;
	assert_int_equal(target_map(&target, 1, &mapping), -EINVAL);
	mapping.end = 0x3000;
	mapping.dso = 1;
	assert_int_equal(target_map(&target, 1, &mapping), -EINVAL);
	assert_int_equal(target.refused, 3);
	assert_null(target_find(&target, TARGET_NONE, 0x2000));
	assert_null(target_find_kernel(&target, 0x2000));
	target_done(&target);
}

static void the_kernel_is_mapped_for_all(void **state)
{
	struct target target = {0};
	uint32_t kernel = make_dso(&target, "kernel"), module = make_dso(&target, "module");

	(void)state;
	map(&target, -1, 0xffffffff81000000, UINT64_MAX, kernel);
	map(&target, -1, 0xffffffffc0000000, 0xffffffffc0001000, module);
	assert_int_equal(target_find_kernel(&target, 0xffffffff81000000)->dso, kernel);
	assert_int_equal(target_find_kernel(&target, 0xffffffffc0000fff)->dso, module);
	assert_int_equal(target_find_kernel(&target, 0xffffffffc0001000)->dso, kernel);
	assert_int_equal(target.process_count, 0);
	target_done(&target);
}

static void unmap_all_starts_afresh(void **state)
{
	struct target target = {0};
	uint32_t a = make_dso(&target, "/bin/a"), generation;

	(void)state;
	map(&target, 5, 0x1000, 0x2000, a);
	generation = process_of(&target, 5)->generation;
	target_unmap_all(&target, target_process(&target, 5));
	target_unmap_all(&target, TARGET_NONE);
	assert_int_equal(dso_at(&target, 5, 0x1000), -1);
	assert_int_not_equal(process_of(&target, 5)->generation, generation);
	assert_int_equal(target.dsos[a].map_start, 0x1000);
	assert_int_equal(target.dsos[a].pid, 5);
	target_done(&target);
}

static void a_dso_is_shown_by_a_process_that_lives(void **state)
{
	struct target target = {0};
	uint32_t a = make_dso(&target, "/bin/a");

	(void)state;
	(void)target_thread(&target, 5, 5);
	map(&target, 5, 0x1000, 0x2000, a);
	map(&target, 6, 0x3000, 0x4000, a);
	assert_int_equal(target.dsos[a].pid, 5);
	assert_int_equal(target_exit(&target, 5, 5), 0);
	map(&target, 6, 0x5000, 0x6000, a);
	assert_int_equal(target.dsos[a].pid, 6);
	assert_int_equal(target.dsos[a].map_start, 0x5000);
	target_done(&target);
}

static void a_dso_is_one_by_its_key(void **state)
{
	struct target target = {0};
	struct dso_key keys[7] = {{.kind = DSO_FILE,
		.path = 1,
		.maj = 8,
		.min = 1,
		.ino = 100,
		.ino_generation = 4}};
	uint32_t dso;

	(void)state;
	for (uint32_t i = 1; i < 7; i++)
		keys[i] = keys[0];
	keys[1].ino = 101;
	keys[2].ino_generation = 1;
	keys[3].min = 2;
	keys[4].build_id_bytes = 20;
	keys[5].anon_pid = 9;
	keys[6].path = 2;
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 7; i++) {
			assert_int_equal(target_dso(&target, &keys[i], &dso), 0);
			assert_int_equal(dso, i);
		}
	}
	assert_int_equal(target.dso_count, 7);
	target_done(&target);
}

static void a_dso_of_proc_is_the_one_of_the_records(void **state)
{
	struct target target = {0};
	struct dso_key key = {.kind = DSO_FILE, .path = 1, .ino = 100};
	uint32_t dso, same;

	(void)state;
	assert_int_equal(target_dso(&target, &key, &dso), 0);
	key.ino_generation = 7;
	assert_int_equal(target_dso(&target, &key, &same), 0);
	assert_int_equal(same, dso);
	assert_int_equal(target.dsos[dso].key.ino_generation, 7);
	key.ino_generation = 0;
	assert_int_equal(target_dso(&target, &key, &same), 0);
	assert_int_equal(same, dso);
	key.ino_generation = 8;
	assert_int_equal(target_dso(&target, &key, &same), 0);
	assert_int_not_equal(same, dso);
	target_done(&target);
}

static void names_tell_the_kind(void **state)
{
	static const struct {
		const char *name;
		bool in_kernel;
		enum dso_kind kind;
	} cases[] = {
		{"[kernel.kallsyms]_text", true, DSO_KERNEL},
		{"[guest.kernel.kallsyms.77]", true, DSO_KERNEL},
		{"/usr/lib/debug/boot/vmlinux-6.1.0", true, DSO_KERNEL},
		{"/boot/vmlinuz-6.1.0", true, DSO_KERNEL},
		{"[ext4]", true, DSO_KMODULE},
		{"/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko", true, DSO_KMODULE},
		{"[vdso]", false, DSO_VDSO},
		{"[vdso32]", false, DSO_VDSO},
		{"//anon", false, DSO_ANON},
		{"", false, DSO_ANON},
		{"[heap]", false, DSO_ANON},
		{"[stack]", false, DSO_ANON},
		{"[vsyscall]", false, DSO_ANON},
		{"/memfd:jit (deleted)", false, DSO_ANON},
		{"/dev/zero (deleted)", false, DSO_ANON},
		{"/SYSV00000000 (deleted)", false, DSO_ANON},
		{"/anon_hugepage (deleted)", false, DSO_ANON},
		{"/usr/bin/python3.11", false, DSO_FILE},
		{"/tmp/[odd]/a b", false, DSO_FILE},
		{"/tmp/gone (deleted)", false, DSO_FILE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(dso_kind_of(cases[i].name, cases[i].in_kernel), cases[i].kind);
}

static void the_idle_tasks_have_their_name(void **state)
{
	struct target target = {0};
	uint32_t idle = target_thread(&target, 0, 0), other = target_thread(&target, 7, 7);

	(void)state;
	assert_string_equal(strings_get(&target.strings, target.threads[idle].comm), "swapper");
	assert_string_equal(strings_get(&target.strings, target.threads[other].comm), "");
	target_done(&target);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(fork_shares_maps_until_one_changes),
	cmocka_unit_test(a_child_of_an_unknown_parent_is_not_known),
	cmocka_unit_test(exec_gives_fresh_maps_and_ends_the_other_threads),
	cmocka_unit_test(more_threads_die_by_exec_than_are_remembered),
	cmocka_unit_test(a_process_dies_with_its_last_thread),
	cmocka_unit_test(exit_of_the_unknown_makes_nothing),
	cmocka_unit_test(a_pid_is_reused),
	cmocka_unit_test(a_thread_moves_to_the_process_that_has_it_now),
	cmocka_unit_test(a_fork_that_proc_told_before_changes_nothing),
	cmocka_unit_test(short_lives_keep_the_tables_small),
	cmocka_unit_test(threads_of_one_process_come_and_go),
	cmocka_unit_test(a_storm_of_events_leaves_the_lists_whole),
	cmocka_unit_test(absurd_mappings_are_refused),
	cmocka_unit_test(the_kernel_is_mapped_for_all),
	cmocka_unit_test(unmap_all_starts_afresh),
	cmocka_unit_test(a_dso_is_shown_by_a_process_that_lives),
	cmocka_unit_test(a_dso_is_one_by_its_key),
	cmocka_unit_test(a_dso_of_proc_is_the_one_of_the_records),
	cmocka_unit_test(names_tell_the_kind),
	cmocka_unit_test(the_idle_tasks_have_their_name),
};
UNIT_TESTS("target", tests)
