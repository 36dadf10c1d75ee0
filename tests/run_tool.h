/* For tests that need a compiler or binutils to make their input; they skip aloud without. */
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs argv by PATH, its output thrown away. True: it exited with 0. */
static inline bool run_tool(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	char *args[32];
	int status = -1, n = 0;
	pid_t pid;
	bool ok;

	for (; argv[n] && n < 31; n++)
		args[n] = (char *)(uintptr_t)argv[n];
	args[n] = NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	ok = !posix_spawnp(&pid, args[0], &actions, NULL, args, environ) &&
	     waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
	posix_spawn_file_actions_destroy(&actions);
	return ok;
}

/* The output of argv, to be read to its end and given to tool_close(). NULL: it cannot be
 * started. */
static inline FILE *tool_open(const char *const *argv, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	char *args[32];
	FILE *out = NULL;
	int ends[2], n = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	for (; argv[n] && n < 31; n++)
		args[n] = (char *)(uintptr_t)argv[n];
	args[n] = NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (!posix_spawnp(ret_pid, args[0], &actions, NULL, args, environ))
		out = fdopen(ends[0], "r");
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (!out)
		close(ends[0]);
	return out;
}

/* True: it was started, and exited by itself. */
static inline bool tool_close(FILE *out, pid_t pid)
{
	int status = -1;

	if (!out)
		return false;
	fclose(out);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status);
}

/* A fresh directory below $TMPDIR (or /tmp) in `room`. */
static inline bool scratch_make(char *room, size_t size)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(room, size, "%s/wick-test-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	return mkdtemp(room) != NULL;
}

static inline void scratch_remove(const char *dir)
{
	run_tool((const char *const[]){"rm", "-rf", "--", dir, NULL});
}

static inline bool write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	return f && fputs(text, f) >= 0 && !fclose(f);
}
