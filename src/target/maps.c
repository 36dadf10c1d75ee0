/*
 * Mappings in an array with room at both ends:
 *
 *     block      at                          at + count      block + cap
 *     | .front.. | mapping | mapping | ... | | ............. |
 *
 * A new mapping replaces the run of old ones that it overlaps; of the first and the last of the
 * run a piece may stay, so a run becomes one to three mappings. The shorter side of the array
 * moves aside: the kernel hands out addresses from the top downwards, programs that map from
 * the bottom upwards exist, and both are cheap this way. When the shorter side has no room the
 * array moves into the middle of a block with half as much again, which is rare enough to cost
 * nothing on average.
 *
 * Finding looks at a hint first: the index that was found last for the 64 KiB around the
 * address (a piece of code is larger, most often, and so few distinct ones are hot that they
 * fit). Hints are never taken back, only checked, so changes need not care; and they are the
 * only thing that a reader writes, atomically.
 */
#include "target/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct maps *maps_get(struct maps *maps)
{
	if (maps)
		maps->refs++;
	return maps;
}

void maps_put(struct maps *maps)
{
	if (!maps || --maps->refs)
		return;
	free(maps->block);
	free(maps);
}

/* Moves the mappings into the middle of a larger block. */
static int maps_grow(struct maps *maps)
{
	uint32_t cap = maps->count + maps->count / 2 + 16;
	uint32_t front = (cap - maps->count) / 2;
	struct mapping *block = malloc((size_t)cap * sizeof(*block));

	if (!block)
		return -ENOMEM;
	if (maps->block)
		memcpy(block + front, maps->at, (size_t)maps->count * sizeof(*block));
	free(maps->block);
	maps->block = block;
	maps->at = block + front;
	maps->cap = cap;
	return 0;
}

/* Replaces [lo, hi) by `count` others, moving the shorter side. */
static int maps_splice(struct maps *maps, uint32_t lo, uint32_t hi, const struct mapping *items,
	uint32_t count)
{
	int64_t more = (int64_t)count - (hi - lo);
	int64_t front = maps->at - maps->block;
	bool front_moves = lo < maps->count - hi;

	if (maps->count + more > TARGET_MAPPINGS_LIMIT)
		return -ENOSPC;
	if ((front_moves ? front : maps->cap - front - maps->count) < more) {
		int rc = maps_grow(maps);

		if (rc < 0)
			return rc;
	}
	if (front_moves) {
		memmove(maps->at - more, maps->at, lo * sizeof(*items));
		maps->at -= more;
	} else if (maps->count > hi) {
		memmove(maps->at + hi + more, maps->at + hi,
			(maps->count - hi) * sizeof(*items));
	}
	maps->count = (uint32_t)(maps->count + more);
	memcpy(maps->at + lo, items, count * sizeof(*items));
	return 0;
}

/*
 * The first mapping that ends behind `addr`: the one that holds it, or the next one above.
 * Written without a branch that depends on the data: where to go next cannot be predicted.
 */
static uint32_t first_ending_behind(const struct maps *maps, uint64_t addr)
{
	uint32_t lo = 0, left = maps->count;

	while (left > 1) {
		uint32_t half = left / 2;

		lo += half * (maps->at[lo + half - 1].end <= addr);
		left -= half;
	}
	return lo + (left && maps->at[lo].end <= addr);
}

static int maps_own(struct maps **maps)
{
	struct maps *copy;

	if (*maps && (*maps)->refs == 1)
		return 0;
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	copy->refs = 1;
	if (*maps) {
		copy->count = (*maps)->count;
		copy->cap = copy->count + copy->count / 8 + 8;
		copy->block = malloc((size_t)copy->cap * sizeof(*copy->at));
		if (!copy->block) {
			free(copy);
			return -ENOMEM;
		}
		copy->at = copy->block + (copy->cap - copy->count) / 2;
		memcpy(copy->at, (*maps)->at, copy->count * sizeof(*copy->at));
		maps_put(*maps);
	}
	*maps = copy;
	return 0;
}

int maps_insert(struct maps **maps, const struct mapping *mapping)
{
	struct mapping pieces[3];
	uint32_t lo, hi, count = 0;
	int rc = maps_own(maps);

	if (rc < 0)
		return rc;
	lo = first_ending_behind(*maps, mapping->start);
	for (hi = lo; hi < (*maps)->count && (*maps)->at[hi].start < mapping->end;)
		hi++;
	if (lo < hi && (*maps)->at[lo].start < mapping->start) {
		pieces[count] = (*maps)->at[lo];
		pieces[count++].end = mapping->start;
	}
	pieces[count++] = *mapping;
	if (lo < hi && (*maps)->at[hi - 1].end > mapping->end) {
		pieces[count] = (*maps)->at[hi - 1];
		pieces[count].pgoff += mapping->end - pieces[count].start;
		pieces[count++].start = mapping->end;
	}
	return maps_splice(*maps, lo, hi, pieces, count);
}

static inline bool holds(const struct mapping *mapping, uint64_t addr)
{
	return mapping->start <= addr && addr < mapping->end;
}

const struct mapping *maps_find(struct maps *maps, uint64_t addr)
{
	uint32_t *hint, at;

	if (!maps || !maps->count)
		return NULL;
	hint = &maps->hints[(uint32_t)(addr >> 16) * 0x9e3779b1u >> (32 - MAPS_HINT_BITS)];
	at = __atomic_load_n(hint, __ATOMIC_RELAXED);
	if (at < maps->count && holds(&maps->at[at], addr))
		return &maps->at[at];
	at = first_ending_behind(maps, addr);
	if (at == maps->count || !holds(&maps->at[at], addr))
		return NULL;
	__atomic_store_n(hint, at, __ATOMIC_RELAXED);
	return &maps->at[at];
}
