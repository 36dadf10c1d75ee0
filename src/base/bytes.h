/*
 * The bounds-checked reader: the only way to look at bytes that came from outside.
 *
 * A failed read returns 0 (or NULL), moves nothing and sets `bad` for good, so a decoder reads
 * a whole structure and asks once at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *at, *end;
	bool swap; /* the bytes are of the other byte order */
	bool bad;
};

static inline struct bytes bytes_of(const void *start, size_t len)
{
	const uint8_t *p = start;

	return (struct bytes){.at = p, .end = p ? p + len : p};
}

static inline size_t bytes_left(const struct bytes *b)
{
	return (size_t)(b->end - b->at);
}

/* The next `len` bytes in place, or NULL. */
static inline const uint8_t *bytes_take(struct bytes *b, uint64_t len)
{
	const uint8_t *p = b->at;

	if (b->bad || len > bytes_left(b)) {
		b->bad = true;
		return NULL;
	}
	b->at += len;
	return p;
}

static inline bool bytes_skip(struct bytes *b, uint64_t len)
{
	return bytes_take(b, len) != NULL;
}

static inline uint8_t bytes_u8(struct bytes *b)
{
	const uint8_t *p = bytes_take(b, 1);

	return p ? *p : 0;
}

static inline uint16_t bytes_u16(struct bytes *b)
{
	const uint8_t *p = bytes_take(b, 2);
	uint16_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return b->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t bytes_u32(struct bytes *b)
{
	const uint8_t *p = bytes_take(b, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return b->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t bytes_u64(struct bytes *b)
{
	const uint8_t *p = bytes_take(b, 8);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return b->swap ? __builtin_bswap64(v) : v;
}

/* DWARF's variable-length numbers; more than 64 bits of payload is bad. */
uint64_t bytes_uleb(struct bytes *b);
int64_t bytes_sleb(struct bytes *b);

/* A NUL-terminated string in place, the NUL taken too; NULL (and bad) when none ends in here.
 */
const char *bytes_str(struct bytes *b);
