/*
 * The order of a file's records.
 *
 * A perf.data holds, per round, what was in each ring, one ring after another; a FINISHED_ROUND
 * stands between rounds. Invariant (perf's): when a round is finished, nothing that follows is
 * older than the youngest record of the round *before* it. So everything up to that time may
 * go. A record without a time (0 or ~0) belongs where it stands: it is handed out before what
 * waits.
 *
 *     push(record)... round() -> next()... push... round() -> next()... end() -> next()...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reorder;

struct reorder_entry {
	uint64_t time_ns;
	const void *record;
	uint32_t size;
	uint64_t tag; /* the caller's: which layout, which place in the file */
};

/* `copy`: records are copied, for a source whose bytes do not stay; else they must stay valid.
 */
int reorder_new(bool copy, struct reorder **ret_reorder);
void reorder_free(struct reorder *reorder);

/* 0, -ENOMEM; -ENOSPC: more than the limit wait (a file without rounds): flush what there is.
 */
int reorder_push(struct reorder *reorder, uint64_t time_ns, const void *record, uint32_t size,
	uint64_t tag);
void reorder_round(struct reorder *reorder);
void reorder_end(struct reorder *reorder); /* everything may go */

/* The next record that may go; equal times in the order of pushing. Valid until the next call.
 */
bool reorder_next(struct reorder *reorder, struct reorder_entry *ret_entry);

uint64_t reorder_late(const struct reorder *reorder); /* handed out after a younger one */

/* Bytes of copied records that are held: they go as the records are handed out. */
uint64_t reorder_held_bytes(const struct reorder *reorder);

/*
 * How many records and how many copied bytes may wait; by default 16 M and 1 GiB. For tests,
 * and for callers that must live with less.
 */
void reorder_set_limit(struct reorder *reorder, uint32_t records, uint64_t bytes);
