/* The writer where there is no room: a full disk, a limit on the file's size. */
#include "base/cleanup.h"
#include "perfdata/perfdata.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const struct perfdata_event event = {
	.attr = {.type = PERF_TYPE_SOFTWARE, .sample_type = PERF_SAMPLE_IP}};

/* Writes samples of 56 bytes until it fails; returns the first failure, and how many times. */
static int fill(const char *path, unsigned limit, unsigned *ret_failures, int *ret_finish)
{
	const struct perfdata_writer_options options = {.path = path,
		.events = &event,
		.event_count = 1,
		.owner_uid = -1,
		.owner_gid = -1};
	const struct perfdata_features features = {.hostname = (char *)(uintptr_t) "full"};
	struct perfdata_writer *writer;
	struct error err = {""};
	int rc = perfdata_create(&options, &writer, &err), first = 0;

	if (rc < 0)
		return rc;
	*ret_failures = 0;
	for (unsigned i = 0; i < limit; i++) {
		struct {
			struct perf_event_header header;
			uint64_t body[6];
		} sample = {{PERF_RECORD_SAMPLE, 2, sizeof(sample)}, {i}};

		rc = perfdata_write(writer, &sample, sizeof(sample), &err);
		if (rc < 0 && !first)
			first = rc;
		*ret_failures += rc < 0;
	}
	*ret_finish = perfdata_finish(writer, &features, &err);
	perfdata_writer_free(writer);
	return first;
}

/* How many samples, in order from 0, are in the file; -1 when it is damaged. */
static int count(const char *path, bool want_features)
{
	struct perfdata_reader *reader;
	struct error err;
	const void *record;
	int n = 0;

	if (perfdata_open(path, &reader, &err) < 0)
		return -1;
	while (n >= 0 && perfdata_next(reader, &record, NULL, &err) > 0) {
		uint64_t number;

		memcpy(&number, (const char *)record + 8, sizeof(number));
		n = number == (uint64_t)n ? n + 1 : -1;
	}
	if (perfdata_info(reader)->truncated_at != UINT64_MAX ||
		!perfdata_info(reader)->features->hostname == want_features)
		n = -1;
	perfdata_close(reader);
	return n;
}

static void a_write_that_is_cut_ends_at_a_whole_record(void **state)
{
	const struct rlimit limited = {1000003, RLIM_INFINITY};
	char path[] = "/tmp/wick-writer-XXXXXX";
	struct rlimit old;
	unsigned failures;
	int fd = mkstemp(path), finish, n, rc;
	void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
	rc = fill(path, 30000, &failures, &finish);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, old_handler);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(failures, 1);
	assert_int_equal(finish, -EFBIG); /* the features do not fit either */
	n = count(path, false);
	/* Less than a record is missing up to the limit, the header apart. */
	assert_true(n * 56 > 1000003 - 2 * 256 && n * 56 < 1000003);
	unlink(path);
}

/* A file system of 3 MiB of our own; exits 0 when all is well, 77 when there may be none. */
static int on_a_full_disk(void)
{
	char dir[] = "/tmp/wick-full-XXXXXX", path[64];
	unsigned failures;
	int finish, rc, n;

	if (!mkdtemp(dir))
		return 77;
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return rmdir(dir), 77;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", dir, "tmpfs", 0, "size=3m") < 0)
		return rmdir(dir), 77;
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	rc = fill(path, 100000, &failures, &finish);
	n = rc == -ENOSPC && failures == 1 && finish == 0 ? count(path, true) : -1;
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	return n * 56 > 1 << 20 ? 0 : 1;
}

static void a_full_disk_leaves_a_file_with_its_features(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(on_a_full_disk());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("SKIPPED: no file system of our own may be mounted here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_write_that_is_cut_ends_at_a_whole_record),
	cmocka_unit_test(a_full_disk_leaves_a_file_with_its_features),
};
UNIT_TESTS("perfdata-writer", tests)
