/*
 * perf_ringbuf_open perf_ringbuf_head_tail perf_ringbuf_close: the ring that the kernel and one
 * reader share, and an iterator over its records.
 *
 *     mapping:  | metadata page |  data page 0 .. 2^n - 1  |
 *                 data_head, data_tail: bytes ever written / read, not wrapped
 *
 * The kernel (or softperf) writes at data_head; we read from data_tail up to a head that was
 * read with acquire, and give room back by a release store to data_tail. A record that wraps
 * around the end of the data is stitched into a buffer of the ring's own.
 *
 * One thread reads a ring at a time. All functions return 0 or more, or a negative errno.
 */
#ifndef WICK_PERF_RINGBUF_H
#define WICK_PERF_RINGBUF_H

#include <wick/api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct perf_ringbuf;

/*
 * Maps the ring of an event with `pages` data pages (a power of two; -EINVAL otherwise). The
 * event stays the caller's; the ring is the caller's until perf_ringbuf_close(). -EPERM: above
 * RLIMIT_MEMLOCK plus kernel.perf_event_mlock_kb a CPU: ask for less. -EINVAL also for an
 * inherited event without a CPU. -ENOMEM.
 */
WICK_API int perf_ringbuf_open(int fd, size_t pages, struct perf_ringbuf **ret_ring);

/*
 * The same for an event with attr.write_backward, mapped read-only: nobody waits for the
 * reader, the newest records replace the oldest. perf_ringbuf_fetch() begins anew each time and
 * says how many bytes can be read, the iterator goes from the newest record to older ones and
 * ends at the one that was cut by newer ones; perf_ringbuf_release() does nothing. Pause the
 * output (PERF_EVENT_IOC_PAUSE_OUTPUT) from before the fetch until the last record has been
 * used.
 */
WICK_API int perf_ringbuf_open_backward(int fd, size_t pages, struct perf_ringbuf **ret_ring);

/*
 * Where the writer and the reader are, in bytes since the ring was made (acquire on the head).
 * head - tail bytes are waiting.
 */
WICK_API void perf_ringbuf_head_tail(
	const struct perf_ringbuf *ring, uint64_t *ret_head, uint64_t *ret_tail);

/* Unmaps and frees; NULL is fine. */
WICK_API void perf_ringbuf_close(struct perf_ringbuf *ring);

/* The size of the data area in bytes. */
WICK_API size_t perf_ringbuf_size(const struct perf_ringbuf *ring);

/*
 * The iterator.
 *
 *     perf_ringbuf_fetch(ring);                         how far the writer is, once
 *     while ((rc = perf_ringbuf_peek(ring, &record)) > 0) {
 *             use record: a struct perf_event_header and its body, contiguous
 *             perf_ringbuf_next(ring);
 *     }
 *     perf_ringbuf_release(ring);                       the room goes back to the writer
 *
 * A record stays valid until perf_ringbuf_next() *and* perf_ringbuf_release(); a stitched one
 * until the next perf_ringbuf_peek() behind perf_ringbuf_next().
 */

/* Reads data_head with acquire; what was written before it is visible. Returns bytes waiting.
 */
WICK_API uint64_t perf_ringbuf_fetch(struct perf_ringbuf *ring);

/*
 * The record at the reading position: its size in bytes, 0 when all that was fetched has been
 * read, or -EBADMSG when the bytes there are no record (a size below 8 or beyond the head: the
 * ring was overwritten); nothing behind that point can be read, and perf_ringbuf_skip() gives
 * it up.
 */
WICK_API int perf_ringbuf_peek(struct perf_ringbuf *ring, const void **ret_record);

/* Steps over the record that was peeked. */
WICK_API void perf_ringbuf_next(struct perf_ringbuf *ring);

/* Gives up everything fetched; returns how many bytes that were. */
WICK_API uint64_t perf_ringbuf_skip(struct perf_ringbuf *ring);

/* Goes back to data_tail: what was stepped over and not released is read once more. */
WICK_API void perf_ringbuf_rewind(struct perf_ringbuf *ring);

/* Stores the reading position to data_tail with release. */
WICK_API void perf_ringbuf_release(struct perf_ringbuf *ring);

#ifdef __cplusplus
}
#endif
#endif
