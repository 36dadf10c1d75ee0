/*
 * One array of what waits, sorted when a round ends.
 *
 *     entries:  | handed out | may go | sorted, too young | pushed since |
 *               0            at       go                sorted          count
 *
 * A round's records are a few ordered runs, one a ring, so the sort is a natural merge sort: it
 * finds the runs and merges neighbours until one is left; log2(rings) passes, stable by nature.
 * What stays behind when a round ends is younger than the round before, so it belongs to the
 * last round: nothing is sorted more than twice, and a file costs n log n at worst.
 *
 * Records without a time wait in a queue of their own that goes first.
 *
 * Copies lie in aligned chunks that count the records in them: the chunk of a record is found
 * by its address, and given back when its last record was handed out. Some are kept for the
 * next round: memory that comes anew from the kernel costs more than what is copied into it.
 */
#include "record/reorder.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES   (1u << 20)
#define LIMIT_RECORDS (1u << 24)
#define LIMIT_BYTES   (1ull << 30)

enum { SPARE_MAX = 32 };

struct chunk {
	uint64_t bytes, used;
	uint32_t live;
};

_Static_assert(sizeof(struct chunk) % 8 == 0, "records stay aligned");

struct reorder {
	struct reorder_entry *entries, *scratch; /* scratch: as long, for the sort */
	uint32_t at, go, sorted, count;
	uint32_t entries_cap, scratch_cap;
	struct reorder_entry *timeless;
	uint32_t timeless_at, timeless_count, timeless_cap;
	uint64_t round_max,
		round_before_max; /* youngest of the running round, and of the one before */
	uint64_t last_ns, late;
	bool copy;
	struct chunk *filling;
	struct chunk *lent;		/* holds the record that was handed out last */
	struct chunk *spare[SPARE_MAX]; /* empty ones of CHUNK_BYTES */
	uint32_t spare_count;
	uint64_t held_bytes;
	uint32_t limit_records;
	uint64_t limit_bytes;
};

int reorder_new(bool copy, struct reorder **ret_reorder)
{
	struct reorder *reorder = calloc(1, sizeof(*reorder));

	if (!reorder)
		return -ENOMEM;
	reorder->copy = copy;
	reorder->limit_records = LIMIT_RECORDS;
	reorder->limit_bytes = LIMIT_BYTES;
	*ret_reorder = reorder;
	return 0;
}

static struct chunk *chunk_of(const void *record)
{
	return (struct chunk *)((uintptr_t)record & ~(uintptr_t)(CHUNK_BYTES - 1));
}

static void chunk_free(struct reorder *reorder, struct chunk *chunk)
{
	reorder->held_bytes -= chunk->bytes;
	if (chunk->bytes == CHUNK_BYTES && reorder->spare_count < SPARE_MAX)
		reorder->spare[reorder->spare_count++] = chunk;
	else
		free(chunk);
}

/* One record less in it; the chunk that is being filled stays, emptied. */
static void chunk_put(struct reorder *reorder, struct chunk *chunk)
{
	if (!chunk || --chunk->live)
		return;
	if (chunk == reorder->filling) {
		chunk->used = sizeof(*chunk);
		return;
	}
	chunk_free(reorder, chunk);
}

static int chunk_new(struct reorder *reorder, uint32_t size, struct chunk **ret_chunk)
{
	uint64_t bytes = sizeof(struct chunk) + (uint64_t)size;
	struct chunk *chunk;

	bytes = (bytes + CHUNK_BYTES - 1) & ~(uint64_t)(CHUNK_BYTES - 1);
	if (reorder->held_bytes + bytes > reorder->limit_bytes)
		return -ENOSPC;
	if (bytes == CHUNK_BYTES && reorder->spare_count)
		chunk = reorder->spare[--reorder->spare_count];
	else
		chunk = aligned_alloc(CHUNK_BYTES, bytes);
	if (!chunk)
		return -ENOMEM;
	chunk->bytes = bytes;
	chunk->used = sizeof(*chunk);
	chunk->live = 0;
	reorder->held_bytes += bytes;
	*ret_chunk = chunk;
	return 0;
}

/* A copy that lives until it was handed out. */
static int record_copy(struct reorder *reorder, const void **record, uint32_t size)
{
	struct chunk *chunk = reorder->filling;
	uint8_t *to;

	/* A record must start in the first CHUNK_BYTES, where chunk_of() finds the chunk. */
	if (!chunk || chunk->used >= CHUNK_BYTES || chunk->bytes - chunk->used < size) {
		int rc = chunk_new(reorder, size, &chunk);

		if (rc < 0)
			return rc;
		if (reorder->filling && !reorder->filling->live)
			chunk_free(reorder, reorder->filling);
		reorder->filling = chunk;
	}
	to = (uint8_t *)chunk + chunk->used;
	memcpy(to, *record, size);
	chunk->used += ((uint64_t)size + 7) & ~7ull;
	if (chunk->used > chunk->bytes)
		chunk->used = chunk->bytes;
	chunk->live++;
	*record = to;
	return 0;
}

void reorder_free(struct reorder *reorder)
{
	if (!reorder)
		return;
	if (reorder->copy) {
		chunk_put(reorder, reorder->lent);
		for (uint32_t i = reorder->at; i < reorder->count; i++)
			chunk_put(reorder, chunk_of(reorder->entries[i].record));
		for (uint32_t i = reorder->timeless_at; i < reorder->timeless_count; i++)
			chunk_put(reorder, chunk_of(reorder->timeless[i].record));
		free(reorder->filling);
		while (reorder->spare_count)
			free(reorder->spare[--reorder->spare_count]);
	}
	free(reorder->entries);
	free(reorder->scratch);
	free(reorder->timeless);
	free(reorder);
}

static int timeless_push(struct reorder *reorder, const struct reorder_entry *entry)
{
	int rc;

	if (reorder->timeless_at == reorder->timeless_count)
		reorder->timeless_at = reorder->timeless_count = 0;
	rc = array_reserve(&reorder->timeless, &reorder->timeless_cap,
		reorder->timeless_count + 1ull, sizeof(*entry), reorder->limit_records);
	if (rc == 0)
		reorder->timeless[reorder->timeless_count++] = *entry;
	return rc;
}

static int timed_push(struct reorder *reorder, const struct reorder_entry *entry)
{
	int rc;

	if (reorder->at == reorder->count)
		reorder->at = reorder->go = reorder->sorted = reorder->count = 0;
	if (reorder->count >= reorder->limit_records)
		return -ENOSPC;
	rc = array_reserve(&reorder->entries, &reorder->entries_cap, reorder->count + 1ull,
		sizeof(*entry), reorder->limit_records);
	if (rc == 0)
		rc = array_reserve(&reorder->scratch, &reorder->scratch_cap,
			reorder->count + 1ull, sizeof(*entry), reorder->limit_records);
	if (rc < 0)
		return rc;
	reorder->entries[reorder->count++] = *entry;
	if (entry->time_ns > reorder->round_max)
		reorder->round_max = entry->time_ns;
	return 0;
}

int reorder_push(struct reorder *reorder, uint64_t time_ns, const void *record, uint32_t size,
	uint64_t tag)
{
	struct reorder_entry entry = {time_ns, record, size, tag};
	int rc;

	if (reorder->copy) {
		rc = record_copy(reorder, &entry.record, size);
		if (rc < 0)
			return rc;
	}
	if (time_ns == 0 || time_ns == UINT64_MAX)
		rc = timeless_push(reorder, &entry);
	else
		rc = timed_push(reorder, &entry);
	if (rc < 0 && reorder->copy)
		chunk_put(reorder, chunk_of(entry.record));
	return rc;
}

/* The end of the ordered run that starts at `from`. */
static uint32_t run_end(const struct reorder_entry *entries, uint32_t from, uint32_t n)
{
	while (from + 1 < n && entries[from].time_ns <= entries[from + 1].time_ns)
		from++;
	return from + 1 < n ? from + 1 : n;
}

/* Merges [from, mid) and [mid, end); of equals the left one is first. */
static void merge_runs(const struct reorder_entry *in, struct reorder_entry *out, uint32_t from,
	uint32_t mid, uint32_t end)
{
	uint32_t left = from, right = mid, to = from;

	while (left < mid && right < end)
		out[to++] = in[right].time_ns < in[left].time_ns ? in[right++] : in[left++];
	memcpy(out + to, in + left, (mid - left) * sizeof(*in));
	to += mid - left;
	memcpy(out + to, in + right, (end - right) * sizeof(*in));
}

/* Moves what was not handed out to the front, and sorts all of it. */
static void reorder_sort(struct reorder *reorder)
{
	uint32_t n = reorder->count - reorder->at;

	if (n && reorder->at)
		memmove(reorder->entries, reorder->entries + reorder->at,
			n * sizeof(*reorder->entries));
	reorder->at = 0;
	reorder->count = reorder->sorted = n;
	while (n && run_end(reorder->entries, 0, n) < n) {
		struct reorder_entry *in = reorder->entries;
		uint32_t cap = reorder->entries_cap;

		for (uint32_t from = 0, mid, end; from < n; from = end) {
			mid = run_end(in, from, n);
			end = mid < n ? run_end(in, mid, n) : n;
			merge_runs(in, reorder->scratch, from, mid, end);
		}
		reorder->entries = reorder->scratch;
		reorder->entries_cap = reorder->scratch_cap;
		reorder->scratch = in;
		reorder->scratch_cap = cap;
	}
}

/* The number of sorted entries up to `limit_ns`. */
static uint32_t count_up_to(const struct reorder *reorder, uint64_t limit_ns)
{
	uint32_t low = 0, high = reorder->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (reorder->entries[mid].time_ns <= limit_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void reorder_round(struct reorder *reorder)
{
	uint32_t ready = reorder->go - reorder->at;

	reorder_sort(reorder);
	reorder->go = count_up_to(reorder, reorder->round_before_max);
	if (reorder->go < ready) /* what could go before can go now */
		reorder->go = ready;
	reorder->round_before_max = reorder->round_max;
}

void reorder_end(struct reorder *reorder)
{
	reorder_sort(reorder);
	reorder->go = reorder->count;
	reorder->round_before_max = reorder->round_max;
}

bool reorder_next(struct reorder *reorder, struct reorder_entry *ret_entry)
{
	chunk_put(reorder, reorder->lent);
	reorder->lent = NULL;
	if (reorder->timeless_at < reorder->timeless_count) {
		*ret_entry = reorder->timeless[reorder->timeless_at++];
	} else if (reorder->at < reorder->go) {
		*ret_entry = reorder->entries[reorder->at++];
		if (ret_entry->time_ns < reorder->last_ns)
			reorder->late++;
		else
			reorder->last_ns = ret_entry->time_ns;
	} else {
		return false;
	}
	if (reorder->copy)
		reorder->lent = chunk_of(ret_entry->record);
	return true;
}

uint64_t reorder_late(const struct reorder *reorder)
{
	return reorder->late;
}

uint64_t reorder_held_bytes(const struct reorder *reorder)
{
	return reorder->held_bytes;
}

void reorder_set_limit(struct reorder *reorder, uint32_t records, uint64_t bytes)
{
	reorder->limit_records = records;
	reorder->limit_bytes = bytes;
}
