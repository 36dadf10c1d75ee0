/*
 * With privilege: a dummy event on every CPU, which samples nothing and writes a COMM record
 * for each exec; the first record wakes us. Without: the pids of /proc, every few milliseconds;
 * those that were there at the start do not count.
 */
#include "session/waitname.h"

#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "perf/capture.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WATCH_PAGES = 8, LOOK_MS = 2, COMM_SHOWN = 15 };

static bool name_is(const char *comm, const char *name)
{
	return !strncmp(comm, name, COMM_SHOWN) && strlen(comm) == strnlen(name, COMM_SHOWN);
}

static int stopped(const char *name, struct error *err)
{
	return error_set(
		err, -EINTR, "--wait-name %s: ended before such a process was started", name);
}

/* The pid in the COMM records of one ring, or 0. */
static int32_t ring_find(struct capture *capture, uint32_t index, const char *name)
{
	struct perf_ringbuf *ring = capture_ring(capture, index);
	int32_t pid = 0;
	const void *bytes;
	int size;

	perf_ringbuf_fetch(ring);
	while ((size = perf_ringbuf_peek(ring, &bytes)) > 0) {
		struct wick_record record;

		if (wick_record_decode(capture_layout(capture), bytes, (size_t)size, &record) >
				0 &&
			record.type == PERF_RECORD_COMM &&
			(record.misc & PERF_RECORD_MISC_COMM_EXEC) && !pid &&
			name_is(record.comm.name.text, name))
			pid = (int32_t)record.comm.pid;
		perf_ringbuf_next(ring);
	}
	if (size < 0)
		perf_ringbuf_skip(ring);
	perf_ringbuf_release(ring);
	return pid;
}

static int watch_open(const struct cpu_list *cpus, struct capture **ret_capture)
{
	cleanup_free int *numbers = calloc(cpus->count + 1u, sizeof(*numbers));
	struct capture_event event = {
		.spec = {.type = PERF_TYPE_SOFTWARE,
			.config = PERF_COUNT_SW_DUMMY,
			.name = "dummy:u",
			.exclude_kernel = true},
		.cpus = numbers,
		.cpu_count = cpus->count,
		.period = 1,
	};
	struct capture_options options = {.events = &event,
		.event_count = 1,
		.pages = WATCH_PAGES,
		.per_cpu = true,
		.wake_at_once = true};
	int rc;

	if (!numbers)
		return -ENOMEM;
	for (uint32_t i = 0; i < cpus->count; i++)
		numbers[i] = (int)cpus->cpus[i];
	rc = capture_new(&options, ret_capture, NULL);
	return rc < 0 ? rc : capture_attach_cpus(*ret_capture, NULL);
}

static int32_t watch(struct capture *capture, const char *name, int stop_fd, struct error *err)
{
	uint32_t rings = capture_ring_count(capture);
	cleanup_free struct pollfd *polls = calloc(rings + 1u, sizeof(*polls));

	if (!polls)
		return error_set(err, -ENOMEM, "out of memory while waiting for %s", name);
	for (uint32_t i = 0; i < rings; i++)
		polls[i] = (struct pollfd){.fd = capture_ring_fd(capture, i), .events = POLLIN};
	polls[rings] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
	for (;;) {
		if (poll(polls, rings + 1, -1) < 0 && errno != EINTR)
			return error_set(err, -errno, "--wait-name: %s", strerror(errno));
		for (uint32_t i = 0; i < rings; i++) {
			int32_t pid = ring_find(capture, i, name);

			if (pid > 0)
				return pid;
		}
		if (polls[rings].revents)
			return stopped(name, err);
	}
}

static bool list_has(const struct pid_list *list, int32_t pid)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->pids[i] == pid)
			return true;
	return false;
}

static int32_t look(const struct proc *proc, const char *name, int stop_fd, struct error *err)
{
	cleanup_with(pid_list_done) struct pid_list before = {0};
	int rc = proc_pids(proc, &before);

	if (rc < 0)
		return error_set(
			err, rc, "--wait-name: /proc cannot be listed: %s", strerror(-rc));
	for (;;) {
		cleanup_with(pid_list_done) struct pid_list now = {0};
		struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
		char comm[PROC_COMM_MAX];

		if (poll(&stop, 1, LOOK_MS) > 0)
			return stopped(name, err);
		if (proc_pids(proc, &now) < 0)
			continue;
		for (uint32_t i = 0; i < now.count; i++)
			if (!list_has(&before, now.pids[i]) &&
				proc_comm(proc, now.pids[i], now.pids[i], comm) == 0 &&
				name_is(comm, name))
				return now.pids[i];
	}
}

int32_t wait_for_name(const struct proc *proc, const struct cpu_list *cpus, const char *name,
	int stop_fd, bool *ret_exact, struct error *err)
{
	struct capture *capture = NULL;
	int32_t pid;

	*ret_exact = watch_open(cpus, &capture) == 0;
	pid = *ret_exact ? watch(capture, name, stop_fd, err) : look(proc, name, stop_fd, err);
	capture_free(capture);
	return pid;
}
