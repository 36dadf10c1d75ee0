/*
 * usage: shares SECONDS WEIGHT...      burn_a, burn_b, burn_c by their weights
 *
 * With "-exec FILE ARG..." after the weights it becomes another program at the end.
 */
#include "truth.h"

#include <unistd.h>

BURN(burn_a)
BURN(burn_b)
BURN(burn_c)

int main(int argc, char **argv)
{
	struct part parts[] = {
		{"burn_a", burn_a, 0, 0}, {"burn_b", burn_b, 0, 0}, {"burn_c", burn_c, 0, 0}};
	int count = 0;

	for (int i = 2; i < argc && count < 3 && strcmp(argv[i], "-exec") != 0; i++)
		parts[count++].weight = (unsigned)strtoul(argv[i], NULL, 10);
	run_parts(parts, count, (uint64_t)(strtod(argv[1], NULL) * 1e9));
	printf("{");
	print_parts(parts, count);
	printf("\"pid\": %d, \"cpu_ns\": %llu}\n", (int)getpid(),
		(unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	fflush(stdout);
	if (argc > 2 + count) {
		execv(argv[3 + count], argv + 3 + count);
		perror(argv[3 + count]);
		return 1;
	}
	return 0;
}
