/*
 * The pipe format, written: what a file has in its header comes as records.
 *
 *     | header 16 | HEADER_ATTR, EVENT_UPDATE (its name) ... | COMPRESSED's feature | data ...
 * | | HEADER_BUILD_ID ... | HEADER_FEATURE ... | sections of our own, in pieces |
 *
 * perf has its features in front; most of ours are known only when the recording ends, and
 * readers take them where they stand. Only what is needed to read the data stands in front of
 * it.
 */
#include "base/cleanup.h"
#include "base/fileio.h"
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <string.h>

enum {
	UPDATE_NAME = 2,
	PIECE_BYTES = 60000,
	RECORD_HEADER = sizeof(struct perf_event_header),
};

/* A record of what is in up to two places; -E2BIG when its size has no room in 16 bits. */
static int put_record(struct strbuf *out, uint32_t type, const struct strbuf *fixed,
	const void *body, size_t len)
{
	static const char zeros[8];
	size_t size = RECORD_HEADER + fixed->len + len, padded = (size + 7) & ~(size_t)7;
	struct perf_event_header header = {.type = type, .size = (uint16_t)padded};

	if (padded > PERF_RECORD_SIZE_MAX)
		return -E2BIG;
	strbuf_add(out, &header, sizeof(header));
	strbuf_add(out, fixed->text, fixed->len);
	if (len)
		strbuf_add(out, body, len);
	strbuf_add(out, zeros, padded - size);
	return 0;
}

static void put_number(struct strbuf *out, uint64_t value, size_t bytes)
{
	strbuf_add(out, &value, bytes);
}

static int put_event(
	struct perfdata_writer *writer, const struct perfdata_event *event, struct strbuf *out)
{
	cleanup_with(strbuf_done) struct strbuf fixed = {0};
	struct perf_event_attr attr = event->attr;
	char name[256];
	int rc;

	attr.size = writer->attr_bytes;
	strbuf_add(&fixed, &attr, writer->attr_bytes);
	rc = put_record(out, PERF_RECORD_HEADER_ATTR, &fixed, event->ids,
		event->id_count * sizeof(*event->ids));
	if (rc < 0 || !event->id_count)
		return rc;
	strbuf_reset(&fixed);
	put_number(&fixed, UPDATE_NAME, sizeof(uint64_t));
	put_number(&fixed, event->ids[0], sizeof(uint64_t));
	perfdata_event_name(event, name, sizeof(name));
	return put_record(out, PERF_RECORD_EVENT_UPDATE, &fixed, name, strlen(name) + 1);
}

/* One section as a HEADER_FEATURE; what is longer than a record is left out. */
static void put_feature(const struct encode_options *options, uint32_t bit, struct strbuf *out)
{
	cleanup_with(strbuf_done) struct strbuf fixed = {0}, body = {0};

	feature_encode(options, bit, &body);
	if (!body.len)
		return;
	if (bit == FEATURE_BUILD_ID) { /* these are records already */
		strbuf_add(out, body.text, body.len);
		return;
	}
	put_number(&fixed, bit, sizeof(uint64_t));
	if (fixed.failed || body.failed)
		out->failed = true;
	else
		put_record(out, PERF_RECORD_HEADER_FEATURE, &fixed, body.text, body.len);
}

static void put_pieces(uint32_t bit, const void *bytes, size_t len, struct strbuf *out)
{
	const uint8_t *p = bytes;

	while (len) {
		cleanup_with(strbuf_done) struct strbuf fixed = {0};
		size_t piece = len < PIECE_BYTES ? len : PIECE_BYTES;

		put_number(&fixed, PIPE_SECTION_MAGIC, sizeof(uint64_t));
		put_number(&fixed, bit, sizeof(uint32_t));
		put_number(&fixed, piece, sizeof(uint32_t));
		if (fixed.failed) {
			out->failed = true;
			return;
		}
		put_record(out, PERF_RECORD_HEADER_EVENT_TYPE, &fixed, p, piece);
		p += piece;
		len -= piece;
	}
}

int pipe_write_start(struct perfdata_writer *writer)
{
	const uint64_t header[2] = {PERFDATA_MAGIC, PERFDATA_PIPE_SIZE};
	struct perfdata_features described = {0};
	const struct encode_options options = {.features = &described};
	cleanup_with(strbuf_done) struct strbuf out = {0};
	int rc = 0;

	strbuf_add(&out, header, sizeof(header));
	for (uint32_t i = 0; rc == 0 && i < writer->event_count; i++)
		rc = put_event(writer, &writer->events[i], &out);
	if (writer->packer) {
		packer_describe(writer->packer, writer->level, &described);
		put_feature(&options, FEATURE_COMPRESSED, &out);
	}
	if (rc == 0 && out.failed)
		rc = -ENOMEM;
	return rc < 0 ? rc : fd_write_all(writer->fd, out.text, out.len);
}

int pipe_write_end(struct perfdata_writer *writer, const struct perfdata_features *features)
{
	const struct encode_options options = {
		.features = features,
		.events = writer->events,
		.event_count = writer->event_count,
	};
	cleanup_with(strbuf_done) struct strbuf out = {0};

	for (uint32_t bit = 0; bit < FEATURE_BITS; bit++)
		if (bit != FEATURE_COMPRESSED && bit != PERFDATA_FEATURE_QUALITY &&
			bit != PERFDATA_FEATURE_NAMES && bit != PERFDATA_FEATURE_CODE)
			put_feature(&options, bit, &out);
	put_pieces(PERFDATA_FEATURE_QUALITY, features->quality, features->quality_bytes, &out);
	put_pieces(PERFDATA_FEATURE_NAMES, features->names, features->names_bytes, &out);
	put_pieces(PERFDATA_FEATURE_CODE, features->code, features->code_bytes, &out);
	if (out.failed)
		return -ENOMEM;
	return fd_write_all(writer->fd, out.text, out.len);
}
