/*
 * Memory outside of the copied stack: as it was later.
 *
 * Two sources: one piece of bytes that the caller fetched (`late`), and a callback, which is
 * asked for whole pages and whose answers are kept for the run. Before the first word is
 * believed, the outermost frames of the copy are compared with what is there now. A thread
 * that returned from them has overwritten them, or will do so soon; above them nothing changes
 * while they stand. Two frames are asked for, because a program that calls the same function
 * again and again leaves equal bytes behind; where the copy holds only one, everything from it
 * to the end of the copy must be equal. Reading through the callback takes time, so there the
 * comparison is made once more at the end.
 */
#include "unwind/memory.h"

#include <errno.h>

enum {
	WINDOW_MIN = 64,  /* bytes to compare where there is one frame only */
	FRAME_MAX = 4096, /* bytes of one frame that are compared */
	ABOVE_COPY = 64 << 20,
};

void memory_begin(struct memory *memory)
{
	memory->serial++;
}

/* The page that holds an address; NULL: cannot be read. */
static const struct memory_chunk *chunk_get(struct walk *walk, uint64_t addr)
{
	struct memory *memory = walk_memory(walk);
	uint64_t start = addr & ~(uint64_t)(MEMORY_PAGE - 1);
	struct memory_chunk *chunk = &memory->chunks[start / MEMORY_PAGE % MEMORY_CHUNKS];

	if (chunk->serial == memory->serial && chunk->start == start)
		return chunk->len ? chunk : NULL;
	chunk->serial = memory->serial;
	chunk->start = start;
	chunk->len = 0;
	if (walk->in->read_memory(walk->in->read_ctx, start, chunk->bytes, MEMORY_PAGE) !=
		MEMORY_PAGE)
		return NULL;
	chunk->len = MEMORY_PAGE;
	return chunk;
}

/* Copies from the later bytes. */
static bool late_copy(struct walk *walk, uint64_t addr, void *ret_bytes, size_t len)
{
	const struct unwind_input *in = walk->in;
	uint64_t at = addr - in->late_addr;
	uint8_t *out = ret_bytes;

	if (in->late && at <= in->late_bytes && len <= in->late_bytes - at) {
		memcpy(out, (const uint8_t *)in->late + at, len);
		return true;
	}
	while (len) {
		const struct memory_chunk *chunk =
			in->read_memory ? chunk_get(walk, addr) : NULL;
		size_t inside = addr & (MEMORY_PAGE - 1), n = MEMORY_PAGE - inside;

		if (!chunk)
			return false;
		n = n < len ? n : len;
		memcpy(out, chunk->bytes + inside, n);
		out += n;
		addr += n;
		len -= n;
	}
	return true;
}

static bool same_bytes(struct walk *walk, uint64_t lo, uint64_t hi)
{
	uint8_t now[256];

	while (lo < hi) {
		size_t n = hi - lo < sizeof(now) ? hi - lo : sizeof(now);
		const uint8_t *then = stack_at(walk, lo, n);

		if (!then || !late_copy(walk, lo, now, n) || memcmp(then, now, n) != 0)
			return false;
		lo += n;
	}
	return true;
}

static bool border_same(struct walk *walk)
{
	uint32_t n = walk->edge_total < 2 ? walk->edge_total : 2;

	for (uint32_t i = 1; i <= n; i++) {
		const struct edge *edge = &walk->edges[(walk->edge_total - i) & 1];
		uint64_t lo = edge->hi - edge->lo > FRAME_MAX ? edge->slot : edge->lo;

		if (!same_bytes(walk, lo, edge->hi))
			return false;
	}
	if (n == 1) {
		uint64_t end = walk->stack_addr + walk->stack_bytes;
		uint64_t lo = walk->edges[(walk->edge_total - 1) & 1].lo;

		return end - lo >= WINDOW_MIN && same_bytes(walk, lo, end);
	}
	return n == 2;
}

static int refuse(struct walk *walk, uint64_t addr)
{
	uint64_t end = walk->stack_addr + walk->stack_bytes;

	walk->fail_addr = addr;
	walk->fail = walk->stack_bytes && addr + 8 > end && addr - end + 8 < ABOVE_COPY
			     ? STOP_COPY_EXHAUSTED
			     : STOP_UNREADABLE;
	return -EFAULT;
}

int memory_read(struct walk *walk, uint64_t addr, uint64_t *ret_value)
{
	if ((!walk->in->late && !walk->in->read_memory) || walk->late == LATE_BAD)
		return refuse(walk, addr);
	if (walk->late == LATE_UNTRIED && !border_same(walk)) {
		walk->late = LATE_BAD;
		return refuse(walk, addr);
	}
	walk->late = LATE_GOOD;
	if (!late_copy(walk, addr, ret_value, sizeof(*ret_value)))
		return refuse(walk, addr);
	return 0;
}

bool memory_still_good(struct walk *walk)
{
	if (walk->late != LATE_GOOD || !walk->in->read_memory)
		return true;
	walk_memory(walk)->serial++; /* what was read is old */
	return border_same(walk);
}
