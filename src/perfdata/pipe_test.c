#include "config.h"
#include "tests/unit_test.h"

#include "perfdata/made_files_test.h"

#include <errno.h>

#if HAVE_ZSTD
#include <zstd.h>
#endif

static void put_pipe_start(struct strbuf *out)
{
	strbuf_add(out, "PERFILE2\x10\0\0\0\0\0\0\0", 16);
	for (int i = 0; i < 2; i++) {
		const struct perfdata_event *event = &test_events[i];
		uint32_t attr_bytes = i ? PERF_ATTR_SIZE_VER9 : PERF_ATTR_SIZE_VER0;
		struct perf_event_attr attr = event->attr;
		struct perf_event_header header = {.type = PERF_RECORD_HEADER_ATTR,
			.size = (uint16_t)(8 + attr_bytes + 8 * event->id_count)};

		attr.size = attr_bytes;
		strbuf_add(out, &header, sizeof(header));
		strbuf_add(out, &attr, attr_bytes);
		strbuf_add(out, event->ids, 8 * event->id_count);
	}
}

static void put_user(struct strbuf *out, uint32_t type, const void *body, size_t len)
{
	struct perf_event_header header = {.type = type, .size = (uint16_t)(8 + len)};

	strbuf_add(out, &header, sizeof(header));
	if (len)
		strbuf_add(out, body, len);
}

static void a_pipe_brings_its_header_in_records(void **state)
{
	cleanup_with(strbuf_done) struct strbuf out = {0}, body = {0};
	struct perfdata_reader *reader;
	const struct perfdata_info *info;
	char payload[1000] = {0};
	struct seen seen;
	int rc;

	(void)state;
	put_pipe_start(&out);
	put_number(&body, 2, 8); /* EVENT_UPDATE: name, of id 43 */
	put_number(&body, 43, 8);
	strbuf_add(&body, "my-event", 16 - 8);
	put_number(&body, 0, 8);
	put_user(&out, PERF_RECORD_EVENT_UPDATE, body.text, body.len);
	strbuf_reset(&body);
	put_number(&body, FEATURE_HOSTNAME, 8);
	put_number(&body, 64, 4);
	strbuf_add(&body, "here", 5);
	strbuf_add(&body, payload, 59);
	put_user(&out, PERF_RECORD_HEADER_FEATURE, body.text, body.len);
	strbuf_reset(&body);
	put_number(&body, 13, 4); /* TRACING_DATA: 13 bytes follow, padded to 16 */
	put_user(&out, PERF_RECORD_HEADER_TRACING_DATA, body.text, body.len);
	strbuf_add(&out, payload, 16);
	put_record(&out, PERF_RECORD_SAMPLE, 40, 1);
	strbuf_reset(&body);
	put_number(&body, 1000, 8); /* AUXTRACE: 1,000 bytes follow */
	strbuf_add(&body, payload, 32);
	put_user(&out, PERF_RECORD_AUXTRACE, body.text, body.len);
	strbuf_add(&out, payload, 1000);
	put_user(&out, PERF_RECORD_FINISHED_INIT, NULL, 0);
	put_user(&out, 84, payload, 400); /* a type of the future */
	put_record(&out, PERF_RECORD_SAMPLE, 40, 2);
	put_user(&out, PERF_RECORD_FINISHED_ROUND, NULL, 0);

	reader = open_bytes(out.text, out.len, &rc);
	assert_non_null(reader);
	info = perfdata_info(reader);
	assert_true(info->is_pipe);
	seen = read_all(reader);
	assert_int_equal(seen.records, 3);
	assert_int_equal(seen.samples, 2);
	assert_int_equal(info->skipped_records, 4);
	assert_int_equal(info->event_count, 2);
	assert_int_equal(info->events[0].ids[1], 42);
	assert_int_equal(info->events[1].attr.config3, 7);
	assert_string_equal(info->events[1].name, "my-event");
	assert_string_equal(info->features->hostname, "here");
	assert_true(info->truncated_at == UINT64_MAX);
	perfdata_close(reader);

	for (size_t len = 16; len < out.len; len++) {
		reader = open_bytes(out.text, len, &rc);
		assert_non_null(reader);
		assert_true(read_all(reader).records < 3);
		perfdata_close(reader);
	}
}

static void a_stream_that_cannot_seek_is_read(void **state)
{
	cleanup_with(strbuf_done) struct strbuf out = {0};
	struct perfdata_reader *reader;
	char path[64];
	int fds[2];
	struct error err;

	(void)state;
	put_pipe_start(&out);
	for (uint32_t i = 0; i < 100; i++)
		put_record(&out, PERF_RECORD_SAMPLE, 80, i);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fd_write_all(fds[1], out.text, out.len), 0);
	close(fds[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	assert_int_equal(perfdata_open(path, &reader, &err), 0);
	close(fds[0]);
	assert_int_equal(read_all(reader).samples, 100);
	perfdata_close(reader);
}

/* ---- compression */

#if HAVE_ZSTD
static void put_packed(struct strbuf *out, const void *bytes, size_t len, bool second)
{
	struct perf_event_header header = {
		.type = second ? PERF_RECORD_COMPRESSED2 : PERF_RECORD_COMPRESSED};
	size_t fixed = second ? 16 : 8,
	       padded = second ? (fixed + len + 7) & ~(size_t)7 : fixed + len;
	uint64_t data_size = len;

	header.size = (uint16_t)padded;
	strbuf_add(out, &header, sizeof(header));
	if (second)
		strbuf_add(out, &data_size, sizeof(data_size));
	strbuf_add(out, bytes, len);
	put_number(out, 0, padded - fixed - len);
}

/* One zstd stream over everything, cut into COMPRESSED records of `piece` bytes. */
static void pack(const struct strbuf *records, size_t piece, bool second, struct strbuf *out)
{
	size_t room = ZSTD_compressBound(records->len), len;
	cleanup_free char *packed = malloc(room);

	len = ZSTD_compress(packed, room, records->text, records->len, 3);
	assert_false(ZSTD_isError(len));
	for (size_t at = 0; at < len; at += piece)
		put_packed(out, packed + at, len - at < piece ? len - at : piece, second);
}

static void compressed_records_may_straddle(void **state)
{
	cleanup_with(strbuf_done) struct strbuf plain = {0};
	const size_t pieces[] = {1, 7, 100, 60000};
	struct perfdata_reader *reader;
	struct seen want, seen;
	int rc;

	(void)state;
	put_pipe_start(&plain);
	for (uint32_t i = 0; i < 3000; i++)
		put_record(&plain, PERF_RECORD_SAMPLE,
			(uint16_t)(i % 500 ? 16 + i % 97 : 65528), i);
	reader = open_bytes(plain.text, plain.len, &rc);
	want = read_all(reader);
	assert_int_equal(want.samples, 3000);
	perfdata_close(reader);
	for (size_t i = 0; i < 2 * ARRAY_LEN(pieces); i++) {
		cleanup_with(strbuf_done) struct strbuf out = {0}, records = {0};
		size_t start;

		put_pipe_start(&out);
		start = out.len;
		strbuf_add(&records, plain.text + start, plain.len - start);
		pack(&records, pieces[i / 2], i & 1, &out);
		reader = open_bytes(out.text, out.len, &rc);
		assert_non_null(reader);
		seen = read_all(reader);
		assert_memory_equal(&seen, &want, sizeof(seen));
		assert_true(perfdata_info(reader)->truncated_at == UINT64_MAX);
		perfdata_close(reader);

		/* Cut within the last compressed record: a prefix. */
		reader = open_bytes(out.text, out.len - 10, &rc);
		assert_non_null(reader);
		seen = read_all(reader);
		assert_true(seen.rc == 0 && seen.samples <= want.samples);
		assert_true(perfdata_info(reader)->truncated_at < out.len);
		perfdata_close(reader);
	}
}

static void damaged_compression_is_said(void **state)
{
	cleanup_with(strbuf_done) struct strbuf out = {0};
	struct perfdata_reader *reader;
	struct seen seen;
	int rc;

	(void)state;
	put_pipe_start(&out);
	put_record(&out, PERF_RECORD_SAMPLE, 40, 1);
	put_packed(&out, "this is not zstd", 16, false);
	reader = open_bytes(out.text, out.len, &rc);
	assert_non_null(reader);
	seen = read_all(reader);
	assert_int_equal(seen.samples, 1);
	assert_int_equal(seen.rc, -EBADMSG);
	perfdata_close(reader);
}
#endif

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_pipe_brings_its_header_in_records),
	cmocka_unit_test(a_stream_that_cannot_seek_is_read),
#if HAVE_ZSTD
	cmocka_unit_test(compressed_records_may_straddle),
	cmocka_unit_test(damaged_compression_is_said),
#endif
};
UNIT_TESTS("perfdata-pipe", tests)
