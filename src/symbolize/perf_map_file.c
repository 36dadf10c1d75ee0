/*
 * How: the map is looked for where the process's own /tmp is, under the number that the process
 * knows itself by: in a folder that was kept open while it ran, else below /proc/PID/root, else
 * (it is gone, or the recording is of another time) in our /tmp. Anybody may write there, so
 * a map speaks for a process when it is its user's or root's, and was not last written
 * before the process began: pids are used again, and maps stay behind.
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

/* How far the clocks of a file and of a process may lie apart: ticks, steps of the clock. */
#define SLACK_NS 1000000000ull

static uint64_t time_ns(const struct timespec *ts)
{
	return ts->tv_sec < 0 ? 0 : (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec;
}

static bool may_speak_for(const struct stat *file, const struct proc_identity *who)
{
	uint64_t written = time_ns(&file->st_mtim), changed = time_ns(&file->st_ctim);

	if (file->st_uid != who->uid && file->st_uid)
		return false;
	return !who->started_ns ||
	       (written > changed ? written : changed) + SLACK_NS >= who->started_ns;
}

/* What there is of it, up to the limit. The writer may cut it or write on meanwhile. */
static int text_read(int fd, const struct stat *file, struct strbuf *text, bool *ret_cut)
{
	uint64_t len = (uint64_t)file->st_size;
	int64_t got;

	*ret_cut = len > PERF_MAP_BYTES_MAX;
	len = *ret_cut ? PERF_MAP_BYTES_MAX : len;
	if (!strbuf_reserve(text, len))
		return -ENOMEM;
	got = fd_pread_all(fd, text->text, len, 0);
	if (got < 0)
		return (int)got;
	text->len = (size_t)got;
	return 0;
}

static int map_read_fd(int fd, const struct proc_identity *who, struct perf_map_read *ret_read)
{
	struct strbuf text = {0};
	struct stat file;
	bool cut;
	int r;

	if (fd < 0 || fstat(fd, &file) < 0)
		return 0;
	if (!may_speak_for(&file, who)) {
		ret_read->refused = true;
		return 0;
	}
	r = text_read(fd, &file, &text, &cut);
	if (!r)
		r = perf_map_parse(strbuf_text(&text), text.len, &ret_read->map);
	strbuf_done(&text);
	if (r < 0) {
		ret_read->unreadable |= r != -ENOMEM;
		return r == -ENOMEM ? r : 0;
	}
	ret_read->map.cut |= cut;
	return 1;
}

static int map_read(const char *root, int number, const struct proc_identity *who,
	struct perf_map_read *ret_read)
{
	cleanup_close int fd = -1;
	char path[48];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", number);
	fd = open_regular(root, path);
	ret_read->unreadable |= fd == -EACCES;
	return map_read_fd(fd, who, ret_read);
}

int perf_map_file_open(int folder, int32_t number)
{
	cleanup_close int look = -1;
	struct stat st;
	char path[48];

	snprintf(path, sizeof(path), "perf-%d.map", number);
	look = openat(folder, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (look < 0 || fstat(look, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", look);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* The file that has the name now, else the one that had it while the process ran. */
static int map_read_kept(const struct map_folder *kept, struct perf_map_read *ret_read)
{
	cleanup_close int fd = perf_map_file_open(kept->fd, kept->who.own_pid);
	int r = map_read_fd(fd, &kept->who, ret_read);

	return r ? r : map_read_fd(kept->map_fd, &kept->who, ret_read);
}

/* Who a process is; the caller where it is gone. */
static bool identity(
	const struct symbolizer_options *options, int pid, struct proc_identity *ret_who)
{
	cleanup_close int proc = -1;

	*ret_who = (struct proc_identity){.own_pid = pid, .uid = geteuid()};
	if (!options->live)
		return false;
	proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return proc >= 0 && !proc_identity_read(proc, pid, ret_who);
}

int perf_map_file_read(
	const struct symbolizer_options *options, int pid, struct perf_map_read *ret_read)
{
	struct map_folder kept = {.fd = -1, .map_fd = -1};
	struct proc_identity who;
	char root[32];
	int r = 0;

	*ret_read = (struct perf_map_read){.refused = false};
	if (pid <= 0)
		return 0;
	if (options->map_folder && options->map_folder(options->ctx, pid, &kept))
		r = map_read_kept(&kept, ret_read);
	if (!r && identity(options, pid, &who)) { /* it may have moved to another root since */
		snprintf(root, sizeof(root), "/proc/%d/root", pid);
		r = map_read(root, who.own_pid, &who, ret_read);
	}
	if (!r && kept.fd < 0)
		r = map_read(options->sysroot, pid, &who, ret_read);
	return r;
}
