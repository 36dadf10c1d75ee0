/*
 * How: the ranges, sorted by their starts, are swept from low to high. A heap holds those that
 * have started, the greatest value on top; one that has ended is thrown away when it comes to
 * the top. Between two events (a start, or the end of the top) the top is the winner.
 */
#include "object/intervals.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

void intervals_done(struct intervals *list)
{
	free(list->items);
	*list = (struct intervals){0};
}

int intervals_add(struct intervals *list, uint64_t lo, uint64_t hi, uint32_t value)
{
	int r;

	if (lo >= hi)
		return 0;
	r = array_reserve(&list->items, &list->cap, (uint64_t)list->count + 1,
		sizeof(*list->items), INTERVALS_MAX);
	if (r < 0)
		return r;
	list->items[list->count++] = (struct interval){lo, hi, value};
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

struct heap {
	const struct interval **items;
	uint32_t count;
};

static void heap_push(struct heap *heap, const struct interval *item)
{
	uint32_t at = heap->count++;

	while (at && heap->items[(at - 1) / 2]->value < item->value) {
		heap->items[at] = heap->items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->items[at] = item;
}

static void heap_pop(struct heap *heap)
{
	const struct interval *last = heap->items[--heap->count];
	uint32_t at = 0, child;

	for (; (child = 2 * at + 1) < heap->count; at = child) {
		if (child + 1 < heap->count &&
			heap->items[child + 1]->value > heap->items[child]->value)
			child++;
		if (heap->items[child]->value <= last->value)
			break;
		heap->items[at] = heap->items[child];
	}
	heap->items[at] = last;
}

/* Appends, joined to the one before where that goes on. */
static int piece_add(struct intervals *out, uint64_t lo, uint64_t hi, uint32_t value)
{
	struct interval *last = out->count ? &out->items[out->count - 1] : NULL;

	if (last && last->hi == lo && last->value == value) {
		last->hi = hi;
		return 0;
	}
	return intervals_add(out, lo, hi, value);
}

static int sweep(const struct intervals *in, struct heap *heap, struct intervals *out)
{
	uint64_t at = 0;
	uint32_t next = 0;
	int r = 0;

	while ((next < in->count || heap->count) && r >= 0) {
		uint64_t end;

		if (!heap->count)
			at = in->items[next].lo;
		while (next < in->count && in->items[next].lo <= at)
			heap_push(heap, &in->items[next++]);
		while (heap->count && heap->items[0]->hi <= at)
			heap_pop(heap);
		if (!heap->count)
			continue;
		end = heap->items[0]->hi;
		if (next < in->count && in->items[next].lo < end)
			end = in->items[next].lo;
		r = piece_add(out, at, end, heap->items[0]->value);
		at = end;
	}
	return r;
}

int intervals_flatten(struct intervals *list)
{
	struct intervals out = {0};
	struct heap heap = {0};
	int r;

	if (!list->count)
		return 0;
	qsort(list->items, list->count, sizeof(*list->items), by_start);
	heap.items = malloc(list->count * sizeof(struct interval *));
	if (!heap.items)
		return -ENOMEM;
	r = sweep(list, &heap, &out);
	free(heap.items);
	if (r < 0) {
		intervals_done(&out);
		return r;
	}
	intervals_done(list);
	*list = out;
	return 0;
}

uint32_t intervals_find(const struct intervals *list, uint64_t addr)
{
	uint32_t lo = 0, hi = list->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (list->items[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < list->items[lo - 1].hi ? list->items[lo - 1].value : UINT32_MAX;
}
