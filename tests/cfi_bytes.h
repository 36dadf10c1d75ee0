/* For tests: call frame information, byte by byte. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cfi_bytes {
	uint8_t at[4096];
	size_t len;
	size_t cie, entry; /* where the last CIE and the open entry start */
	bool debug, wide;
};

static inline void cb_put(struct cfi_bytes *b, const void *bytes, size_t len)
{
	memcpy(b->at + b->len, bytes, len);
	b->len += len;
}

static inline void cb_u(struct cfi_bytes *b, uint64_t value, unsigned width)
{
	cb_put(b, &value, width);
}

#define CB(b, ...)                                                                             \
	cb_put(b, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static inline void cb_length(struct cfi_bytes *b)
{
	b->entry = b->len;
	if (b->wide)
		cb_u(b, UINT32_MAX, 4);
	cb_u(b, 0, b->wide ? 8 : 4);
}

/* Opens a CIE: version, augmentation, alignment factors 1 and -8, RA column. */
static inline void cb_cie(
	struct cfi_bytes *b, uint8_t version, const char *augmentation, uint8_t ra)
{
	cb_length(b);
	b->cie = b->entry;
	cb_u(b, b->debug ? UINT64_MAX : 0, b->wide && b->debug ? 8 : 4);
	CB(b, version);
	cb_put(b, augmentation, strlen(augmentation) + 1);
	if (version >= 4)
		CB(b, 8, 0);
	CB(b, 1, 0x78, ra);
}

/* Opens an FDE of the last CIE, up to where start and length stand. */
static inline void cb_fde(struct cfi_bytes *b)
{
	cb_length(b);
	if (b->debug)
		cb_u(b, b->cie, b->wide ? 8 : 4);
	else
		cb_u(b, b->len - b->cie, 4);
}

/* Closes the open entry. */
static inline void cb_end(struct cfi_bytes *b)
{
	size_t head = b->wide ? 12 : 4;
	uint64_t len;

	while ((b->len - b->entry - head) % 4)
		CB(b, 0);
	len = b->len - b->entry - head;
	memcpy(b->at + b->entry + (b->wide ? 4 : 0), &len, b->wide ? 8 : 4);
}
