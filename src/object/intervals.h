/*
 * Overlapping ranges of addresses, made into disjoint ones: at each address the range with the
 * greatest value wins. Values are given in the order of a walk from parents to children, so a
 * child beats its parent, and a later sibling an earlier one.
 *
 *     in    [0 .............. 100) = 1        out   [0 10) = 1
 *              [10 .. 40) = 2                       [10 20) = 2
 *                 [20 30) = 3                       [20 30) = 3    [30 40) = 2    [40 100) = 1
 */
#pragma once

#include <stdint.h>

struct interval {
	uint64_t lo, hi; /* [lo, hi) */
	uint32_t value;
};

enum { INTERVALS_MAX = 1 << 26 };

struct intervals {
	struct interval *items;
	uint32_t count, cap;
};

void intervals_done(struct intervals *list); /* takes a zeroed struct, too */

/* Adds a range; an empty or reversed one is left out. 0, -ENOMEM or -ENOSPC (INTERVALS_MAX). */
int intervals_add(struct intervals *list, uint64_t lo, uint64_t hi, uint32_t value);

/* Sorts and makes them disjoint. 0 or -ENOMEM; at most twice as many come out. */
int intervals_flatten(struct intervals *list);

/* Of a flattened list: the value at an address, or UINT32_MAX. */
uint32_t intervals_find(const struct intervals *list, uint64_t addr);
