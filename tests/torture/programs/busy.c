/*
 * usage: busy SECONDS [THREADS]      THREADS (1) threads burn CPU until SECONDS of wall time
 * are over busy storm SECONDS          forks children that burn half a millisecond and exit
 *        busy exec COUNT             burns 2 ms, then becomes itself with COUNT - 1
 *        busy ignore SECONDS         as the first, and does not mind SIGTERM and SIGINT
 *
 * The last line is {"cpu_ns": ..., "count": ...}: the CPU time of the process and its children.
 */
#include "../../live/programs/truth.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

BURN(burn_busy)

static uint64_t end_ns;

static void *busy_main(void *arg)
{
	uint64_t x = 1;

	while (clock_ns(CLOCK_MONOTONIC) < end_ns)
		x = burn_busy(20000, x);
	return x == 42 ? &end_ns : arg;
}

static void burn_cpu(uint64_t ns)
{
	uint64_t start = thread_cpu_ns(), x = 1;

	while (thread_cpu_ns() - start < ns)
		x = burn_busy(2000, x);
}

static unsigned storm(void)
{
	unsigned count = 0;

	for (; clock_ns(CLOCK_MONOTONIC) < end_ns; count++) {
		pid_t child = fork();

		if (child == 0) {
			burn_cpu(500000);
			_exit(0);
		}
		if (child > 0)
			waitpid(child, NULL, 0);
	}
	return count;
}

static void threads(int count)
{
	pthread_t handles[256];

	if (count > 256)
		count = 256;
	for (int i = 1; i < count; i++)
		if (pthread_create(&handles[i], NULL, busy_main, NULL) != 0)
			exit(1);
	busy_main(NULL);
	for (int i = 1; i < count; i++)
		pthread_join(handles[i], NULL);
}

static void again(char *self, int left)
{
	char number[16];
	char *words[] = {self, "exec", number, NULL};

	burn_cpu(2000000);
	if (left <= 1)
		return;
	snprintf(number, sizeof(number), "%d", left - 1);
	execv(self, words);
	exit(1);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	unsigned count = 0;
	struct rusage self, children;

	end_ns = clock_ns(CLOCK_MONOTONIC);
	if (!strcmp(mode, "exec")) {
		again(argv[0], atoi(argv[2]));
	} else if (!strcmp(mode, "storm")) {
		end_ns += (uint64_t)(strtod(argv[2], NULL) * 1e9);
		count = storm();
	} else {
		if (!strcmp(mode, "ignore")) {
			signal(SIGTERM, SIG_IGN);
			signal(SIGINT, SIG_IGN);
			end_ns += (uint64_t)(strtod(argv[2], NULL) * 1e9);
			threads(1);
		} else if (argc > 1) {
			end_ns += (uint64_t)(strtod(argv[1], NULL) * 1e9);
			threads(argc > 2 ? atoi(argv[2]) : 1);
		}
	}
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("{\"cpu_ns\": %llu, \"count\": %u}\n",
		(unsigned long long)(timeval_ns(self.ru_utime) + timeval_ns(self.ru_stime) +
				     timeval_ns(children.ru_utime) +
				     timeval_ns(children.ru_stime)),
		count);
	return 0;
}
