#include "proc/pins.h"
#include "base/cleanup.h"
#include "tests/unit_test.h"
#include "proc/fake_tree.h"

#include <sys/mman.h>
#include <sys/resource.h>

static void expect_text(int fd, const char *expected)
{
	char text[64] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, expected);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static uint64_t inode_of(struct fake_tree *tree, const char *name)
{
	struct stat st;

	assert_int_equal(stat(fake_tree_path(tree, name), &st), 0);
	return st.st_ino;
}

static void make_link(struct fake_tree *tree, const char *to, const char *name)
{
	assert_int_equal(symlink(to, fake_tree_path(tree, name)), 0);
}

/* 5/root/lib.so, and what else a target may show us. */
static void make_tree(struct fake_tree *tree, struct proc *proc)
{
	fake_tree_init(tree);
	assert_int_equal(proc_open(proc, tree->dir, tree->dir, NULL), 0);
	fake_tree_file(tree, "5/root/opt/lib.so", "in the root");
	fake_tree_file(tree, "mapped", "mapped");
	fake_tree_file(tree, "secret", "secret");
	(void)fake_tree_path(tree, "5/map_files/x");
}

static void map_files_then_root_then_path(void **state)
{
	struct fake_tree tree;
	struct proc proc;
	struct pin_request request = {5, 0x1000, 0x2000, "/opt/lib.so", 0};
	enum pin_trust trust;
	char here[128];
	int fd = -1;

	(void)state;
	make_tree(&tree, &proc);
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), 0);
	expect_text(fd, "in the root");
	assert_int_equal(trust, PIN_NAME);
	request.ino = inode_of(&tree, "5/root/opt/lib.so");
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), 0);
	expect_text(fd, "in the root");
	assert_int_equal(trust, PIN_INODE);
	make_link(&tree, "../../mapped", "5/map_files/1000-2000");
	request.ino = 0;
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), 0);
	expect_text(fd, "mapped");
	assert_int_equal(trust, PIN_MAPPED);
	/* A file that is only here. */
	(void)snprintf(here, sizeof(here), "%s/mapped", tree.dir);
	request = (struct pin_request){5, 0x3000, 0x4000, here, inode_of(&tree, "mapped")};
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), 0);
	expect_text(fd, "mapped");
	assert_int_equal(trust, PIN_INODE);
	proc_close(&proc);
	fake_tree_done(&tree);
}

static void the_program_itself_is_shown_by_exe(void **state)
{
	struct fake_tree tree;
	struct proc proc;
	struct pin_request request = {5, 0x1000, 0x2000, "/gone (deleted)", 0};
	enum pin_trust trust;
	char here[128];
	int fd = -1;

	(void)state;
	make_tree(&tree, &proc);
	(void)snprintf(here, sizeof(here), "%s/mapped", tree.dir);
	make_link(&tree, here, "5/exe");
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ENOENT);
	request.path = here;
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), 0);
	expect_text(fd, "mapped");
	assert_int_equal(trust, PIN_MAPPED);
	proc_close(&proc);
	fake_tree_done(&tree);
}

static void another_file_of_the_same_name_is_not_lent(void **state)
{
	struct fake_tree tree;
	struct proc proc;
	struct pin_request request = {5, 0x1000, 0x2000, "/opt/lib.so", 1};
	enum pin_trust trust = PIN_NAME;
	int fd = -7;

	(void)state;
	make_tree(&tree, &proc);
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ESTALE);
	assert_int_equal(fd, -7);
	make_link(&tree, "../../mapped", "5/map_files/1000-2000");
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ESTALE);
	request.path = "//anon";
	request.start = 0;
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ENOENT);
	request.path = "[vdso]";
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ENOENT);
	request.pid = 6; /* gone */
	request.path = "/no/such/file";
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ENOENT);
	assert_int_equal(fd, -7);
	proc_close(&proc);
	fake_tree_done(&tree);
}

/* Opening any of these for reading would hang or do something. */
static void only_regular_files_are_opened(void **state)
{
	struct fake_tree tree;
	struct proc proc;
	struct pin_request request = {5, 0x1000, 0x2000, "/opt/fifo", 0};
	enum pin_trust trust;
	int fd = -1;

	(void)state;
	make_tree(&tree, &proc);
	assert_int_equal(mkfifo(fake_tree_path(&tree, "5/root/opt/fifo"), 0600), 0);
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ENOENT);
	make_link(&tree, "../root/opt/fifo", "5/map_files/1000-2000");
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ENOENT);
	request.path = "/opt";
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ENOENT);
	request.path = "/dev/tty";
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ENOENT);
	proc_close(&proc);
	fake_tree_done(&tree);
}

/* The target made a link to a file outside of its root. */
static void links_do_not_lead_out_of_the_root(void **state)
{
	struct fake_tree tree;
	struct proc proc;
	struct pin_request request = {5, 0x1000, 0x2000, "/opt/out", 0};
	enum pin_trust trust;
	char secret[128];
	int fd = -1;

	(void)state;
	make_tree(&tree, &proc);
	(void)snprintf(secret, sizeof(secret), "%s/secret", tree.dir);
	make_link(&tree, secret, "5/root/opt/out");
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ENOENT);
	make_link(&tree, "../../../secret", "5/root/opt/up");
	request.path = "/opt/up";
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), -ENOENT);
	make_link(&tree, "lib.so", "5/root/opt/in"); /* one that stays inside is fine */
	request.path = "/opt/in";
	if (pin_open(&proc, &request, &fd, &trust) ==
		0) /* without openat2() none is followed */
		expect_text(fd, "in the root");
	proc_close(&proc);
	fake_tree_done(&tree);
}

static void an_unlinked_file_is_pinned_while_it_is_mapped(void **state)
{
	char path[] = "/tmp/wick-pin-XXXXXX";
	cleanup_close int file = mkstemp(path);
	struct pin_request request = {.pid = getpid(), .path = path};
	enum pin_trust trust;
	struct stat st;
	struct proc proc;
	void *at;
	int fd = -1, rc;

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(fd_write_all(file, "still there", 11), 0);
	assert_int_equal(fstat(file, &st), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	assert_true(at != MAP_FAILED);
	request.start = (uintptr_t)at;
	request.end = request.start + 4096;
	request.ino = st.st_ino;
	assert_int_equal(proc_open(&proc, NULL, NULL, NULL), 0);
	assert_int_equal(pin_open(&proc, &request, &fd, &trust), 0);
	expect_text(fd, "still there");
	assert_int_equal(unlink(path), 0);
	rc = pin_open(&proc, &request, &fd, &trust);
	if (rc == 0)
		expect_text(fd, "still there");
	munmap(at, 4096);
	proc_close(&proc);
	if (rc < 0) {
		print_message(
			"skipped: /proc/PID/map_files needs privilege (%s)\n", strerror(-rc));
		skip();
	}
	assert_int_equal(trust, PIN_MAPPED);
}

static void the_table_owns_and_is_limited(void **state)
{
	struct pins pins;
	struct rlimit limit;
	enum pin_trust trust;
	int fds[3];

	(void)state;
	pins_init(&pins, 2);
	assert_int_equal(pins_fd(&pins, 0, NULL), -1);
	for (uint32_t i = 0; i < 3; i++) {
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
	assert_int_equal(pins_add(&pins, 7, fds[0], PIN_INODE), 0);
	assert_int_equal(pins_add(&pins, 7, fds[1], PIN_MAPPED), -EEXIST);
	assert_int_equal(pins_add(&pins, 0, fds[1], PIN_MAPPED), 0);
	assert_int_equal(pins_add(&pins, 8, fds[2], PIN_MAPPED), -ENOSPC);
	assert_int_equal(pins_fd(&pins, 7, &trust), fds[0]);
	assert_int_equal(trust, PIN_INODE);
	assert_int_equal(pins_fd(&pins, 0, &trust), fds[1]);
	assert_int_equal(trust, PIN_MAPPED);
	assert_int_equal(pins_fd(&pins, 8, NULL), -1);
	pins_done(&pins);
	pins_done(&pins);
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	assert_int_equal(fcntl(fds[1], F_GETFD), -1);
	assert_int_not_equal(fcntl(fds[2], F_GETFD), -1);
	close(fds[2]);
	pins_init(&pins, UINT32_MAX);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(pins.limit <= limit.rlim_cur / 4);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(map_files_then_root_then_path),
	cmocka_unit_test(the_program_itself_is_shown_by_exe),
	cmocka_unit_test(another_file_of_the_same_name_is_not_lent),
	cmocka_unit_test(only_regular_files_are_opened),
	cmocka_unit_test(links_do_not_lead_out_of_the_root),
	cmocka_unit_test(an_unlinked_file_is_pinned_while_it_is_mapped),
	cmocka_unit_test(the_table_owns_and_is_limited),
};
UNIT_TESTS("pins", tests)
