/*
 * Structs into PERF_RECORD_* bytes, the inverse of wick_record_decode(): for the records of
 * processes that were there before the recording, for the simulated kernel, and for tests.
 */
#pragma once

#include "wick/record.h"

/*
 * Writes `record` as an event with this layout would, header.size set, into at most `cap` bytes
 * (65,528 are always enough). record->size and id.have are ignored: the layout says which
 * fields there are. As in the kernel, strings, RAW and AUX data are padded with zeros to 8
 * bytes, and the sizes of the latter two count the padding. sample.stack has stack_asked bytes.
 * An MMAP2 with build_id_bytes carries the build id in place of the inode, and misc gets the
 * bit that says so.
 *
 * Its size (a multiple of 8); -ENOSPC: beyond cap; -EINVAL: a type that is not the kernel's, a
 * record that would exceed 65,528 bytes, or counts that contradict the layout (registers,
 * branch counters, n of READ without GROUP). Nothing is allocated; any thread, and signal
 * handlers.
 */
int record_encode(const struct wick_layout *layout, const struct wick_record *record, void *buf,
	size_t cap);
