/*
 * How: the last number of "NSpid:" in /proc/PID/status is the pid that the program itself
 * knows; its /tmp is the one below /proc/PID/root. The owner of /proc/PID is the process's
 * effective user.
 */
#include "symbolize/perf_map_file.h"

#include "base/cleanup.h"
#include "base/fileio.h"
#include "symbolize/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { STATUS_MAX = 64 << 10 };

/* "NSpid:\t4711\t7": 7; the pid itself where there is no such line. */
static int own_pid(int pid)
{
	struct strbuf status = {0};
	char path[40];
	uint64_t number;
	const char *line, *end, *last;
	int own = pid;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (!file_read(AT_FDCWD, path, STATUS_MAX, &status)) {
		line = strstr(strbuf_text(&status), "\nNSpid:");
		end = line ? strchr(line + 1, '\n') : NULL;
		last = end ? memrchr(line, '\t', (size_t)(end - line)) : NULL;
		if (last && !parse_u64(last + 1, (size_t)(end - last - 1), &number) &&
			number <= INT32_MAX)
			own = (int)number;
	}
	strbuf_done(&status);
	return own;
}

static bool may_speak_for(int fd, uid_t user)
{
	struct stat file;

	return !fstat(fd, &file) && (file.st_uid == user || !file.st_uid);
}

/* Who a process is; the caller where it is gone. */
static uid_t user_of(int pid, bool live)
{
	struct stat process;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return live && !stat(path, &process) ? process.st_uid : geteuid();
}

static int map_read_fd(int fd, uid_t user, struct perf_map *ret_map)
{
	struct strbuf text = {0};
	char path[48];
	int r;

	if (fd < 0 || !may_speak_for(fd, user))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = file_read(AT_FDCWD, path, PERF_MAP_BYTES_MAX, &text);
	if (!r)
		r = perf_map_parse(strbuf_text(&text), text.len, ret_map);
	strbuf_done(&text);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return 1;
}

static int map_read(const char *root, int number, uid_t user, struct perf_map *ret_map)
{
	cleanup_close int fd = -1;
	char path[48];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", number);
	fd = open_regular(root, path);
	return map_read_fd(fd, user, ret_map);
}

/* In a folder that was kept open while the process ran. */
static int map_read_kept(
	const struct symbolizer_options *options, int pid, struct perf_map *ret_map)
{
	cleanup_close int look = -1, fd = -1;
	int32_t own = pid;
	uint32_t user;
	int folder;
	struct stat st;
	char path[48];

	folder = options->map_folder ? options->map_folder(options->ctx, pid, &own, &user) : -1;
	if (folder < 0)
		return 0;
	snprintf(path, sizeof(path), "perf-%d.map", own);
	look = openat(folder, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (look < 0 || fstat(look, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", look);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return map_read_fd(fd, user, ret_map);
}

int perf_map_file_read(
	const struct symbolizer_options *options, int pid, struct perf_map *ret_map)
{
	char root[32];
	int r;

	if (pid <= 0)
		return 0;
	r = map_read_kept(options, pid, ret_map);
	if (!r && options->live) {
		snprintf(root, sizeof(root), "/proc/%d/root", pid);
		r = map_read(root, own_pid(pid), user_of(pid, true), ret_map);
	}
	return r ? r : map_read(options->sysroot, pid, user_of(pid, options->live), ret_map);
}
