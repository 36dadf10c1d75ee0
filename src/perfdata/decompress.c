/*
 * COMPRESSED and COMPRESSED2 records: one zstd stream runs through the whole file, cut into
 * records wherever the recorder's buffer was full. What comes out is a stream of records that
 * knows nothing of those cuts:
 *
 *     COMPRESSED: |.....|   |........|   |....|
 *                    \           |          /
 *     records:     |------|--|-----|----|--|     a record may begin in one and end in another
 *
 * The output buffer holds a piece of that stream; what is left of a record at its end is moved
 * to the front before more is unpacked. So memory is bounded however well the data is
 * compressed.
 */
#include "config.h"
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <stdlib.h>

#if HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

enum { OUT_BYTES = 512 << 10 };

struct unpacker {
	ZSTD_DStream *stream;
	ZSTD_inBuffer in;
	uint64_t offset;
	size_t at, len; /* unpacked and not yet used: out[at .. len) */
	bool more;	/* the last piece filled the buffer: zstd may hold more of it */
	uint8_t out[OUT_BYTES];
};

int unpacker_new(struct unpacker **ret_unpacker, const char *path, struct error *err)
{
	struct unpacker *unpacker = malloc(sizeof(*unpacker));

	if (unpacker) {
		unpacker->at = unpacker->len = 0;
		unpacker->in = (ZSTD_inBuffer){0};
		unpacker->more = false;
		unpacker->stream = ZSTD_createDStream();
	}
	if (!unpacker || !unpacker->stream) {
		free(unpacker);
		return error_set(err, -ENOMEM, "%s: no memory to decompress", path);
	}
	*ret_unpacker = unpacker;
	return 0;
}

void unpacker_free(struct unpacker *unpacker)
{
	if (unpacker)
		ZSTD_freeDStream(unpacker->stream);
	free(unpacker);
}

void unpacker_feed(struct unpacker *unpacker, const void *bytes, size_t len, uint64_t offset)
{
	unpacker->in = (ZSTD_inBuffer){.src = bytes, .size = len};
	unpacker->offset = offset;
}

static int unpack_more(struct unpacker *unpacker)
{
	ZSTD_outBuffer out = {.dst = unpacker->out, .size = OUT_BYTES};
	size_t used = unpacker->in.pos, rc;

	out.pos = unpacker->len - unpacker->at;
	memmove(unpacker->out, unpacker->out + unpacker->at, out.pos);
	unpacker->at = 0;
	unpacker->len = out.pos;
	rc = ZSTD_decompressStream(unpacker->stream, &out, &unpacker->in);
	if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
		return -ENOMEM;
	if (ZSTD_isError(rc))
		return -EBADMSG;
	unpacker->more = out.pos == out.size;
	if (out.pos == unpacker->len && unpacker->in.pos == used &&
		unpacker->in.pos < unpacker->in.size)
		return -EBADMSG; /* no progress */
	unpacker->len = out.pos;
	return 0;
}

int unpacker_next(struct unpacker *unpacker, const uint8_t **ret_record)
{
	for (;;) {
		struct bytes b =
			bytes_of(unpacker->out + unpacker->at, unpacker->len - unpacker->at);
		const uint8_t *record = b.at;
		size_t left = bytes_left(&b);
		int rc;

		if (left >= sizeof(struct perf_event_header)) {
			bytes_skip(&b, 6);
			rc = bytes_u16(&b);
			if (rc < (int)sizeof(struct perf_event_header))
				return -EBADMSG;
			if (left >= (size_t)rc) {
				unpacker->at += (size_t)rc;
				*ret_record = record;
				return rc;
			}
		}
		if (unpacker->in.pos == unpacker->in.size && !unpacker->more)
			return 0;
		rc = unpack_more(unpacker);
		if (rc < 0)
			return rc;
	}
}

uint64_t unpacker_offset(const struct unpacker *unpacker)
{
	return unpacker->offset;
}

size_t unpacker_rest(const struct unpacker *unpacker)
{
	return unpacker->len - unpacker->at;
}

#else

int unpacker_new(struct unpacker **ret_unpacker, const char *path, struct error *err)
{
	(void)ret_unpacker;
	return error_set(err, -ENOTSUP,
		"%s: is compressed with zstd and this wick was built without it; build with "
		"libzstd, "
		"or record without -z",
		path);
}

void unpacker_free(struct unpacker *unpacker)
{
	(void)unpacker;
}

void unpacker_feed(struct unpacker *unpacker, const void *bytes, size_t len, uint64_t offset)
{
	(void)unpacker, (void)bytes, (void)len, (void)offset;
}

int unpacker_next(struct unpacker *unpacker, const uint8_t **ret_record)
{
	(void)unpacker, (void)ret_record;
	return 0;
}

uint64_t unpacker_offset(const struct unpacker *unpacker)
{
	(void)unpacker;
	return 0;
}

size_t unpacker_rest(const struct unpacker *unpacker)
{
	(void)unpacker;
	return 0;
}

#endif
