/*
 * usage: large_user SECONDS     burns so much CPU time, called through large_library.S
 *
 * With -DWITHOUT the same without the library.
 */
#include "truth.h"

static uint64_t end_ns;

BURN(burn)

#ifdef WITHOUT
NOINLINE static void large_call(void (*work)(void))
{
	work();
	__asm__ volatile("");
}
#else
void large_call(void (*work)(void));
#endif

NOINLINE static void work(void)
{
	uint64_t x = 1;

	while (thread_cpu_ns() < end_ns)
		x = burn(20000, x);
	__asm__ volatile("" : : "r"(x));
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;

	end_ns = thread_cpu_ns() + (uint64_t)(seconds * 1e9);
	large_call(work);
	return 0;
}
