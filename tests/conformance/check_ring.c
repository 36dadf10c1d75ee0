/* Rings: full, paused, overwritten; and when the reader is woken. */
#include "checks.h"

#include <poll.h>
#include <string.h>

void check_ring_full(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr =
		faults(1, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID);
	struct perf_ringbuf *ring = NULL;
	uint64_t words[2] = {0, 0};
	struct drained d;
	int fd;

	attr.read_format = PERF_FORMAT_LOST;
	fd = open_self(side, &attr);
	side->ring(side, fd, 1, &ring);
	for (int i = 0; i < 3; i++)
		fault_counted(side, fd, 100);
	side->read(side, fd, words, sizeof(words));
	strbuf_printf(out, "300 faults: count %llu, lost %llu\n", (unsigned long long)words[0],
		(unsigned long long)words[1]);
	d = drain(side, &attr, ring);
	strbuf_printf(
		out, "%u samples of %u bytes, %u LOST\n", d.samples, d.size, d.lost_records);
	fault_counted(side, fd, 1);
	d = drain(side, &attr, ring);
	strbuf_printf(out, "one more: %u samples, %u LOST of %llu, last id is ours: %d\n",
		d.samples, d.lost_records, (unsigned long long)d.lost, d.last.id.pid != 0);
	side->ioctl(side, fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	fault_counted(side, fd, 5);
	side->ioctl(side, fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	fault_counted(side, fd, 1);
	d = drain(side, &attr, ring);
	strbuf_printf(out, "paused for 5: %u samples, %u LOST of %llu\n", d.samples,
		d.lost_records, (unsigned long long)d.lost);
	side->fault(side, 5);
	d = drain(side, &attr, ring);
	strbuf_printf(out, "disabled: %u samples\n", d.samples);
	side->read(side, fd, words, sizeof(words));
	strbuf_printf(out, "count %llu, lost %llu\n", (unsigned long long)words[0],
		(unsigned long long)words[1]);
	side->ioctl(side, fd, PERF_EVENT_IOC_RESET, 0);
	side->read(side, fd, words, sizeof(words));
	strbuf_printf(out, "reset: count %llu, lost %llu\n", (unsigned long long)words[0],
		(unsigned long long)words[1]);
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

static void wakeups(struct side *side, uint32_t wakeup, bool watermark, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	struct perf_ringbuf *ring = NULL;
	uint32_t woken = 0, drained_woken = 0;
	int fd;

	attr.wakeup_events = wakeup;
	attr.flags |= watermark ? ATTR_WATERMARK : 0;
	fd = open_self(side, &attr);
	side->ring(side, fd, 1, &ring);
	for (int i = 0; i < 100; i++) {
		fault_counted(side, fd, 1);
		woken += (side->poll(side, fd) & POLLIN) != 0;
	}
	drain(side, &attr, ring);
	for (int i = 0; i < 400; i++) {
		fault_counted(side, fd, 1);
		if (side->poll(side, fd) & POLLIN) {
			drained_woken++;
			drain(side, &attr, ring);
		}
	}
	strbuf_printf(out, "%s %u: %u of 100, %u of 400 with a reader\n",
		watermark ? "watermark" : "events", wakeup, woken, drained_woken);
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

void check_wakeups(struct side *side, struct strbuf *out)
{
	wakeups(side, 1, false, out);
	wakeups(side, 7, false, out);
	wakeups(side, 0, false, out);
	wakeups(side, 1, true, out);
	wakeups(side, 240, true, out);
	wakeups(side, 1000, true, out);
	wakeups(side, 100000, true, out);
}

void check_overwrite(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	const struct perf_event_mmap_page *page;
	struct perf_event_header header;
	uint64_t words[2] = {0, 0}, at;
	const char *data;
	uint32_t n = 0, odd = 0;
	int fd;

	attr.flags |= ATTR_WRITE_BACKWARD;
	attr.read_format = PERF_FORMAT_LOST;
	fd = open_self(side, &attr);
	page = side->map_overwrite(side, fd, 1);
	if (!page) {
		strbuf_puts(out, "no mapping\n");
		return;
	}
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 5; i++)
		side->fault(side, 100);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	data = (const char *)page + page->data_offset;
	for (at = page->data_head; at - page->data_head + 24 <= page->data_size;
		at += header.size, n++) {
		memcpy(&header, data + (at & (page->data_size - 1)), sizeof(header));
		odd += header.type != PERF_RECORD_SAMPLE || header.size != 24;
		if (!header.size)
			break;
	}
	side->read(side, fd, words, sizeof(words));
	strbuf_printf(out, "backward: head %lld, %u samples, %u odd, count %llu, lost %llu\n",
		(long long)page->data_head, n, odd, (unsigned long long)words[0],
		(unsigned long long)words[1]);
	side->unmap(side, fd, page, 1);
	side->close(side, fd);
}
