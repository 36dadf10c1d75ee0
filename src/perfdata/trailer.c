/*
 * What stands behind the data: the feature table and its sections. Written at the end, and at
 * checkpoints while the recording goes on.
 *
 * At every moment, killed or not, the header must name data whose end is a good table. So a
 * trailer is never written over: the data goes on behind it, and the trailer becomes the body
 * of a record that every reader skips (a HEADER_EVENT_TYPE, out of use since Linux 3.4):
 *
 *     checkpoint 1:  | data 1 | filler 8 | table, sections |
 *                    |<--- data.size --->|
 *     then:          | data 1 | filler 8 | table, sections | data 2 ...
 *     checkpoint 2:  | data 1 | filler 8 +    its body     | data 2 | filler 8 | table,
 * sections |
 *                    |<------------------- data.size ------------------------->|
 *
 * The second filler and its trailer are written first, then the size of the first filler is
 * set, then the header. Between these two the old data would end with a record that is too
 * long, at which perf gives up. So the header first goes back to where the filler begins: for
 * that moment the file ends there and has no features. (Compressed data cannot do without:
 * there the record that is too long stays, and perf takes it for the end.) A section that has
 * not changed is not written again: the new table points into the old trailer.
 */
#include "base/cleanup.h"
#include "base/fileio.h"
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <string.h>

enum { FILLER_BYTES = sizeof(struct perf_event_header) };

/* The features with what only the writer knows. */
static int encode(struct perfdata_writer *writer, const struct perfdata_features *features,
	uint64_t base, uint64_t ret_bits[4], struct strbuf *ret_bytes)
{
	struct perfdata_features described = *features;
	const struct encode_options options = {
		.features = &described,
		.events = writer->events,
		.event_count = writer->event_count,
		.base = base,
		.cache = &writer->sections,
	};

	if (writer->packer)
		packer_describe(writer->packer, writer->level, &described);
	return features_encode(&options, ret_bits, ret_bytes);
}

/* The filler of the last checkpoint grows over its trailer, now that data stands behind it. */
static int close_filler(struct perfdata_writer *writer, uint64_t trailer_bytes)
{
	const struct perf_event_header filler = {.type = PERF_RECORD_HEADER_EVENT_TYPE,
		.size = (uint16_t)(FILLER_BYTES + trailer_bytes)};

	return fd_pwrite_all(writer->fd, &filler, sizeof(filler), (off_t)writer->filler_at);
}

/* The header names new data; each of these writes leaves a file that can be read. */
static int publish(struct perfdata_writer *writer, uint64_t data_bytes, const uint64_t bits[4])
{
	static const uint64_t no_features[4];
	int rc = 0;

	if (writer->filler_at && !writer->packer)
		rc = writer_header(
			writer, writer->filler_at - writer->data_offset, no_features);
	if (rc == 0 && writer->filler_at)
		rc = close_filler(writer, writer->trailer_bytes);
	return rc < 0 ? rc : writer_header(writer, data_bytes, bits);
}

static int checkpoint(struct perfdata_writer *writer, const struct perfdata_features *features)
{
	const struct perf_event_header filler = {
		.type = PERF_RECORD_HEADER_EVENT_TYPE, .size = FILLER_BYTES};
	uint64_t at = writer->data_offset + writer->data_bytes, bits[4];
	cleanup_with(strbuf_done) struct strbuf out = {0};
	int rc;

	strbuf_add(&out, &filler, sizeof(filler));
	rc = encode(writer, features, at + FILLER_BYTES, bits, &out);
	while (out.len % 8)
		strbuf_putc(&out, '\0');
	if (rc == 0 && out.failed)
		rc = -ENOMEM;
	if (rc == 0 && out.len > PERF_RECORD_SIZE_MAX) {
		section_cache_done(&writer->sections);
		return -E2BIG;
	}
	if (rc == 0)
		rc = fd_pwrite_all(writer->fd, out.text, out.len, (off_t)at);
	if (rc == 0)
		rc = publish(writer, writer->data_bytes + FILLER_BYTES, bits);
	if (rc < 0) {
		section_cache_done(&writer->sections);
		return rc;
	}
	writer->filler_at = at;
	writer->data_bytes += FILLER_BYTES;
	writer->trailer_bytes = writer->dead_bytes = out.len - FILLER_BYTES;
	writer->checked_bytes = writer->data_bytes;
	return 0;
}

int perfdata_checkpoint(struct perfdata_writer *writer,
	const struct perfdata_features *features, struct error *err)
{
	struct perfdata_features fewer = *features;
	int rc = writer_flush(writer, err);

	if (rc < 0 || writer->failed || !writer->regular ||
		writer->data_bytes == writer->checked_bytes)
		return rc;
	rc = checkpoint(writer, features);
	if (rc == -E2BIG) {
		/* A filler is a record and cannot hold more: what is long waits for the end. */
		fewer.build_id_count = 0;
		fewer.names_bytes = fewer.code_bytes = 0;
		rc = checkpoint(writer, &fewer);
	}
	if (rc == -E2BIG)
		return 0; /* no checkpoint, but no fault of the file's either */
	if (rc < 0)
		return writer_fail(writer, rc, err);
	if (!writer->syncer)
		writer->syncer = syncer_start(writer->fd);
	syncer_ask(writer->syncer);
	return 0;
}

static int write_sections(struct perfdata_writer *writer,
	const struct perfdata_features *features, uint64_t at, uint64_t ret_bits[4],
	uint64_t *ret_bytes)
{
	cleanup_with(strbuf_done) struct strbuf out = {0};
	int rc = encode(writer, features, at, ret_bits, &out);

	if (rc == 0)
		rc = fd_pwrite_all(writer->fd, out.text, out.len, (off_t)at);
	if (rc < 0) {
		section_cache_done(&writer->sections);
		return rc;
	}
	*ret_bytes = out.len;
	return 0;
}

/* The sections, then the header that says where they are. */
static int write_trailer(
	struct perfdata_writer *writer, const struct perfdata_features *features)
{
	uint64_t bits[4] = {0}, end, bytes = 0;
	int rc, header_rc;

	writer->data_bytes += writer->dead_bytes;
	writer->dead_bytes = 0;
	end = writer->data_offset + writer->data_bytes;
	rc = write_sections(writer, features, end, bits, &bytes);
	if (writer_no_room(rc)) { /* better without what is long than with nothing */
		struct perfdata_features fewer = *features;

		fewer.build_id_count = 0;
		fewer.names_bytes = fewer.code_bytes = 0;
		if (write_sections(writer, &fewer, end, bits, &bytes) < 0)
			memset(bits, 0, sizeof(bits));
	} else if (rc < 0) {
		memset(bits, 0, sizeof(bits)); /* the records are there all the same */
	}
	end += bytes;
	header_rc = publish(writer, writer->data_bytes, bits);
	/* The reserve goes back. */
	if (ftruncate(writer->fd, (off_t)end) < 0 && header_rc == 0)
		header_rc = -errno;
	return header_rc < 0 ? header_rc : rc;
}

int perfdata_finish(struct perfdata_writer *writer, const struct perfdata_features *features,
	struct error *err)
{
	int flush_rc = writer_flush(writer, err), rc = 0;

	if (writer->regular)
		rc = write_trailer(writer, features);
	else if (writer->pipe && !writer->failed)
		rc = pipe_write_end(writer, features);
	if (flush_rc < 0)
		return flush_rc;
	return rc < 0 ? error_set(err, rc,
				"%s: cannot be finished (%s); its records are in it, but not "
				"what is known "
				"about the recording",
				writer->path, strerror(-rc))
		      : 0;
}
