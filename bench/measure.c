/*
 * usage: measure FILE COMMAND ARG...
 *
 * Runs COMMAND and writes "wall_ns cpu_ns peak_kib status" to FILE. It is small, because the
 * peak that wait4() tells is not less than that of whoever forked.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec now = {0, 0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	uint64_t start;
	FILE *file;
	int status;
	pid_t pid;

	if (argc < 3 || !(file = fopen(argv[1], "we")))
		return 2;
	start = now_ns();
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 2;
	fprintf(file, "%llu %llu %ld\n", (unsigned long long)(now_ns() - start),
		(unsigned long long)(timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime)),
		usage.ru_maxrss);
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
