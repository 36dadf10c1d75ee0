/*
 * usage: forks MSEC FILE ARG...
 *
 * Burns MSEC in burn_parent, while a forked child burns as much in burn_child, and another one
 * that execs FILE runs. Prints what each of them used, as wait4() tells.
 */
#include "truth.h"

#include <sys/wait.h>
#include <unistd.h>

BURN(burn_parent)
BURN(burn_child)

static int start_child(uint64_t budget_ns)
{
	int pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct part part = {"burn_child", burn_child, 50, 0};

		run_parts(&part, 1, budget_ns);
		_exit(0);
	}
	return pid;
}

static int start_program(char **argv)
{
	int pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

static uint64_t used_by(int pid)
{
	struct rusage usage;
	int status;

	if (wait4(pid, &status, 0, &usage) != pid || status != 0)
		exit(1);
	return timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
}

int main(int argc, char **argv)
{
	uint64_t budget_ns = strtoull(argv[1], NULL, 10) * 1000000u;
	struct part part = {"burn_parent", burn_parent, 50, 0};
	int child = start_child(budget_ns);
	int program = argc > 2 ? start_program(argv + 2) : -1;
	uint64_t child_ns, program_ns;

	run_parts(&part, 1, budget_ns);
	child_ns = used_by(child);
	program_ns = program > 0 ? used_by(program) : 0;
	printf("{\"parent\": %d, \"child\": %d, \"program\": %d, \"parent_ns\": %llu, "
	       "\"child_ns\": %llu, \"program_ns\": %llu}\n",
		(int)getpid(), child, program, (unsigned long long)part.cpu_ns,
		(unsigned long long)child_ns, (unsigned long long)program_ns);
	return 0;
}
