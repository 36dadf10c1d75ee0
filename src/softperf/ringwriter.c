/*
 * The kernel's kernel/events/ring_buffer.c in user space, for one writer.
 *
 *     data_tail            data_head                 head, while a record is being put
 *         |  what waits        |  reserved: [LOST] record  |        free
 *
 * Reserving reads data_tail with acquire (the reader is done with what is below it) and checks
 * that the record fits; like the kernel's CIRC_SPACE, the ring is never quite full. Committing
 * stores data_head with release.
 *
 * Wakeups: by bytes, whenever the head passes the last wakeup by the watermark, or by events,
 * every so many SAMPLEs; in both cases once a commit at most.
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
	uint64_t head;	   /* data_head, once the record at hand is committed */
	uint64_t at;	   /* where the next byte goes */
	uint64_t woken_at; /* the head's last watermark */
	uint32_t samples;  /* since the last wakeup by events */
	bool wake;
	bool paused;
	bool first_bytes; /* the next put holds the record's header */
	uint64_t lost_total, lost_unsaid;
	uint64_t wakeups;
};

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
	return writer->lost_total;
}

/* Copies to the head, around the end where it must be. */
static void writer_copy(struct ringwriter *writer, const void *bytes, size_t len)
{
	size_t off = writer->at & (writer->size - 1), first = writer->size - off;

	if (first > len)
		first = len;
	memcpy(writer->data + off, bytes, first);
	memcpy(writer->data, (const unsigned char *)bytes + first, len - first);
	writer->at += len;
}

static int lost_encode(
	const struct ringwriter *writer, const struct wick_sample_id *now, uint8_t *buf)
{
	struct wick_record record = {.type = PERF_RECORD_LOST, .id = *now};

	record.id.id = record.id.stream_id = writer->options.id;
	record.lost.id = writer->options.id;
	record.lost.lost = writer->lost_unsaid;
	return record_encode(&writer->options.layout, &record, buf, LOST_BYTES_MAX);
}

static bool writer_has_room(const struct ringwriter *writer, size_t bytes)
{
	uint64_t tail = __atomic_load_n(&writer->page->data_tail, __ATOMIC_ACQUIRE);
	uint64_t waiting = writer->options.backward ? tail - writer->head : writer->head - tail;

	if (writer->options.overwrite)
		return bytes <= writer->size;
	/* A tail that nobody could have read counts as full. */
	return waiting < writer->size && bytes <= writer->size - 1 - waiting;
}

int ringwriter_reserve(struct ringwriter *writer, size_t size, const struct wick_sample_id *now)
{
	uint8_t lost[LOST_BYTES_MAX];
	int lost_bytes = 0;

	if (size < sizeof(struct perf_event_header) || size % 8 || size > PERF_RECORD_SIZE_MAX)
		return -EINVAL;
	if (writer->lost_unsaid)
		lost_bytes = lost_encode(writer, now, lost);
	if (lost_bytes < 0)
		return lost_bytes;
	if (writer->paused || !writer_has_room(writer, size + (size_t)lost_bytes)) {
		writer->lost_unsaid++;
		writer->lost_total++;
		return -ENOSPC;
	}
	if (writer->options.backward) {
		writer->head -= size + (size_t)lost_bytes;
		writer->at = writer->head;
	} else {
		writer->at = writer->head;
		writer->head += size + (size_t)lost_bytes;
	}
	if (lost_bytes) {
		writer_copy(writer, lost, (size_t)lost_bytes);
		writer->lost_unsaid = 0;
	}
	writer->first_bytes = true;
	return 0;
}

/* Counts samples towards wakeup_events. */
static void writer_count(struct ringwriter *writer, const void *bytes, size_t len)
{
	uint32_t type;

	writer->first_bytes = false;
	if (!writer->options.wakeup_events || len < sizeof(type))
		return;
	memcpy(&type, bytes, sizeof(type));
	if (type != PERF_RECORD_SAMPLE)
		return;
	if (++writer->samples >= writer->options.wakeup_events) {
		writer->samples = 0;
		writer->woken_at++; /* as the kernel counts: a wakeup is a step of one byte */
		writer->wake = true;
	}
}

void ringwriter_put(struct ringwriter *writer, const void *bytes, size_t len)
{
	if (writer->first_bytes)
		writer_count(writer, bytes, len);
	writer_copy(writer, bytes, len);
}

static void writer_signal(struct ringwriter *writer)
{
	const uint64_t one = 1;

	writer->wake = false;
	writer->wakeups++;
	/* Fails only when 2^64 wakeups wait: the reader will wake up all the same. */
	if (write(writer->wakeup_fd, &one, sizeof(one)) < 0)
		return;
}

void ringwriter_commit(struct ringwriter *writer)
{
	uint64_t written = writer->options.backward ? -writer->head : writer->head;

	__atomic_store_n(&writer->page->data_head, writer->head, __ATOMIC_RELEASE);
	if (written - writer->woken_at > writer->options.watermark_bytes) {
		writer->woken_at += writer->options.watermark_bytes;
		writer->wake = true;
	}
	if (writer->wake)
		writer_signal(writer);
}

void ringwriter_speaker(struct ringwriter *writer, uint64_t id,
	const struct wick_layout *layout, uint32_t wakeup_events)
{
	writer->options.id = id;
	writer->options.layout = *layout;
	writer->options.wakeup_events = wakeup_events;
}

void ringwriter_pause(struct ringwriter *writer, bool paused)
{
	writer->paused = paused;
}

uint64_t ringwriter_wakeups(const struct ringwriter *writer)
{
	return writer->wakeups;
}

void ringwriter_wake(struct ringwriter *writer)
{
	writer_signal(writer);
}

int ringwriter_write(struct ringwriter *writer, const void *record, size_t size)
{
	struct wick_record decoded = {0};
	int rc;

	if (writer->lost_unsaid)
		(void)wick_record_decode(&writer->options.layout, record, size, &decoded);
	rc = ringwriter_reserve(writer, size, &decoded.id);
	if (rc < 0)
		return rc;
	ringwriter_put(writer, record, size);
	ringwriter_commit(writer);
	return 0;
}
