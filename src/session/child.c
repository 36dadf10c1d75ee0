#include "session/child.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int exec_error(const char *name, int code, struct error *err)
{
	if (code == ENOENT)
		return error_set(
			err, -code, "%s: no such command (not in $PATH, or not a file)", name);
	return error_set(err, -code, "%s: cannot be executed: %s", name, strerror(code));
}

/* 0 when an executable file; else the errno. */
static int path_check(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	return S_ISREG(st.st_mode) && !access(path, X_OK) ? 0 : EACCES;
}

int child_check(const char *name, struct error *err)
{
	const char *path = getenv("PATH");
	char file[4096];
	int code = ENOENT;

	if (strchr(name, '/')) {
		code = path_check(name);
		return code ? exec_error(name, code, err) : 0;
	}
	for (path = path ? path : "/bin:/usr/bin"; *name; path++) {
		size_t len = strcspn(path, ":");

		if (snprintf(file, sizeof(file), "%.*s%s%s", (int)len, path, len ? "/" : "",
			    name) < (int)sizeof(file)) {
			int one = path_check(file);

			if (!one)
				return 0;
			code = one == EACCES ? one : code;
		}
		path += len;
		if (!*path)
			break;
	}
	return exec_error(name, code, err);
}

/* In the child: waits for the byte, becomes the command, or tells why not. */
__attribute__((noreturn)) static void child_run(
	char *const argv[], const sigset_t *mask, int go_fd, int exec_fd)
{
	char byte;
	ssize_t got;
	int code;

	do
		got = read(go_fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(125); /* the recorder is gone */
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	code = errno;
	while (write(exec_fd, &code, sizeof(code)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* fork(), into a cgroup where one is given: moving it there later would cost 11 ms (a grace
 * period). */
static pid_t fork_into(int cgroup_fd)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)cgroup_fd,
	};

	return cgroup_fd < 0 ? fork() : (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

int child_fork(char *const argv[], const sigset_t *mask, int cgroup_fd, struct child *ret_child,
	struct error *err)
{
	int go[2] = {-1, -1}, exec[2] = {-1, -1};
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(exec, O_CLOEXEC) < 0) {
		int rc = -errno;

		if (go[0] >= 0) {
			close(go[0]);
			close(go[1]);
		}
		return error_set(err, rc, "%s: cannot be started: %s", argv[0], strerror(-rc));
	}
	pid = fork_into(cgroup_fd);
	if (pid == 0) {
		close(go[1]);
		close(exec[0]);
		child_run(argv, mask, go[0], exec[1]);
	}
	close(go[0]);
	close(exec[1]);
	if (pid < 0) {
		int rc = -errno;

		close(go[1]);
		close(exec[0]);
		return error_set(
			err, rc, "%s: cannot be started: fork: %s", argv[0], strerror(-rc));
	}
	*ret_child = (struct child){
		.started = true,
		.pid = pid,
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.go_fd = go[1],
		.exec_fd = exec[0],
	};
	if (ret_child->pidfd >= 0)
		fcntl(ret_child->pidfd, F_SETFD, FD_CLOEXEC);
	return 0;
}

int child_exec(struct child *child, const char *name, struct error *err)
{
	char byte = 1;
	int code = 0;
	ssize_t got;

	if (write(child->go_fd, &byte, 1) != 1)
		return error_set(err, -EPIPE, "%s: ended before it could be started", name);
	close(child->go_fd);
	child->go_fd = -1;
	do
		got = read(child->exec_fd, &code, sizeof(code));
	while (got < 0 && errno == EINTR);
	close(child->exec_fd);
	child->exec_fd = -1;
	if (got != (ssize_t)sizeof(code))
		return 0; /* the pipe closed with the exec */
	child_wait(child, &(int){0}, &(struct rusage){0});
	return exec_error(name, code, err);
}

static int status_of(int wstatus)
{
	return WIFSIGNALED(wstatus) ? 128 + WTERMSIG(wstatus) : WEXITSTATUS(wstatus);
}

int child_wait(struct child *child, int *ret_status, struct rusage *ret_usage)
{
	int wstatus;
	pid_t pid;

	do
		pid = wait4(child->pid, &wstatus, 0, ret_usage);
	while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return -errno;
	child->pid = 0;
	*ret_status = status_of(wstatus);
	return 0;
}

bool child_poll(struct child *child, int *ret_status, struct rusage *ret_usage)
{
	int wstatus;

	if (!child->pid || wait4(child->pid, &wstatus, WNOHANG, ret_usage) != child->pid)
		return false;
	child->pid = 0;
	*ret_status = status_of(wstatus);
	return true;
}

static void fd_done(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void child_done(struct child *child)
{
	if (!child->started)
		return;
	if (child->pid && child->go_fd >= 0) {
		kill(child->pid, SIGKILL);
		child_wait(child, &(int){0}, &(struct rusage){0});
	}
	fd_done(&child->pidfd);
	fd_done(&child->go_fd);
	fd_done(&child->exec_fd);
	child->started = false;
}
