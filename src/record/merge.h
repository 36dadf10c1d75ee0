/*
 * The merge of live rings by time.
 *
 * Invariant. The caller reads the clock (`limit_ns` = now - slack), *then* fetches every ring.
 * Whatever carries a time <= limit_ns was committed before its ring was fetched, as long as no
 * writer sleeps longer than `slack` between taking the time and committing. So merge_next() may
 * hand out everything up to the limit, smallest time first, and what is younger waits in its
 * ring for the next round: nothing is copied. A record whose time is smaller than one that was
 * handed out already is handed out at once and counted (`late`); inside one ring the order of
 * writing is kept, whatever the times say.
 */
#pragma once

#include "wick/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One ring, as the merge sees it: the iterator of wick/perf_ringbuf.h, or a test's array. */
struct merge_input {
	void *ring;
	int (*peek)(void *ring, const void **ret_record);
	void (*next)(void *ring);
	const struct wick_layout *layout;
	/* the merge's own */
	const void *record;
	uint64_t time;	   /* its place: never below that of the one before in this ring */
	uint64_t own_time; /* what it carries; 0: none */
	int size;	   /* of `record`; 0: not peeked; < 0: broken */
};

struct merge {
	struct merge_input *inputs;
	uint32_t count;
	uint32_t *heap; /* inputs that have a record, smallest time on top */
	uint32_t heap_count;
	uint32_t broken_count; /* not yet said; the last so many slots of `heap` name them */
	uint64_t last_ns;      /* the largest place handed out */
	uint64_t late;	       /* records handed out after a younger one */
};

/* Takes `count` inputs (copied). 0 or -ENOMEM. merge_done() takes a zeroed struct, too. */
int merge_init(struct merge *merge, const struct merge_input *inputs, uint32_t count);
void merge_done(struct merge *merge);

/* Starts a round: every ring was fetched after the clock was read. */
void merge_round(struct merge *merge);

/*
 * The next record with a time <= limit_ns (UINT64_MAX: everything). Its size, and which input
 * it came from; 0: the round is over; -EBADMSG: the ring *ret_input is broken at this point (it
 * takes no further part until the next round; skip it). The record is valid until merge_pop(),
 * which steps over it: call them in turn.
 */
int merge_next(
	struct merge *merge, uint64_t limit_ns, const void **ret_record, uint32_t *ret_input);
void merge_pop(struct merge *merge);
