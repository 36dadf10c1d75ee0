/*
 * perfdata_open() and perfdata_next() over any bytes, as a file and as a stream.
 *
 * Properties: every record has the size that its header says and lies in memory that may be
 * read; an error has a sentence; behind the end comes nothing; a stream (which cannot seek)
 * gives exactly what the same bytes give as a file, if they are of the pipe format.
 */
#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "perfdata/perfdata.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	int rc;
	uint64_t records, hash, truncated_at;
	uint32_t events, build_ids;
};

static void require(bool what)
{
	if (!what)
		abort();
}

/* Every text and table is there to be read. */
static uint64_t touch_info(const struct perfdata_info *info)
{
	const struct perfdata_features *f = info->features;
	const char *texts[] = {
		f->hostname, f->osrelease, f->version, f->arch, f->cpudesc, f->cpuid};
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		sum += texts[i] ? strlen(texts[i]) : 0;
	for (uint32_t i = 0; i < f->cmdline_count; i++)
		sum += strlen(f->cmdline[i]);
	for (uint32_t i = 0; i < f->build_id_count; i++) {
		require(f->build_ids[i].len <= sizeof(f->build_ids[i].bytes));
		sum += strlen(f->build_ids[i].filename);
	}
	if (f->quality_bytes)
		sum += hash_bytes(f->quality, f->quality_bytes);
	if (f->names_bytes)
		sum += hash_bytes(f->names, f->names_bytes);
	for (uint32_t i = 0; i < info->event_count; i++) {
		char name[64];

		perfdata_event_name(&info->events[i], name, sizeof(name));
		require(name[0]);
		for (uint32_t j = 0; j < info->events[i].id_count; j++)
			sum += info->events[i].ids[j];
	}
	return sum;
}

static struct outcome read_path(const char *path)
{
	struct perfdata_reader *reader = NULL;
	struct error err = {""};
	struct outcome outcome = {.rc = perfdata_open(path, &reader, &err)};
	const struct perfdata_info *info;
	const void *record;
	uint64_t offset = 0, last = 0;

	if (outcome.rc < 0) {
		require(!reader && err.text[0] && !strchr(err.text, '\n'));
		return outcome;
	}
	info = perfdata_info(reader);
	while ((outcome.rc = perfdata_next(reader, &record, &offset, &err)) > 0) {
		struct perf_event_header header;

		require(outcome.rc >= (int)sizeof(header));
		memcpy(&header, record, sizeof(header));
		require(header.size == outcome.rc && offset >= last);
		last = offset;
		outcome.records++;
		outcome.hash = outcome.hash * 31 + hash_bytes(record, (size_t)outcome.rc);
	}
	require(outcome.rc == 0 || err.text[0]);
	require(perfdata_next(reader, &record, NULL, &err) == 0);
	outcome.hash += touch_info(info);
	outcome.truncated_at = info->truncated_at;
	outcome.events = info->event_count;
	outcome.build_ids = info->features->build_id_count;
	perfdata_close(reader);
	return outcome;
}

/* The same bytes through a pipe, as far as one holds them. */
static void read_stream(const uint8_t *data, size_t size, const struct outcome *want)
{
	struct outcome got;
	char path[64];
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	if (fd_write_all(fds[1], data, size) == 0) {
		close(fds[1]);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
		got = read_path(path);
		require(got.rc == want->rc && got.records == want->records);
		require(got.hash == want->hash && got.truncated_at == want->truncated_at);
		require(got.events == want->events && got.build_ids == want->build_ids);
	} else {
		close(fds[1]);
	}
	close(fds[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char pipe_header[16] = "PERFILE2\x10";
	enum { PIPE_HOLDS = 60000 };
	cleanup_close int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct outcome outcome;
	char path[64];

	if (fd < 0 || fd_write_all(fd, data, size) < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	outcome = read_path(path);
	if (size >= sizeof(pipe_header) && size <= PIPE_HOLDS &&
		memcmp(data, pipe_header, sizeof(pipe_header)) == 0)
		read_stream(data, size, &outcome);
	return 0;
}
