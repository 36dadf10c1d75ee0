/*
 * Opening: for each target, CPU and event one perf_open(). The first descriptor of a CPU gets
 * the ring; all later ones of that CPU are redirected into it. What the kernel does not know
 * yet (build ids in MMAP2, PERF_FORMAT_LOST, a clock id that its PMU refuses) is dropped in
 * turn by capture_negotiate(), once, on the first event.
 *
 * How much of the stack an event copies cannot be changed. So where it may have to grow, each
 * sampling event has a twin that copies more and rests; what its thread creates inherits both,
 * and enabling one and disabling the other reaches the children, too.
 */
#include "perf/capture.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "wick/perf_event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FDS_LIMIT = 1 << 20, RINGS_LIMIT = 4096 };

struct capture_fd {
	int fd;
	uint32_t ring;
	bool grown; /* copies more of the stack */
};

struct event_fds {
	struct capture_event event;
	int *cpus;
	struct perf_event_attr attr;
	struct capture_fd *fds;
	uint64_t *ids;
	uint32_t count, cap, ids_cap;
};

struct ring {
	int cpu;
	int fd; /* the descriptor that was mapped; owned by its event */
	struct perf_ringbuf *ringbuf;
};

struct capture {
	struct event_fds *events;
	uint32_t event_count, sampling_count; /* with and without the side-band event */
	struct ring *rings;
	uint32_t ring_count, ring_cap;
	uint32_t pages, fd_count;
	bool negotiated, redirected, wake_at_once;
	bool enabled; /* as far as we were asked to */
	bool grown;
	uint32_t grown_stack_bytes; /* 0: there are no such events */
	uint64_t capped_hz;
	struct wick_layout layout;
};

static void event_attr(
	const struct capture_options *options, uint32_t index, struct perf_event_attr *attr)
{
	const struct capture_event *event = &options->events[index];

	spec_attr(&event->spec, attr);
	if (event->period) {
		attr->sample_period = event->period;
	} else {
		attr->sample_period = event->frequency_hz;
		attr->flags |= ATTR_FREQ;
	}
	if (options->start == CAPTURE_ON_EXEC)
		attr->flags |= ATTR_DISABLED | ATTR_ENABLE_ON_EXEC;
	else if (options->start == CAPTURE_BY_HAND)
		attr->flags |= ATTR_DISABLED;
	if (options->no_idle)
		attr->flags |= ATTR_EXCLUDE_IDLE;
}

/* Where the kernel is sampled, BPF programs come and go: their names, and which they are. */
static void attr_sideband(const struct capture_options *options, struct perf_event_attr *attr)
{
	bool kernel = false;

	for (uint32_t i = 0; i < options->event_count; i++)
		kernel |= !options->events[i].spec.exclude_kernel;
	attr->flags |=
		ATTR_MMAP | ATTR_MMAP2 | ATTR_COMM | ATTR_COMM_EXEC | ATTR_TASK | ATTR_BUILD_ID;
	if (kernel)
		attr->flags |= ATTR_KSYMBOL | ATTR_BPF_EVENT;
}

/* What all events have in common: they share rings, so their records have one layout. */
static void attr_common(const struct capture_options *options, struct perf_event_attr *attr)
{
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			    PERF_SAMPLE_CALLCHAIN;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			    PERF_FORMAT_ID | PERF_FORMAT_LOST;
	attr->flags |= ATTR_SAMPLE_ID_ALL | ATTR_WATERMARK | ATTR_USE_CLOCKID;
	if (options->no_callchain)
		attr->sample_type &= ~PERF_SAMPLE_CALLCHAIN;
	if (options->user_regs) {
		/* Else the kernel walks a garbage frame-pointer chain for every sample, too. */
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->flags |= ATTR_EXCLUDE_CALLCHAIN_USER;
		attr->sample_regs_user = options->user_regs;
		attr->sample_stack_user = options->stack_bytes;
	}
	if (!options->per_cpu)
		attr->flags |= ATTR_INHERIT;
	attr->clockid = CLOCK_MONOTONIC;
}

static const struct event_spec sideband_spec = {.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_DUMMY,
	.name = "dummy:u",
	.exclude_kernel = true};

static int event_init(
	struct capture *capture, const struct capture_options *options, uint32_t index)
{
	struct event_fds *event = &capture->events[index];
	bool sideband = index == options->event_count;
	size_t bytes;

	event->event = options->events[sideband ? 0 : index];
	bytes = event->event.cpu_count * sizeof(int);
	event->cpus = malloc(bytes ? bytes : 1);
	if (!event->cpus)
		return -ENOMEM;
	memcpy(event->cpus, event->event.cpus, bytes);
	event->event.cpus = event->cpus;
	if (sideband) {
		event->event.spec = sideband_spec;
		spec_attr(&sideband_spec, &event->attr);
	} else {
		event_attr(options, index, &event->attr);
	}
	if (sideband || (!options->sideband_event && !index))
		attr_sideband(options, &event->attr);
	attr_common(options, &event->attr);
	return 0;
}

int capture_new(
	const struct capture_options *options, struct capture **ret_capture, struct error *err)
{
	uint32_t count = options->event_count + options->sideband_event;
	struct capture *capture = calloc(1, sizeof(*capture));
	int rc = -ENOMEM;

	if (capture)
		capture->events = calloc(count, sizeof(*capture->events));
	if (capture && capture->events) {
		capture->event_count = count;
		capture->sampling_count = options->event_count;
		capture->pages = options->pages;
		capture->wake_at_once = options->wake_at_once;
		capture->enabled = options->start != CAPTURE_BY_HAND;
		if (options->user_regs)
			capture->grown_stack_bytes = options->grown_stack_bytes;
		rc = 0;
	}
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		rc = event_init(capture, options, i);
	if (rc < 0) {
		capture_free(capture);
		return error_set(err, rc, "out of memory while preparing the recording");
	}
	*ret_capture = capture;
	return 0;
}

/* Nothing is opened any more, nor mapped. */
static void fds_close(struct capture *capture)
{
	for (uint32_t r = 0; r < capture->ring_count; r++)
		perf_ringbuf_close(capture->rings[r].ringbuf);
	capture->ring_count = 0;
	for (uint32_t i = 0; capture->events && i < capture->event_count; i++) {
		struct event_fds *event = &capture->events[i];

		for (uint32_t f = 0; f < event->count; f++)
			perf_close(event->fds[f].fd);
		event->count = 0;
	}
	capture->fd_count = 0;
}

void capture_free(struct capture *capture)
{
	if (!capture)
		return;
	fds_close(capture);
	free(capture->rings);
	for (uint32_t i = 0; capture->events && i < capture->event_count; i++) {
		struct event_fds *event = &capture->events[i];

		free(event->fds);
		free(event->ids);
		free(event->cpus);
	}
	free(capture->events);
	free(capture);
}

/* Lowers what older kernels, or this PMU, refuse; true when there is something left to try. */
static bool attr_concede(struct capture *capture, struct perf_event_attr *attr)
{
	int64_t max_hz;

	if ((attr->flags & ATTR_FREQ) &&
		file_read_number(AT_FDCWD, "/proc/sys/kernel/perf_event_max_sample_rate",
			&max_hz) == 0 &&
		max_hz > 0 && attr->sample_period > (uint64_t)max_hz) {
		attr->sample_period = (uint64_t)max_hz;
		capture->capped_hz = (uint64_t)max_hz;
	} else if (attr->read_format & PERF_FORMAT_LOST) {
		attr->read_format &= ~PERF_FORMAT_LOST; /* 6.0 */
	} else if (attr->flags & ATTR_BUILD_ID) {
		attr->flags &= ~ATTR_BUILD_ID; /* 5.12 */
	} else if (attr->flags & (ATTR_KSYMBOL | ATTR_BPF_EVENT)) {
		attr->flags &= ~(ATTR_KSYMBOL | ATTR_BPF_EVENT); /* 5.1 */
	} else if (attr->flags & ATTR_USE_CLOCKID && attr->clockid == CLOCK_MONOTONIC) {
		attr->clockid = CLOCK_MONOTONIC_RAW;
	} else if (attr->flags & ATTR_USE_CLOCKID) {
		attr->flags &= ~ATTR_USE_CLOCKID;
		attr->clockid = 0;
	} else {
		return false;
	}
	return true;
}

/* armv8_pmuv3 cannot leave the idle task out: what it does beside waiting is sampled, too. */
static bool idle_concede(struct perf_event_attr *attr)
{
	bool asked = attr->flags & ATTR_EXCLUDE_IDLE;

	attr->flags &= ~ATTR_EXCLUDE_IDLE;
	return asked;
}

/* What had to be conceded for one event holds for all: they share rings, clock and layout. */
static void attrs_agree(struct capture *capture)
{
	uint64_t clock_flags = ATTR_USE_CLOCKID | ATTR_BUILD_ID, flags = UINT64_MAX;
	uint64_t read_format = UINT64_MAX, max_hz = UINT64_MAX;
	int32_t clockid = 0;

	for (uint32_t i = 0; i < capture->event_count; i++) {
		const struct perf_event_attr *attr = &capture->events[i].attr;

		flags &= attr->flags | (attr->flags & ATTR_MMAP2 ? 0 : ATTR_BUILD_ID);
		read_format &= attr->read_format;
		clockid = attr->clockid > clockid ? attr->clockid : clockid;
		if (capture->capped_hz && (attr->flags & ATTR_FREQ))
			max_hz = capture->capped_hz;
	}
	for (uint32_t i = 0; i < capture->event_count; i++) {
		struct perf_event_attr *attr = &capture->events[i].attr;

		attr->flags &= flags | ~clock_flags;
		attr->read_format = read_format;
		attr->clockid = attr->flags & ATTR_USE_CLOCKID ? clockid : 0;
		if ((attr->flags & ATTR_FREQ) && attr->sample_period > max_hz)
			attr->sample_period = max_hz;
	}
}

static int capture_negotiate(struct capture *capture, struct error *err)
{
	int rc;

	for (uint32_t i = 0; i < capture->event_count; i++) {
		struct event_fds *event = &capture->events[i];
		struct perf_event_attr attr;
		int fd;

		do {
			attr = event->attr;
			attr.flags |= ATTR_DISABLED;
			fd = perf_open(&attr, 0, -1, -1, 0);
		} while ((fd == -EINVAL && attr_concede(capture, &event->attr)) ||
			 (fd == -EOPNOTSUPP && idle_concede(&event->attr)));
		if (fd < 0)
			return spec_explain(&event->event.spec, fd, err);
		perf_close(fd);
	}
	attrs_agree(capture);
	rc = wick_layout_init(&capture->layout, &capture->events[0].attr);
	if (rc < 0)
		return error_set(err, rc, "the event's record layout is not understood");
	/* A side-band event may be the one that asks for them. */
	for (uint32_t i = 0; i < capture->event_count; i++)
		if (capture->events[i].attr.flags & ATTR_BUILD_ID)
			capture->layout.build_ids = true;
	capture->negotiated = true;
	return 0;
}

enum { ATTACH_AGAIN = 1 };

/*
 * The limit counts all rings of a user together, so a later one may be the first that fails.
 * ATTACH_AGAIN: half the pages may fit. What was opened has the watermark of the larger ring,
 * at which a smaller one would never wake its reader, so everything is opened anew; that is
 * possible as long as nothing was redirected into a ring.
 */
static int ring_map(
	struct capture *capture, int fd, struct perf_ringbuf **ret_ringbuf, struct error *err)
{
	int rc = perf_ringbuf_open(fd, capture->pages, ret_ringbuf);

	if ((rc == -EPERM || rc == -ENOMEM) && capture->pages > 1 && !capture->redirected) {
		capture->pages /= 2;
		return ATTACH_AGAIN;
	}
	if (rc < 0)
		return error_set(err, rc,
			"the ring buffer cannot be mapped (%s): RLIMIT_MEMLOCK and "
			"kernel.perf_event_mlock_kb leave no room; raise `ulimit -l`, or try "
			"-m %u",
			strerror(-rc), capture->pages > 1 ? capture->pages / 2 : 1);
	return 0;
}

/* The ring of that CPU, made on `fd` when there is none; else `fd` is redirected into it. */
static int ring_join(
	struct capture *capture, int cpu, int fd, uint32_t *ret_ring, struct error *err)
{
	struct ring ring = {.cpu = cpu, .fd = fd};
	int rc;

	for (uint32_t r = 0; r < capture->ring_count; r++) {
		if (capture->rings[r].cpu != cpu)
			continue;
		*ret_ring = r;
		capture->redirected = true;
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, capture->rings[r].fd) < 0)
			return error_set(err, -errno,
				"CPU %d: the event cannot share the ring: %s", cpu,
				strerror(errno));
		return 0;
	}
	rc = array_reserve(&capture->rings, &capture->ring_cap,
		(uint64_t)capture->ring_count + 1, sizeof(ring), RINGS_LIMIT);
	if (rc < 0)
		return error_set(err, rc, "more than %d CPUs", RINGS_LIMIT);
	rc = ring_map(capture, fd, &ring.ringbuf, err);
	if (rc)
		return rc;
	*ret_ring = capture->ring_count;
	capture->rings[capture->ring_count++] = ring;
	return 0;
}

static int fd_keep(struct event_fds *event, const struct capture_fd *fd)
{
	uint64_t id = 0;
	int rc;

	rc = array_reserve(&event->fds, &event->cap, (uint64_t)event->count + 1,
		sizeof(*event->fds), FDS_LIMIT);
	if (rc == 0)
		rc = array_reserve(&event->ids, &event->ids_cap, (uint64_t)event->count + 1,
			sizeof(*event->ids), FDS_LIMIT);
	if (rc < 0)
		return rc;
	if (ioctl(fd->fd, PERF_EVENT_IOC_ID, &id) < 0)
		return -errno;
	event->ids[event->count] = id;
	event->fds[event->count++] = *fd;
	return 0;
}

/* Whom the events follow: perf_event_open's pid and flags. */
struct attach_to {
	pid_t pid;
	unsigned long flags;
};

/* When poll() returns: a quarter of a ring. */
static uint32_t watermark_bytes(const struct capture *capture)
{
	return capture->wake_at_once ? 1 : capture->pages * (uint32_t)sysconf(_SC_PAGESIZE) / 4;
}

static int event_open(struct capture *capture, struct event_fds *event,
	const struct attach_to *to, int cpu, bool grown, struct error *err)
{
	struct perf_event_attr attr = event->attr;
	struct capture_fd kept = {.grown = grown};
	cleanup_close int fd = -1;
	int rc;

	if (grown) {
		attr.sample_stack_user = capture->grown_stack_bytes;
		attr.flags |= ATTR_DISABLED;
		attr.flags &= ~ATTR_ENABLE_ON_EXEC;
	}
	attr.wakeup_events = watermark_bytes(capture);
	fd = perf_open(&attr, to->pid, cpu, -1, to->flags);
	if (fd < 0)
		return fd == -ESRCH ? fd : spec_explain(&event->event.spec, fd, err);
	rc = ring_join(capture, cpu, fd, &kept.ring, err);
	if (rc)
		return rc;
	kept.fd = fd;
	rc = fd_keep(event, &kept);
	if (rc < 0)
		return error_set(
			err, rc, "event %s: %s", event->event.spec.name, strerror(-rc));
	take_fd(&fd);
	capture->fd_count++;
	return 0;
}

static int attach_events(struct capture *capture, uint32_t count, const struct attach_to *to,
	bool grown, struct error *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		struct event_fds *event = &capture->events[i];

		for (uint32_t c = 0; rc == 0 && c < event->event.cpu_count; c++) {
			rc = event_open(capture, event, to, event->cpus[c], grown, err);
			if (rc == -ENODEV) /* the CPU went offline since it was listed */
				rc = 0;
		}
	}
	return rc;
}

static int attach_everywhere(
	struct capture *capture, const struct attach_to *to, struct error *err)
{
	int rc = capture->negotiated ? 0 : capture_negotiate(capture, err);

	if (rc == 0)
		rc = attach_events(capture, capture->event_count, to, false, err);
	while (rc == ATTACH_AGAIN) {
		fds_close(capture);
		rc = attach_events(capture, capture->event_count, to, false, err);
	}
	/* The twins last: they are led into rings that have their size by now. */
	if (rc == 0 && capture->grown_stack_bytes)
		rc = attach_events(capture, capture->sampling_count, to, true, err);
	if (rc == 0 && !capture->ring_count)
		return error_set(err, -ENODEV, "none of the asked CPUs is online");
	return rc;
}

int capture_attach(struct capture *capture, pid_t tid, struct error *err)
{
	return attach_everywhere(capture, &(struct attach_to){tid, 0}, err);
}

int capture_attach_cgroup(struct capture *capture, int cgroup_fd, struct error *err)
{
	return attach_everywhere(
		capture, &(struct attach_to){cgroup_fd, PERF_FLAG_PID_CGROUP}, err);
}

int capture_attach_cpus(struct capture *capture, struct error *err)
{
	return attach_everywhere(capture, &(struct attach_to){-1, 0}, err);
}

/* Of the twins, those that are to sample or those that rest. */
static int capture_ioctl(struct capture *capture, unsigned long request, bool grown)
{
	int first = 0;

	for (uint32_t i = 0; i < capture->sampling_count; i++) {
		const struct event_fds *event = &capture->events[i];

		for (uint32_t f = 0; f < event->count; f++)
			if (event->fds[f].grown == grown &&
				ioctl(event->fds[f].fd, request, 0) < 0 && !first)
				first = -errno;
	}
	return first;
}

int capture_enable(struct capture *capture)
{
	capture->enabled = true;
	return capture_ioctl(capture, PERF_EVENT_IOC_ENABLE, capture->grown);
}

int capture_disable(struct capture *capture)
{
	capture->enabled = false;
	return capture_ioctl(capture, PERF_EVENT_IOC_DISABLE, capture->grown);
}

/* Both sample for a moment, so that the side-band has no gap. */
int capture_grow(struct capture *capture)
{
	int rc;

	if (!capture->grown_stack_bytes || capture->grown)
		return -ENOENT;
	rc = capture->enabled ? capture_ioctl(capture, PERF_EVENT_IOC_ENABLE, true) : 0;
	if (rc < 0) { /* never both */
		capture_ioctl(capture, PERF_EVENT_IOC_DISABLE, true);
		return rc;
	}
	capture->grown = true;
	return capture->enabled ? capture_ioctl(capture, PERF_EVENT_IOC_DISABLE, false) : 0;
}

uint32_t capture_event_count(const struct capture *capture)
{
	return capture->event_count;
}

uint32_t capture_ring_count(const struct capture *capture)
{
	return capture->ring_count;
}

struct perf_ringbuf *capture_ring(const struct capture *capture, uint32_t ring)
{
	return capture->rings[ring].ringbuf;
}

int capture_ring_fd(const struct capture *capture, uint32_t ring)
{
	return capture->rings[ring].fd;
}

uint32_t capture_pages(const struct capture *capture)
{
	return capture->pages;
}

const struct wick_layout *capture_layout(const struct capture *capture)
{
	return &capture->layout;
}

clockid_t capture_clock(const struct capture *capture)
{
	const struct perf_event_attr *attr = &capture->events[0].attr;

	return attr->flags & ATTR_USE_CLOCKID ? attr->clockid : -1;
}

uint32_t capture_fd_count(const struct capture *capture)
{
	return capture->fd_count;
}

bool capture_frequency_capped(const struct capture *capture, uint64_t *ret_hz)
{
	*ret_hz = capture->capped_hz;
	return capture->capped_hz != 0;
}

const struct perf_event_attr *capture_attr(const struct capture *capture, uint32_t index)
{
	return &capture->events[index].attr;
}

const uint64_t *capture_ids(const struct capture *capture, uint32_t index, uint32_t *ret_count)
{
	*ret_count = capture->events[index].count;
	return capture->events[index].ids;
}

/*
 * Multiplexed? An event that follows a thread on one CPU is enabled while the thread runs
 * anywhere, and running while it runs there: so all CPUs' running times together must reach one
 * CPU's enabled time. Software events are never multiplexed.
 */
static double count_scale(const struct event_fds *event, uint64_t enabled, uint64_t running)
{
	double share;

	if (event->attr.type == PERF_TYPE_SOFTWARE ||
		event->attr.type == PERF_TYPE_TRACEPOINT || !running || !event->event.cpu_count)
		return 1.0;
	share = (double)running / ((double)enabled / event->event.cpu_count);
	return share < 0.99 ? 1.0 / share : 1.0;
}

int capture_read(const struct capture *capture, uint32_t index, struct capture_count *ret_count)
{
	const struct event_fds *event = &capture->events[index];
	struct capture_count sum = {
		.has_lost = (event->attr.read_format & PERF_FORMAT_LOST) != 0};
	uint64_t enabled = 0, running = 0;
	double scale;

	for (uint32_t f = 0; f < event->count; f++) {
		struct {
			uint64_t value, enabled, running, id, lost;
		} v = {0};
		size_t want = sum.has_lost ? sizeof(v) : sizeof(v) - sizeof(v.lost);
		ssize_t got;

		do
			got = read(event->fds[f].fd, &v, sizeof(v));
		while (got < 0 && errno == EINTR);
		if (got < 0 || (size_t)got < want)
			return got < 0 ? -errno : -EIO;
		enabled += v.enabled;
		running += v.running;
		sum.value += v.value;
		sum.lost += v.lost;
	}
	scale = count_scale(event, enabled, running);
	sum.scaled = scale > 1.0;
	if (sum.scaled)
		sum.value = (uint64_t)((double)sum.value * scale);
	*ret_count = sum;
	return 0;
}
