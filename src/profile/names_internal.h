/* What the two directions of names.h share. */
#pragma once

#include "base/strbuf.h"
#include "profile/names.h"

#define NAMES_MAGIC   "wick-names "
#define NAMES_VERSION "1\n"

enum names_packing { NAMES_PLAIN, NAMES_ZSTD };

/* Appends the smaller of plain and packed bytes: | packing | plain length | bytes |. */
int names_pack(const struct strbuf *plain, struct strbuf *out);

/* The plain bytes of what names_pack() appended: 0, -ENOTSUP, -EBADMSG, -ENOMEM. */
int names_unpack(const void *bytes, size_t len, struct strbuf *ret_plain);

static inline void names_put(struct strbuf *out, uint64_t value)
{
	do {
		strbuf_putc(out, (char)((value & 127) | (value > 127 ? 128 : 0)));
		value >>= 7;
	} while (value);
}

/* Small numbers of either sign become small numbers. */
static inline uint64_t names_fold(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t names_unfold(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}
