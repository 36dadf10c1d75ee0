/*
 * perf_event_open(2) and the ioctls of one event.
 *
 * glibc has no wrapper for the call. The attr is versioned by its size: a kernel that does not
 * know so long an attr answers E2BIG and stores the size that it does know in attr->size. It
 * does so for a tail that is not zero (which asks for something it cannot do: the caller must
 * know), and for an attr above a page. The kernel writes into the attr, so it gets a copy.
 */
#include "wick/perf_event.h"

#include "abi/perf_abi.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel refuses an attr of more than a page. */
#define ATTR_SIZE_LIMIT 4096u

union attr_copy {
	struct perf_event_attr attr;
	unsigned char bytes[ATTR_SIZE_LIMIT];
};

static bool all_zero(const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i])
			return false;
	return true;
}

static int event_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
	long fd = syscall(
		SYS_perf_event_open, attr, pid, cpu, group_fd, flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
	unsigned long flags)
{
	union attr_copy copy;
	const unsigned char *bytes = (const unsigned char *)attr;
	uint32_t size = attr->size ? attr->size : PERF_ATTR_SIZE_VER0, known;
	int fd;

	if (size < PERF_ATTR_SIZE_VER0)
		return -EINVAL;
	if (size > sizeof(copy)) {
		if (!all_zero(bytes + sizeof(copy), size - sizeof(copy)))
			return -E2BIG;
		size = sizeof(copy);
	}
	memcpy(copy.bytes, bytes, size);
	copy.attr.size = size;
	fd = event_open(&copy.attr, pid, cpu, group_fd, flags);
	known = copy.attr.size;
	if (fd != -E2BIG || known < PERF_ATTR_SIZE_VER0 || known >= size)
		return fd;
	if (!all_zero(copy.bytes + known, size - known))
		return -E2BIG;
	return event_open(&copy.attr, pid, cpu, group_fd, flags);
}

int perf_close(int fd)
{
	return close(fd) < 0 ? -errno : 0;
}

int perf_start(int fd)
{
	if (ioctl(fd, PERF_EVENT_IOC_RESET, 0) < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return 0;
}

int perf_stop(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) < 0 ? -errno : 0;
}
