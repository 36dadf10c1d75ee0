/*
 * Small files of /proc, read whole into a stack or string buffer and taken apart by hand. A
 * field that is missing leaves the whole answer as -EBADMSG; a file that is missing is a
 * process that is gone.
 */
#include "proc/proc.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "proc/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PIDS_LIMIT = 1 << 22, SMALL_FILE = 65536 };

int proc_open(struct proc *proc, const char *proc_path, const char *sys_path, struct error *err)
{
	const char *path = proc_path ? proc_path : "/proc";

	proc->sys = open(sys_path ? sys_path : "/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	proc->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc->root < 0) {
		int code = -errno;

		proc_close(proc);
		return error_set(err, code, "%s: %s; mount a proc file system there", path,
			strerror(-code));
	}
	return 0;
}

void proc_close(struct proc *proc)
{
	if (proc->root >= 0)
		close(proc->root);
	if (proc->sys >= 0)
		close(proc->sys);
	proc->root = proc->sys = -1;
}

void pid_list_done(struct pid_list *list)
{
	free(list->pids);
	*list = (struct pid_list){0};
}

static int gone(int code)
{
	return code == -ENOENT ? -ESRCH : code;
}

static void cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Appends the names that are numbers. */
static int list_numbers(int dirfd, const char *path, struct pid_list *list)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_with(cleanup_closedir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		int code = -errno;

		if (fd >= 0)
			close(fd);
		return gone(code);
	}
	for (errno = 0; (entry = readdir(dir)); errno = 0) {
		uint64_t pid;
		int rc;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
			parse_u64(entry->d_name, strlen(entry->d_name), &pid) < 0 || !pid ||
			pid > INT32_MAX)
			continue;
		rc = array_reserve(&list->pids, &list->cap, (uint64_t)list->count + 1,
			sizeof(*list->pids), PIDS_LIMIT);
		if (rc < 0)
			return rc;
		list->pids[list->count++] = (int32_t)pid;
	}
	return gone(-errno);
}

int proc_tasks(const struct proc *proc, int32_t pid, struct pid_list *list)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%d/task", pid);
	return list_numbers(proc->root, path, list);
}

int proc_pids(const struct proc *proc, struct pid_list *list)
{
	return list_numbers(proc->root, ".", list);
}

int proc_comm(const struct proc *proc, int32_t pid, int32_t tid, char ret_comm[PROC_COMM_MAX])
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	char path[64];
	size_t len;
	int rc;

	(void)snprintf(path, sizeof(path), "%d/task/%d/comm", pid, tid);
	rc = file_read(proc->root, path, SMALL_FILE, &text);
	if (rc < 0)
		return gone(rc);
	len = strnlen(strbuf_text(&text), text.len);
	if (len && text.text[len - 1] == '\n')
		len--;
	if (len >= PROC_COMM_MAX)
		len = PROC_COMM_MAX - 1;
	memcpy(ret_comm, strbuf_text(&text), len);
	ret_comm[len] = '\0';
	return 0;
}

/* The numbers behind "Key:" of a line: the first, or the last one. */
static bool status_number(struct span text, const char *key, bool last, uint64_t *ret_value)
{
	struct span line;

	while (span_line(&text, &line)) {
		bool have = false;
		uint64_t value;

		if (!span_skip(&line, key))
			continue;
		while ((!have || last) && span_decimal(&line, &value)) {
			*ret_value = value;
			have = true;
		}
		return have;
	}
	return false;
}

int proc_status(const struct proc *proc, int32_t tid, struct proc_status *ret_status)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	uint64_t tgid, ppid, uid, threads, ns_pid = (uint64_t)tid;
	struct span all;
	char path[64];
	int rc;

	(void)snprintf(path, sizeof(path), "%d/status", tid);
	rc = file_read(proc->root, path, SMALL_FILE, &text);
	if (rc < 0)
		return gone(rc);
	all = span_of(&text);
	if (!status_number(all, "Tgid:", false, &tgid) ||
		!status_number(all, "PPid:", false, &ppid) ||
		!status_number(all, "Uid:", false, &uid) ||
		!status_number(all, "Threads:", false, &threads))
		return -EBADMSG;
	(void)status_number(all, "NSpid:", true, &ns_pid); /* since Linux 4.1 */
	if (!tgid || tgid > INT32_MAX || ppid > INT32_MAX || ns_pid > INT32_MAX)
		return -EBADMSG;
	*ret_status = (struct proc_status){
		.tgid = (int32_t)tgid,
		.ppid = (int32_t)ppid,
		.ns_pid = (int32_t)ns_pid,
		.uid = (uint32_t)uid,
		.threads = (uint32_t)threads,
	};
	return 0;
}

int32_t proc_tgid(const struct proc *proc, int32_t tid)
{
	struct proc_status status;
	int rc = proc_status(proc, tid, &status);

	return rc < 0 ? rc : status.tgid;
}

static uint64_t ticks_ns(uint64_t ticks)
{
	long hz = sysconf(_SC_CLK_TCK);

	return ticks * (1000000000u / (uint64_t)(hz > 0 ? hz : 100));
}

/* "812 (a name) with ) in it) S 1 812 ...": the fields are counted from the last parenthesis.
 */
int proc_stat(const struct proc *proc, int32_t pid, struct proc_stat *ret_stat)
{
	enum { PPID = 4, UTIME = 14, STIME = 15, THREADS = 20, START = 22 };
	cleanup_with(strbuf_done) struct strbuf text = {0};
	uint64_t field[START + 1] = {0};
	struct proc_stat stat = {0};
	struct span rest;
	char path[64];
	int rc;

	(void)snprintf(path, sizeof(path), "%d/stat", pid);
	rc = file_read(proc->root, path, SMALL_FILE, &text);
	if (rc < 0)
		return gone(rc);
	rest = span_of(&text);
	if (!span_skip_past_last(&rest, ')') || !span_skip(&rest, " ") || rest.at == rest.end)
		return -EBADMSG;
	stat.state = *rest.at++;
	for (uint32_t i = PPID; i <= START; i++) {
		span_blanks(&rest);
		(void)span_skip(&rest, "-"); /* priorities, nice, a terminal of -1 */
		if (!span_decimal(&rest, &field[i]))
			return -EBADMSG;
	}
	if (field[PPID] > INT32_MAX)
		return -EBADMSG;
	stat.ppid = (int32_t)field[PPID];
	stat.threads = (uint32_t)field[THREADS];
	stat.utime_ns = ticks_ns(field[UTIME]);
	stat.stime_ns = ticks_ns(field[STIME]);
	stat.start_ticks = field[START];
	*ret_stat = stat;
	return 0;
}

int proc_cpu_ns(int32_t pid, uint64_t *ret_ns)
{
	struct timespec now;
	clockid_t clock;
	int rc = clock_getcpuclockid(pid, &clock);

	if (rc)
		return -rc;
	/* The clock of a process that ended in between is EINVAL. */
	if (clock_gettime(clock, &now) < 0)
		return errno == EINVAL ? -ESRCH : -errno;
	*ret_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return 0;
}

int proc_thread_cpu_ns(const struct proc *proc, int32_t pid, int32_t tid, uint64_t *ret_ns)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	struct span all;
	char path[64];
	int rc;

	(void)snprintf(path, sizeof(path), "%d/task/%d/schedstat", pid, tid);
	rc = file_read(proc->root, path, SMALL_FILE, &text);
	if (rc == -ENOENT) {
		(void)snprintf(path, sizeof(path), "%d/task/%d", pid, tid);
		if (faccessat(proc->root, path, F_OK, 0) == 0)
			return -ENOTSUP;
	}
	if (rc < 0)
		return gone(rc);
	all = span_of(&text);
	return span_decimal(&all, ret_ns) ? 0 : -EBADMSG;
}
