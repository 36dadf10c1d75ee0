/*
 * The only process of the emulated machine, as its init: lifts the kernel's limits on sampling,
 * runs the lines of a file one after another on the console, and switches off.
 *
 *     == /wick record -o /shares.data -- /shares 1 80 20
 *     what the command says
 *     == ended with 0
 *
 * "show FILE" prints a file, "put FILE" in hexadecimal digits. A command behind "&" runs beside
 * the next one, which is not at its end before both are.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 32, BYTES_A_LINE = 60 };

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("# %s cannot be written\n", path);
	if (fd >= 0)
		close(fd);
}

static int show(const char *path, bool digits)
{
	FILE *file = fopen(path, "rb");
	int byte, n = 0;

	if (!file)
		return 1;
	while ((byte = getc(file)) != EOF)
		if (digits)
			printf("%02x%s", byte, ++n % BYTES_A_LINE ? "" : "\n");
		else
			putchar(byte);
	printf("%s", digits ? "\n" : "");
	return fclose(file) != 0;
}

static int run(char **words)
{
	bool beside = !strcmp(words[0], "&");
	int status = -1;
	pid_t pid;

	words += beside;
	if (!words[0])
		return 1;
	if ((!strcmp(words[0], "put") || !strcmp(words[0], "show")) && words[1])
		return show(words[1], words[0][0] == 'p');
	pid = fork();
	if (pid == 0) {
		execv(words[0], words);
		_exit(127);
	}
	if (beside)
		return 0;
	while (pid > 0 && waitpid(pid, &status, 0) != pid)
		;
	while (waitpid(-1, NULL, 0) > 0)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void run_line(char *line)
{
	char *words[WORDS + 1] = {NULL}, *save = NULL;
	int count = 0;

	line[strcspn(line, "\n")] = '\0';
	printf("== %s\n", line);
	fflush(stdout);
	for (char *word = strtok_r(line, " ", &save); word && count < WORDS;
		word = strtok_r(NULL, " ", &save))
		words[count++] = word;
	if (count)
		printf("== ended with %d\n", run(words));
	fflush(stdout);
}

int main(void)
{
	const char *path = getenv("commands"); /* of the kernel's command line */
	FILE *commands;
	char line[512];

	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	/* Before somebody writes here, the kernel has no events for new cgroups. */
	write_file("/sys/fs/cgroup/cgroup.subtree_control", "+pids");
	/* In this order: the kernel throttles itself else, for an emulated machine is slow. */
	write_file("/proc/sys/kernel/perf_event_max_sample_rate", "100000");
	write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
	write_file("/proc/sys/kernel/perf_event_paranoid", "-1");
	setenv("NO_COLOR", "1", 1);
	commands = path ? fopen(path, "r") : NULL;
	while (commands && fgets(line, sizeof(line), commands))
		run_line(line);
	printf("== switched off\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
