#include "session/ends.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

int ends_init(struct ends *ends, uint32_t cap)
{
	*ends = (struct ends){.cap = cap};
	ends->polls = calloc(cap, sizeof(*ends->polls));
	ends->kinds = calloc(cap, sizeof(*ends->kinds));
	ends->owned = calloc(cap, sizeof(*ends->owned));
	return ends->polls && ends->kinds && ends->owned ? 0 : -ENOMEM;
}

void ends_done(struct ends *ends)
{
	for (uint32_t i = 0; ends->polls && i < ends->count; i++)
		if (ends->owned[i] && ends->polls[i].fd >= 0)
			close(ends->polls[i].fd);
	free(ends->polls);
	free(ends->kinds);
	free(ends->owned);
	*ends = (struct ends){0};
}

static void ends_add(struct ends *ends, int fd, enum end_kind kind, bool owned)
{
	if (fd < 0 || ends->count == ends->cap)
		return;
	ends->polls[ends->count] = (struct pollfd){.fd = fd, .events = POLLIN};
	ends->kinds[ends->count] = kind;
	ends->owned[ends->count++] = owned;
	ends->processes += kind == END_PROCESS;
}

void ends_add_ring(struct ends *ends, int fd)
{
	ends_add(ends, fd, END_RING, false);
}

void ends_add_signal(struct ends *ends, int fd)
{
	ends_add(ends, fd, END_SIGNAL, false);
}

void ends_add_control(struct ends *ends, int fd)
{
	ends_add(ends, fd, END_CONTROL, false);
}

void ends_add_process(struct ends *ends, int pidfd)
{
	ends_add(ends, pidfd, END_PROCESS, false);
}

void ends_add_pid(struct ends *ends, pid_t pid)
{
	ends_add(ends, (int)syscall(SYS_pidfd_open, pid, 0), END_PROCESS, true);
}

/* A descriptor that has hung up leaves the set, or poll() would not wait any more. */
static void ends_drop(struct ends *ends, uint32_t at)
{
	if (ends->owned[at])
		close(ends->polls[at].fd);
	ends->polls[at].fd = -1;
}

int ends_wait(struct ends *ends, int timeout_ms)
{
	int bits = 0;

	if (poll(ends->polls, ends->count, timeout_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	for (uint32_t i = 0; i < ends->count; i++) {
		short seen = ends->polls[i].revents;

		if (ends->polls[i].fd < 0 || !seen)
			continue;
		switch (ends->kinds[i]) {
		case END_RING:
			if (seen & (POLLHUP | POLLERR | POLLNVAL))
				ends_drop(ends, i);
			break;
		case END_SIGNAL:
			bits |= ENDS_SIGNAL;
			break;
		case END_CONTROL:
			bits |= ENDS_CONTROL;
			if (seen & (POLLERR | POLLNVAL) || !(seen & POLLIN))
				ends_drop(ends, i);
			break;
		case END_PROCESS:
			ends_drop(ends, i);
			bits |= ENDS_PROCESS_GONE;
			if (!--ends->processes)
				bits |= ENDS_TARGETS_GONE;
			break;
		}
	}
	return bits;
}
