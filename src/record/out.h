/* The encoder's cursor: writes that do not fit are dropped and remembered. */
#pragma once

#include "wick/record.h"

struct out {
	uint8_t *at, *end;
	bool full;    /* beyond the caller's buffer */
	bool invalid; /* the struct contradicts the layout */
};

static inline void out_bytes(struct out *o, const void *bytes, uint64_t len)
{
	if (o->full || len > (size_t)(o->end - o->at)) {
		o->full = true;
		return;
	}
	if (len)
		memcpy(o->at, bytes, len);
	o->at += len;
}

static inline void out_u16(struct out *o, uint16_t value)
{
	out_bytes(o, &value, sizeof(value));
}

static inline void out_u32(struct out *o, uint32_t value)
{
	out_bytes(o, &value, sizeof(value));
}

static inline void out_u64(struct out *o, uint64_t value)
{
	out_bytes(o, &value, sizeof(value));
}

static inline void out_pair(struct out *o, uint32_t first, uint32_t second)
{
	out_u32(o, first);
	out_u32(o, second);
}

/* Zeros up to a multiple of 8, where `len` bytes of the thing are written. */
static inline void out_pad(struct out *o, uint64_t len)
{
	static const uint8_t zeros[8];

	out_bytes(o, zeros, -len & 7);
}

/* `entries` times `entry_words` words. */
static inline void out_words(
	struct out *o, const void *bytes, uint64_t entries, unsigned entry_words)
{
	if (entries > UINT16_MAX / 8) { /* no record is that long; and no overflow below */
		o->full = true;
		return;
	}
	out_bytes(o, bytes, entries * entry_words * 8);
}

static inline void out_counted_words(struct out *o, const struct wick_words *words)
{
	out_u64(o, words->n);
	out_words(o, words->bytes, words->n, 1);
}

/* encode_sample.c */
void sample_encode(
	const struct wick_layout *layout, const struct wick_record *record, struct out *o);
void read_encode(const struct wick_layout *layout, const struct wick_read *read, struct out *o);
