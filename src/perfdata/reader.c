/*
 * Opens a perf.data and hands out its records, one after another.
 *
 *     file:  | header 104 | ids | attrs: attr + place of its ids | data ... | feature table |
 * ... | pipe:  | header 16  | records: HEADER_ATTR, HEADER_FEATURE ... and the events' ...
 *
 * The data of both is a stream of records, read through a window (source.c). Records that were
 * compressed come out of a second stream (decompress.c) that is fed with COMPRESSED records;
 * while it has whole records these come first. Everything that the file says about sizes is
 * held against the bytes that are there: what is cut is read up to the cut, and the cut is
 * said.
 */
#include "base/cleanup.h"
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct section {
	uint64_t offset, size;
};

struct file_header {
	uint64_t size, attr_size;
	struct section attrs, data;
	uint64_t bits[4];
};

void reader_sync_info(struct perfdata_reader *reader)
{
	reader->info.events = reader->events.events;
	reader->info.event_count = reader->events.count;
	reader->info.features = &reader->features.features;
	reader->info.bad_sections = reader->features.bad;
}

const struct perfdata_info *perfdata_info(const struct perfdata_reader *reader)
{
	return &reader->info;
}

void perfdata_close(struct perfdata_reader *reader)
{
	if (!reader)
		return;
	source_done(&reader->source);
	unpacker_free(reader->unpacker);
	perfdata_features_done(&reader->features.features);
	event_table_done(&reader->events);
	if (reader->close_fd)
		close(reader->fd);
	free(reader->path);
	free(reader);
}

/* ---- the file format's header */

static struct section take_section(struct bytes *b)
{
	uint64_t offset = bytes_u64(b), size = bytes_u64(b);

	return (struct section){offset, size};
}

/* The part of a section that the file really has. */
static uint64_t section_present(const struct perfdata_reader *reader, struct section section)
{
	uint64_t room =
		section.offset < reader->file_bytes ? reader->file_bytes - section.offset : 0;

	return section.size < room ? section.size : room;
}

/* Reads a section (cut at `limit` and at the end of the file) into memory of its own. */
static int read_section(struct perfdata_reader *reader, struct section section, uint64_t limit,
	uint8_t **ret_bytes, size_t *ret_len)
{
	uint64_t want = section_present(reader, section), got = 0;
	uint8_t *bytes;

	if (want > limit)
		return -EFBIG;
	bytes = malloc(want ? (size_t)want : 1);
	if (!bytes)
		return -ENOMEM;
	while (got < want) {
		ssize_t rc = pread(reader->fd, bytes + got, (size_t)(want - got),
			(off_t)(section.offset + got));

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0) {
			rc = -errno;
			free(bytes);
			return (int)rc;
		}
		if (rc == 0)
			break; /* somebody cuts the file */
		got += (uint64_t)rc;
	}
	*ret_bytes = bytes;
	*ret_len = (size_t)got;
	return 0;
}

static int read_attrs(
	struct perfdata_reader *reader, const struct file_header *header, struct error *err)
{
	enum { IDS_ENTRY = sizeof(struct section) };
	cleanup_free uint8_t *table = NULL;
	uint64_t id_bytes = 0;
	size_t len;
	struct bytes b;
	int rc = 0;

	if (header->attr_size < PERF_ATTR_SIZE_VER0 + IDS_ENTRY || header->attr_size > 4096)
		return error_set(err, -EBADMSG,
			"%s: has attrs of %" PRIu64
			" bytes, which no perf writes: the header is damaged; "
			"record again",
			reader->path, header->attr_size);
	if (section_present(reader, header->attrs) < header->attrs.size)
		return error_set(err, -EBADMSG,
			"%s: ends at byte %" PRIu64
			", before its table of events does: nothing in it can "
			"be read; copy it again, or record again",
			reader->path, reader->file_bytes);
	rc = read_section(
		reader, header->attrs, LIMIT_EVENTS * header->attr_size, &table, &len);
	if (rc < 0)
		goto out;
	b = bytes_of(table, len);
	while (rc == 0 && bytes_left(&b) >= header->attr_size) {
		size_t attr_bytes = (size_t)header->attr_size - IDS_ENTRY;
		struct bytes attr = bytes_of(bytes_take(&b, attr_bytes), attr_bytes);
		struct section ids = take_section(&b);
		cleanup_free uint8_t *id_table = NULL;
		size_t id_len;

		/* Each id stands once in the file: tables that overlap are a lie that would
		 * multiply. */
		id_bytes += section_present(reader, ids);
		rc = id_bytes > reader->file_bytes
			     ? -EBADMSG
			     : read_section(reader, ids, LIMIT_IDS * sizeof(uint64_t),
				       &id_table, &id_len);
		if (rc == 0)
			rc = event_table_add(&reader->events, attr, bytes_of(id_table, id_len));
	}
out:
	if (rc < 0)
		return error_set(err, rc, "%s: its table of events cannot be read (%s)",
			reader->path,
			rc == -EBADMSG ? "the ids are damaged; record again" : strerror(-rc));
	return 0;
}

static bool has_bit(const uint64_t bits[4], uint32_t bit)
{
	return bits[bit / 64] >> (bit % 64) & 1;
}

static bool feature_wanted(uint32_t bit)
{
	if (bit >= FEATURE_BUILD_ID && bit <= FEATURE_EVENT_DESC)
		return true;
	switch (bit) {
	case FEATURE_SAMPLE_TIME:
	case FEATURE_CLOCKID:
	case FEATURE_COMPRESSED:
	case FEATURE_CLOCK_DATA:
	case PERFDATA_FEATURE_QUALITY:
	case PERFDATA_FEATURE_NAMES:
	case PERFDATA_FEATURE_CODE:
		return true;
	default:
		return false;
	}
}

/* The table of sections stands where the data ends: one entry for each bit that is set. */
static int read_features(
	struct perfdata_reader *reader, const struct file_header *header, struct error *err)
{
	struct section table = {header->data.offset + header->data.size, 0};
	cleanup_free uint8_t *bytes = NULL;
	size_t len;
	struct bytes b;
	int rc;

	for (uint32_t bit = 0; bit < FEATURE_BITS; bit++)
		table.size += has_bit(header->bits, bit) ? sizeof(struct section) : 0;
	rc = read_section(reader, table, table.size, &bytes, &len);
	if (rc < 0)
		return error_set(err, rc, "%s: %s", reader->path, strerror(-rc));
	b = bytes_of(bytes, len);
	for (uint32_t bit = 0; bit < FEATURE_BITS && rc == 0; bit++) {
		cleanup_free uint8_t *body = NULL;
		struct section section;

		if (!has_bit(header->bits, bit))
			continue;
		section = take_section(&b);
		if (!feature_wanted(bit))
			continue;
		if (b.bad || section_present(reader, section) < section.size) {
			reader->features.bad++;
			continue;
		}
		rc = read_section(reader, section, LIMIT_FEATURE, &body, &len);
		if (rc == 0)
			rc = feature_take(&reader->features, bit, bytes_of(body, len));
		if (rc == -EFBIG) {
			reader->features.bad++;
			rc = 0;
		}
	}
	return rc < 0 ? error_set(err, rc, "%s: %s", reader->path, strerror(-rc)) : 0;
}

/*
 * A recorder writes data.size last; one that was killed left 0. But a recording may be empty
 * too: then the feature table stands where the data would, and says that its sections follow
 * it.
 */
static bool is_unfinished(struct perfdata_reader *reader, const struct file_header *header)
{
	cleanup_free uint8_t *bytes = NULL;
	struct section first = {header->data.offset, sizeof(uint64_t)};
	uint64_t features = 0;
	size_t len = 0;
	struct bytes b;

	if (header->data.size || header->data.offset >= reader->file_bytes)
		return false;
	for (uint32_t bit = 0; bit < FEATURE_BITS; bit++)
		features += has_bit(header->bits, bit);
	if (!features || read_section(reader, first, sizeof(uint64_t), &bytes, &len) < 0)
		return true;
	b = bytes_of(bytes, len);
	return bytes_u64(&b) != header->data.offset + features * sizeof(struct section);
}

static int parse_header(
	struct perfdata_reader *reader, struct file_header *ret_header, struct error *err)
{
	struct file_header header = {0};
	struct bytes b = bytes_of(reader->source.buf, source_left(&reader->source));
	uint64_t end;

	bytes_skip(&b, sizeof(uint64_t));
	header.size = bytes_u64(&b);
	header.attr_size = bytes_u64(&b);
	header.attrs = take_section(&b);
	header.data = take_section(&b);
	take_section(&b); /* event types: not in use any more */
	if (!b.bad && header.size >= PERFDATA_HEADER_SIZE)
		for (size_t i = 0; i < ARRAY_LEN(header.bits); i++)
			header.bits[i] = bytes_u64(&b);
	if (b.bad)
		return error_set(err, -EBADMSG,
			"%s: ends inside its header (%" PRIu64
			" bytes): nothing in it can be read; copy "
			"it again, or record again",
			reader->path, reader->file_bytes);
	if (header.size < PERFDATA_HEADER_SIZE - sizeof(header.bits) || header.size > 4096)
		return error_set(err, -EBADMSG,
			"%s: has a header of %" PRIu64
			" bytes, which is neither perf's file format nor "
			"its pipe format; record again",
			reader->path, header.size);
	if (__builtin_add_overflow(header.data.offset, header.data.size, &end) ||
		end > INT64_MAX)
		return error_set(err, -EBADMSG,
			"%s: says that its data ends at an impossible place: the header is "
			"damaged; record "
			"again",
			reader->path);
	*ret_header = header;
	return 0;
}

static int open_file(struct perfdata_reader *reader, struct error *err)
{
	struct file_header header = {0};
	int rc = parse_header(reader, &header, err);

	if (rc == 0 && !reader->source.seekable)
		rc = error_set(err, -ESPIPE,
			"%s: is perf's file format, which cannot be read from a pipe; give the "
			"file's name, "
			"or record with -o -",
			reader->path);
	if (rc == 0)
		rc = read_attrs(reader, &header, err);
	if (rc < 0)
		return rc;
	if (is_unfinished(reader, &header)) {
		reader->info.was_killed = true;
		reader->declared_end = reader->file_bytes;
	} else {
		reader->declared_end = header.data.offset + header.data.size;
		rc = read_features(reader, &header, err);
	}
	source_seek(&reader->source, header.data.offset,
		reader->declared_end < reader->file_bytes ? reader->declared_end
							  : reader->file_bytes);
	return rc;
}

/* ---- opening */

static int check_magic(struct perfdata_reader *reader, uint64_t *ret_size, struct error *err)
{
	struct bytes b = bytes_of(reader->source.buf, source_left(&reader->source));
	const char *remedy = "record one with `wick record`, or give its name with -i";
	uint64_t magic;

	if (!bytes_left(&b))
		return error_set(
			err, -EBADMSG, "%s: is empty, no perf.data; %s", reader->path, remedy);
	magic = bytes_u64(&b);
	*ret_size = bytes_u64(&b);
	if (magic == __builtin_bswap64(PERFDATA_MAGIC))
		return error_set(err, -ENOTSUP,
			"%s: was recorded on a machine of the other byte order; wick reads "
			"perf.data of its "
			"own order only: convert it there",
			reader->path);
	if (magic == PERFDATA_MAGIC_1)
		return error_set(err, -ENOTSUP,
			"%s: is a perf.data of version 1 (before Linux 2.6.37); convert it "
			"with the perf "
			"that wrote it",
			reader->path);
	if (b.bad || magic != PERFDATA_MAGIC)
		return error_set(err, -EBADMSG,
			"%s: is no perf.data (it does not begin with %s); %s", reader->path,
			"\"PERFILE2\"", remedy);
	return 0;
}

static int open_path(struct perfdata_reader *reader, const char *path, struct error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct stat st;

	reader->path = strdup(is_stdin ? "standard input" : path);
	if (!reader->path)
		return error_set(err, -ENOMEM, "%s: out of memory", path);
	reader->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (reader->fd < 0) {
		int rc = -errno;

		return error_set(err, rc, "%s: cannot be opened (%s)%s", path, strerror(-rc),
			rc == -ENOENT
				? "; record one with `wick record`, or give its name with -i"
			: rc == -EACCES
				? "; it belongs to another user: ask for it, or use sudo"
				: "");
	}
	reader->close_fd = !is_stdin;
	if (fstat(reader->fd, &st) < 0)
		return error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return error_set(err, -EISDIR,
			"%s: is a directory (of `perf record --threads`?), which wick does not "
			"read; record "
			"without --threads",
			path);
	reader->source.seekable = S_ISREG(st.st_mode);
	reader->file_bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : UINT64_MAX;
	return 0;
}

static int open_any(struct perfdata_reader *reader, const char *path, struct error *err)
{
	uint64_t size = 0;
	int rc = open_path(reader, path, err);

	if (rc < 0)
		return rc;
	rc = source_init(&reader->source, reader->fd, reader->source.seekable);
	if (rc == 0)
		rc = source_need(&reader->source, PERFDATA_PIPE_SIZE);
	if (rc < 0)
		return error_set(
			err, rc, "%s: cannot be read (%s)", reader->path, strerror(-rc));
	rc = check_magic(reader, &size, err);
	if (rc < 0)
		return rc;
	reader->info.volatile_records = true;
	reader->info.truncated_at = UINT64_MAX;
	if (size == PERFDATA_PIPE_SIZE) {
		reader->info.is_pipe = true;
		reader->declared_end = UINT64_MAX;
		reader->source.at = PERFDATA_PIPE_SIZE;
		reader->source.end = reader->file_bytes;
		return 0;
	}
	rc = source_need(&reader->source, PERFDATA_HEADER_SIZE);
	if (rc < 0)
		return error_set(
			err, rc, "%s: cannot be read (%s)", reader->path, strerror(-rc));
	return open_file(reader, err);
}

int perfdata_open(const char *path, struct perfdata_reader **ret_reader, struct error *err)
{
	struct perfdata_reader *reader = calloc(1, sizeof(*reader));
	int rc;

	if (!reader)
		return error_set(err, -ENOMEM, "%s: out of memory", path);
	reader->features.events = &reader->events;
	rc = open_any(reader, path, err);
	reader_sync_info(reader);
	if (rc < 0) {
		perfdata_close(reader);
		return rc;
	}
	*ret_reader = reader;
	return 0;
}
