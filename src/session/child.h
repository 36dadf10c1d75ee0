/*
 * The command that is recorded: forked at once, exec'ed when everything is attached to it.
 */
#pragma once

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct child {
	bool started;
	pid_t pid;   /* 0: it has been waited for */
	int pidfd;   /* readable when it has ended; -1 where the kernel has none */
	int go_fd;   /* a byte lets it exec */
	int exec_fd; /* brings the errno of a failed exec */
};

/*
 * Before anything is touched: is there such a command ($PATH is searched as execvp() does), and
 * may it be executed? 0, -ENOENT or -EACCES with a sentence.
 */
int child_check(const char *name, struct error *err);

/*
 * Forks. The child waits; it has our stdin, stdout, stderr and the signal mask `mask`, and dies
 * when we do before it could exec. With a cgroup_fd (else -1) it is born in that cgroup.
 */
int child_fork(char *const argv[], const sigset_t *mask, int cgroup_fd, struct child *ret_child,
	struct error *err);

/*
 * Lets it exec and waits until it has. -ENOENT, -EACCES, ... with a sentence when that failed:
 * the child is gone then.
 */
int child_exec(struct child *child, const char *name, struct error *err);

/*
 * Waits for its end; 0 and how it ended: its exit status or 128 + the signal, and what it and
 * its waited-for children used.
 */
int child_wait(struct child *child, int *ret_status, struct rusage *ret_usage);

/* True, and the same, when it has ended; false while it runs. */
bool child_poll(struct child *child, int *ret_status, struct rusage *ret_usage);

/* Kills a command that has not been let go, and closes. Takes a zeroed struct, too. */
void child_done(struct child *child);
