#include "tests/unit_test.h"

#include "perfdata/made_files_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* ---- making files */

#define TEMP_DIR "/tmp/wick-perfdata-XXXXXX"

static const char *in_dir(const char *dir, const char *name)
{
	static char path[300];

	assert_non_null(dir);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static struct perfdata_features test_features(void)
{
	static char *cmdline[] = {(char *)(uintptr_t) "wick", (char *)(uintptr_t) "record"};
	static struct perfdata_build_id ids[] = {
		{.pid = -1,
			.misc = 1,
			.bytes = {1, 2, 3, 4},
			.len = 4,
			.filename = (char *)(uintptr_t) "[kernel.kallsyms]"},
		{.pid = 7,
			.misc = 2,
			.bytes = {9, [18] = 1, [19] = 0},
			.len = 20,
			.filename = (char *)(uintptr_t) "/bin/a"},
	};
	struct perfdata_features f = {
		.hostname = (char *)(uintptr_t) "host",
		.osrelease = (char *)(uintptr_t) "6.1",
		.version = (char *)(uintptr_t) "0.1",
		.arch = (char *)(uintptr_t) "x86_64",
		.cpudesc = (char *)(uintptr_t) "a CPU",
		.cpuid = (char *)(uintptr_t) "A,1",
		.nrcpus_online = 2,
		.nrcpus_available = 4,
		.total_mem_kb = 12345,
		.cmdline = cmdline,
		.cmdline_count = 2,
		.build_ids = ids,
		.build_id_count = 2,
		.first_sample_ns = 10,
		.last_sample_ns = 20,
		.clockid_res_ns = 1,
		.has_clock_data = true,
		.clockid = 1,
		.wall_clock_ns = 1000,
		.clockid_ns = 100,
		.quality = (char *)(uintptr_t) "q=1",
		.quality_bytes = 3,
		.names = (char *)(uintptr_t) "names",
		.names_bytes = 5,
	};

	return f;
}

/* Writes `count` samples in rounds of 10; returns the file's bytes. */
static void write_file(
	const char *path, uint32_t count, uint16_t size, struct strbuf *ret_bytes)
{
	const struct perfdata_writer_options options = {.path = path,
		.events = test_events,
		.event_count = 2,
		.owner_uid = -1,
		.owner_gid = -1};
	struct perfdata_features features = test_features();
	struct perfdata_writer *writer;
	cleanup_with(strbuf_done) struct strbuf record = {0};
	struct error err = {""};
	struct stat st;

	assert_int_equal(perfdata_create(&options, &writer, &err), 0);
	assert_int_equal(perfdata_write_round(writer, &err), 0);
	assert_int_equal(perfdata_bytes(writer), 0);
	for (uint32_t i = 0; i < count; i++) {
		strbuf_reset(&record);
		put_record(&record, PERF_RECORD_SAMPLE, size, i);
		assert_int_equal(perfdata_write(writer, record.text, record.len, &err), 0);
		if (i % 10 == 9)
			assert_int_equal(perfdata_write_round(writer, &err), 0);
	}
	assert_int_equal(perfdata_write_round(writer, &err), 0);
	assert_int_equal(perfdata_write_round(writer, &err), 0);
	assert_int_equal(perfdata_bytes(writer), (uint64_t)count * size + (count + 9) / 10 * 8);
	assert_int_equal(perfdata_finish(writer, &features, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	if (S_ISREG(st.st_mode))
		assert_int_equal(perfdata_file_bytes(writer), st.st_size);
	perfdata_writer_free(writer);
	if (ret_bytes)
		assert_int_equal(file_read(AT_FDCWD, path, 1 << 30, ret_bytes), 0);
}

/* ---- files */

static void check_features(const struct perfdata_features *f)
{
	assert_string_equal(f->hostname, "host");
	assert_string_equal(f->osrelease, "6.1");
	assert_string_equal(f->version, "0.1");
	assert_string_equal(f->arch, "x86_64");
	assert_string_equal(f->cpudesc, "a CPU");
	assert_string_equal(f->cpuid, "A,1");
	assert_int_equal(f->nrcpus_online, 2);
	assert_int_equal(f->nrcpus_available, 4);
	assert_int_equal(f->total_mem_kb, 12345);
	assert_int_equal(f->cmdline_count, 2);
	assert_string_equal(f->cmdline[1], "record");
	assert_int_equal(f->build_id_count, 2);
	assert_int_equal(f->build_ids[0].len, 4);
	assert_int_equal(f->build_ids[0].pid, -1);
	assert_int_equal(f->build_ids[0].misc, 1);
	assert_string_equal(f->build_ids[0].filename, "[kernel.kallsyms]");
	assert_int_equal(f->build_ids[1].len, 20);
	assert_int_equal(f->build_ids[1].bytes[18], 1);
	assert_int_equal(f->first_sample_ns, 10);
	assert_int_equal(f->last_sample_ns, 20);
	assert_int_equal(f->clockid_res_ns, 1);
	assert_true(f->has_clock_data);
	assert_int_equal(f->wall_clock_ns, 1000);
	assert_int_equal(f->clockid_ns, 100);
	assert_int_equal(f->quality_bytes, 3);
	assert_memory_equal(f->quality, "q=1", 3);
	assert_int_equal(f->names_bytes, 5);
	assert_memory_equal(f->names, "names", 5);
}

static void what_is_written_is_read(void **state)
{
	char dir[] = TEMP_DIR;
	const char *path = in_dir(mkdtemp(dir), "perf.data");
	struct perfdata_reader *reader;
	const struct perfdata_info *info;
	struct seen seen;
	struct error err;

	(void)state;
	write_file(path, 20000, 64, NULL); /* several buffers */
	assert_int_equal(perfdata_open(path, &reader, &err), 0);
	info = perfdata_info(reader);
	assert_int_equal(info->event_count, 2);
	assert_string_equal(info->events[0].name, "cpu-clock:u");
	assert_string_equal(info->events[1].name, "uops");
	assert_int_equal(info->events[0].id_count, 2);
	assert_int_equal(info->events[0].ids[1], 42);
	assert_int_equal(info->events[1].attr.config3, 7);
	assert_int_equal(info->events[1].attr.size, sizeof(struct perf_event_attr));
	check_features(info->features);
	seen = read_all(reader);
	assert_int_equal(seen.samples, 20000);
	assert_int_equal(seen.rounds, 2000);
	assert_true(info->truncated_at == UINT64_MAX);
	assert_false(info->was_killed);
	assert_int_equal(info->bad_sections, 0);
	perfdata_close(reader);
	unlink(path);
	rmdir(dir);
}

static void a_cut_file_is_read_up_to_the_cut(void **state)
{
	char dir[] = TEMP_DIR;
	const char *path = in_dir(mkdtemp(dir), "perf.data");
	cleanup_with(strbuf_done) struct strbuf file = {0};
	uint32_t last = 0;
	uint64_t data, data_end;

	(void)state;
	write_file(path, 40, 64, &file);
	memcpy(&data, file.text + 40, sizeof(data));
	memcpy(&data_end, file.text + 48, sizeof(data_end));
	data_end += data;
	for (size_t len = 0; len <= file.len; len++) {
		int rc;
		struct perfdata_reader *reader = open_bytes(file.text, len, &rc);
		const struct perfdata_info *info;
		struct seen seen;

		if (len < data) {
			assert_null(reader);
			assert_int_equal(rc, -EBADMSG);
			continue;
		}
		assert_non_null(reader);
		info = perfdata_info(reader);
		seen = read_all(reader);
		assert_int_equal(seen.rc, 0);
		assert_true(seen.records >= last);
		last = seen.records;
		assert_int_equal(info->truncated_at == UINT64_MAX, len >= data_end);
		assert_int_equal(info->bad_sections == 0, len == file.len);
		if (len < data_end)
			assert_true(info->truncated_at <= len && info->truncated_at + 64 > len);
		perfdata_close(reader);
	}
	assert_int_equal(last, 44);
	unlink(path);
	rmdir(dir);
}

static void flipped_bits_do_no_harm(void **state)
{
	char dir[] = TEMP_DIR;
	const char *path = in_dir(mkdtemp(dir), "perf.data");
	cleanup_with(strbuf_done) struct strbuf file = {0};

	(void)state;
	write_file(path, 10, 32, &file);
	for (size_t at = 0; at < file.len * 8; at++) {
		int rc;
		struct perfdata_reader *reader;

		file.text[at / 8] ^= (char)(1 << at % 8);
		reader = open_bytes(file.text, file.len, &rc);
		if (reader)
			read_all(reader);
		perfdata_close(reader);
		file.text[at / 8] ^= (char)(1 << at % 8);
	}
	unlink(path);
	rmdir(dir);
}

static void a_killed_recording_is_read_to_the_end_of_the_file(void **state)
{
	const struct perfdata_writer_options options = {
		.events = test_events, .event_count = 2, .owner_uid = -1, .owner_gid = -1};
	char dir[] = TEMP_DIR;
	const char *path = in_dir(mkdtemp(dir), "perf.data");
	struct perfdata_writer_options with_path = options;
	struct perfdata_writer *writer;
	struct perfdata_reader *reader;
	cleanup_with(strbuf_done) struct strbuf record = {0};
	struct seen seen;
	struct error err;

	(void)state;
	with_path.path = path;
	assert_int_equal(perfdata_create(&with_path, &writer, &err), 0);
	put_record(&record, PERF_RECORD_SAMPLE, 64, 1);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(perfdata_write(writer, record.text, record.len, &err), 0);
	perfdata_writer_free(writer); /* as if killed: no finish */
	assert_int_equal(perfdata_open(path, &reader, &err), 0);
	assert_true(perfdata_info(reader)->was_killed);
	seen = read_all(reader);
	assert_true(seen.samples >= 8192 && seen.samples < 10000);
	perfdata_close(reader);
	unlink(path);
	rmdir(dir);
}

static void an_empty_recording_was_not_killed(void **state)
{
	char dir[] = TEMP_DIR;
	const char *path = in_dir(mkdtemp(dir), "perf.data");
	struct perfdata_reader *reader;
	struct error err;

	(void)state;
	write_file(path, 0, 64, NULL);
	assert_int_equal(perfdata_open(path, &reader, &err), 0);
	assert_false(perfdata_info(reader)->was_killed);
	check_features(perfdata_info(reader)->features);
	assert_int_equal(read_all(reader).records, 0);
	perfdata_close(reader);
	unlink(path);
	rmdir(dir);
}

static void a_record_of_impossible_size_ends_the_data(void **state)
{
	char dir[] = TEMP_DIR;
	const char *path = in_dir(mkdtemp(dir), "perf.data");
	cleanup_with(strbuf_done) struct strbuf file = {0};
	const uint16_t sizes[] = {0, 7, 65535};
	uint64_t data;

	(void)state;
	write_file(path, 40, 64, &file);
	memcpy(&data, file.text + 40, sizeof(data));
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		int rc;
		struct perfdata_reader *reader;

		memcpy(file.text + data + 5 * 64 + 6, &sizes[i], sizeof(sizes[i]));
		reader = open_bytes(file.text, file.len, &rc);
		assert_non_null(reader);
		assert_int_equal(read_all(reader).samples, 5);
		assert_int_equal(perfdata_info(reader)->truncated_at, data + 5 * 64);
		assert_true(perfdata_info(reader)->damaged);
		perfdata_close(reader);
	}
	unlink(path);
	rmdir(dir);
}

static void what_is_no_perf_data_is_named(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int code;
	} cases[] = {
		{"", 0, -EBADMSG},
		{"PERF", 4, -EBADMSG},
		{"\x7f"
		 "ELF------------------",
			20, -EBADMSG},
		{"2ELIFREP\0\0\0\0\0\0\0\x68", 16, -ENOTSUP},
		{"PERFFILE\x68\0\0\0\0\0\0\0", 16, -ENOTSUP},
		{"PERFILE2\x11\0\0\0\0\0\0\0", 16, -EBADMSG},
	};
	struct perfdata_reader *reader = NULL;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int rc;

		assert_null(open_bytes(cases[i].bytes, cases[i].len, &rc));
		assert_int_equal(rc, cases[i].code);
	}
	assert_int_equal(perfdata_open("/nonexistent", &reader, &err), -ENOENT);
	assert_int_equal(perfdata_open("/tmp", &reader, &err), -EISDIR);
}

/* ---- the writer's files */

static void the_old_file_is_kept_and_links_are_not_followed(void **state)
{
	char dir[] = TEMP_DIR, path[100], old[100], victim[100];
	struct stat st;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	snprintf(old, sizeof(old), "%s/perf.data.old", dir);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	write_file(path, 10, 32, NULL);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(lstat(old, &st), -1);
	write_file(path, 20, 32, NULL);
	assert_int_equal(lstat(old, &st), 0);
	/* An empty file does not push out the one that was kept. */
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_true(fd >= 0);
	close(fd);
	write_file(path, 20, 32, NULL);
	assert_int_equal(lstat(old, &st), 0);
	assert_true(st.st_size > 0);

	unlink(path);
	fd = open(victim, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(fd_write_all(fd, "mine", 4), 0);
	close(fd);
	assert_int_equal(symlink(victim, path), 0);
	write_file(path, 20, 32, NULL);
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	unlink(path);
	unlink(old);
	unlink(victim);
	rmdir(dir);
}

static void a_device_is_written_as_it_is(void **state)
{
	struct stat before, after;

	(void)state;
	assert_int_equal(stat("/dev/null", &before), 0);
	write_file("/dev/null", 100, 32, NULL);
	assert_int_equal(lstat("/dev/null", &after), 0);
	assert_true(S_ISCHR(after.st_mode));
	assert_int_equal(before.st_mode, after.st_mode);
}

static void a_place_that_is_not_there_is_named(void **state)
{
	const struct perfdata_writer_options options = {.path = "/nonexistent/perf.data",
		.events = test_events,
		.event_count = 2,
		.owner_uid = -1,
		.owner_gid = -1};
	struct perfdata_writer *writer = NULL;
	struct error err;

	(void)state;
	assert_int_equal(perfdata_create(&options, &writer, &err), -ENOENT);
	assert_null(writer);
	assert_non_null(strstr(err.text, options.path));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_written_is_read),
	cmocka_unit_test(a_cut_file_is_read_up_to_the_cut),
	cmocka_unit_test(flipped_bits_do_no_harm),
	cmocka_unit_test(a_killed_recording_is_read_to_the_end_of_the_file),
	cmocka_unit_test(an_empty_recording_was_not_killed),
	cmocka_unit_test(a_record_of_impossible_size_ends_the_data),
	cmocka_unit_test(what_is_no_perf_data_is_named),
	cmocka_unit_test(the_old_file_is_kept_and_links_are_not_followed),
	cmocka_unit_test(a_device_is_written_as_it_is),
	cmocka_unit_test(a_place_that_is_not_there_is_named),
};
UNIT_TESTS("perfdata-file", tests)
