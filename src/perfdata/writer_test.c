/* The writer where there is no room: a full disk, a limit on the file's size. */
#include "base/cleanup.h"
#include "config.h"
#include "perfdata/perfdata.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static uint64_t event_ids[] = {5};
static const struct perfdata_event event = {.ids = event_ids,
	.id_count = 1,
	.attr = {.type = PERF_TYPE_SOFTWARE, .sample_type = PERF_SAMPLE_IP}};

/* Writes samples of 56 bytes until it fails; `later` limits the file when it is open. Returns
 * the first failure, and how many times. */
static int fill(const char *path, unsigned limit, const struct rlimit *later,
	unsigned *ret_failures, int *ret_finish)
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
	if (later && setrlimit(RLIMIT_FSIZE, later) < 0)
		return -errno;
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
static int count(const char *path, bool want_features, bool may_be_cut)
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
	if ((!may_be_cut && perfdata_info(reader)->truncated_at != UINT64_MAX) ||
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
	unsigned failures = 0;
	int fd = mkstemp(path), finish = 0, n, rc;
	void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	rc = fill(path, 30000, &limited, &failures, &finish);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, old_handler);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(failures, 1);
	assert_int_equal(finish, -EFBIG); /* the features do not fit either */
	n = count(path, false, false);
	/* Less than a record is missing up to the limit, the header apart. */
	assert_true(n * 56 > 1000003 - 2 * 256 && n * 56 < 1000003);
	unlink(path);
}

static void a_limit_that_is_known_leaves_room_for_the_features(void **state)
{
	static const rlim_t limits[] = {20000, 100000, 1000003};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		const struct rlimit limited = {limits[i], RLIM_INFINITY};
		char path[] = "/tmp/wick-writer-XXXXXX";
		struct rlimit old;
		unsigned failures = 0;
		int fd = mkstemp(path), finish = -1, n, rc;

		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
		rc = fill(path, 30000, NULL, &failures, &finish);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		assert_int_equal(rc, -EFBIG);
		assert_int_equal(failures, 1);
		assert_int_equal(finish, 0);
		n = count(path, true, false);
		assert_true(n * 56 > (int)limits[i] - (20 << 10) && n * 56 < (int)limits[i]);
		unlink(path);
	}
}

static void no_file_is_left_where_not_even_the_header_fits(void **state)
{
	const struct rlimit limited = {100, RLIM_INFINITY};
	char path[] = "/tmp/wick-writer-XXXXXX";
	void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
	struct rlimit old;
	unsigned failures;
	int fd = mkstemp(path), finish, rc;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
	rc = fill(path, 1, NULL, &failures, &finish);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, old_handler);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(access(path, F_OK), -1);
}

/* A file system of our own; exits 0 when all is well, 77 when there may be none. */
static int on_a_full_disk(const char *size, int least)
{
	char dir[] = "/tmp/wick-full-XXXXXX", path[64];
	unsigned failures = 0;
	int finish = 0, rc, n;

	if (!mkdtemp(dir))
		return 77;
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return rmdir(dir), 77;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", dir, "tmpfs", 0, size) < 0)
		return rmdir(dir), 77;
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	rc = fill(path, 100000, NULL, &failures, &finish);
	n = rc == -ENOSPC && failures == 1 && finish == 0 ? count(path, true, false) : -1;
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	return n * 56 > least ? 0 : 1;
}

static void full_disk(const char *size, int least)
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(on_a_full_disk(size, least));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("SKIPPED: no file system of our own may be mounted here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_full_disk_leaves_a_file_with_its_features(void **state)
{
	(void)state;
	full_disk("size=3m", 2 << 20);
}

static void a_small_disk_is_used(void **state)
{
	(void)state;
	full_disk("size=100k", 60 << 10);
}

/* ---- compression, checkpoints, a kill */

struct sample {
	struct perf_event_header header;
	uint64_t body[6];
};

static struct sample make_sample(uint64_t number)
{
	return (struct sample){{PERF_RECORD_SAMPLE, 2, sizeof(struct sample)}, {number}};
}

/* Writes for ever, a checkpoint every `every` samples; says by the shared counters how far it
 * is. */
static void write_until_killed(const char *path, int level, unsigned every, uint64_t *checked)
{
	const struct perfdata_writer_options options = {.path = path,
		.events = &event,
		.event_count = 1,
		.owner_uid = -1,
		.owner_gid = -1,
		.compression_level = level};
	struct perfdata_features features = {.hostname = (char *)(uintptr_t) "killed"};
	struct perfdata_writer *writer;
	struct error err;

	if (perfdata_create(&options, &writer, &err) < 0)
		_exit(1);
	for (uint64_t i = 0; i < 1000000; i++) {
		struct sample sample = make_sample(i);

		if (perfdata_write(writer, &sample, sizeof(sample), &err) < 0)
			_exit(1);
		if (i % every != every - 1)
			continue;
		features.last_sample_ns = i;
		if (perfdata_checkpoint(writer, &features, &err) < 0)
			_exit(1);
		__atomic_store_n(checked, i + 1, __ATOMIC_RELEASE);
	}
	_exit(1);
}

static void what_was_checked_survives_a_kill(int level)
{
	char path[] = "/tmp/wick-kill-XXXXXX";
	uint64_t *checked =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = mkstemp(path);

	assert_true(fd >= 0 && checked != MAP_FAILED);
	close(fd);
	for (unsigned i = 0; i < 30; i++) {
		pid_t pid;
		int n;

		unlink(path);
		*checked = 0;
		fflush(NULL);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid)
			write_until_killed(path, level, 1 + i % 7, checked);
		while (__atomic_load_n(checked, __ATOMIC_ACQUIRE) < 1 + 10 * i)
			sched_yield();
		usleep(i * 37 % 200);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		n = count(path, true, true);
		if (n < 0 && !level) /* while the header changes there are no features */
			n = count(path, false, true);
		assert_true(n >= 0 && (uint64_t)n >= *checked);
	}
	munmap(checked, 4096);
	unlink(path);
}

static void a_kill_loses_nothing_that_was_checked(void **state)
{
	(void)state;
	what_was_checked_survives_a_kill(0);
}

static void a_checkpoint_costs_a_small_table(void **state)
{
	char path[] = "/tmp/wick-checked-XXXXXX";
	const struct perfdata_writer_options options = {.path = path,
		.events = &event,
		.event_count = 1,
		.owner_uid = -1,
		.owner_gid = -1};
	const struct perfdata_features features = {.hostname = (char *)(uintptr_t) "checked"};
	struct perfdata_writer *writer;
	struct error err;
	struct stat before, after;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(perfdata_create(&options, &writer, &err), 0);
	for (uint64_t i = 0; i < 100; i++) {
		struct sample sample = make_sample(i);

		assert_int_equal(perfdata_write(writer, &sample, sizeof(sample), &err), 0);
		assert_int_equal(perfdata_checkpoint(writer, &features, &err), 0);
		assert_int_equal(stat(path, &before), 0);
		assert_int_equal(perfdata_checkpoint(writer, &features, &err), 0);
		assert_int_equal(stat(path, &after), 0);
		assert_int_equal(before.st_size, after.st_size);
	}
	assert_int_equal(perfdata_finish(writer, &features, &err), 0);
	perfdata_writer_free(writer);
	assert_int_equal(count(path, true, false), 100);
	/* The sections that do not change stand once: a checkpoint costs a small table. */
	assert_int_equal(stat(path, &after), 0);
	assert_true(after.st_size < 100 * (56 + 8 + 40) + 1000);
	unlink(path);
}

static void pipe_round_trip(int level)
{
	char path[] = "/tmp/wick-fifo-XXXXXX";
	const struct perfdata_writer_options options = {.path = path,
		.events = &event,
		.event_count = 1,
		.owner_uid = -1,
		.owner_gid = -1,
		.compression_level = level};
	static char names[200000]; /* longer than a record may be */
	const struct perfdata_features features = {.hostname = (char *)(uintptr_t) "pipe",
		.names = names,
		.names_bytes = sizeof(names),
		.quality = names,
		.quality_bytes = 13};
	struct perfdata_writer *writer;
	struct error err;
	pid_t pid;
	int status;

	for (size_t i = 0; i < sizeof(names); i++)
		names[i] = (char)(i * 7 >> 3);
	assert_int_equal(close(mkstemp(path)), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct perfdata_reader *reader;
		const struct perfdata_info *info;
		const void *record;
		int n = 0;

		if (perfdata_open(path, &reader, &err) < 0)
			_exit(2);
		while (perfdata_next(reader, &record, NULL, &err) > 0)
			n++;
		info = perfdata_info(reader);
		if (n != 10000 || !info->is_pipe || info->truncated_at != UINT64_MAX)
			_exit(3);
		if (info->features->names_bytes != sizeof(names) ||
			memcmp(info->features->names, names, sizeof(names)) != 0 ||
			info->features->quality_bytes != 13 || info->bad_sections)
			_exit(4);
		_exit(strcmp(info->events[0].name, "cpu-clock") == 0 ? 0 : 5);
	}
	assert_int_equal(perfdata_create(&options, &writer, &err), 0);
	for (uint64_t i = 0; i < 10000; i++) {
		struct sample sample = make_sample(i);

		assert_int_equal(perfdata_write(writer, &sample, sizeof(sample), &err), 0);
	}
	assert_int_equal(perfdata_checkpoint(writer, &features, &err), 0);
	assert_int_equal(perfdata_finish(writer, &features, &err), 0);
	perfdata_writer_free(writer);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	unlink(path);
}

static void a_pipe_carries_everything(void **state)
{
	(void)state;
	pipe_round_trip(0);
#if HAVE_ZSTD
	pipe_round_trip(1);
#endif
}

#if HAVE_ZSTD
static void a_kill_loses_nothing_that_was_compressed(void **state)
{
	(void)state;
	what_was_checked_survives_a_kill(3);
}

static void compressed_records_of_any_size_come_back(void **state)
{
	char path[] = "/tmp/wick-packed-XXXXXX";
	const struct perfdata_writer_options options = {.path = path,
		.events = &event,
		.event_count = 1,
		.owner_uid = -1,
		.owner_gid = -1,
		.compression_level = 1};
	const struct perfdata_features features = {.hostname = (char *)(uintptr_t) "packed"};
	static uint8_t records[300000];
	const uint16_t sizes[] = {16, 56, 8000, 65528, 64000, 63992};
	struct perfdata_writer *writer;
	struct error err;
	size_t len = 0;
	uint64_t number = 0;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	/* Bytes that do not compress: a packed piece is then longer than the piece. */
	srandom(1);
	for (size_t i = 0; i < sizeof(records); i++)
		records[i] = (uint8_t)random();
	assert_int_equal(perfdata_create(&options, &writer, &err), 0);
	for (unsigned round = 0; round < 100; round++) {
		uint16_t size = sizes[round % ARRAY_LEN(sizes)];
		struct perf_event_header header = {PERF_RECORD_SAMPLE, 2, size};

		if (len + size > sizeof(records) || round % 5 == 0) {
			assert_int_equal(perfdata_write(writer, records, len, &err), 0);
			len = 0;
		}
		memcpy(records + len, &header, sizeof(header));
		memcpy(records + len + 8, &number, sizeof(number));
		number++;
		len += size;
	}
	assert_int_equal(perfdata_write(writer, records, len, &err), 0);
	assert_int_equal(perfdata_finish(writer, &features, &err), 0);
	perfdata_writer_free(writer);
	assert_int_equal(count(path, true, false), 100);
	unlink(path);
}
#endif

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_write_that_is_cut_ends_at_a_whole_record),
	cmocka_unit_test(a_limit_that_is_known_leaves_room_for_the_features),
	cmocka_unit_test(no_file_is_left_where_not_even_the_header_fits),
	cmocka_unit_test(a_full_disk_leaves_a_file_with_its_features),
	cmocka_unit_test(a_small_disk_is_used),
	cmocka_unit_test(a_kill_loses_nothing_that_was_checked),
	cmocka_unit_test(a_checkpoint_costs_a_small_table),
	cmocka_unit_test(a_pipe_carries_everything),
#if HAVE_ZSTD
	cmocka_unit_test(a_kill_loses_nothing_that_was_compressed),
	cmocka_unit_test(compressed_records_of_any_size_come_back),
#endif
};
UNIT_TESTS("perfdata-writer", tests)
