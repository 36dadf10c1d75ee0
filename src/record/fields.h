/* What the decoder's and the encoder's files share. */
#pragma once

#include "abi/perf_abi.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "wick/record.h"

/* The sample_type bits that have a field in the trailer. */
#define TRAILER_BITS                                                                           \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |         \
		PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* WEIGHT and WEIGHT_STRUCT are two views of one field. */
#define WEIGHT_BITS (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)

/* The body of a SAMPLE. What is cut or lies sets b->bad. */
void sample_decode(
	const struct wick_layout *layout, struct bytes *b, struct wick_record *record);

/* The values of PERF_SAMPLE_READ and PERF_RECORD_READ. */
void read_decode(const struct wick_layout *layout, struct bytes *b, struct wick_read *read);

/* `n` entries of `entry_words` words in place. */
const void *words_take(struct bytes *b, uint64_t n, uint32_t entry_words);

/* A u64 count and as many words. */
void counted_words(struct bytes *b, struct wick_words *words);
