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

/* Without write_backward: where the newest ends is known, but not where a record begins. */
void check_overwrite_forward(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	const struct perf_event_mmap_page *page;
	uint64_t words[2] = {0, 0};
	int fd;

	attr.read_format = PERF_FORMAT_LOST;
	fd = open_self(side, &attr);
	page = side->map_overwrite(side, fd, 1);
	if (!page) {
		strbuf_puts(out, "no mapping\n");
		return;
	}
	for (int i = 0; i < 5; i++)
		fault_counted(side, fd, 100);
	side->read(side, fd, words, sizeof(words));
	strbuf_printf(out, "forward: head %lld, count %llu, lost %llu\n",
		(long long)page->data_head, (unsigned long long)words[0],
		(unsigned long long)words[1]);
	side->unmap(side, fd, page, 1);
	side->close(side, fd);
}

static void samples_by_id(const struct perf_event_attr *attr, struct perf_ringbuf *ring,
	const uint64_t ids[2], struct strbuf *out)
{
	uint32_t n[3] = {0, 0, 0};
	struct wick_layout layout;
	const void *bytes;
	int size;

	wick_layout_init(&layout, attr);
	perf_ringbuf_fetch(ring);
	while ((size = perf_ringbuf_peek(ring, &bytes)) > 0) {
		struct wick_record r;

		if (wick_record_decode(&layout, bytes, (size_t)size, &r) == size)
			n[r.id.id == ids[0] ? 0 : r.id.id == ids[1] ? 1 : 2]++;
		perf_ringbuf_next(ring);
	}
	perf_ringbuf_release(ring);
	strbuf_printf(
		out, "%u of the first, %u of the second, %u of others\n", n[0], n[1], n[2]);
}

/*
 * Two events and one ring. Of two kinds: where two software events of one kind sample the same
 * happening, Linux 6.18 fills in the id once and gives it to both (___perf_sw_event()).
 */
void check_output(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP | PERF_SAMPLE_IDENTIFIER);
	struct perf_event_attr other = attr;
	int first = open_self(side, &attr), second;
	struct perf_ringbuf *ring = NULL;
	uint64_t ids[2] = {0, 0};

	other.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	second = open_self(side, &other);
	side->ioctl(side, first, PERF_EVENT_IOC_ID, (uintptr_t)&ids[0]);
	side->ioctl(side, second, PERF_EVENT_IOC_ID, (uintptr_t)&ids[1]);
	side->ring(side, first, 4, &ring);
	side->ioctl(side, second, PERF_EVENT_IOC_ENABLE, 0);
	fault_counted(side, first, 3);
	samples_by_id(&attr, ring, ids, out);
	side->ioctl(side, second, PERF_EVENT_IOC_SET_OUTPUT, (uint64_t)first);
	fault_counted(side, first, 3);
	side->ioctl(side, second, PERF_EVENT_IOC_DISABLE, 0);
	samples_by_id(&attr, ring, ids, out);
	fault_counted(side, second, 5);
	strbuf_puts(out, "the first is disabled: ");
	samples_by_id(&attr, ring, ids, out);
	side->ioctl(side, second, PERF_EVENT_IOC_SET_OUTPUT, (uint64_t)-1);
	fault_counted(side, second, 5);
	strbuf_puts(out, "taken away again: ");
	samples_by_id(&attr, ring, ids, out);
	perf_ringbuf_close(ring);
	side->close(side, second);
	side->close(side, first);
}

/* ---- throttling */

enum { THROTTLE_NS = 10000 }; /* as often as a timer may: 100,000 a second */

struct throttling {
	uint32_t throttles, cycles;    /* cycles: THROTTLE, one SAMPLE, UNTHROTTLE */
	uint32_t odd, behind;	       /* behind: samples since THROTTLE */
	uint32_t samples, most, least; /* from UNTHROTTLE to THROTTLE, in whole ticks */
	uint64_t last_ns;
	bool throttled, whole;
};

static void throttling_add(struct throttling *t, const struct wick_record *r, uint64_t id)
{
	t->odd += r->id.time < t->last_ns;
	t->last_ns = r->id.time;
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		t->behind += t->throttled;
		t->samples++;
		break;
	case PERF_RECORD_THROTTLE:
		t->odd += t->throttled || r->throttle.id != id || r->throttle.time > r->id.time;
		t->throttles++;
		t->throttled = true;
		t->behind = 0;
		break;
	case PERF_RECORD_UNTHROTTLE:
		t->odd += !t->throttled || r->throttle.id != id;
		t->cycles += t->throttled && t->behind == 1;
		if (t->whole && t->samples > t->most)
			t->most = t->samples;
		if (t->whole && (!t->least || t->samples < t->least))
			t->least = t->samples;
		t->whole = true;
		t->throttled = false;
		t->samples = 0;
		break;
	default:
		t->odd++;
	}
}

/* Spins until something was throttled, `rounds` times at most. */
static struct throttling throttle(struct side *side, int rounds)
{
	struct perf_event_attr attr =
		faults(THROTTLE_NS, PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER);
	struct throttling t = {.throttles = 0};
	struct perf_ringbuf *ring = NULL;
	struct wick_layout layout;
	const void *bytes;
	uint64_t id = 0;
	int fd, size;

	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.flags &= ~ATTR_EXCLUDE_KERNEL;
	wick_layout_init(&layout, &attr);
	fd = open_self(side, &attr);
	side->ring(side, fd, 64, &ring);
	side->ioctl(side, fd, PERF_EVENT_IOC_ID, (uintptr_t)&id);
	for (int i = 0; i < rounds && !t.throttles; i++) {
		side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
		side->spin(side, 50000000);
		side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
		t.samples = 0;
		t.whole = t.throttled = false;
		perf_ringbuf_fetch(ring);
		while ((size = perf_ringbuf_peek(ring, &bytes)) > 0) {
			struct wick_record r;

			if (wick_record_decode(&layout, bytes, (size_t)size, &r) == size)
				throttling_add(&t, &r, id);
			perf_ringbuf_next(ring);
		}
		perf_ringbuf_release(ring);
	}
	perf_ringbuf_close(ring);
	side->close(side, fd);
	return t;
}

/*
 * At its fastest a timer reaches the limit now and then: 400 interrupts in a tick of 4 ms. What
 * the records say then is the same wherever the limit lies.
 */
void check_throttled(struct side *side, struct strbuf *out)
{
	struct throttling t = throttle(side, 20);

	if (!t.throttles)
		side->skip = "no tick had as many interrupts as the limit allows";
	strbuf_printf(out,
		"throttled 1: a sample behind each THROTTLE, then UNTHROTTLE %d, odd %u\n",
		t.cycles + t.throttled >= t.throttles, t.odd);
}

/* Page faults come one by one and may be as many as they like. */
void check_not_throttled(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP);
	struct perf_ringbuf *ring = NULL;
	int fd = open_self(side, &attr);
	struct drained d;

	side->ring(side, fd, 64, &ring);
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 30; i++)
		side->fault(side, 100);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	d = drain(side, &attr, ring);
	strbuf_printf(out, "3000 faults: %u samples, %u others\n", d.samples, d.others);
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

/* 20,000 a second are 80 a tick of 4 ms; asked for are 400. */
void check_throttle_limit(struct side *side, struct strbuf *out)
{
	struct throttling t;

	if (side->limit(side, 20000) < 0) {
		side->skip =
			"the limit is the whole machine's; WICK_TEST_SYSCTLS=1 sets it for "
			"50 ms";
		return;
	}
	t = throttle(side, 1);
	side->limit(side, 0);
	/* One or two more: they came between the tick and the interrupt's turn. */
	strbuf_printf(out, "throttled in most ticks %d, with 80 samples in a tick %d, odd %u\n",
		t.throttles >= 8, t.least >= 80 && t.least <= 82, t.odd);
}
