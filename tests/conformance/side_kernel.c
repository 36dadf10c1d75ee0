/* The kernel's side: this process, on one CPU. */
#include "side.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REGION_BYTES = 64 << 20 };

static char *region, *at;
static pid_t waiting;
static int release_fd = -1;

static int k_open(struct side *side, struct perf_event_attr *attr, int pid, int cpu, int group,
	unsigned long flags)
{
	long fd;

	(void)side;
	fd = syscall(SYS_perf_event_open, attr, pid == SIDE_CHILD ? waiting : pid, cpu, group,
		flags);
	return fd < 0 ? -errno : (int)fd;
}

static void k_close(struct side *side, int fd)
{
	(void)side;
	close(fd);
}

static int k_ioctl(struct side *side, int fd, unsigned long request, uint64_t arg)
{
	(void)side;
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static int64_t k_read(struct side *side, int fd, void *buf, size_t size)
{
	ssize_t n = read(fd, buf, size);

	(void)side;
	return n < 0 ? -errno : n;
}

static int k_poll(struct side *side, int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	(void)side;
	return poll(&one, 1, 0) < 0 ? -errno : one.revents;
}

static size_t bytes_of(size_t pages)
{
	return (pages + 1) * (size_t)sysconf(_SC_PAGESIZE);
}

static int k_map(struct side *side, int fd, size_t pages)
{
	void *map = mmap(NULL, bytes_of(pages), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	(void)side;
	if (map == MAP_FAILED)
		return -errno;
	munmap(map, bytes_of(pages));
	return 0;
}

static int k_ring(struct side *side, int fd, size_t pages, struct perf_ringbuf **ret_ring)
{
	(void)side;
	return perf_ringbuf_open(fd, pages, ret_ring);
}

static const void *k_map_overwrite(struct side *side, int fd, size_t pages)
{
	void *map = mmap(NULL, bytes_of(pages), PROT_READ, MAP_SHARED, fd, 0);

	(void)side;
	return map == MAP_FAILED ? NULL : map;
}

static void k_unmap(struct side *side, int fd, const void *map, size_t pages)
{
	(void)side;
	(void)fd;
	munmap((void *)(uintptr_t)map, bytes_of(pages));
}

/* Pages that were never touched: each is one fault (but ASan's shadow would add its own). */
__attribute__((no_sanitize("address"))) static void k_fault(struct side *side, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, at += 4096) {
		if ((uint64_t)(uintptr_t)at >= side->region_end) {
			madvise(region, REGION_BYTES, MADV_DONTNEED);
			at = region;
		}
		*(volatile char *)at = 1;
	}
}

static uint64_t cpu_time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void k_spin(struct side *side, uint64_t ns)
{
	uint64_t end = cpu_time_ns() + ns;

	(void)side;
	do
		for (volatile int i = 0; i < 100000; i++)
			; /* in user mode */
	while (cpu_time_ns() < end);
}

static void k_in_kernel(struct side *side, uint64_t ns)
{
	static char bytes[256 << 10];
	uint64_t end = cpu_time_ns() + ns;

	(void)side;
	do
		if (getrandom(bytes, sizeof(bytes), 0) < 0)
			abort();
	while (cpu_time_ns() < end);
}

static void k_child(struct side *side, uint32_t n)
{
	pid_t pid = fork();

	if (pid == 0) {
		k_fault(side, n);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* What it reads from the pipe: nothing, then it ends; a byte, then it becomes another. */
static void k_child_begin(struct side *side)
{
	int fds[2];
	char byte;

	(void)side;
	if (pipe(fds) < 0)
		return;
	waiting = fork();
	if (waiting == 0) {
		close(fds[1]);
		if (read(fds[0], &byte, 1) == 1)
			execl("/proc/self/exe", "conformance", SIDE_EXEC_CHILD, (char *)NULL);
		_exit(0);
	}
	close(fds[0]);
	release_fd = fds[1];
}

static void k_child_end(struct side *side)
{
	(void)side;
	close(release_fd);
	waitpid(waiting, NULL, 0);
}

static void k_child_exec(struct side *side)
{
	if (write(release_fd, "x", 1) < 0)
		abort();
	k_child_end(side);
}

/* ---- the limit of the rate: the whole machine's, so only where we are told that it is ours */

static const char limit_path[] = "/proc/sys/kernel/perf_event_max_sample_rate";
static char limit_before[32];
static int guard_fd = -1;

static int limit_write(const char *text)
{
	int fd = open(limit_path, O_WRONLY | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* A child puts the limit back when we are gone, however we went. */
static int limit_guard(void)
{
	int fds[2];
	char byte;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	if (fork() == 0) {
		close(fds[1]);
		setsid();
		while (read(fds[0], &byte, 1) < 0 && errno == EINTR)
			;
		limit_write(limit_before);
		_exit(0);
	}
	close(fds[0]);
	guard_fd = fds[1];
	return 0;
}

static int k_limit(struct side *side, uint64_t rate)
{
	char text[32];
	ssize_t n;
	int fd, rc;

	(void)side;
	if (!getenv("WICK_TEST_SYSCTLS"))
		return -EPERM;
	if (!rate) {
		rc = limit_write(limit_before);
		close(guard_fd); /* the guard writes the same once more, and ends */
		wait(NULL);
		return rc;
	}
	fd = open(limit_path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, limit_before, sizeof(limit_before) - 1);
	close(fd);
	if (n <= 0)
		return -EPERM;
	limit_before[n] = '\0';
	rc = limit_guard();
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)rate);
	return rc < 0 ? rc : limit_write(text);
}

static void k_rename(struct side *side, const char *comm)
{
	(void)side;
	prctl(PR_SET_NAME, comm);
}

int side_kernel(struct side *ret_side)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.flags = ATTR_EXCLUDE_KERNEL | ATTR_DISABLED};
	cpu_set_t cpus;
	int fd;

	attr.size = PERF_ATTR_SIZE_VER5;
	*ret_side = (struct side){.name = "kernel",
		.open = k_open,
		.close = k_close,
		.ioctl = k_ioctl,
		.read = k_read,
		.poll = k_poll,
		.map = k_map,
		.ring = k_ring,
		.map_overwrite = k_map_overwrite,
		.unmap = k_unmap,
		.fault = k_fault,
		.spin = k_spin,
		.in_kernel = k_in_kernel,
		.child = k_child,
		.child_begin = k_child_begin,
		.child_end = k_child_end,
		.child_exec = k_child_exec,
		.rename = k_rename,
		.limit = k_limit,
		.pid = getpid()};
	fd = k_open(ret_side, &attr, 0, -1, -1, 0);
	if (fd < 0)
		return fd;
	close(fd);
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		return -errno;
	region = mmap(
		NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region == MAP_FAILED)
		return -errno;
	madvise(region, REGION_BYTES, MADV_NOHUGEPAGE);
	at = region;
	ret_side->region = (uint64_t)(uintptr_t)region;
	ret_side->region_end = ret_side->region + REGION_BYTES;
	k_fault(ret_side, 1);
	return 0;
}
