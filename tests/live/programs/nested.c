/*
 * Work in functions that call one another, one of them inlined, for a time in seconds.
 *
 *     nested SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static inline __attribute__((always_inline)) void inlined_work(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}

__attribute__((noinline, noclone)) static void inner_work(unsigned long n)
{
	inlined_work(n);
	sink++;
}

__attribute__((noinline, noclone)) static void outer_work(unsigned long n)
{
	inner_work(n);
	sink++;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

	while (clock() < end)
		outer_work(100000);
	return 0;
}
