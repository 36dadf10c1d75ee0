/*
 * The power goes while a checkpoint is on its way to the disk: of its pages some have arrived
 * and others have not, in any order. What the checkpoint before has told stays readable, for
 * that one was on the disk before (syncer.c).
 */
#include "base/cleanup.h"
#include "base/fileio.h"
#include "config.h"
#include "perfdata/perfdata.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, CHECKPOINTS = 24, MIXTURES = 24 };

struct sample {
	struct perf_event_header header;
	uint64_t body[6];
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void read_whole(const char *path, struct strbuf *ret_bytes)
{
	strbuf_reset(ret_bytes);
	assert_int_equal(file_read(AT_FDCWD, path, 16 << 20, ret_bytes), 0);
}

/* A page of a state; zeros behind its end. */
static void page_of(const struct strbuf *state, size_t at, char *ret_page)
{
	size_t len = state->len > at ? state->len - at : 0;

	memset(ret_page, 0, PAGE);
	memcpy(ret_page, state->text + at, len < PAGE ? len : PAGE);
}

static void write_mixture(const char *path, const struct strbuf *before,
	const struct strbuf *after, uint64_t *random)
{
	size_t size = next_random(random) % 2 ? before->len : after->len;
	cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char page[PAGE];

	assert_true(fd >= 0);
	for (size_t at = 0; at < size; at += PAGE) {
		page_of(next_random(random) % 2 ? before : after, at, page);
		assert_int_equal(
			fd_pwrite_all(fd, page, size - at < PAGE ? size - at : PAGE, (off_t)at),
			0);
	}
}

/* How many samples come, in order, before anything else does. */
static uint64_t samples_read(const char *path)
{
	struct perfdata_reader *reader;
	const void *bytes;
	struct error err;
	uint64_t n = 0;

	if (perfdata_open(path, &reader, &err) < 0)
		return 0;
	while (perfdata_next(reader, &bytes, NULL, &err) > 0) {
		struct sample sample;
		struct perf_event_header header;

		memcpy(&header, bytes, sizeof(header));
		if (header.type != PERF_RECORD_SAMPLE || header.size != sizeof(sample))
			continue;
		memcpy(&sample, bytes, sizeof(sample));
		if (sample.body[0] != n)
			break;
		n++;
	}
	perfdata_close(reader);
	return n;
}

static void power_cuts(int level)
{
	static uint64_t ids[] = {5};
	static const struct perfdata_event event = {.ids = ids,
		.id_count = 1,
		.attr = {.type = PERF_TYPE_SOFTWARE, .sample_type = PERF_SAMPLE_IP}};
	char dir[] = "/tmp/wick-power-XXXXXX", path[64], cut[64];
	const struct perfdata_writer_options options = {.path = path,
		.events = &event,
		.event_count = 1,
		.owner_uid = -1,
		.owner_gid = -1,
		.compression_level = level};
	struct perfdata_features features = {.hostname = (char *)(uintptr_t) "power"};
	struct strbuf states[2] = {{0}, {0}};
	uint64_t random = 88172645463325252u, number = 0, told = 0;
	struct perfdata_writer *writer;
	struct error err;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/whole", dir);
	snprintf(cut, sizeof(cut), "%s/cut", dir);
	assert_int_equal(perfdata_create(&options, &writer, &err), 0);
	for (int i = 0; i < CHECKPOINTS; i++) {
		for (uint64_t n = 1 + next_random(&random) % 400; n; n--) {
			struct sample sample = {
				{PERF_RECORD_SAMPLE, 2, sizeof(sample)}, {number++}};

			assert_int_equal(
				perfdata_write(writer, &sample, sizeof(sample), &err), 0);
		}
		features.last_sample_ns = number;
		assert_int_equal(perfdata_checkpoint(writer, &features, &err), 0);
		read_whole(path, &states[i % 2]);
		for (int m = 0; i && m < MIXTURES; m++) {
			write_mixture(cut, &states[(i + 1) % 2], &states[i % 2], &random);
			assert_true(samples_read(cut) >= told);
		}
		told = number;
	}
	perfdata_writer_free(writer);
	strbuf_done(&states[0]);
	strbuf_done(&states[1]);
	unlink(cut);
	unlink(path);
	rmdir(dir);
}

static void a_power_cut_loses_nothing_of_the_checkpoint_before(void **state)
{
	(void)state;
	power_cuts(0);
}

#if HAVE_ZSTD
static void nor_of_a_compressed_one(void **state)
{
	(void)state;
	power_cuts(3);
}
#endif

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_power_cut_loses_nothing_of_the_checkpoint_before),
#if HAVE_ZSTD
	cmocka_unit_test(nor_of_a_compressed_one),
#endif
};
UNIT_TESTS("powercut", tests)
