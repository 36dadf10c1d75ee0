/*
 * The only process of the emulated machine, as its init: lifts the kernel's limits on sampling,
 * runs what it is there for, says its exit status on the console, and switches off.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("# %s cannot be written\n", path);
	if (fd >= 0)
		close(fd);
}

int main(void)
{
	char *const command[] = {
		"/conformance", "/expected.txt", "--hardware", "--kernel-only", NULL};
	int status = -1;
	pid_t pid;

	mount("proc", "/proc", "proc", 0, NULL);
	/* In this order: the kernel throttles itself else, for an emulated machine is slow. */
	write_file("/proc/sys/kernel/perf_event_max_sample_rate", "100000");
	write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
	write_file("/proc/sys/kernel/perf_event_paranoid", "-1");
	pid = fork();
	if (pid == 0) {
		execv(command[0], command);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	printf("# ended with %d\n", status);
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
