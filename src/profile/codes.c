/*
 * How: sorted by process, address and time. Functions that overlap have replaced one another in
 * time, so a look-up walks back from the last function that starts at or below the address
 * until one lived at that moment, or none can reach so far. WALK_MOST functions are looked at
 * in one walk, however many of them fit: that bounds what a made-up table costs.
 */
#include "base/array.h"
#include "profile/names.h"

#include <errno.h>
#include <stdlib.h>

enum { WALK_MOST = 4096, ROWS_LIMIT = 64 << 20 };

void codes_done(struct codes *codes)
{
	strings_done(&codes->strings);
	free(codes->at);
	free(codes->rows);
	*codes = (struct codes){0};
}

int codes_add(struct codes *codes, const struct code *code)
{
	int rc = array_reserve(&codes->at, &codes->cap, (uint64_t)codes->count + 1,
		sizeof(*codes->at), CODES_LIMIT);

	if (rc < 0)
		return rc;
	codes->at[codes->count] = *code;
	codes->at[codes->count].first_row = codes->row_count;
	codes->at[codes->count++].row_count = 0;
	if (code->size > codes->max_size)
		codes->max_size = code->size;
	return 0;
}

int codes_add_row(struct codes *codes, const struct code_row *row)
{
	int rc;

	if (!codes->count)
		return -EINVAL;
	rc = array_reserve(&codes->rows, &codes->row_cap, (uint64_t)codes->row_count + 1,
		sizeof(*codes->rows), ROWS_LIMIT);
	if (rc < 0)
		return rc;
	codes->rows[codes->row_count++] = *row;
	codes->at[codes->count - 1].row_count++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* The first one behind an address. */
static uint32_t first_behind(struct codes *codes, int32_t pid, uint64_t addr)
{
	uint32_t low = 0, high = codes->count;

	if (codes->sorted_count != codes->count) {
		qsort(codes->at, codes->count, sizeof(*codes->at), compare);
		codes->sorted_count = codes->count;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct code *code = &codes->at[middle];

		if (code->pid < pid || (code->pid == pid && code->addr <= addr))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct code *codes_each(
	struct codes *codes, int32_t pid, uint64_t addr, struct codes_walk *walk)
{
	uint32_t low = walk->next ? walk->next - 1 : first_behind(codes, pid, addr);

	while (low-- > 0 && walk->steps++ < WALK_MOST) {
		struct code *code = &codes->at[low];

		if (code->pid != pid || addr - code->addr >= codes->max_size)
			break;
		if (addr - code->addr < code->size) {
			walk->next = low + 1;
			return code;
		}
	}
	walk->next = 1;
	return NULL;
}

struct code *codes_find(struct codes *codes, int32_t pid, uint64_t addr, uint64_t time_ns)
{
	struct codes_walk walk = {0};
	struct code *code;

	while ((code = codes_each(codes, pid, addr, &walk)))
		if (time_ns >= code->start_ns && time_ns < code->end_ns)
			break;
	return code;
}

const struct code_row *codes_row(
	const struct codes *codes, const struct code *code, uint64_t offset)
{
	const struct code_row *row = NULL;

	for (uint32_t i = 0; i < code->row_count; i++) {
		if (codes->rows[code->first_row + i].offset > offset)
			break;
		row = &codes->rows[code->first_row + i];
	}
	return row;
}
