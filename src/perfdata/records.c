/*
 * The next record: out of what was unpacked while there is some, else out of the file.
 *
 * A record whose size is below 8 or points behind the data cannot be stepped over, so there the
 * data ends for us; records that are known to be long or to have a payload behind them are
 * stepped over without being read.
 */
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	HEADER_BYTES = sizeof(struct perf_event_header),
	PACKED2_BYTES = HEADER_BYTES + sizeof(uint64_t), /* COMPRESSED2: u64 data_size */
	SIMPLEPERF_TYPES = 32768, /* and above: the upper half of their size stands in misc */
};

struct found {
	const uint8_t *record;
	uint32_t type;
	uint64_t size;
	uint64_t offset;
	bool stored; /* it stands in the file, and was not unpacked */
};

static int read_failed(struct perfdata_reader *reader, int rc, struct error *err)
{
	reader->finished = true;
	return error_set(err, rc, "%s: cannot be read at byte %" PRIu64 " (%s)", reader->path,
		source_offset(&reader->source), strerror(-rc));
}

static int stop_at(struct perfdata_reader *reader, uint64_t offset, bool damaged)
{
	reader->finished = true;
	reader->info.truncated_at = offset;
	reader->info.damaged = damaged;
	return 0;
}

/* The header says where the data ends, and the file has all of it. */
static bool data_is_whole(const struct perfdata_reader *reader)
{
	return !reader->info.is_pipe && !reader->info.was_killed &&
	       reader->declared_end <= reader->file_bytes;
}

/*
 * perf 6.16 to 6.19 wrote COMPRESSED2 records whose size, rounded up to 8, did not fit its 16
 * bits and became 0. Their data_size is right, and nothing pads them.
 */
static uint64_t overflowed_size(struct source *source)
{
	struct bytes b;
	uint64_t size;

	if (source_need(source, PACKED2_BYTES) < 0)
		return 0;
	b = bytes_of(source->buf + source->at, source_left(source));
	bytes_skip(&b, HEADER_BYTES);
	size = bytes_u64(&b);
	if (b.bad || size > PERF_RECORD_SIZE_MAX - PACKED2_BYTES)
		return 0;
	return size + PACKED2_BYTES > PERF_RECORD_SIZE_MAX - 7 ? size + PACKED2_BYTES : 0;
}

/* The header of the record that stands next in the file. 1, 0 at the end, or a negative errno.
 */
static int stored_header(struct perfdata_reader *reader, struct found *found, struct error *err)
{
	struct source *source = &reader->source;
	int rc = source_need(source, HEADER_BYTES);
	struct bytes b = bytes_of(source->buf + source->at, source_left(source));
	uint16_t misc;

	*found = (struct found){.offset = source_offset(source), .stored = true};
	if (rc < 0)
		return read_failed(reader, rc, err);
	if (!bytes_left(&b)) {
		reader->finished = true;
		if (reader->declared_end != UINT64_MAX && found->offset < reader->declared_end)
			return stop_at(reader, found->offset, false);
		if (reader->unpacker && unpacker_rest(reader->unpacker))
			return stop_at(reader, unpacker_offset(reader->unpacker), false);
		return 0;
	}
	if (bytes_left(&b) < HEADER_BYTES)
		return stop_at(reader, found->offset, false);
	found->type = bytes_u32(&b);
	misc = bytes_u16(&b);
	found->size = bytes_u16(&b);
	if (found->type >= SIMPLEPERF_TYPES)
		found->size |= (uint64_t)misc << 16;
	if (!found->size && found->type == PERF_RECORD_COMPRESSED2)
		found->size = overflowed_size(source);
	return found->size < HEADER_BYTES ? stop_at(reader, found->offset, true) : 1;
}

/* Steps over a record that nobody needs, and over what stands behind it. */
static int step_over(
	struct perfdata_reader *reader, const struct found *found, struct error *err)
{
	enum { AUXTRACE_BYTES = 48 };
	struct source *source = &reader->source;
	uint64_t payload, skipped, len = found->size;
	size_t peek = len < AUXTRACE_BYTES ? (size_t)len : AUXTRACE_BYTES;
	int rc = source_need(source, peek);

	if (rc < 0)
		return read_failed(reader, rc, err);
	if (source_left(source) < peek)
		return stop_at(reader, found->offset, false);
	payload = pipe_payload(bytes_of(source->buf + source->at, peek));
	if (__builtin_add_overflow(len, payload, &len))
		return stop_at(reader, found->offset, true);
	rc = source_skip(source, len, &skipped);
	if (rc < 0)
		return read_failed(reader, rc, err);
	reader->info.skipped_records++;
	return skipped < len ? stop_at(reader, found->offset, data_is_whole(reader)) : 1;
}

/* The next record of the file with all its bytes; 1, 0 at the end, or a negative errno. */
static int next_stored(struct perfdata_reader *reader, struct found *found, struct error *err)
{
	struct source *source = &reader->source;

	for (;;) {
		int rc = stored_header(reader, found, err);

		if (rc <= 0)
			return rc;
		if (record_kind(found->type) == RECORD_SKIP) {
			rc = step_over(reader, found, err);
			if (rc <= 0)
				return rc;
			continue;
		}
		rc = source_need(source, (size_t)found->size);
		if (rc < 0)
			return read_failed(reader, rc, err);
		if (source_left(source) < found->size)
			return stop_at(reader, found->offset, data_is_whole(reader));
		found->record = source->buf + source->at;
		source->at += (size_t)found->size;
		return 1;
	}
}

/* The same for what was unpacked; 0: nothing (more) is waiting. */
static int next_unpacked(struct perfdata_reader *reader, struct found *found, struct error *err)
{
	struct bytes b;
	int size = unpacker_next(reader->unpacker, &found->record);

	found->offset = unpacker_offset(reader->unpacker);
	if (size < 0) {
		stop_at(reader, found->offset, true);
		return error_set(err, size,
			"%s: the compressed data at byte %" PRIu64
			" is damaged; what stands before it has "
			"been read",
			reader->path, found->offset);
	}
	if (!size)
		return 0;
	b = bytes_of(found->record, (size_t)size);
	found->type = bytes_u32(&b);
	found->size = (uint64_t)size;
	found->stored = false;
	return 1;
}

/* Lends a COMPRESSED record to the unpacker. It must be used up before the window moves. */
static int unpack(struct perfdata_reader *reader, const struct found *found, struct error *err)
{
	struct bytes b = bytes_of(found->record, (size_t)found->size);
	uint64_t len;
	int rc;

	if (!reader->unpacker) {
		rc = unpacker_new(&reader->unpacker, reader->path, err);
		if (rc < 0) {
			reader->finished = true;
			return rc;
		}
	}
	bytes_skip(&b, HEADER_BYTES);
	len = found->type == PERF_RECORD_COMPRESSED2 ? bytes_u64(&b) : bytes_left(&b);
	if (b.bad || len > bytes_left(&b)) {
		stop_at(reader, found->offset, true);
		return error_set(err, -EBADMSG,
			"%s: the compressed record at byte %" PRIu64
			" is shorter than it says; what stands "
			"before it has been read",
			reader->path, found->offset);
	}
	unpacker_feed(reader->unpacker, b.at, (size_t)len, found->offset);
	reader->unpacking = true;
	return 0;
}

static int take(struct perfdata_reader *reader, const struct found *found, struct error *err)
{
	int rc = pipe_take(&reader->events, &reader->features,
		bytes_of(found->record, (size_t)found->size));

	reader_sync_info(reader);
	if (rc < 0) {
		reader->finished = true;
		return error_set(err, rc, "%s: %s", reader->path, strerror(-rc));
	}
	return 0;
}

int perfdata_next(struct perfdata_reader *reader, const void **ret_record, uint64_t *ret_offset,
	struct error *err)
{
	while (!reader->finished) {
		struct found found;
		enum record_kind kind;
		int rc = reader->unpacking ? next_unpacked(reader, &found, err) : 0;

		if (rc == 0) {
			reader->unpacking = false;
			rc = next_stored(reader, &found, err);
		}
		if (rc <= 0)
			return rc;
		kind = record_kind(found.type);
		if (kind == RECORD_PASS) {
			*ret_record = found.record;
			if (ret_offset)
				*ret_offset = found.offset;
			return (int)found.size;
		}
		if (kind == RECORD_PACKED && found.stored)
			rc = unpack(reader, &found, err);
		else if (kind == RECORD_TAKEN)
			rc = take(reader, &found, err);
		else
			reader->info.skipped_records++;
		if (rc < 0)
			return rc;
	}
	return 0;
}
