/*
 * usage: hostile MSEC
 *
 * Its thread has a name with an escape sequence and a newline; the function that burns has the
 * name NAME (a string), which the test makes long or overwrites with stranger bytes.
 */
#include "truth.h"

#include <sys/prctl.h>

NOINLINE uint64_t strange(uint64_t n, uint64_t x) __asm__(NAME);
BURN(strange)

int main(int argc, char **argv)
{
	struct part part = {"strange", strange, 50, 0};

	(void)argc;
	prctl(PR_SET_NAME, "\033[31mred\n\tx\177");
	run_parts(&part, 1, strtoull(argv[1], NULL, 10) * 1000000u);
	printf("{\"cpu_ns\": %llu}\n", (unsigned long long)part.cpu_ns);
	return 0;
}
