/*
 * What a descriptor can: close, mmap, ioctl, read, poll.
 *
 * A ring belongs to the events that write into it; mappings keep the event alive through which
 * they were made, as a mapping holds the kernel's file. When the last mapping is gone, every
 * event lets go of the ring.
 */
#include "softperf/core.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct core_event *core_event_of(struct core *core, int fd)
{
	if (fd < 0 || (uint32_t)fd >= core->file_cap || !core->files[fd] ||
		core->files[fd]->closed)
		return NULL;
	return core->files[fd];
}

static void ring_put(struct core_event *event)
{
	struct core_ring *ring = event->ring;

	event->ring = NULL;
	if (!ring || --ring->users)
		return;
	core_wakeups(event->core); /* it must not be among those that wait */
	ringwriter_free(ring->writer);
	free(ring);
}

static void event_release(struct core_event *event)
{
	while (event->children) {
		struct core_event *child = event->children;

		event->children = child->next_child;
		if (child->ctx)
			core_context_remove(child);
		core_event_free(child);
	}
	if (event->ctx)
		core_context_remove(event);
	ring_put(event);
	event->core->files[event->fd] = NULL;
	core_event_free(event);
}

int core_close(struct core *core, int fd)
{
	struct core_event *event = core_event_of(core, fd);

	if (!event)
		return -EBADF;
	event->closed = true;
	if (!event->maps)
		event_release(event);
	return 0;
}

/* ---- mmap */

static int ring_new(struct core_event *event, size_t pages, bool writable)
{
	struct ringwriter_options options = {.pages = pages,
		.id = event->id,
		.layout = event->layout,
		.overwrite = !writable,
		.deferred = true,
		.backward = (event->attr.flags & ATTR_WRITE_BACKWARD) != 0};
	struct core_ring *ring;
	int rc;

	if (event->attr.flags & ATTR_WATERMARK)
		options.watermark_bytes = event->attr.wakeup_events;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	rc = ringwriter_new(&options, &ring->writer);
	if (rc < 0) {
		free(ring);
		return rc;
	}
	ring->pages = pages;
	ring->users = 1;
	event->ring = ring;
	core_trace(event->core, "mmap", "1 + %zu pages: the ring of event %llu, %s", pages,
		(unsigned long long)event->id,
		writable ? "the reader moves data_tail" : "overwritten when it is full");
	return 0;
}

int core_mmap(struct core *core, int fd, size_t pages, bool writable)
{
	struct core_event *event = core_event_of(core, fd);
	int rc;

	if (!event)
		return -EBADF;
	/* Tasks on many CPUs would write into one ring at once. */
	if (event->cpu == -1 && event->attr.flags & ATTR_INHERIT)
		return -EINVAL;
	if (event->ring && event->ring->pages != pages)
		return -EINVAL;
	if (!event->ring) {
		rc = ring_new(event, pages, writable);
		if (rc < 0)
			return rc;
	}
	event->maps++;
	event->ring->maps++;
	return ringwriter_fd(event->ring->writer);
}

int core_munmap(struct core *core, int fd)
{
	struct core_event *event =
		fd >= 0 && (uint32_t)fd < core->file_cap ? core->files[fd] : NULL;
	struct core_ring *ring = event ? event->ring : NULL;

	if (!ring || !event->maps)
		return -EINVAL;
	event->maps--;
	ring->users++; /* it must outlive the loop */
	if (!--ring->maps)
		for (uint32_t i = 0; i < core->file_cap; i++)
			if (core->files[i] && core->files[i]->ring == ring)
				ring_put(core->files[i]);
	if (!--ring->users) {
		core_wakeups(core);
		ringwriter_free(ring->writer);
		free(ring);
	}
	if (event->closed && !event->maps)
		event_release(event);
	return 0;
}

/* ---- ioctl */

static bool same_clock(const struct core_event *a, const struct core_event *b)
{
	return (a->attr.flags & ATTR_USE_CLOCKID) == (b->attr.flags & ATTR_USE_CLOCKID) &&
	       a->attr.clockid == b->attr.clockid;
}

static int set_output(struct core *core, struct core_event *event, int output_fd)
{
	struct core_event *output = NULL;

	if (output_fd != -1) {
		output = core_event_of(core, output_fd);
		if (!output)
			return -EBADF;
		if (output == event || output->cpu != event->cpu ||
			(output->cpu == -1 && output->ctx != event->ctx) ||
			!same_clock(output, event) ||
			(output->attr.flags ^ event->attr.flags) & ATTR_WRITE_BACKWARD)
			return -EINVAL;
	}
	if (event->maps || (output && !output->ring))
		return -EINVAL;
	ring_put(event);
	if (!output)
		return 0;
	event->ring = output->ring;
	event->ring->users++;
	core_trace(core, "ioctl", "SET_OUTPUT: event %llu writes into the ring of event %llu",
		(unsigned long long)event->id, (unsigned long long)output->id);
	return 0;
}

static int set_period(struct core_event *event, uint64_t period)
{
	bool freq = event->attr.flags & ATTR_FREQ;
	bool active = event->state == CORE_ACTIVE;

	if (!event->attr.sample_period || !period)
		return -EINVAL;
	if (freq ? period > event->core->options.max_sample_rate : period >> 63)
		return -EINVAL;
	if (active)
		event->pmu->stop(event, CORE_EF_UPDATE);
	event->attr.sample_period = period;
	if (!freq)
		event->hw.sample_period = period;
	event->hw.period_left = 0;
	if (active)
		event->pmu->start(event, CORE_EF_RELOAD);
	return 0;
}

static void reset_one(struct core_event *event)
{
	if (event->state == CORE_ACTIVE)
		event->pmu->read(event);
	event->count = 0;
}

static void with_children(struct core_event *event, void (*act)(struct core_event *event))
{
	act(event);
	for (struct core_event *child = event->children; child; child = child->next_child)
		act(child);
}

static int for_each(
	struct core_event *event, uint64_t flags, void (*act)(struct core_event *event))
{
	if (!(flags & PERF_IOC_FLAG_GROUP)) {
		with_children(event, act);
		return 0;
	}
	event = event->leader;
	with_children(event, act);
	for (struct core_event *s = event->next_sibling; s; s = s->next_sibling)
		with_children(s, act);
	return 0;
}

static int refresh(struct core_event *event, int times)
{
	if (event->attr.flags & ATTR_INHERIT || !event->attr.sample_period)
		return -EINVAL;
	event->limit += times;
	core_event_enable(event);
	return 0;
}

int core_ioctl(struct core *core, int fd, unsigned long request, uint64_t arg)
{
	struct core_event *event = core_event_of(core, fd);

	if (!event)
		return -EBADF;
	switch (request) {
	case PERF_EVENT_IOC_ENABLE:
		core_trace(core, "ioctl", "ENABLE event %llu", (unsigned long long)event->id);
		return for_each(event, arg, core_event_enable);
	case PERF_EVENT_IOC_DISABLE:
		return for_each(event, arg, core_event_disable);
	case PERF_EVENT_IOC_RESET:
		return for_each(event, arg, reset_one);
	case PERF_EVENT_IOC_REFRESH:
		return refresh(event, (int)arg);
	case PERF_EVENT_IOC_PERIOD:
		return set_period(event, *(const uint64_t *)(uintptr_t)arg);
	case PERF_EVENT_IOC_SET_OUTPUT:
		return set_output(core, event, (int)arg);
	case PERF_EVENT_IOC_ID:
		*(uint64_t *)(uintptr_t)arg = event->id;
		return 0;
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
		if (!event->ring)
			return -EINVAL;
		ringwriter_pause(event->ring->writer, arg != 0);
		return 0;
	default:
		return -ENOTTY;
	}
}

/* ---- read */

static void read_one(struct core_event *event, bool live, uint64_t *words)
{
	if (event->state == CORE_ACTIVE)
		event->pmu->read(event);
	words[0] = event->count + event->child_count;
	for (struct core_event *child = event->children; live && child;
		child = child->next_child) {
		if (child->state == CORE_ACTIVE)
			child->pmu->read(child);
		words[0] += child->count;
	}
	words[1] = (event->parent ? event->parent : event)->id;
	words[2] = event->lost;
}

void core_read_values(
	struct core_event *event, bool live, uint64_t *words, struct wick_read *ret_read)
{
	struct core_event *of =
		event->attr.read_format & PERF_FORMAT_GROUP ? event->leader : event;

	*ret_read = (struct wick_read){.values = words,
		.n = 1,
		.entry_words = 3,
		.id_word = 1,
		.lost_word = 2,
		.has_id = true,
		.has_lost = true};
	core_event_time(of);
	ret_read->time_enabled = of->enabled + of->child_enabled;
	ret_read->time_running = of->running + of->child_running;
	for (struct core_event *child = of->children; live && child;
		child = child->next_child) {
		core_event_time(child);
		ret_read->time_enabled += child->enabled;
		ret_read->time_running += child->running;
	}
	read_one(of, live, words);
	if (!(event->attr.read_format & PERF_FORMAT_GROUP))
		return;
	for (struct core_event *s = of->next_sibling; s; s = s->next_sibling)
		read_one(s, live, words + 3 * ret_read->n++);
}

int64_t core_read(struct core *core, int fd, void *buf, size_t size)
{
	uint64_t words[3 * CORE_GROUP_MAX], out[3 + 3 * CORE_GROUP_MAX];
	struct core_event *event = core_event_of(core, fd);
	struct wick_read read;
	uint64_t format;
	size_t n = 0;

	if (!event)
		return -EBADF;
	if (event->state == CORE_ERROR)
		return 0;
	format = event->attr.read_format;
	core_read_values(event, true, words, &read);
	out[n++] = format & PERF_FORMAT_GROUP ? read.n : words[0];
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		out[n++] = read.time_enabled;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		out[n++] = read.time_running;
	for (uint64_t i = 0; i < read.n; i++) {
		if (format & PERF_FORMAT_GROUP)
			out[n++] = words[3 * i];
		if (format & PERF_FORMAT_ID)
			out[n++] = words[3 * i + 1];
		if (format & PERF_FORMAT_LOST)
			out[n++] = words[3 * i + 2];
	}
	if (size < n * 8)
		return -ENOSPC;
	memcpy(buf, out, n * 8);
	return (int64_t)(n * 8);
}

/* ---- poll */

int core_poll(struct core *core, int fd)
{
	struct core_event *event = core_event_of(core, fd);
	uint64_t wakeups;

	if (!event)
		return POLLNVAL;
	if ((event->state == CORE_EXIT && !event->children) || !event->ring)
		return POLLHUP;
	if (read(ringwriter_wakeup_fd(event->ring->writer), &wakeups, sizeof(wakeups)) < 0)
		return 0;
	core_trace(core, "poll", "returns, with POLLIN");
	return POLLIN | POLLRDNORM;
}

int core_wakeup_fd(struct core *core, int fd)
{
	struct core_event *event = core_event_of(core, fd);

	if (!event)
		return -EBADF;
	return event->ring ? ringwriter_wakeup_fd(event->ring->writer) : -ENOENT;
}
