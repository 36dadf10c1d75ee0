/* What the tests of this room share: records and files made by hand, and a reader of all of it.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fileio.h"
#include "perfdata/perfdata_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t test_ids[] = {41, 42, 43};
static struct perfdata_event test_events[2] = {
	{.attr = {.type = PERF_TYPE_SOFTWARE,
		 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_IDENTIFIER,
		 .flags = ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV},
		.ids = test_ids,
		.id_count = 2},
	{.attr = {.type = PERF_TYPE_RAW, .config = 0x1a8, .config3 = 7},
		.ids = test_ids + 2,
		.id_count = 1,
		.name = (char *)(uintptr_t) "uops"},
};

/* A record of `size` bytes whose body says its number. */
static inline void put_record(struct strbuf *out, uint32_t type, uint16_t size, uint32_t number)
{
	struct perf_event_header header = {.type = type, .misc = 2, .size = size};
	char body[65536];

	memset(body, 'a' + (int)(number % 26), sizeof(body));
	memcpy(body, &number, sizeof(number));
	strbuf_add(out, &header, sizeof(header));
	strbuf_add(out, body, size - sizeof(header));
}

static inline void put_number(struct strbuf *out, uint64_t value, size_t bytes)
{
	strbuf_add(out, &value, bytes);
}

static inline struct perfdata_reader *open_bytes(const void *bytes, size_t len, int *ret_rc)
{
	struct perfdata_reader *reader = NULL;
	char path[64];
	cleanup_close int fd = memfd_create("test", MFD_CLOEXEC);
	struct error err = {""};

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, bytes, len), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*ret_rc = perfdata_open(path, &reader, &err);
	if (*ret_rc < 0) {
		assert_null(reader);
		assert_true(strstr(err.text, path) == err.text);
		assert_null(strchr(err.text, '\n'));
	}
	return reader;
}

struct seen {	      /* without padding: compared as bytes */
	uint64_t sum; /* of sizes and numbers, in order */
	uint32_t records, samples, rounds;
	int32_t rc;
};

static inline struct seen read_all(struct perfdata_reader *reader)
{
	struct seen seen = {0};
	struct error err = {""};
	const void *record;

	while ((seen.rc = perfdata_next(reader, &record, NULL, &err)) > 0) {
		struct perf_event_header header;
		uint32_t number = 0;

		memcpy(&header, record, sizeof(header));
		assert_int_equal(header.size, seen.rc);
		if (seen.rc >= 12)
			memcpy(&number, (const char *)record + 8, sizeof(number));
		seen.records++;
		seen.samples += header.type == PERF_RECORD_SAMPLE;
		seen.rounds += header.type == PERF_RECORD_FINISHED_ROUND;
		seen.sum = seen.sum * 31 + number + header.size;
	}
	assert_true(seen.rc == 0 || err.text[0]);
	assert_int_equal(perfdata_next(reader, &record, NULL, &err), 0);
	return seen;
}
