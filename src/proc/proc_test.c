#include "proc/proc.h"
#include "tests/unit_test.h"
#include "proc/fake_tree.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const char libc_line[] =
	"7f1c2a400000-7f1c2a555000 r-xp 00026000 fe:00 1835               "
	"       /usr/lib/x86_64-linux-gnu/libc.so.6\n";

static int print_mapping(void *ctx, const struct proc_mapping *m)
{
	strbuf_printf(ctx, "%" PRIx64 "-%" PRIx64 " %" PRIx64 " %u %c %x:%x %" PRIu64 " <%s>\n",
		m->start, m->end, m->pgoff, m->prot, m->flags == MAP_SHARED ? 's' : 'p', m->maj,
		m->min, m->ino, m->path);
	return 0;
}

/* The mappings of a text as /proc/7/maps. */
static int read_text(struct fake_tree *tree, const struct proc *proc, const char *text,
	size_t len, struct strbuf *out)
{
	fake_tree_bytes(tree, "7/maps", text, len);
	strbuf_reset(out);
	return proc_read_maps(proc, 7, print_mapping, out);
}

static void expect_maps(
	struct fake_tree *tree, const struct proc *proc, const char *text, const char *expected)
{
	struct strbuf out = {0};
	int count = read_text(tree, proc, text, strlen(text), &out);

	assert_string_equal(strbuf_text(&out), expected);
	for (const char *p = expected; (p = strchr(p, '>')); p++)
		count--;
	assert_int_equal(count, 0);
	strbuf_done(&out);
}

static void maps_are_named_as_records_name_them(void **state)
{
	struct fake_tree tree;
	struct proc proc;

	(void)state;
	fake_tree_init(&tree);
	assert_int_equal(proc_open(&proc, tree.dir, tree.dir, NULL), 0);
	expect_maps(&tree, &proc, "", "");
	expect_maps(&tree, &proc, libc_line,
		"7f1c2a400000-7f1c2a555000 26000 5 p fe:0 1835 "
		"</usr/lib/x86_64-linux-gnu/libc.so.6>\n");
	expect_maps(&tree, &proc,
		"1000-2000 r--p 00000000 fe:00 1 /only/read\n"
		"2000-3000 rwxs 00000000 00:01 25090 /dev/zero (deleted)\n"
		"3000-4000 rwxp 00000000 00:00 0 \n"
		"4000-5000 rwxp 00000000 00:00 0\n"
		"5000-6000 r-xp 00000000 00:00 0   [vdso]\n"
		"6000-7000 rwxp 00000000 00:00 0   [heap]\n"
		"7000-8000 rwxp 00000000 00:00 0   [anon:a name]\n"
		"8000-9000 rwxs 00000000 00:01 7   [anon_shmem:x]\n"
		"9000-a000 rwxp 00000000 00:00 0   [stack:123]\n"
		"a000-b000 r-xp 00001000 103:0a 5  /a b/c\\012d (deleted)\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]",
		"2000-3000 0 7 s 0:1 25090 </dev/zero (deleted)>\n"
		"3000-4000 3000 7 p 0:0 0 <//anon>\n"
		"4000-5000 4000 7 p 0:0 0 <//anon>\n"
		"5000-6000 0 5 p 0:0 0 <[vdso]>\n"
		"6000-7000 6000 7 p 0:0 0 <[heap]>\n"
		"7000-8000 7000 7 p 0:0 0 <//anon>\n"
		"8000-9000 0 7 s 0:1 7 </dev/zero (deleted)>\n"
		"9000-a000 9000 7 p 0:0 0 <//anon>\n"
		"a000-b000 1000 5 p 103:a 5 </a b/c\nd (deleted)>\n"
		"ffffffffff600000-ffffffffff601000 0 4 p 0:0 0 <[vsyscall]>\n");
	proc_close(&proc);
	fake_tree_done(&tree);
}

/* Code that was put onto memory without a file, in the middle of its file. */
static void holes_in_a_file_are_the_files(void **state)
{
	struct fake_tree tree;
	struct proc proc;

	(void)state;
	fake_tree_init(&tree);
	assert_int_equal(proc_open(&proc, tree.dir, tree.dir, NULL), 0);
	expect_maps(&tree, &proc,
		"1000-2000 r--p 00000000 fe:00 7 /lib\n"
		"2000-3000 r-xp 00001000 fe:00 7 /lib\n"
		"3000-5000 r-xp 00000000 00:00 0\n"
		"5000-6000 rwxp 00000000 00:00 0   [anon:pages]\n"
		"6000-7000 r--p 00005000 fe:00 7 /lib\n",
		"2000-3000 1000 5 p fe:0 7 </lib>\n"
		"3000-5000 2000 5 p fe:0 7 </lib>\n"
		"5000-6000 4000 7 p fe:0 7 </lib>\n");
	/* Not the same offset, another file, a gap, the last of a file: a compiler's memory. */
	expect_maps(&tree, &proc,
		"1000-2000 r--p 00000000 fe:00 7 /lib\n"
		"2000-3000 r-xp 00000000 00:00 0\n"
		"3000-4000 r--p 00003000 fe:00 7 /lib\n"
		"4000-5000 r-xp 00000000 00:00 0\n"
		"5000-6000 r--p 00005000 fe:00 8 /other\n"
		"6000-7000 r-xp 00000000 00:00 0\n"
		"8000-9000 r--p 00008000 fe:00 8 /other\n"
		"9000-a000 r-xp 00000000 00:00 0\n",
		"2000-3000 2000 5 p 0:0 0 <//anon>\n"
		"4000-5000 4000 5 p 0:0 0 <//anon>\n"
		"6000-7000 6000 5 p 0:0 0 <//anon>\n"
		"9000-a000 9000 5 p 0:0 0 <//anon>\n");
	proc_close(&proc);
	fake_tree_done(&tree);
}

static void senseless_lines_are_left_out(void **state)
{
	static const char *const lines[] = {"\n", "x\n", "1000\n", "1000-\n", "1000-2000\n",
		"1000-2000 r-x\n", "1000-2000 r-xp\n", "1000-2000 r-xp 0\n",
		"1000-2000 r-xp 0 1\n", "1000-2000 r-xp 0 1:1\n", "2000-2000 r-xp 0 1:1 1 /a\n",
		"2000-1000 r-xp 0 1:1 1 /a\n", "10000000000000000-2 r-xp 0 1:1 1 /a\n",
		"1000-2000 r-xp 0 1:1 99999999999999999999 /a\n",
		"1000-2000 r-xpp 0 1:1 1 /a\n"};
	struct fake_tree tree;
	struct strbuf text = {0};
	struct proc proc;

	(void)state;
	fake_tree_init(&tree);
	assert_int_equal(proc_open(&proc, tree.dir, tree.dir, NULL), 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		strbuf_puts(&text, lines[i]);
	for (uint32_t i = 0; i < 100000; i++) /* far longer than the buffer */
		strbuf_puts(&text, "y");
	strbuf_puts(&text, "\n8000-9000 r-xp 00000000 01:02 3 /good\n");
	expect_maps(&tree, &proc, strbuf_text(&text), "8000-9000 0 5 p 1:2 3 </good>\n");
	strbuf_done(&text);
	proc_close(&proc);
	fake_tree_done(&tree);
}

static void maps_larger_than_the_buffer_and_cut_anywhere(void **state)
{
	enum { MAPPINGS = 3000 };
	struct fake_tree tree;
	struct strbuf text = {0}, out = {0};
	struct proc proc;

	(void)state;
	fake_tree_init(&tree);
	assert_int_equal(proc_open(&proc, tree.dir, tree.dir, NULL), 0);
	for (uint64_t i = 1; i <= MAPPINGS; i++)
		strbuf_printf(&text, "%" PRIx64 "-%" PRIx64 " r-xp 0 01:02 3 /lib/%*s.so\n",
			i * 0x2000, i * 0x2000 + 0x1000, (int)(i % 97), "x");
	assert_int_equal(read_text(&tree, &proc, text.text, text.len, &out), MAPPINGS);
	for (size_t len = 0; len < sizeof(libc_line); len++) {
		int count = read_text(&tree, &proc, libc_line, len, &out);

		assert_int_equal(count, len >= strcspn(libc_line, ":") + 8 ? 1 : count ? 1 : 0);
	}
	for (size_t cut = 32768 - 150; cut < 32768 + 150; cut++) {
		size_t lines = 0;

		for (size_t i = 0; i < cut; i++)
			lines += text.text[i] == '\n';
		assert_in_range(
			read_text(&tree, &proc, text.text, cut, &out), lines, lines + 1);
	}
	strbuf_done(&text);
	strbuf_done(&out);
	proc_close(&proc);
	fake_tree_done(&tree);
}

static int stop_at_once(void *ctx, const struct proc_mapping *mapping)
{
	(void)mapping;
	++*(int *)ctx;
	return -ENOSPC;
}

struct own_maps {
	uint64_t code, anon;
	bool code_seen, anon_seen;
};

static int look_for_own(void *ctx, const struct proc_mapping *m)
{
	struct own_maps *own = ctx;
	char exe[4096] = "";

	if (m->start <= own->code && own->code < m->end) {
		assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
		assert_string_equal(m->path, exe);
		assert_true(m->ino);
		own->code_seen = true;
	}
	if (m->start <= own->anon && own->anon < m->end) {
		assert_string_equal(m->path, "//anon");
		assert_int_equal(m->prot, PROT_READ | PROT_EXEC);
		own->anon_seen = true;
	}
	return 0;
}

static void own_maps_show_code_and_jit_memory(void **state)
{
	void *anon =
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct own_maps own = {.code = (uintptr_t)stop_at_once, .anon = (uintptr_t)anon};
	struct proc proc;
	int calls = 0;

	(void)state;
	assert_true(anon != MAP_FAILED);
	assert_int_equal(proc_open(&proc, NULL, NULL, NULL), 0);
	assert_true(proc_read_maps(&proc, getpid(), look_for_own, &own) > 2);
	assert_true(own.code_seen && own.anon_seen);
	assert_int_equal(proc_read_maps(&proc, getpid(), stop_at_once, &calls), -ENOSPC);
	assert_int_equal(calls, 1);
	munmap(anon, 4096);
	proc_close(&proc);
}

struct waiting {
	pthread_barrier_t started, go;
	int32_t tids[8];
	uint32_t count;
};

static void *wait_there(void *ctx)
{
	struct waiting *waiting = ctx;

	waiting->tids[__atomic_fetch_add(&waiting->count, 1, __ATOMIC_RELAXED)] =
		(int32_t)syscall(SYS_gettid);
	pthread_barrier_wait(&waiting->started);
	pthread_barrier_wait(&waiting->go);
	return NULL;
}

static bool has_pid(const struct pid_list *list, int32_t pid)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->pids[i] == pid)
			return true;
	}
	return false;
}

static void own_threads_are_listed_and_described(void **state)
{
	enum { THREADS = 5 };
	struct waiting waiting = {0};
	struct pid_list tasks = {0}, pids = {0};
	pthread_t threads[THREADS];
	struct proc_status status;
	struct proc_stat stat;
	struct proc proc;
	uint64_t ns = 0;

	(void)state;
	assert_int_equal(proc_open(&proc, NULL, NULL, NULL), 0);
	pthread_barrier_init(&waiting.started, NULL, THREADS + 1);
	pthread_barrier_init(&waiting.go, NULL, THREADS + 1);
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_there, &waiting), 0);
	pthread_barrier_wait(&waiting.started);
	assert_int_equal(proc_tasks(&proc, getpid(), &tasks), 0);
	assert_int_equal(proc_pids(&proc, &pids), 0);
	assert_true(tasks.count >= THREADS + 1); /* a sanitizer may have one of its own */
	assert_true(has_pid(&tasks, getpid()) && has_pid(&pids, getpid()));
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_true(has_pid(&tasks, waiting.tids[i]));
		assert_false(has_pid(&pids, waiting.tids[i]));
		assert_int_equal(proc_tgid(&proc, waiting.tids[i]), getpid());
	}
	assert_int_equal(proc_status(&proc, getpid(), &status), 0);
	assert_int_equal(status.threads, tasks.count);
	assert_int_equal(status.ppid, getppid());
	assert_int_equal(status.uid, getuid());
	assert_int_equal(proc_stat(&proc, getpid(), &stat), 0);
	assert_int_equal(stat.threads, tasks.count);
	if (proc_thread_cpu_ns(&proc, getpid(), waiting.tids[0], &ns) != -ENOTSUP)
		assert_true(ns > 0);
	pthread_barrier_wait(&waiting.go);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pid_list_done(&tasks);
	pid_list_done(&pids);
	proc_close(&proc);
}

static void names_hold_anything(void **state)
{
	static const char name[] = "a) R 7 (b\n c";
	char old[16], comm[PROC_COMM_MAX];
	struct proc_stat stat;
	struct proc proc;

	(void)state;
	assert_int_equal(proc_open(&proc, NULL, NULL, NULL), 0);
	prctl(PR_GET_NAME, old);
	prctl(PR_SET_NAME, name);
	assert_int_equal(proc_comm(&proc, getpid(), getpid(), comm), 0);
	assert_string_equal(comm, name);
	assert_int_equal(proc_stat(&proc, getpid(), &stat), 0);
	assert_int_equal(stat.ppid, getppid());
	assert_int_equal(stat.state, 'R');
	prctl(PR_SET_NAME, old);
	proc_close(&proc);
}

static void fake_files_are_read_field_by_field(void **state)
{
	char comm[PROC_COMM_MAX], longer[300];
	struct pid_list list = {0};
	struct proc_status status;
	struct fake_tree tree;
	struct proc_stat stat;
	struct proc proc;
	uint64_t ns, hz = (uint64_t)sysconf(_SC_CLK_TCK);

	(void)state;
	fake_tree_init(&tree);
	assert_int_equal(proc_open(&proc, tree.dir, tree.dir, NULL), 0);
	fake_tree_file(&tree, "8/status",
		"Name:\tTgid: 5\nTgid:\t8\nPid:\t9\nPPid:\t3\nUid:\t1000\t0\t0\t0\n"
		"NSpid:\t9\t77\t4\nThreads:\t2\n");
	assert_int_equal(proc_status(&proc, 8, &status), 0);
	assert_int_equal(status.tgid, 8);
	assert_int_equal(status.ppid, 3);
	assert_int_equal(status.uid, 1000);
	assert_int_equal(status.ns_pid, 4);
	assert_int_equal(status.threads, 2);
	fake_tree_file(&tree, "8/status", "Tgid:\t8\nPPid:\t3\nUid:\t1000\n");
	assert_int_equal(proc_status(&proc, 8, &status), -EBADMSG);
	assert_int_equal(proc_tgid(&proc, 8), -EBADMSG);
	fake_tree_file(&tree, "8/status", "Tgid:\t8\nPPid:\t3\nUid:\t1000\nThreads:\t1\n");
	assert_int_equal(proc_status(&proc, 8, &status), 0);
	assert_int_equal(status.ns_pid, 8); /* Linux before 4.1 */
	fake_tree_file(&tree, "8/stat",
		"8 (a (b) c) S 3 8 8 34816 -1 4194560 1 2 3 4 250 150 0 0 20 0 2 0 177617 5 "
		"6\n");
	assert_int_equal(proc_stat(&proc, 8, &stat), 0);
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.ppid, 3);
	assert_int_equal(stat.threads, 2);
	assert_int_equal(stat.utime_ns, 250 * (1000000000 / hz));
	assert_int_equal(stat.stime_ns, 150 * (1000000000 / hz));
	assert_int_equal(stat.start_ticks, 177617);
	fake_tree_file(&tree, "8/stat", "8 (a) S 3 8 8");
	assert_int_equal(proc_stat(&proc, 8, &stat), -EBADMSG);
	fake_tree_file(&tree, "8/stat", "");
	assert_int_equal(proc_stat(&proc, 8, &stat), -EBADMSG);
	fake_tree_file(&tree, "8/task/8/comm", "");
	fake_tree_file(&tree, "8/task/9/comm", "x");
	fake_tree_file(&tree, "8/task/none/comm", "x");
	fake_tree_file(&tree, "8/task/99999999999/comm", "x");
	fake_tree_file(&tree, "8/task/0/comm", "x");
	assert_int_equal(proc_tasks(&proc, 8, &list), 0);
	assert_int_equal(list.count, 2);
	assert_true(has_pid(&list, 8) && has_pid(&list, 9));
	assert_int_equal(proc_comm(&proc, 8, 8, comm), 0);
	assert_string_equal(comm, "");
	memset(longer, 'n', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	fake_tree_file(&tree, "8/task/8/comm", longer);
	assert_int_equal(proc_comm(&proc, 8, 8, comm), 0);
	assert_int_equal(strlen(comm), PROC_COMM_MAX - 1);
	assert_int_equal(proc_thread_cpu_ns(&proc, 8, 8, &ns), -ENOTSUP);
	fake_tree_file(&tree, "8/task/8/schedstat", "123456789 5 6\n");
	assert_int_equal(proc_thread_cpu_ns(&proc, 8, 8, &ns), 0);
	assert_int_equal(ns, 123456789);
	pid_list_done(&list);
	proc_close(&proc);
	fake_tree_done(&tree);
}

static int count_one(void *ctx, const struct proc_mapping *mapping)
{
	(void)ctx;
	(void)mapping;
	return 0;
}

static void check_gone(const struct proc *proc, int32_t pid)
{
	struct pid_list list = {0};
	struct proc_status status;
	char comm[PROC_COMM_MAX];
	struct proc_stat stat;
	uint64_t ns;

	assert_int_equal(proc_read_maps(proc, pid, count_one, NULL), -ESRCH);
	assert_int_equal(proc_tasks(proc, pid, &list), -ESRCH);
	assert_int_equal(proc_comm(proc, pid, pid, comm), -ESRCH);
	assert_int_equal(proc_status(proc, pid, &status), -ESRCH);
	assert_int_equal(proc_stat(proc, pid, &stat), -ESRCH);
	assert_int_equal(proc_cpu_ns(pid, &ns), -ESRCH);
	assert_int_equal(proc_thread_cpu_ns(proc, pid, pid, &ns), -ESRCH);
	pid_list_done(&list);
}

/* Children that end while they are looked at: every answer is a sane one, or "gone". */
static void processes_vanish_at_any_moment(void **state)
{
	struct proc proc;

	(void)state;
	assert_int_equal(proc_open(&proc, NULL, NULL, NULL), 0);
	for (uint32_t round = 0; round < 150; round++) {
		struct pid_list list = {0};
		struct proc_status status;
		char comm[PROC_COMM_MAX];
		struct proc_stat stat;
		uint64_t ns;
		pid_t pid = fork();
		int rc, ended;

		assert_true(pid >= 0);
		if (!pid) {
			for (volatile uint32_t i = 0; i < round * 700; i++)
				;
			_exit(0);
		}
		rc = proc_read_maps(&proc, pid, count_one, NULL);
		assert_true(rc >= 0 || rc == -ESRCH);
		assert_true((rc = proc_tasks(&proc, pid, &list)) == 0 || rc == -ESRCH);
		assert_true((rc = proc_comm(&proc, pid, pid, comm)) == 0 || rc == -ESRCH);
		assert_true((rc = proc_status(&proc, pid, &status)) == 0 || rc == -ESRCH);
		assert_true((rc = proc_stat(&proc, pid, &stat)) == 0 || rc == -ESRCH);
		assert_true((rc = proc_cpu_ns(pid, &ns)) == 0 || rc == -ESRCH);
		assert_int_equal(waitpid(pid, &ended, 0), pid);
		check_gone(&proc, pid);
		pid_list_done(&list);
	}
	proc_close(&proc);
}

static void the_cpu_clock_counts_this_process(void **state)
{
	uint64_t before, after;

	(void)state;
	assert_int_equal(proc_cpu_ns(getpid(), &before), 0);
	for (volatile uint32_t i = 0; i < 2000000; i++)
		;
	assert_int_equal(proc_cpu_ns(getpid(), &after), 0);
	assert_true(after > before);
}

static void no_proc_is_said(void **state)
{
	struct error err = {""};
	struct proc proc;

	(void)state;
	assert_int_equal(proc_open(&proc, "/nowhere", NULL, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere"));
	proc_close(&proc);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(maps_are_named_as_records_name_them),
	cmocka_unit_test(holes_in_a_file_are_the_files),
	cmocka_unit_test(senseless_lines_are_left_out),
	cmocka_unit_test(maps_larger_than_the_buffer_and_cut_anywhere),
	cmocka_unit_test(own_maps_show_code_and_jit_memory),
	cmocka_unit_test(own_threads_are_listed_and_described),
	cmocka_unit_test(names_hold_anything),
	cmocka_unit_test(fake_files_are_read_field_by_field),
	cmocka_unit_test(processes_vanish_at_any_moment),
	cmocka_unit_test(the_cpu_clock_counts_this_process),
	cmocka_unit_test(no_proc_is_said),
};
UNIT_TESTS("proc", tests)
