/*
 * The kernel's kernel/events/ring_buffer.c in user space, for one writer and what interrupts
 * it.
 *
 *     data_tail            data_head                                head
 *         |  what waits        |  reserved: [LOST] A   [LOST] B       |      free
 *
 * Reserving reads data_tail with acquire (the reader is done with what is below it) and checks
 * that the record fits; like the kernel's CIRC_SPACE, the ring is never quite full. Then it
 * moves `head`, which is the writer's own. When A is interrupted while its bytes are put, B
 * takes what lies behind; B is finished first, but must not be seen, for A in front of it is
 * not: who begins counts `nest` up, and only the outermost that ends stores data_head, with
 * release. An interrupt may come between that store and the end of the nest, and its record
 * would be left behind: so the outermost looks again.
 *
 *     A: nest 0 -> 1, head += a                    nest == 1: data_head = head, nest = 0, again
 *                 B: nest 1 -> 2, head += b, nest 2 -> 1       if head has moved meanwhile
 *
 * What an interrupt of the same thread may change is read and written by single instructions
 * (the kernel's local_t): relaxed atomics.
 *
 * Wakeups: by bytes, whenever the head passes the last wakeup by the watermark, or by events,
 * every so many SAMPLEs. Both move `wakeup`; the outermost signals once if it moved since it
 * began.
 */
#include "softperf/ringwriter.h"

#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "record/encode.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

/* LOST: header, id, lost and a trailer of six words. */
#define LOST_BYTES_MAX (8 + 16 + 6 * 8)

struct ringwriter {
	struct perf_event_mmap_page *page;
	unsigned char *data;
	uint64_t size;
	size_t mapped_bytes;
	struct ringwriter_options options;
	int fd, wakeup_fd;
	/* ---- changed by records that nest in each other */
	uint32_t nest;
	uint64_t head;	  /* behind what is reserved */
	uint64_t wakeup;  /* moves with each reason to wake the reader */
	uint32_t samples; /* since the last wakeup by events */
	bool paused;
	uint64_t lost_total, lost_unsaid;
	bool due; /* a deferred wakeup */
	uint64_t wakeups;
};

static uint64_t local_read(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static void local_add(uint64_t *value, uint64_t n)
{
	__atomic_fetch_add(value, n, __ATOMIC_RELAXED);
}

static int writer_map(struct ringwriter *writer, size_t page_bytes)
{
	void *map;

	writer->fd = memfd_create("wick-ring", MFD_CLOEXEC);
	if (writer->fd < 0 || ftruncate(writer->fd, (off_t)writer->mapped_bytes) < 0)
		return -errno;
	map = mmap(
		NULL, writer->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, writer->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	writer->page = map;
	writer->data = (unsigned char *)map + page_bytes;
	writer->page->version = 0;
	writer->page->size = (uint32_t)offsetof(struct perf_event_mmap_page, reserved);
	writer->page->data_offset = page_bytes;
	writer->page->data_size = writer->size;
	writer->wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return writer->wakeup_fd < 0 ? -errno : 0;
}

int ringwriter_new(const struct ringwriter_options *options, struct ringwriter **ret_writer)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), pages = options->pages;
	struct ringwriter *writer;
	int rc;

	if (!pages || (pages & (pages - 1)) || pages > SIZE_MAX / page_bytes / 2)
		return -EINVAL;
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return -ENOMEM;
	writer->options = *options;
	writer->size = pages * page_bytes;
	writer->mapped_bytes = (pages + 1) * page_bytes;
	writer->fd = writer->wakeup_fd = -1;
	if (!options->watermark_bytes)
		writer->options.watermark_bytes = (uint32_t)(writer->size / 2);
	else if (options->watermark_bytes > writer->size)
		writer->options.watermark_bytes = (uint32_t)writer->size;
	rc = writer_map(writer, page_bytes);
	if (rc < 0) {
		ringwriter_free(writer);
		return rc;
	}
	*ret_writer = writer;
	return 0;
}

void ringwriter_free(struct ringwriter *writer)
{
	if (!writer)
		return;
	if (writer->page)
		munmap(writer->page, writer->mapped_bytes);
	cleanup_close_fd(&writer->fd);
	cleanup_close_fd(&writer->wakeup_fd);
	free(writer);
}

int ringwriter_fd(const struct ringwriter *writer)
{
	return writer->fd;
}

int ringwriter_wakeup_fd(const struct ringwriter *writer)
{
	return writer->wakeup_fd;
}

uint64_t ringwriter_lost_total(const struct ringwriter *writer)
{
	return local_read(&writer->lost_total);
}

static int lost_encode(const struct ringwriter_speaker *speaker,
	const struct wick_sample_id *now, uint64_t lost, uint8_t *buf)
{
	struct wick_record record = {.type = PERF_RECORD_LOST, .id = *now};

	record.id.id = record.id.stream_id = speaker->id;
	record.lost.id = speaker->id;
	record.lost.lost = lost;
	return record_encode(speaker->layout, &record, buf, LOST_BYTES_MAX);
}

static bool writer_has_room(const struct ringwriter *writer, uint64_t head, size_t bytes)
{
	uint64_t tail = __atomic_load_n(&writer->page->data_tail, __ATOMIC_ACQUIRE);
	uint64_t waiting = writer->options.backward ? tail - head : head - tail;

	if (writer->options.overwrite)
		return bytes <= writer->size;
	/* A tail that nobody could have read counts as full. */
	return waiting < writer->size && bytes <= writer->size - 1 - waiting;
}

static void writer_signal(struct ringwriter *writer)
{
	const uint64_t one = 1;

	local_add(&writer->wakeups, 1);
	/* Fails only when 2^64 wakeups wait: the reader will wake up all the same. */
	if (write(writer->wakeup_fd, &one, sizeof(one)) < 0)
		return;
}

/* perf_output_get_handle() */
static void record_begin(struct ringwriter *writer, struct ringwriter_record *record)
{
	__atomic_fetch_add(&writer->nest, 1, __ATOMIC_RELAXED);
	record->writer = writer;
	record->wakeup = local_read(&writer->wakeup);
}

/* perf_output_put_handle() */
static void record_end(struct ringwriter_record *record)
{
	struct ringwriter *writer = record->writer;
	uint64_t head;

	if (__atomic_load_n(&writer->nest, __ATOMIC_RELAXED) > 1) {
		__atomic_fetch_sub(&writer->nest, 1, __ATOMIC_RELAXED);
		return;
	}
	do {
		__atomic_store_n(&writer->nest, 1, __ATOMIC_RELAXED);
		head = local_read(&writer->head);
		__atomic_store_n(&writer->page->data_head, head, __ATOMIC_RELEASE);
		__atomic_store_n(&writer->nest, 0, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (head != local_read(&writer->head));
	if (record->wakeup == local_read(&writer->wakeup))
		return;
	if (writer->options.deferred)
		__atomic_store_n(&writer->due, true, __ATOMIC_RELAXED);
	else
		writer_signal(writer);
}

/* Where the record begins; false: there is no room. */
static bool writer_take(struct ringwriter *writer, size_t bytes, uint64_t *ret_at)
{
	uint64_t head = local_read(&writer->head), next, written;

	do {
		if (!writer_has_room(writer, head, bytes))
			return false;
		next = writer->options.backward ? head - bytes : head + bytes;
	} while (!__atomic_compare_exchange_n(
		&writer->head, &head, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*ret_at = writer->options.backward ? next : head;
	written = writer->options.backward ? -next : next;
	if (written - local_read(&writer->wakeup) > writer->options.watermark_bytes)
		local_add(&writer->wakeup, writer->options.watermark_bytes);
	return true;
}

static void writer_lose(struct ringwriter *writer)
{
	local_add(&writer->lost_unsaid, 1);
	local_add(&writer->lost_total, 1);
}

/* In front of the record; what was lost since its length was known is said with it. */
static void put_lost(struct ringwriter_record *record, const struct ringwriter_speaker *speaker,
	const struct wick_sample_id *now)
{
	uint64_t lost = __atomic_exchange_n(&record->writer->lost_unsaid, 0, __ATOMIC_RELAXED);
	uint8_t bytes[LOST_BYTES_MAX];
	int len = lost_encode(speaker, now, lost, bytes);

	record->first_bytes = false;
	ringwriter_put(record, bytes, (size_t)len);
}

int ringwriter_reserve(struct ringwriter *writer, const struct ringwriter_speaker *speaker,
	size_t size, const struct wick_sample_id *now, struct ringwriter_record *ret_record)
{
	const struct ringwriter_speaker own = {
		writer->options.id, &writer->options.layout, writer->options.wakeup_events};
	struct ringwriter_record record = {.writer = writer};
	uint8_t lost[LOST_BYTES_MAX];
	int lost_bytes = 0;

	if (size < sizeof(struct perf_event_header) || size % 8 || size > PERF_RECORD_SIZE_MAX)
		return -EINVAL;
	speaker = speaker ? speaker : &own;
	if (__atomic_load_n(&writer->paused, __ATOMIC_RELAXED)) {
		writer_lose(writer);
		return -ENOSPC;
	}
	if (local_read(&writer->lost_unsaid))
		lost_bytes = lost_encode(speaker, now, 0, lost);
	if (lost_bytes < 0)
		return lost_bytes;
	record.wakeup_events = speaker->wakeup_events;
	record_begin(writer, &record);
	if (!writer_take(writer, size + (size_t)lost_bytes, &record.at)) {
		writer_lose(writer);
		record_end(&record);
		return -ENOSPC;
	}
	if (lost_bytes)
		put_lost(&record, speaker, now);
	record.first_bytes = true;
	*ret_record = record;
	return 0;
}

/* Counts samples towards wakeup_events. */
static void record_count(struct ringwriter_record *record, const void *bytes, size_t len)
{
	struct ringwriter *writer = record->writer;
	uint32_t type;

	record->first_bytes = false;
	if (!record->wakeup_events || len < sizeof(type))
		return;
	memcpy(&type, bytes, sizeof(type));
	if (type != PERF_RECORD_SAMPLE || __atomic_add_fetch(&writer->samples, 1,
						  __ATOMIC_RELAXED) < record->wakeup_events)
		return;
	__atomic_fetch_sub(&writer->samples, record->wakeup_events, __ATOMIC_RELAXED);
	local_add(&writer->wakeup, 1); /* as the kernel counts: a step of one byte */
}

/* Copies, around the end where it must be. */
void ringwriter_put(struct ringwriter_record *record, const void *bytes, size_t len)
{
	struct ringwriter *writer = record->writer;
	size_t off = record->at & (writer->size - 1), first = writer->size - off;

	if (record->first_bytes)
		record_count(record, bytes, len);
	if (first > len)
		first = len;
	memcpy(writer->data + off, bytes, first);
	memcpy(writer->data, (const unsigned char *)bytes + first, len - first);
	record->at += len;
}

void ringwriter_commit(struct ringwriter_record *record)
{
	record_end(record);
}

void ringwriter_pause(struct ringwriter *writer, bool paused)
{
	__atomic_store_n(&writer->paused, paused, __ATOMIC_RELAXED);
}

void ringwriter_head_tail(
	const struct ringwriter *writer, uint64_t *ret_head, uint64_t *ret_tail)
{
	*ret_head = __atomic_load_n(&writer->page->data_head, __ATOMIC_RELAXED);
	*ret_tail = __atomic_load_n(&writer->page->data_tail, __ATOMIC_ACQUIRE);
}

uint64_t ringwriter_wakeups(const struct ringwriter *writer)
{
	return local_read(&writer->wakeups);
}

bool ringwriter_deferred(struct ringwriter *writer)
{
	if (!__atomic_exchange_n(&writer->due, false, __ATOMIC_RELAXED))
		return false;
	writer_signal(writer);
	return true;
}

void ringwriter_wake(struct ringwriter *writer)
{
	writer_signal(writer);
}

int ringwriter_write(struct ringwriter *writer, const void *record, size_t size)
{
	struct wick_record decoded = {0};
	struct ringwriter_record reserved;
	int rc;

	if (local_read(&writer->lost_unsaid))
		(void)wick_record_decode(&writer->options.layout, record, size, &decoded);
	rc = ringwriter_reserve(writer, NULL, size, &decoded.id, &reserved);
	if (rc < 0)
		return rc;
	ringwriter_put(&reserved, record, size);
	ringwriter_commit(&reserved);
	return 0;
}
