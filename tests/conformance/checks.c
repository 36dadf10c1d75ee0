/*
 * The checks. What a check writes must not depend on addresses, times or pids: numbers that are
 * the same on every run, and yes or no for the rest.
 *
 * Page faults are the event of choice: user space makes them one by one.
 */
#include "side.h"

#include "base/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct perf_event_attr faults(uint64_t period, uint64_t sample_type)
{
	return (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER8,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = period,
		.sample_type = sample_type,
		.flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_SAMPLE_ID_ALL};
}

static const char *error_name(int code)
{
	return code >= 0 ? "ok" : strerrorname_np(-code);
}

static int open_self(struct side *side, struct perf_event_attr *attr)
{
	return side->open(side, attr, SIDE_SELF, -1, -1, 0);
}

/* ---- argument errors */

struct argument_case {
	const char *name;
	struct perf_event_attr attr; /* added to faults(1, IP): every field but size is or-ed */
	int pid, cpu, group;
	unsigned long flags;
	uint32_t size;
};

static const struct argument_case argument_cases[] = {
	{"plain", {0}, 0, -1, -1, 0, 0},
	{"cpu 0", {0}, 0, 0, -1, 0, 0},
	{"nobody, no cpu", {0}, -1, -1, -1, 0, 0},
	{"cpu 100000", {0}, 0, 100000, -1, 0, 0},
	{"cpu -2", {0}, 0, -2, -1, 0, 0},
	{"no such task", {0}, SIDE_GONE, -1, -1, 0, 0},
	{"no such group", {0}, 0, -1, 9999, 0, 0},
	{"unknown open flag", {0}, 0, -1, -1, 1ul << 10, 0},
	{"cgroup without cpu", {0}, 0, -1, -1, PERF_FLAG_PID_CGROUP, 0},
	{"size 0", {0}, 0, -1, -1, 0, UINT32_MAX},
	{"size 8", {0}, 0, -1, -1, 0, 8},
	{"size 64", {0}, 0, -1, -1, 0, 64},
	{"size 72", {0}, 0, -1, -1, 0, 72},
	{"size 5000", {0}, 0, -1, -1, 0, 5000},
	{"unknown type", {.type = 0x7fff0000}, 0, -1, -1, 0, 0},
	{"unknown software event", {.config = 0x40}, 0, -1, -1, 0, 0},
	{"reserved_2", {.reserved_2 = 1}, 0, -1, -1, 0, 0},
	{"unknown sample bit", {.sample_type = 1ull << 30}, 0, -1, -1, 0, 0},
	{"unknown format bit", {.read_format = 1ull << 20}, 0, -1, -1, 0, 0},
	{"period with bit 63", {.sample_period = 1ull << 63}, 0, -1, -1, 0, 0},
	{"frequency beyond the limit", {.sample_period = 1u << 30, .flags = ATTR_FREQ}, 0, -1,
		-1, 0, 0},
	{"branch stack, no kind", {.sample_type = PERF_SAMPLE_BRANCH_STACK}, 0, -1, -1, 0, 0},
	{"branch stack",
		{.sample_type = PERF_SAMPLE_BRANCH_STACK,
			.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY},
		0, -1, -1, 0, 0},
	{"user regs, empty mask", {.sample_type = PERF_SAMPLE_REGS_USER}, 0, -1, -1, 0, 0},
	{"interrupt regs, empty mask", {.sample_type = PERF_SAMPLE_REGS_INTR}, 0, -1, -1, 0, 0},
	{"stack of 12 bytes", {.sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 12},
		0, -1, -1, 0, 0},
	{"stack of 65,528 bytes",
		{.sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65528}, 0, -1, -1,
		0, 0},
	{"stack of 65,536 bytes",
		{.sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65536}, 0, -1, -1,
		0, 0},
	{"both weights", {.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT}, 0, -1,
		-1, 0, 0},
	{"inherit_thread alone", {.flags = ATTR_INHERIT_THREAD}, 0, -1, -1, 0, 0},
	{"inherit_thread", {.flags = ATTR_INHERIT_THREAD | ATTR_INHERIT}, 0, -1, -1, 0, 0},
	{"remove and enable on exec", {.flags = ATTR_REMOVE_ON_EXEC | ATTR_ENABLE_ON_EXEC}, 0,
		-1, -1, 0, 0},
	{"sigtrap alone", {.flags = ATTR_SIGTRAP}, 0, -1, -1, 0, 0},
	{"inherited READ without tid", {.flags = ATTR_INHERIT, .sample_type = PERF_SAMPLE_READ},
		0, -1, -1, 0, 0},
	{"inherited READ with tid",
		{.flags = ATTR_INHERIT, .sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID}, 0,
		-1, -1, 0, 0},
	{"clock monotonic", {.flags = ATTR_USE_CLOCKID, .clockid = CLOCK_MONOTONIC}, 0, -1, -1,
		0, 0},
	{"clock 99", {.flags = ATTR_USE_CLOCKID, .clockid = 99}, 0, -1, -1, 0, 0},
	{"clock of the process", {.flags = ATTR_USE_CLOCKID, .clockid = 2}, 0, -1, -1, 0, 0},
};

static struct perf_event_attr case_attr(const struct argument_case *c)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP);

	attr.type |= c->attr.type;
	attr.config |= c->attr.config;
	attr.sample_type |= c->attr.sample_type;
	attr.read_format |= c->attr.read_format;
	attr.flags |= c->attr.flags;
	attr.branch_sample_type = c->attr.branch_sample_type;
	attr.sample_regs_user = c->attr.sample_regs_user;
	attr.sample_regs_intr = c->attr.sample_regs_intr;
	attr.sample_stack_user = c->attr.sample_stack_user;
	attr.clockid = c->attr.clockid;
	attr.reserved_2 = c->attr.reserved_2;
	if (c->attr.sample_period)
		attr.sample_period = c->attr.sample_period;
	if (c->size)
		attr.size = c->size == UINT32_MAX ? 0 : c->size;
	return attr;
}

static void check_arguments(struct side *side, struct strbuf *out)
{
	for (size_t i = 0; i < sizeof(argument_cases) / sizeof(argument_cases[0]); i++) {
		const struct argument_case *c = &argument_cases[i];
		/* Longer than any kernel knows: what is read behind the struct must be ours. */
		union {
			struct perf_event_attr attr;
			char room[8192];
		} u = {.room = {0}};
		int fd;

		u.attr = case_attr(c);
		fd = side->open(side, &u.attr, c->pid, c->cpu, c->group, c->flags);
		strbuf_printf(out, "%s: %s", c->name, error_name(fd));
		if (fd == -E2BIG) /* the kernel says what it knows */
			strbuf_printf(out, ", size %u", u.attr.size);
		strbuf_putc(out, '\n');
		if (fd >= 0)
			side->close(side, fd);
	}
}

static void check_groups_open(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP), other = attr;
	int leader = open_self(side, &attr);
	int sibling = side->open(side, &attr, 0, -1, leader, 0), fd;

	strbuf_printf(out, "sibling: %s\n", error_name(sibling));
	strbuf_printf(out, "of a sibling: %s\n",
		error_name(side->open(side, &attr, 0, -1, sibling, 0)));
	strbuf_printf(
		out, "other cpu: %s\n", error_name(side->open(side, &attr, 0, 0, leader, 0)));
	other.flags |= ATTR_INHERIT;
	strbuf_printf(
		out, "inherits: %s\n", error_name(side->open(side, &other, 0, -1, leader, 0)));
	other = attr;
	other.flags |= ATTR_PINNED;
	strbuf_printf(
		out, "pinned: %s\n", error_name(side->open(side, &other, 0, -1, leader, 0)));
	other = attr;
	other.flags |= ATTR_USE_CLOCKID;
	other.clockid = CLOCK_MONOTONIC;
	strbuf_printf(out, "other clock: %s\n",
		error_name(side->open(side, &other, 0, -1, leader, 0)));
	fd = side->open(side, &attr, 0, -1, leader, PERF_FLAG_FD_NO_GROUP);
	strbuf_printf(out, "no group: %s\n", error_name(fd));
	side->close(side, fd);
	strbuf_printf(out, "output without a ring: %s\n",
		error_name(side->open(side, &attr, 0, -1, leader,
			PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT)));
	side->close(side, sibling);
	side->close(side, leader);
}

static void check_mmap(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP), inherit = attr;
	int fd = open_self(side, &attr), in, in_cpu;
	struct perf_ringbuf *ring = NULL;

	inherit.flags |= ATTR_INHERIT;
	in = open_self(side, &inherit);
	in_cpu = side->open(side, &inherit, 0, 0, -1, 0);
	strbuf_printf(out, "3 pages: %s\n", error_name(side->map(side, fd, 3)));
	strbuf_printf(out, "4 pages: %s\n", error_name(side->map(side, fd, 4)));
	strbuf_printf(out, "inherit, no cpu: %s\n", error_name(side->map(side, in, 4)));
	strbuf_printf(out, "inherit, cpu 0: %s\n", error_name(side->map(side, in_cpu, 4)));
	strbuf_printf(out, "ring: %s\n", error_name(side->ring(side, fd, 4, &ring)));
	strbuf_printf(out, "again: %s\n", error_name(side->map(side, fd, 4)));
	strbuf_printf(out, "other size: %s\n", error_name(side->map(side, fd, 8)));
	perf_ringbuf_close(ring);
	side->close(side, in_cpu);
	side->close(side, in);
	side->close(side, fd);
}

static void check_ioctls(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP), count = faults(0, 0);
	struct perf_event_attr backward = attr, inherit = attr, clocked = attr;
	int fd = open_self(side, &attr), other = open_self(side, &attr);
	int counter = open_self(side, &count), on_cpu, back, in, timed;
	uint64_t period = 0, huge = 1ull << 63, five = 5;
	struct perf_ringbuf *ring = NULL;

#define TRY(name, fd_, request, arg)                                                           \
	strbuf_printf(out, "%s: %s\n", name,                                                   \
		error_name(side->ioctl(side, fd_, request, (uint64_t)(arg))))
	backward.flags |= ATTR_WRITE_BACKWARD;
	inherit.flags |= ATTR_INHERIT;
	clocked.flags |= ATTR_USE_CLOCKID;
	clocked.clockid = CLOCK_MONOTONIC;
	back = open_self(side, &backward);
	in = open_self(side, &inherit);
	timed = open_self(side, &clocked);
	on_cpu = side->open(side, &attr, 0, 0, -1, 0);
	TRY("unknown", fd, _IO('$', 99), 0);
	TRY("pause without a ring", fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	TRY("output without a ring", other, PERF_EVENT_IOC_SET_OUTPUT, fd);
	side->ring(side, fd, 1, &ring);
	TRY("output", other, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("output again", other, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("output to itself", fd, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("output of a mapped one", fd, PERF_EVENT_IOC_SET_OUTPUT, other);
	TRY("output to nobody", other, PERF_EVENT_IOC_SET_OUTPUT, -1);
	TRY("output to a bad one", other, PERF_EVENT_IOC_SET_OUTPUT, 9999);
	TRY("output across cpus", on_cpu, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("output backward", back, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("output of another clock", timed, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("pause", fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	TRY("period 0", fd, PERF_EVENT_IOC_PERIOD, (uintptr_t)&period);
	TRY("period with bit 63", fd, PERF_EVENT_IOC_PERIOD, (uintptr_t)&huge);
	TRY("period 5", fd, PERF_EVENT_IOC_PERIOD, (uintptr_t)&five);
	TRY("period of a count", counter, PERF_EVENT_IOC_PERIOD, (uintptr_t)&five);
	TRY("refresh a count", counter, PERF_EVENT_IOC_REFRESH, 1);
	TRY("refresh what inherits", in, PERF_EVENT_IOC_REFRESH, 1);
#undef TRY
	perf_ringbuf_close(ring);
	side->close(side, timed);
	side->close(side, in);
	side->close(side, back);
	side->close(side, on_cpu);
	side->close(side, counter);
	side->close(side, other);
	side->close(side, fd);
}

/* ---- rings */

struct drained {
	uint32_t samples, lost_records, others, broken, in_region;
	uint64_t lost;
	uint32_t sizes; /* distinct sizes of samples; the last one: */
	uint32_t size;
	struct wick_record last; /* of the samples; its pointers are gone */
};

static void drain_one(const struct side *side, const struct wick_layout *layout,
	const void *bytes, int size, struct drained *d)
{
	struct wick_record record;

	if (wick_record_decode(layout, bytes, (size_t)size, &record) != size) {
		d->broken++;
	} else if (record.type == PERF_RECORD_LOST) {
		d->lost_records++;
		d->lost += record.lost.lost;
	} else if (record.type == PERF_RECORD_SAMPLE) {
		d->samples++;
		d->sizes += (uint32_t)size != d->size;
		d->size = (uint32_t)size;
		d->last = record;
		d->in_region += record.sample.addr >= side->region &&
				record.sample.addr < side->region_end;
	} else {
		d->others++;
	}
}

static struct drained drain(
	struct side *side, const struct perf_event_attr *attr, struct perf_ringbuf *ring)
{
	struct drained d = {.samples = 0};
	struct wick_layout layout;
	const void *record;
	int size;

	wick_layout_init(&layout, attr);
	perf_ringbuf_fetch(ring);
	while ((size = perf_ringbuf_peek(ring, &record)) > 0) {
		drain_one(side, &layout, record, size, &d);
		perf_ringbuf_next(ring);
	}
	perf_ringbuf_release(ring);
	return d;
}

/* Reading a ring and writing down what was seen touch pages, too. */
static void fault_counted(struct side *side, int fd, uint32_t n)
{
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->fault(side, n);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
}

static void check_ring_full(struct side *side, struct strbuf *out)
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

static void check_wakeups(struct side *side, struct strbuf *out)
{
	wakeups(side, 1, false, out);
	wakeups(side, 7, false, out);
	wakeups(side, 0, false, out);
	wakeups(side, 1, true, out);
	wakeups(side, 240, true, out);
	wakeups(side, 1000, true, out);
	wakeups(side, 100000, true, out);
}

static void check_overwrite(struct side *side, struct strbuf *out)
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

/* ---- samples */

static const struct {
	const char *name;
	uint64_t bit;
} sample_bits[] = {
	{"IP", PERF_SAMPLE_IP},
	{"TID", PERF_SAMPLE_TID},
	{"TIME", PERF_SAMPLE_TIME},
	{"ADDR", PERF_SAMPLE_ADDR},
	{"READ", PERF_SAMPLE_READ},
	{"CALLCHAIN", PERF_SAMPLE_CALLCHAIN},
	{"ID", PERF_SAMPLE_ID},
	{"CPU", PERF_SAMPLE_CPU},
	{"PERIOD", PERF_SAMPLE_PERIOD},
	{"STREAM_ID", PERF_SAMPLE_STREAM_ID},
	{"RAW", PERF_SAMPLE_RAW},
	{"REGS_USER", PERF_SAMPLE_REGS_USER},
	{"STACK_USER", PERF_SAMPLE_STACK_USER},
	{"WEIGHT", PERF_SAMPLE_WEIGHT},
	{"DATA_SRC", PERF_SAMPLE_DATA_SRC},
	{"IDENTIFIER", PERF_SAMPLE_IDENTIFIER},
	{"TRANSACTION", PERF_SAMPLE_TRANSACTION},
	{"REGS_INTR", PERF_SAMPLE_REGS_INTR},
	{"AUX", PERF_SAMPLE_AUX},
	{"DATA_PAGE_SIZE", PERF_SAMPLE_DATA_PAGE_SIZE},
	{"CODE_PAGE_SIZE", PERF_SAMPLE_CODE_PAGE_SIZE},
	{"WEIGHT_STRUCT", PERF_SAMPLE_WEIGHT_STRUCT},
	{"all fixed", PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
			      PERF_SAMPLE_READ | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |
			      PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID |
			      PERF_SAMPLE_REGS_USER | PERF_SAMPLE_IDENTIFIER},
};

static void sample_say(const struct side *side, uint64_t type, uint64_t id,
	const struct wick_record *r, struct strbuf *out)
{
	if (type & PERF_SAMPLE_IP)
		strbuf_printf(out, ", ip %d", r->sample.ip != 0);
	if (type & PERF_SAMPLE_TID)
		strbuf_printf(out, ", ours %d", r->id.pid == (uint32_t)side->pid);
	if (type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER))
		strbuf_printf(out, ", id %d", r->id.id == id);
	if (type & PERF_SAMPLE_STREAM_ID)
		strbuf_printf(out, ", stream %d", r->id.stream_id == id);
	if (type & PERF_SAMPLE_CPU)
		strbuf_printf(out, ", cpu %u", r->id.cpu);
	if (type & PERF_SAMPLE_PERIOD)
		strbuf_printf(out, ", period %llu", (unsigned long long)r->sample.period);
	if (type & PERF_SAMPLE_DATA_SRC)
		strbuf_printf(out, ", source %#llx", (unsigned long long)r->sample.data_src);
	if (type & PERF_SAMPLE_RAW)
		strbuf_printf(out, ", raw %u", r->sample.raw_bytes);
	if (type & PERF_SAMPLE_REGS_USER)
		strbuf_printf(out, ", abi %llu", (unsigned long long)r->sample.regs_user.abi);
	if (type & PERF_SAMPLE_STACK_USER)
		strbuf_printf(out, ", asked %llu", (unsigned long long)r->sample.stack_asked);
	if (type & PERF_SAMPLE_CALLCHAIN)
		strbuf_printf(out, ", chain %d", r->sample.callchain.n >= 2);
	strbuf_printf(out, ", misc %u", r->misc & PERF_RECORD_MISC_CPUMODE_MASK);
}

static void sample_check(struct side *side, const char *name, uint64_t type, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, type);
	struct perf_ringbuf *ring = NULL;
	uint64_t id = 0;
	struct drained d;
	int fd;

	attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
	attr.sample_regs_user = type & PERF_SAMPLE_REGS_USER ? 0x1ff : 0;
	attr.sample_regs_intr = type & PERF_SAMPLE_REGS_INTR ? 0x103 : 0;
	attr.sample_stack_user = type & PERF_SAMPLE_STACK_USER ? 256 : 0;
	fd = open_self(side, &attr);
	if (fd < 0) {
		strbuf_printf(out, "%s: %s\n", name, error_name(fd));
		return;
	}
	side->ring(side, fd, 4, &ring);
	side->ioctl(side, fd, PERF_EVENT_IOC_ID, (uintptr_t)&id);
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->fault(side, 3);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	d = drain(side, &attr, ring);
	strbuf_printf(out, "%s: %u samples, %u broken", name, d.samples, d.broken);
	if (!(type & PERF_SAMPLE_CALLCHAIN))
		strbuf_printf(out, ", %u bytes", d.size);
	sample_say(side, type, id, &d.last, out);
	strbuf_putc(out, '\n');
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

static void check_samples(struct side *side, struct strbuf *out)
{
	for (size_t i = 0; i < sizeof(sample_bits) / sizeof(sample_bits[0]); i++)
		sample_check(side, sample_bits[i].name, sample_bits[i].bit, out);
}

static uint32_t samples_of(struct side *side, struct perf_event_attr *attr, uint32_t n)
{
	struct perf_ringbuf *ring = NULL;
	int fd = open_self(side, attr);
	struct drained d;

	side->ring(side, fd, 8, &ring);
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->fault(side, n);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	d = drain(side, attr, ring);
	perf_ringbuf_close(ring);
	side->close(side, fd);
	return d.samples;
}

static void check_periods(struct side *side, struct strbuf *out)
{
	static const uint64_t periods[] = {1, 2, 3, 10, 100, 101};
	struct perf_event_attr attr;
	struct perf_ringbuf *ring = NULL;
	struct drained d;
	int fd;

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		attr = faults(periods[i], PERF_SAMPLE_IP);
		strbuf_printf(out, "period %llu: %u of 100", (unsigned long long)periods[i],
			samples_of(side, &attr, 100));
		attr = faults(periods[i], PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD);
		strbuf_printf(out, ", %u with PERIOD\n", samples_of(side, &attr, 100));
	}
	attr = faults(1, PERF_SAMPLE_IP);
	fd = open_self(side, &attr);
	side->ring(side, fd, 1, &ring);
	side->ioctl(side, fd, PERF_EVENT_IOC_REFRESH, 3);
	side->fault(side, 10);
	d = drain(side, &attr, ring);
	strbuf_printf(out, "refresh 3: %u samples", d.samples);
	side->ioctl(side, fd, PERF_EVENT_IOC_REFRESH, 2);
	side->fault(side, 10);
	d = drain(side, &attr, ring);
	strbuf_printf(out, ", refresh 2: %u\n", d.samples);
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

/* ---- counts, times, groups, inheritance */

static void check_read(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(0, 0);
	uint64_t words[16];

	for (uint64_t format = 0; format < 32; format++) {
		int leader, sibling;
		int64_t n, small;

		attr.read_format = format;
		leader = open_self(side, &attr);
		sibling = side->open(side, &attr, 0, -1, leader, 0);
		side->ioctl(side, leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
		side->fault(side, 7);
		side->ioctl(side, leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
		n = side->read(side, leader, words, sizeof(words));
		small = side->read(side, leader, words + 12, 4);
		strbuf_printf(out, "format %llu: %lld bytes, first %llu, too small: %s\n",
			(unsigned long long)format, (long long)n, (unsigned long long)words[0],
			error_name((int)small));
		side->close(side, sibling);
		side->close(side, leader);
	}
}

static void check_times(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(0, 0);
	uint64_t a[3], b[3], c[3];
	int fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = open_self(side, &attr);
	side->spin(side, 1000000);
	side->read(side, fd, a, sizeof(a));
	strbuf_printf(out, "disabled: enabled %d, running %d\n", a[1] != 0, a[2] != 0);
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->spin(side, 2000000);
	side->read(side, fd, b, sizeof(b));
	strbuf_printf(out, "enabled: 2 ms or more %d, running the same %d\n", b[1] >= 2000000,
		b[1] == b[2]);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	side->read(side, fd, b, sizeof(b));
	side->spin(side, 1000000);
	side->read(side, fd, c, sizeof(c));
	strbuf_printf(out, "disabled again: stands still %d\n", b[1] == c[1]);
	side->close(side, fd);
}

static void check_groups(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(0, 0), sibling_attr = attr;
	uint64_t words[16] = {0}, id = 0, times[4];
	int leader, sibling;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	sibling_attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID;
	sibling_attr.flags &= ~ATTR_DISABLED;
	leader = open_self(side, &attr);
	sibling = side->open(side, &sibling_attr, 0, -1, leader, 0);
	side->ioctl(side, sibling, PERF_EVENT_IOC_ID, (uintptr_t)&id);
	side->fault(side, 5);
	side->read(side, sibling, times, sizeof(times));
	strbuf_printf(out, "leader disabled: sibling counts %llu, enabled for %d\n",
		(unsigned long long)times[0], times[1] != 0);
	side->ioctl(side, leader, PERF_EVENT_IOC_ENABLE, 0);
	side->fault(side, 5);
	side->read(side, leader, words, sizeof(words));
	strbuf_printf(out, "enabled: nr %llu, %llu and %llu, id %d\n",
		(unsigned long long)words[0], (unsigned long long)words[1],
		(unsigned long long)words[3], words[4] == id);
	side->ioctl(side, leader, PERF_EVENT_IOC_DISABLE, 0);
	side->fault(side, 5);
	side->read(side, leader, words, sizeof(words));
	strbuf_printf(out, "disabled: %llu and %llu\n", (unsigned long long)words[1],
		(unsigned long long)words[3]);
	side->ioctl(side, leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	side->read(side, leader, words, sizeof(words));
	strbuf_printf(out, "reset: %llu and %llu\n", (unsigned long long)words[1],
		(unsigned long long)words[3]);
	side->close(side, leader);
	side->ioctl(side, sibling, PERF_EVENT_IOC_RESET, 0);
	side->fault(side, 4);
	side->read(side, sibling, times, sizeof(times));
	strbuf_printf(
		out, "leader closed: sibling counts %llu\n", (unsigned long long)times[0]);
	side->close(side, sibling);
}

static void check_inherit(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr =
		faults(1, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
				  PERF_SAMPLE_STREAM_ID);
	struct perf_ringbuf *ring = NULL;
	uint64_t id = 0, before[1], after[1];
	struct drained d;
	int fd;

	attr.flags |= ATTR_INHERIT | ATTR_TASK;
	fd = side->open(side, &attr, 0, 0, -1, 0);
	side->ring(side, fd, 64, &ring);
	side->ioctl(side, fd, PERF_EVENT_IOC_ID, (uintptr_t)&id);
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->fault(side, 3);
	drain(side, &attr, ring);
	side->read(side, fd, before, sizeof(before));
	side->child(side, 10);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	side->read(side, fd, after, sizeof(after));
	d = drain(side, &attr, ring);
	strbuf_printf(out, "child: %u samples in the region, counted %d, FORK and EXIT %u\n",
		d.in_region, after[0] - before[0] >= 10, d.others);
	strbuf_printf(out, "broken %u, lost %llu\n", d.broken, (unsigned long long)d.lost);
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

static void check_child_stream(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(
		1, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID);
	struct perf_ringbuf *ring = NULL;
	struct wick_layout layout;
	uint64_t id = 0;
	uint32_t own = 0, foreign = 0, other_id = 0;
	const void *bytes;
	int fd, size;

	attr.flags |= ATTR_INHERIT;
	fd = side->open(side, &attr, 0, 0, -1, 0);
	side->ring(side, fd, 64, &ring);
	side->ioctl(side, fd, PERF_EVENT_IOC_ID, (uintptr_t)&id);
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->child(side, 10);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	wick_layout_init(&layout, &attr);
	perf_ringbuf_fetch(ring);
	while ((size = perf_ringbuf_peek(ring, &bytes)) > 0) {
		struct wick_record r;

		if (wick_record_decode(&layout, bytes, (size_t)size, &r) == size &&
			r.type == PERF_RECORD_SAMPLE && r.id.pid != (uint32_t)side->pid) {
			other_id += r.id.id != id;
			own += r.id.stream_id != id;
			foreign += r.id.stream_id == id;
		}
		perf_ringbuf_next(ring);
	}
	/*
	 * Whose stream it is depends: at a switch between a parent and its clone the kernel may
	 * swap their contexts (perf_event_context_sched_out()), so the child counts on ours.
	 */
	strbuf_printf(out, "samples of the child: another id %u, any stream %d\n", other_id,
		own + foreign >= 10);
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

static void check_poll(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP);
	struct perf_ringbuf *ring = NULL;
	int fd = open_self(side, &attr);

	strbuf_printf(out, "no ring: HUP %d\n", (side->poll(side, fd) & POLLHUP) != 0);
	side->ring(side, fd, 1, &ring);
	strbuf_printf(out, "a ring: HUP %d, IN %d\n", (side->poll(side, fd) & POLLHUP) != 0,
		(side->poll(side, fd) & POLLIN) != 0);
	perf_ringbuf_close(ring);
	side->close(side, fd);
	ring = NULL;
	side->child_begin(side);
	fd = side->open(side, &attr, SIDE_CHILD, -1, -1, 0);
	side->ring(side, fd, 1, &ring);
	strbuf_printf(out, "a child: HUP %d\n", (side->poll(side, fd) & POLLHUP) != 0);
	side->child_end(side);
	strbuf_printf(out, "it is gone: HUP %d, enabling %s\n",
		(side->poll(side, fd) & POLLHUP) != 0,
		error_name(side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0)));
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

/* ---- side-band */

static void check_sideband(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(0,
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	struct perf_ringbuf *ring = NULL;
	struct wick_layout layout;
	const void *bytes;
	uint64_t id = 0;
	int fd, size;

	attr.config = PERF_COUNT_SW_DUMMY;
	attr.flags |= ATTR_COMM | ATTR_TASK;
	fd = open_self(side, &attr);
	side->ring(side, fd, 4, &ring);
	side->ioctl(side, fd, PERF_EVENT_IOC_ID, (uintptr_t)&id);
	side->rename(side, "unheard");
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->rename(side, "conformance");
	side->rename(side, "self");
	side->child(side, 1);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	wick_layout_init(&layout, &attr);
	perf_ringbuf_fetch(ring);
	while ((size = perf_ringbuf_peek(ring, &bytes)) > 0) {
		struct wick_record r;

		if (wick_record_decode(&layout, bytes, (size_t)size, &r) == size) {
			strbuf_printf(out, "%s: %d bytes, id %d, ours %d, misc %u",
				wick_record_type_name(r.type), size, r.id.id == id,
				r.id.pid == (uint32_t)side->pid, r.misc);
			if (r.type == PERF_RECORD_COMM)
				strbuf_printf(out, ", %s", r.comm.name.text);
			if (r.type == PERF_RECORD_FORK)
				strbuf_printf(out, ", parent %d, thread %d, time %d",
					r.task.ppid == (uint32_t)side->pid,
					r.task.ptid == (uint32_t)side->pid,
					r.task.time >= r.id.time);
			strbuf_putc(out, '\n');
		}
		perf_ringbuf_next(ring);
	}
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

/* ---- clocks */

static void check_clock(struct side *side, struct strbuf *out)
{
	static const uint64_t events[] = {PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK};

	for (size_t i = 0; i < 2; i++) {
		struct perf_event_attr attr =
			faults(1000000, PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD);
		struct perf_ringbuf *ring = NULL;
		uint64_t count = 0;
		struct drained d;
		int fd;

		attr.config = events[i];
		fd = open_self(side, &attr);
		side->ring(side, fd, 8, &ring);
		side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
		side->spin(side, 40000000);
		side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
		side->read(side, fd, &count, sizeof(count));
		d = drain(side, &attr, ring);
		strbuf_printf(out,
			"%s: 40 ms or more %d, the samples' periods are the count %d\n",
			i ? "task-clock" : "cpu-clock", count >= 39000000,
			(d.samples + 2) * 1000000ull >= count / 2 &&
				d.samples * 1000000ull <= count + 1000000);
		perf_ringbuf_close(ring);
		side->close(side, fd);
	}
}

const struct check checks[] = {
	{"argument errors", check_arguments},
	{"groups: opening", check_groups_open},
	{"mmap", check_mmap},
	{"ioctls", check_ioctls},
	{"a full ring, losses, pausing", check_ring_full},
	{"wakeups", check_wakeups},
	{"backward and overwritten", check_overwrite},
	{"a sample, bit by bit", check_samples},
	{"periods and limits", check_periods},
	{"read formats", check_read},
	{"times", check_times},
	{"groups", check_groups},
	{"inheritance", check_inherit},
	{"inheritance: ids", check_child_stream},
	{"poll", check_poll},
	{"side-band", check_sideband},
	{"clocks", check_clock},
};
const uint32_t check_count = sizeof(checks) / sizeof(checks[0]);
