/*
 * A radix sort, 11 bits at a time from the lowest: each pass counts, then moves every record to
 * its place in the other buffer. Digits that are the same everywhere (the upper half of
 * addresses) are left out, so addresses of a file of 64 MB take three passes.
 */
#include "object/cfi_sort.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static void pass(
	const uint64_t *from, uint64_t *to, uint32_t count, unsigned words, unsigned shift)
{
	uint32_t places[DIGITS] = {0}, place = 0;

	for (uint32_t i = 0; i < count; i++)
		places[from[(size_t)i * words] >> shift & (DIGITS - 1)]++;
	for (unsigned d = 0; d < DIGITS; d++) {
		uint32_t n = places[d];

		places[d] = place;
		place += n;
	}
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t *record = from + (size_t)i * words;

		memcpy(to + (size_t)places[record[0] >> shift & (DIGITS - 1)]++ * words, record,
			words * sizeof(*record));
	}
}

int cfi_sort(uint64_t *records, uint32_t count, unsigned words)
{
	size_t bytes = (size_t)count * words * sizeof(*records);
	cleanup_free uint64_t *other = NULL;
	uint64_t *from = records, *to, differ = 0;
	bool sorted = true;

	for (uint32_t i = 1; i < count; i++) {
		differ |= records[(size_t)i * words] ^ records[0];
		sorted = sorted &&
			 records[(size_t)(i - 1) * words] <= records[(size_t)i * words];
	}
	if (sorted)
		return 0;
	other = malloc(bytes);
	if (!other)
		return -ENOMEM;
	to = other;
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		uint64_t *moved = to;

		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		pass(from, to, count, words, shift);
		to = from;
		from = moved;
	}
	if (from != records)
		memcpy(records, from, bytes);
	return 0;
}
