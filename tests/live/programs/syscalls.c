/*
 * usage: syscalls MSEC       reads /dev/zero for MSEC of CPU time: nearly all of it in the
 * kernel
 */
#include "truth.h"

#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char buffer[65536];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	uint64_t budget_ns = strtoull(argv[1], NULL, 10) * 1000000u;
	struct rusage usage;

	(void)argc;
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < budget_ns)
		for (int i = 0; i < 100; i++)
			if (read(fd, buffer, sizeof(buffer)) != (ssize_t)sizeof(buffer))
				return 1;
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"user_ns\": %llu, \"kernel_ns\": %llu, \"cpu_ns\": %llu}\n",
		(unsigned long long)timeval_ns(usage.ru_utime),
		(unsigned long long)timeval_ns(usage.ru_stime),
		(unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
