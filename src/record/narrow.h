/*
 * Records without what says nothing: in a file with one event its id, and the period of an
 * event whose period never changes (it stands in the attr then). Compressors pay for such
 * fields, too.
 */
#pragma once

#include "wick/record.h"

/*
 * Copies a whole record of layout `from` as one of layout `to`, which is the same without
 * IDENTIFIER, PERIOD or both, into `buf` (as long as the record). Its size; the record is
 * copied as it is where it is too short to have those fields, or of perf.data's own types.
 */
uint32_t record_narrow(const struct wick_layout *from, const struct wick_layout *to,
	const void *record, void *buf);
