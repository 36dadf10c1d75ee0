/* How: liblzma's stream decoder, with a limit on its own memory, into a buffer that grows. */
#include "object/mini_debug.h"

#include "config.h"

#include <errno.h>
#include <stdlib.h>
#if HAVE_LZMA
#include <lzma.h>

enum { DECODER_MAX = 256 << 20, FIRST_BYTES = 64 << 10 };

static int unpack(lzma_stream *stream, uint8_t **ret_bytes, size_t *ret_len)
{
	cleanup_free uint8_t *out = NULL;
	size_t cap = 0;
	lzma_ret r = LZMA_OK;

	while (r == LZMA_OK) {
		if (!stream->avail_out) {
			size_t more = cap ? cap * 2 : FIRST_BYTES;
			uint8_t *grown = more > MINI_DEBUG_MAX ? NULL : realloc(out, more);

			if (!grown)
				return more > MINI_DEBUG_MAX ? -EFBIG : -ENOMEM;
			out = grown;
			stream->next_out = out + cap;
			stream->avail_out = more - cap;
			cap = more;
		}
		r = lzma_code(stream, LZMA_FINISH);
	}
	if (r != LZMA_STREAM_END)
		return r == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
	*ret_len = (size_t)stream->total_out;
	*ret_bytes = take_ptr(&out);
	return 0;
}

int mini_debug_load(const struct elf *elf, uint8_t **ret_bytes, size_t *ret_len)
{
	const struct elf_section *section = elf_section(elf, ".gnu_debugdata");
	cleanup_elf_blob struct elf_blob blob = {0};
	lzma_stream stream = LZMA_STREAM_INIT;
	int r = section ? elf_load_section(elf, section, MINI_DEBUG_MAX, &blob) : -ENODATA;

	if (r < 0)
		return r;
	if (lzma_stream_decoder(&stream, DECODER_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = blob.bytes;
	stream.avail_in = blob.len;
	r = unpack(&stream, ret_bytes, ret_len);
	lzma_end(&stream);
	return r;
}

#else

int mini_debug_load(const struct elf *elf, uint8_t **ret_bytes, size_t *ret_len)
{
	(void)ret_bytes;
	(void)ret_len;
	return elf_section(elf, ".gnu_debugdata") ? -EOPNOTSUPP : -ENODATA;
}

#endif
