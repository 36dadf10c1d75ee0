/* Counts and times: of groups, children and clocks; what the side-band tells of them. */
#include "checks.h"

#include <errno.h>
#include <poll.h>

void check_read(struct side *side, struct strbuf *out)
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

void check_times(struct side *side, struct strbuf *out)
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

void check_groups(struct side *side, struct strbuf *out)
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

void check_inherit(struct side *side, struct strbuf *out)
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

void check_child_stream(struct side *side, struct strbuf *out)
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

void check_poll(struct side *side, struct strbuf *out)
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

/* Time is that of the task: it stands still while the task waits. */
void check_waiting(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(0, 0);
	uint64_t words[3] = {1, 1, 1};
	int fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	side->child_begin(side);
	side->spin(side, 20000000); /* it has come to its waiting */
	fd = side->open(side, &attr, SIDE_CHILD, -1, -1, 0);
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->spin(side, 5000000);
	side->read(side, fd, words, sizeof(words));
	strbuf_printf(out, "a task that waits: count %llu, enabled %llu, running %llu\n",
		(unsigned long long)words[0], (unsigned long long)words[1],
		(unsigned long long)words[2]);
	side->child_end(side);
	side->close(side, fd);
}

void check_on_exec(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(0, 0), plain = attr, removed;
	uint64_t words[2] = {0, 0}, other[2] = {0, 0}, gone[2] = {0, 0};
	int fd, plain_fd, removed_fd;

	attr.read_format = plain.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	removed = attr;
	removed.flags = (removed.flags & ~ATTR_DISABLED) | ATTR_REMOVE_ON_EXEC;
	attr.flags |= ATTR_ENABLE_ON_EXEC;
	side->child_begin(side);
	side->spin(side, 20000000);
	fd = side->open(side, &attr, SIDE_CHILD, -1, -1, 0);
	plain_fd = side->open(side, &plain, SIDE_CHILD, -1, -1, 0);
	removed_fd = side->open(side, &removed, SIDE_CHILD, -1, -1, 0);
	side->read(side, fd, words, sizeof(words));
	strbuf_printf(out, "before: count %llu, enabled %llu\n", (unsigned long long)words[0],
		(unsigned long long)words[1]);
	side->child_exec(side);
	side->read(side, fd, words, sizeof(words));
	side->read(side, plain_fd, other, sizeof(other));
	side->read(side, removed_fd, gone, sizeof(gone));
	strbuf_printf(out, "behind: counts %d, enabled %d; without the flag: count %llu\n",
		words[0] >= 10, words[1] > 0, (unsigned long long)other[0]);
	strbuf_printf(out, "removed at exec: counted no more %d\n", gone[0] < words[0]);
	side->close(side, removed_fd);
	side->close(side, plain_fd);
	side->close(side, fd);
}

/* ---- side-band */

void check_sideband(struct side *side, struct strbuf *out)
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

void check_clock(struct side *side, struct strbuf *out)
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
