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

/* Works a little on each level of the way, so that no stack is the same for long. */
__attribute__((noinline)) static int go_around(int depth)
{
	volatile char room[48];

	room[0] = (char)depth;
	for (int i = 0; i < 200; i++)
		sink += sink * 31 + (uint64_t)i;
	return depth <= 0 ? room[0] : go_around(depth - 1) + room[0];
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
