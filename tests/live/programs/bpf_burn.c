/*
 * usage: bpf_burn SECONDS      runs a BPF program of its own in the kernel for that long
 *
 * The program is a socket filter of 2,000 additions, named "wick_burn", which the kernel runs
 * on made-up packets (BPF_PROG_TEST_RUN). Exit status 77: bpf() is refused here.
 */
#include "truth.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ADDITIONS = 2000, PROG_LOAD = 5, PROG_TEST_RUN = 10, TYPE_SOCKET_FILTER = 1 };

/* The beginnings of bpf(2)'s attribute for these two commands. */
struct load {
	uint32_t type, instructions;
	uint64_t program, license;
	uint32_t log_level, log_bytes;
	uint64_t log;
	uint32_t kernel_version, flags;
	char name[16];
};

struct test_run {
	uint32_t fd, result, data_in_bytes, data_out_bytes;
	uint64_t data_in, data_out;
	uint32_t repeat, duration_ns;
};

int main(int argc, char **argv)
{
	static uint64_t program[ADDITIONS + 2];
	static const char license[] = "GPL";
	uint8_t packet[64] = {0};
	struct load load = {.type = TYPE_SOCKET_FILTER, .name = "wick_burn"};
	struct test_run run = {.data_in_bytes = sizeof(packet), .repeat = 20000};
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	long fd;

	program[0] = 0x00000000000000b7; /* r0 = 0 */
	for (int i = 1; i <= ADDITIONS; i++)
		program[i] = 0x0000000100000007;     /* r0 += 1 */
	program[ADDITIONS + 1] = 0x0000000000000095; /* exit */
	load.instructions = ADDITIONS + 2;
	load.program = (uintptr_t)program;
	load.license = (uintptr_t)license;
	fd = syscall(SYS_bpf, PROG_LOAD, &load, sizeof(load));
	if (fd < 0) {
		perror("bpf");
		return 77;
	}
	run.fd = (uint32_t)fd;
	run.data_in = (uintptr_t)packet;
	while (clock_ns(CLOCK_MONOTONIC) < end)
		if (syscall(SYS_bpf, PROG_TEST_RUN, &run, sizeof(run)) < 0) {
			perror("bpf test run");
			return 77;
		}
	return 0;
}
