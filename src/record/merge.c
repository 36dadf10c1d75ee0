/*
 * A binary heap over the inputs that have a record, by (time, input's number): one sift of at
 * most log2(inputs) steps for each record, and only one comparison or two while the same ring
 * stays in front.
 *
 *     heap:  | 0 .. heap_count - 1: inputs with a record |  ...  | broken_count inputs |
 *
 * An input's key never falls: a record that was written behind another in its ring keeps that
 * place, so a time that steps back (or is missing) counts as the one before it. Across rings a
 * key below what was handed out already is on top of the heap anyway, and so goes out at once.
 *
 * Inputs that were empty or broken when peeked are not in the heap; merge_round() looks at them
 * again. The others keep their peeked record from round to round.
 */
#include "record/merge.h"

#include "abi/perf_abi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool before(const struct merge *merge, uint32_t a, uint32_t b)
{
	const struct merge_input *x = &merge->inputs[a], *y = &merge->inputs[b];

	return x->time != y->time ? x->time < y->time : a < b;
}

/* Puts `input` where it belongs at or below the free slot `at`. */
static void sift_down(struct merge *merge, uint32_t at, uint32_t input)
{
	uint32_t *heap = merge->heap, child;

	while ((child = at * 2 + 1) < merge->heap_count) {
		if (child + 1 < merge->heap_count &&
			before(merge, heap[child + 1], heap[child]))
			child++;
		if (before(merge, input, heap[child]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = input;
}

static void sift_up(struct merge *merge, uint32_t input)
{
	uint32_t *heap = merge->heap, at = merge->heap_count++;

	while (at && before(merge, input, heap[(at - 1) / 2])) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = input;
}

/* Looks at the input's next record; false: it has none, or is broken. */
static bool input_peek(struct merge *merge, uint32_t number)
{
	struct merge_input *input = &merge->inputs[number];

	input->size = input->peek(input->ring, &input->record);
	if (input->size > 0) {
		input->own_time = wick_record_time(input->layout, input->record);
		if (input->own_time == UINT64_MAX) /* perf's other "none" */
			input->own_time = 0;
		if (input->own_time > input->time)
			input->time = input->own_time;
		return true;
	}
	return false;
}

/* Remembers a broken input until merge_next() says it. The input is not in the heap. */
static void input_leave(struct merge *merge, uint32_t number)
{
	if (merge->inputs[number].size < 0)
		merge->heap[merge->count - ++merge->broken_count] = number;
}

int merge_init(struct merge *merge, const struct merge_input *inputs, uint32_t count)
{
	*merge = (struct merge){.count = count};
	merge->inputs = calloc(count ? count : 1, sizeof(*merge->inputs));
	merge->heap = calloc(count ? count : 1, sizeof(*merge->heap));
	if (!merge->inputs || !merge->heap) {
		merge_done(merge);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++) {
		merge->inputs[i] = inputs[i];
		merge->inputs[i].time = 0;
		merge->inputs[i].own_time = 0;
		merge->inputs[i].size = 0;
	}
	return 0;
}

void merge_done(struct merge *merge)
{
	free(merge->inputs);
	free(merge->heap);
	*merge = (struct merge){0};
}

void merge_round(struct merge *merge)
{
	merge->broken_count = 0;
	for (uint32_t i = 0; i < merge->count; i++) {
		if (merge->inputs[i].size > 0)
			continue;
		if (input_peek(merge, i))
			sift_up(merge, i);
		else
			input_leave(merge, i);
	}
}

int merge_next(
	struct merge *merge, uint64_t limit_ns, const void **ret_record, uint32_t *ret_input)
{
	const struct merge_input *input;

	if (merge->broken_count) {
		*ret_input = merge->heap[merge->count - merge->broken_count--];
		return -EBADMSG;
	}
	if (!merge->heap_count)
		return 0;
	input = &merge->inputs[merge->heap[0]];
	if (input->time > limit_ns)
		return 0;
	*ret_record = input->record;
	*ret_input = merge->heap[0];
	return input->size;
}

void merge_pop(struct merge *merge)
{
	uint32_t number = merge->heap[0];
	struct merge_input *input = &merge->inputs[number];

	if (input->own_time && input->own_time < merge->last_ns)
		merge->late++;
	if (input->time > merge->last_ns)
		merge->last_ns = input->time;
	input->next(input->ring);
	if (input_peek(merge, number)) {
		sift_down(merge, 0, number);
		return;
	}
	if (--merge->heap_count)
		sift_down(merge, 0, merge->heap[merge->heap_count]);
	input_leave(merge, number);
}
