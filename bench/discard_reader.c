/*
 * The floor under every recorder: opens the same events as wick (one event a CPU, inherited;
 * frame-pointer chains, or with -s what wick asks for by default: user registers and so many
 * bytes of the stack, and the kernel's part of the chain only), reads the rings, and throws the
 * records away after it has counted them.
 *
 * usage: discard_reader [-F HZ] [-m PAGES] [-s STACK_BYTES] -- COMMAND ARG...
 *
 * The registers are those of x86-64 and AArch64 that an unwinder needs.
 *
 * Says "N samples, N lost" on stderr at the end. It stands alone, so that it stays the measure
 * when the library changes.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_CPUS   1024
#define WAKE_STACKS 32

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
	uint64_t size; /* of the data, in bytes */
};

struct counts {
	uint64_t samples, lost;
};

struct asked {
	unsigned long hz, pages, stack_bytes;
};

#if defined(__aarch64__)
#define REGISTERS 0x1ffffffffull
#else
#define REGISTERS 0xff0fffull
#endif

static int event_open(pid_t pid, int cpu, const struct asked *asked)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = asked->hz,
		.freq = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
			       PERF_SAMPLE_IDENTIFIER,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.watermark = 1,
		.use_clockid = 1,
		.clockid = 1 /* CLOCK_MONOTONIC */,
	};

	attr.wakeup_watermark = 128 << 10;
	if (asked->stack_bytes) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr.exclude_callchain_user = 1;
		attr.sample_regs_user = REGISTERS;
		attr.sample_stack_user = (uint32_t)asked->stack_bytes;
		attr.wakeup_watermark = (uint32_t)(asked->stack_bytes * WAKE_STACKS);
	}
	return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int ring_open(struct ring *ring, pid_t pid, int cpu, const struct asked *asked)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map;

	ring->fd = event_open(pid, cpu, asked);
	if (ring->fd < 0)
		return -errno;
	ring->size = asked->pages * page;
	map = mmap(NULL, ring->size + page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	ring->page = map;
	return 0;
}

/* Headers are 8-byte aligned and so never wrap; the rest of a record is not looked at. */
static void ring_discard(struct ring *ring, struct counts *counts)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	const char *data = (const char *)ring->page + ring->page->data_offset;

	while (tail < head) {
		const void *at = data + (tail & (ring->size - 1));
		const struct perf_event_header *header = at;

		if (header->size < sizeof(*header))
			abort();
		counts->samples += header->type == PERF_RECORD_SAMPLE;
		if (header->type == PERF_RECORD_LOST) {
			uint64_t lost;

			at = data + ((tail + 16) & (ring->size - 1));
			memcpy(&lost, at, sizeof(lost));
			counts->lost += lost;
		}
		tail += header->size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* A child that waits for a byte before it becomes the command. */
static pid_t command_start(char **argv, int *ret_go)
{
	int pipes[2];
	pid_t pid;
	char byte;

	if (pipe(pipes) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) != 1)
			_exit(1);
		close(pipes[0]);
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	close(pipes[0]);
	*ret_go = pipes[1];
	return pid;
}

static void drain(struct ring *rings, struct pollfd *polls, int count, struct counts *counts)
{
	int alive = count;

	while (alive > 0) {
		poll(polls, (nfds_t)count, -1);
		for (int i = 0; i < count; i++) {
			ring_discard(&rings[i], counts);
			if (polls[i].fd >= 0 && (polls[i].revents & (POLLHUP | POLLERR))) {
				polls[i].fd = -1;
				alive--;
			}
		}
	}
}

int main(int argc, char **argv)
{
	static struct ring rings[MOST_CPUS];
	static struct pollfd polls[MOST_CPUS];
	struct counts counts = {0, 0};
	struct asked asked = {.hz = 999, .pages = 128};
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), go, option, status, rc;
	pid_t pid;

	while ((option = getopt(argc, argv, "+F:m:s:")) != -1) {
		if (option == 'F')
			asked.hz = strtoul(optarg, NULL, 10);
		else if (option == 'm')
			asked.pages = strtoul(optarg, NULL, 10);
		else if (option == 's')
			asked.stack_bytes = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind >= argc || cpus > MOST_CPUS || (pid = command_start(argv + optind, &go)) < 0)
		return 2;
	for (int i = 0; i < cpus; i++) {
		rc = ring_open(&rings[i], pid, i, &asked);
		if (rc < 0) {
			fprintf(stderr, "discard_reader: cpu %d: %s\n", i, strerror(-rc));
			return 1;
		}
		polls[i] = (struct pollfd){.fd = rings[i].fd, .events = POLLIN};
	}
	if (write(go, "", 1) != 1)
		return 1;
	drain(rings, polls, cpus, &counts);
	waitpid(pid, &status, 0);
	fprintf(stderr, "%llu samples, %llu lost\n", (unsigned long long)counts.samples,
		(unsigned long long)counts.lost);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
