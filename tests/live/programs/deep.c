/*
 * usage: deep SECONDS DEPTH            DEPTH frames of some 80 bytes, work in the innermost one
 *        deep SECONDS DEPTH private    makes itself not dumpable first
 *        deep SECONDS DEPTH restless   goes up and down all the time
 *        deep SECONDS untouched        a frame of 1 MiB that is not written to before the work
 *
 * SECONDS are of CPU time. Without frame pointers. The last line is {"cpu_ns": ...}.
 */
#include "truth.h"

#include <string.h>
#include <sys/prctl.h>

static uint64_t end_ns;
static volatile uint64_t sink;

static int go_wide(int depth);
static int go_narrow(int depth);

__attribute__((noinline)) static void work(void)
{
	while (thread_cpu_ns() < end_ns)
		for (int i = 0; i < 20000; i++)
			sink += sink * 31 + (uint64_t)i;
}

__attribute__((noinline)) static int go_down(int depth)
{
	volatile char room[48];

	room[0] = (char)depth;
	if (depth <= 0) {
		work();
		return room[0];
	}
	return go_down(depth - 1) + room[0];
}

/*
 * Works a little on each level of the way, through one of two functions with frames of their
 * own size, so that no stack is the same for long.
 */
static int go_around(int depth)
{
	static uint64_t dice = 1;

	for (int i = 0; i < 50; i++)
		sink += sink * 31 + (uint64_t)i;
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	if (depth <= 0)
		return 0;
	return dice >> 63 ? go_wide(depth - 1) : go_narrow(depth - 1);
}

__attribute__((noinline)) static int go_wide(int depth)
{
	volatile char room[96];

	room[0] = (char)depth;
	return go_around(depth) + room[0];
}

__attribute__((noinline)) static int go_narrow(int depth)
{
	volatile char room[48];

	room[0] = (char)depth;
	return go_around(depth) + room[0];
}

/* Its lowest page is touched by nobody, not even by a call. */
__attribute__((noinline)) static char work_above(int size)
{
	volatile char room[1 << 20];
	uint64_t rounds = (uint64_t)size << 20;

	for (uint64_t i = 0; i < rounds; i++)
		sink += sink * 31 + i;
	return room[(1 << 20) - 1];
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	end_ns = thread_cpu_ns() + (uint64_t)(strtod(argv[1], NULL) * 1e9);
	if (argc > 3 && !strcmp(argv[3], "private"))
		prctl(PR_SET_DUMPABLE, 0);
	if (!strcmp(argv[2], "untouched")) {
		while (thread_cpu_ns() < end_ns)
			sink += (uint64_t)work_above(20);
	} else if (argc > 3 && !strcmp(argv[3], "restless")) {
		while (thread_cpu_ns() < end_ns)
			sink += (uint64_t)go_around((int)strtol(argv[2], NULL, 10));
	} else {
		sink += (uint64_t)go_down((int)strtol(argv[2], NULL, 10));
	}
	printf("{\"cpu_ns\": %llu}\n", (unsigned long long)thread_cpu_ns());
	return 0;
}
