#include "config.h"
#include "profile/names_internal.h"

#include "base/bytes.h"

#include <errno.h>

#if HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

enum { LEVEL = 6 };

static int pack(const struct strbuf *plain, struct strbuf *out)
{
	size_t room = ZSTD_compressBound(plain->len), start, got;

	names_put(out, NAMES_ZSTD);
	names_put(out, plain->len);
	start = out->len;
	if (!strbuf_reserve(out, room))
		return -ENOMEM;
	got = ZSTD_compress(out->text + start, room, plain->text, plain->len, LEVEL);
	if (ZSTD_isError(got))
		return -ENOMEM;
	out->len = start + got;
	out->text[out->len] = '\0';
	return 0;
}

static int unpack(const void *bytes, size_t len, struct strbuf *plain, size_t plain_bytes)
{
	size_t got = ZSTD_decompress(plain->text, plain_bytes, bytes, len);

	if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
		return -ENOMEM;
	return ZSTD_isError(got) || got != plain_bytes ? -EBADMSG : 0;
}
#else
static int pack(const struct strbuf *plain, struct strbuf *out)
{
	names_put(out, NAMES_PLAIN);
	names_put(out, plain->len);
	strbuf_add(out, plain->text, plain->len);
	return 0;
}

static int unpack(const void *bytes, size_t len, struct strbuf *plain, size_t plain_bytes)
{
	(void)bytes, (void)len, (void)plain, (void)plain_bytes;
	return -ENOTSUP;
}
#endif

int names_pack(const struct strbuf *plain, struct strbuf *out)
{
	int rc = pack(plain, out);

	return out->failed ? -ENOMEM : rc;
}

int names_unpack(const void *bytes, size_t len, struct strbuf *ret_plain)
{
	struct bytes b = bytes_of(bytes, len);
	uint64_t packing = bytes_uleb(&b), plain_bytes = bytes_uleb(&b);
	int rc = 0;

	if (b.bad || plain_bytes > NAMES_BYTES_MAX)
		return -EBADMSG;
	if (packing > NAMES_ZSTD)
		return -ENOTSUP;
	if (packing == NAMES_PLAIN && plain_bytes != bytes_left(&b))
		return -EBADMSG;
	strbuf_reset(ret_plain);
	if (!strbuf_reserve(ret_plain, plain_bytes))
		return -ENOMEM;
	if (packing == NAMES_PLAIN)
		strbuf_add(ret_plain, b.at, plain_bytes);
	else
		rc = unpack(b.at, bytes_left(&b), ret_plain, plain_bytes);
	if (rc < 0)
		return rc;
	ret_plain->len = plain_bytes;
	return ret_plain->failed ? -ENOMEM : 0;
}
