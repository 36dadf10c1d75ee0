/*
 * The other direction of decompress.c: one zstd stream over the whole recording, flushed after
 * every piece, so that each COMPRESSED record can be unpacked as soon as it is there and a
 * recording that is killed loses nothing of what was written.
 *
 * perf wants two things of a record: that it unpacks to something, and to no more than the
 * comp_mmap_len of the header. So a piece is small enough that its packed form always fits into
 * one record, and comp_mmap_len is larger than a piece.
 */
#include "config.h"
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <stdlib.h>

#if HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

struct packer {
	ZSTD_CCtx *stream;
	uint64_t in_bytes, out_bytes;
	uint8_t out[PERF_RECORD_SIZE_MAX];
};

_Static_assert(ZSTD_COMPRESSBOUND(PACKER_PIECE) + 64 < PERF_RECORD_SIZE_MAX - 8,
	"a packed piece fits into one record");

int packer_new(int level, struct packer **ret_packer)
{
	struct packer *packer = calloc(1, sizeof(*packer));

	if (packer)
		packer->stream = ZSTD_createCCtx();
	if (!packer || !packer->stream) {
		free(packer);
		return -ENOMEM;
	}
	if (ZSTD_isError(
		    ZSTD_CCtx_setParameter(packer->stream, ZSTD_c_compressionLevel, level))) {
		packer_free(packer);
		return -EINVAL;
	}
	*ret_packer = packer;
	return 0;
}

void packer_free(struct packer *packer)
{
	if (packer)
		ZSTD_freeCCtx(packer->stream);
	free(packer);
}

int packer_pack(
	struct packer *packer, const void *bytes, size_t len, const uint8_t **ret_record)
{
	struct perf_event_header header = {.type = PERF_RECORD_COMPRESSED};
	ZSTD_inBuffer in = {.src = bytes, .size = len};
	ZSTD_outBuffer out = {
		.dst = packer->out, .size = sizeof(packer->out), .pos = sizeof(header)};
	size_t left = ZSTD_compressStream2(packer->stream, &out, &in, ZSTD_e_flush);

	if (left || in.pos < in.size)
		return ZSTD_isError(left) &&
				       ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation
			       ? -ENOMEM
			       : -EIO;
	header.size = (uint16_t)out.pos;
	memcpy(packer->out, &header, sizeof(header));
	packer->in_bytes += len;
	packer->out_bytes += out.pos;
	*ret_record = packer->out;
	return (int)out.pos;
}

void packer_describe(const struct packer *packer, int level, struct perfdata_features *features)
{
	features->comp_type = 1; /* zstd */
	features->comp_level = (uint32_t)level;
	features->comp_ratio = packer->out_bytes
				       ? (uint32_t)((packer->in_bytes + packer->out_bytes / 2) /
						    packer->out_bytes)
				       : 1;
	features->comp_mmap_len = 2 * PACKER_PIECE;
}

#else

int packer_new(int level, struct packer **ret_packer)
{
	(void)level, (void)ret_packer;
	return -ENOTSUP;
}

void packer_free(struct packer *packer)
{
	(void)packer;
}

int packer_pack(
	struct packer *packer, const void *bytes, size_t len, const uint8_t **ret_record)
{
	(void)packer, (void)bytes, (void)len, (void)ret_record;
	return -ENOTSUP;
}

void packer_describe(const struct packer *packer, int level, struct perfdata_features *features)
{
	(void)packer, (void)level, (void)features;
}

#endif
