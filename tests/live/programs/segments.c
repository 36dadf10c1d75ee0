/*
 * Work in functions that lie in several executable segments, and in a library.
 *
 *     segments SECONDS [remap]
 *
 * `remap` puts a copy of its own code, in memory without a file, where the code was, as
 * programs do that want their code on huge pages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static volatile unsigned long sink;

#define WORK(name, where)                                                                      \
	__attribute__((noinline, noclone, section(where))) static void name(void)              \
	{                                                                                      \
		for (unsigned long i = 0; i < 200000; i++)                                     \
			sink += i;                                                             \
	}

WORK(work_in_text, ".text")
WORK(work_in_hot, ".hot")
WORK(work_in_cold, ".cold")

#ifdef WITH_LIBRARY
void work_in_library(void);
#else
static void work_in_library(void)
{
}
#endif

static void remap(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to, start = 0, end = 0, here = (unsigned long)&work_in_text;
	char line[512], prot[8], *copy;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, prot) == 3 && here >= from &&
			here < to) {
			start = from;
			end = to;
		}
	copy = mmap(
		NULL, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!maps || !end || copy == MAP_FAILED)
		exit(3);
	fclose(maps);
	memcpy(copy, (void *)start, end - start);
	if (mprotect(copy, end - start, PROT_READ | PROT_EXEC) < 0 ||
		mremap(copy, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED,
			(void *)start) == MAP_FAILED)
		exit(3);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

	if (argc > 2 && !strcmp(argv[2], "remap"))
		remap();
	while (clock() < end) {
		work_in_text();
		work_in_hot();
		work_in_cold();
		work_in_library();
	}
	return 0;
}
