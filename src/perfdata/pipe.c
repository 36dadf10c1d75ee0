/*
 * Records that are no events: what a pipe has in place of a header, and what perf adds for
 * itself. They stand between the kernel's records, in files too; the few that matter here are
 * taken in, the others are passed over by their size.
 *
 * Two of them lie about it: behind AUXTRACE and HEADER_TRACING_DATA stands a payload whose size
 * is a field of theirs.
 *
 * simpleperf's own records (types from 32768) may be longer than 64 KiB: the upper half of
 * their size stands where others have misc.
 */
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <string.h>

enum record_kind record_kind(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_FINISHED_ROUND:
		return RECORD_PASS;
	case PERF_RECORD_HEADER_ATTR:
	case PERF_RECORD_HEADER_BUILD_ID:
	case PERF_RECORD_HEADER_EVENT_TYPE: /* of old; now it may hold a section of ours */
	case PERF_RECORD_HEADER_FEATURE:
	case PERF_RECORD_EVENT_UPDATE:
		return RECORD_TAKEN;
	case PERF_RECORD_COMPRESSED:
	case PERF_RECORD_COMPRESSED2:
		return RECORD_PACKED;
	default:
		return type < PERF_RECORD_USER_TYPE_START ? RECORD_PASS : RECORD_SKIP;
	}
}

/* header | attr, whose size is a field of it | ids */
static int take_attr(struct event_table *events, struct bytes b)
{
	struct bytes peek = b;
	uint32_t size;
	const uint8_t *attr;
	int rc;

	bytes_u32(&peek);
	size = bytes_u32(&peek);
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	attr = bytes_take(&b, size);
	if (peek.bad || !attr || size < PERF_ATTR_SIZE_VER0)
		return -EBADMSG;
	rc = event_table_add(events, bytes_of(attr, size), b);
	return rc == -ENOSPC ? -EBADMSG : rc;
}

/* header | u64 what | u64 id | a name, or others */
static int take_update(struct event_table *events, struct bytes b)
{
	enum { UPDATE_NAME = 2 };
	uint64_t what = bytes_u64(&b), id = bytes_u64(&b);
	struct perfdata_event *event;
	size_t len = bytes_left(&b);

	if (b.bad)
		return -EBADMSG;
	event = what == UPDATE_NAME ? event_table_find(events, id) : NULL;
	len = event ? strnlen((const char *)b.at, len) : 0;
	return len ? event_set_name(event, b.at, len) : 0;
}

/* See pipe_write.c; what does not look like it is one of perf's old ones, or a filler. */
static int take_piece(struct feature_reader *features, struct bytes b)
{
	uint64_t magic = bytes_u64(&b);
	uint32_t bit = bytes_u32(&b), len = bytes_u32(&b);
	const uint8_t *piece = bytes_take(&b, len);

	if (!piece || magic != PIPE_SECTION_MAGIC)
		return 0;
	return feature_take_piece(features, bit, bytes_of(piece, len));
}

int pipe_take(struct event_table *events, struct feature_reader *features, struct bytes record)
{
	struct bytes body = record;
	uint32_t type = bytes_u32(&body);
	uint64_t bit;
	int rc = 0;

	bytes_skip(&body, sizeof(struct perf_event_header) - sizeof(type));
	switch (type) {
	case PERF_RECORD_HEADER_ATTR:
		rc = take_attr(events, body);
		break;
	case PERF_RECORD_HEADER_BUILD_ID:
		rc = feature_take_build_id(features, record);
		break;
	case PERF_RECORD_EVENT_UPDATE:
		rc = take_update(events, body);
		break;
	case PERF_RECORD_HEADER_EVENT_TYPE:
		rc = take_piece(features, body);
		break;
	case PERF_RECORD_HEADER_FEATURE:
		bit = bytes_u64(&body);
		if (!body.bad && bit < FEATURE_BITS)
			rc = feature_take(features, (uint32_t)bit, body);
		break;
	default:
		break;
	}
	if (rc == -EBADMSG) {
		features->bad++;
		rc = 0;
	}
	return rc;
}

uint64_t pipe_payload(struct bytes record)
{
	uint32_t type = bytes_u32(&record), size;

	bytes_skip(&record, sizeof(struct perf_event_header) - sizeof(type));
	if (type == PERF_RECORD_AUXTRACE)
		return bytes_u64(&record);
	if (type != PERF_RECORD_HEADER_TRACING_DATA)
		return 0;
	size = bytes_u32(&record);
	return ((uint64_t)size + 7) & ~(uint64_t)7;
}
