/*
 * usage: shortlived COUNT USEC       COUNT threads, one after another, that burn USEC each
 */
#include "truth.h"

#include <pthread.h>

BURN(burn_short)

static uint64_t budget_ns;

static void *short_main(void *arg)
{
	uint64_t x = 1;

	(void)arg;
	while (thread_cpu_ns() < budget_ns)
		x = burn_short(2000, x);
	return x == 42 ? &budget_ns : NULL;
}

int main(int argc, char **argv)
{
	int count = atoi(argv[1]);

	(void)argc;
	budget_ns = strtoull(argv[2], NULL, 10) * 1000u;
	for (int i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, short_main, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	printf("{\"cpu_ns\": %llu}\n", (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
