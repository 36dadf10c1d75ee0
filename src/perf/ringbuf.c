/*
 * The reader's side of a ring.
 *
 *     counters (never wrapped):   tail <= pos <= head <= tail + size
 *
 *         given back      read         fetched       being written
 *     ----------------|-----------|----------------|---------------->
 *                    tail        pos             head
 *
 * `tail` stands in the shared page, `pos` and `head` are ours: the writer sees that room is
 * free when perf_ringbuf_release() stores pos. An offset into the data is a counter & (size -
 * 1). A record that runs over the end is copied together into `stitch`:
 *
 *     | ...rest of it |    ...    | first part... |   ->  stitch: | first part...  ...rest of
 * it |
 *
 * A ring that is written backward has its newest record at the head, and older ones above it;
 * the window of `size` bytes above the head ends somewhere inside of the oldest:
 *
 *     head = pos                                  head + size
 *         | newest | older | older still | oldes|
 *
 * What stands in the shared page is not trusted further than this file: sizes are taken once,
 * when the ring is mapped; the head must not be more than `size` ahead; a record lies inside
 * what was fetched, and its size is read before it is checked, and only once.
 */
#include "wick/perf_ringbuf.h"

#include "abi/perf_abi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct perf_ringbuf {
	struct perf_event_mmap_page *page;
	size_t mapped_bytes;
	const unsigned char *data;
	uint64_t size; /* of the data, a power of two */
	uint64_t head, pos;
	bool backward;	    /* the records that can be read lie in [pos, head), newest first */
	uint32_t peeked;    /* the size of the record at pos; 0: not looked at */
	const void *record; /* where it is, in the ring or in stitch */
	unsigned char stitch[PERF_RECORD_SIZE_MAX + 1];
};

/* Where the data lies: what the page says, or behind the page on kernels before 4.1. */
static int ringbuf_find_data(struct perf_ringbuf *ring, size_t page_bytes)
{
	uint64_t offset = ring->page->data_offset, size = ring->page->data_size;

	if (!size) {
		offset = page_bytes;
		size = ring->mapped_bytes - page_bytes;
	}
	if (offset > ring->mapped_bytes || size > ring->mapped_bytes - offset ||
		(size & (size - 1)))
		return -EINVAL;
	ring->data = (const unsigned char *)ring->page + offset;
	ring->size = size;
	return 0;
}

static int ringbuf_map(int fd, size_t pages, bool backward, struct perf_ringbuf **ret_ring)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_ringbuf *ring;
	void *map;
	int rc;

	if (!pages || (pages & (pages - 1)) || pages > SIZE_MAX / page_bytes / 2)
		return -EINVAL;
	ring = malloc(sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->mapped_bytes = (pages + 1) * page_bytes;
	ring->backward = backward;
	map = mmap(NULL, ring->mapped_bytes, PROT_READ | (backward ? 0 : PROT_WRITE),
		MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		rc = -errno;
		free(ring);
		return rc;
	}
	ring->page = map;
	rc = ringbuf_find_data(ring, page_bytes);
	if (rc < 0) {
		perf_ringbuf_close(ring);
		return rc;
	}
	ring->pos = __atomic_load_n(&ring->page->data_tail, __ATOMIC_RELAXED);
	ring->head = ring->pos;
	ring->peeked = 0;
	*ret_ring = ring;
	return 0;
}

int perf_ringbuf_open(int fd, size_t pages, struct perf_ringbuf **ret_ring)
{
	return ringbuf_map(fd, pages, false, ret_ring);
}

int perf_ringbuf_open_backward(int fd, size_t pages, struct perf_ringbuf **ret_ring)
{
	return ringbuf_map(fd, pages, true, ret_ring);
}

void perf_ringbuf_close(struct perf_ringbuf *ring)
{
	if (!ring)
		return;
	munmap(ring->page, ring->mapped_bytes);
	free(ring);
}

void perf_ringbuf_head_tail(
	const struct perf_ringbuf *ring, uint64_t *ret_head, uint64_t *ret_tail)
{
	*ret_tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_RELAXED);
	*ret_head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

size_t perf_ringbuf_size(const struct perf_ringbuf *ring)
{
	return ring->size;
}

uint64_t perf_ringbuf_fetch(struct perf_ringbuf *ring)
{
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	if (ring->backward) {
		uint64_t written = -ring->head;

		ring->pos = ring->head;
		ring->head += written < ring->size ? written : ring->size;
		ring->peeked = 0;
	}
	return ring->head - ring->pos;
}

/* Copies `len` bytes at the counter `pos`, around the end where it must be. */
static void ringbuf_copy(const struct perf_ringbuf *ring, uint64_t pos, void *to, size_t len)
{
	size_t off = pos & (ring->size - 1), first = ring->size - off;

	if (first > len)
		first = len;
	memcpy(to, ring->data + off, first);
	memcpy((unsigned char *)to + first, ring->data, len - first);
}

int perf_ringbuf_peek(struct perf_ringbuf *ring, const void **ret_record)
{
	uint64_t waiting = ring->head - ring->pos;
	struct perf_event_header header;
	size_t off;

	if (ring->peeked) {
		*ret_record = ring->record;
		return (int)ring->peeked;
	}
	if (!waiting)
		return 0;
	if (waiting < sizeof(header) || waiting > ring->size)
		return ring->backward ? 0 : -EBADMSG;
	ringbuf_copy(ring, ring->pos, &header, sizeof(header));
	if (header.size < sizeof(header))
		return -EBADMSG;
	if (header.size > waiting)
		return ring->backward ? 0 : -EBADMSG;
	off = ring->pos & (ring->size - 1);
	if (header.size <= ring->size - off) {
		ring->record = ring->data + off;
	} else {
		ringbuf_copy(ring, ring->pos, ring->stitch, header.size);
		ring->record = ring->stitch;
	}
	ring->peeked = header.size;
	*ret_record = ring->record;
	return header.size;
}

void perf_ringbuf_next(struct perf_ringbuf *ring)
{
	ring->pos += ring->peeked;
	ring->peeked = 0;
}

void perf_ringbuf_rewind(struct perf_ringbuf *ring)
{
	if (ring->backward)
		perf_ringbuf_fetch(ring);
	else
		ring->pos = __atomic_load_n(&ring->page->data_tail, __ATOMIC_RELAXED);
	ring->peeked = 0;
}

uint64_t perf_ringbuf_skip(struct perf_ringbuf *ring)
{
	uint64_t bytes = ring->head - ring->pos;

	ring->pos = ring->head;
	ring->peeked = 0;
	return bytes;
}

void perf_ringbuf_release(struct perf_ringbuf *ring)
{
	if (!ring->backward)
		__atomic_store_n(&ring->page->data_tail, ring->pos, __ATOMIC_RELEASE);
}
