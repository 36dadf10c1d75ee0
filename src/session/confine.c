/*
 * cgroup v2 may be mounted anywhere, beside v1 (mountinfo knows), and a mount may show only a
 * part of the hierarchy (its root field, in containers):
 *
 *     /proc/self/cgroup      0::/user.slice/a
 *     /proc/self/mountinfo   41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2
 * rw root  mount point                      type
 */
#include "session/confine.h"

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/strbuf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum { PROC_FILE_MAX = 4 << 20, MOVE_TRIES = 20 };

#define PREFIX "wick-"

/* The word at `*at`, which moves behind it; its length. */
static size_t next_word(const char **at, const char **ret_word)
{
	size_t len;

	*at += strspn(*at, " ");
	*ret_word = *at;
	len = strcspn(*at, " \n");
	*at += len;
	return len;
}

/* Finds the mount of cgroup v2: "mount point" and "root" of a line of mountinfo. */
static int mount_find(const char *text, char *ret_point, char *ret_root, size_t cap)
{
	for (const char *line = text; *line;) {
		const char *at = line, *word, *point = NULL, *root = NULL, *dash;
		size_t len, point_len = 0, root_len = 0, line_len = strcspn(line, "\n");

		for (int field = 0; field < 5; field++) {
			len = next_word(&at, &word);
			if (field == 3) {
				root = word;
				root_len = len;
			} else if (field == 4) {
				point = word;
				point_len = len;
			}
		}
		dash = memmem(line, line_len, " - cgroup2 ", 11);
		if (dash && point_len && point_len < cap && root_len < cap) {
			memcpy(ret_point, point, point_len);
			ret_point[point_len] = '\0';
			memcpy(ret_root, root, root_len);
			ret_root[root_len] = '\0';
			return 0;
		}
		line += line_len + (line[line_len] == '\n');
	}
	return -ENOENT;
}

static int mount_read(const struct proc *proc, char *ret_point, char *ret_root, size_t cap)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	int rc = file_read(proc->root, "self/mountinfo", PROC_FILE_MAX, &text);

	return rc < 0 ? rc : mount_find(strbuf_text(&text), ret_point, ret_root, cap);
}

/* Our own cgroup's directory. */
static int own_path(const struct proc *proc, char *ret_path, size_t cap)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	char point[256], root[256];
	const char *own;
	size_t len, root_len;
	int rc = mount_read(proc, point, root, sizeof(point));

	if (rc == 0)
		rc = file_read(proc->root, "self/cgroup", PROC_FILE_MAX, &text);
	if (rc < 0)
		return rc;
	own = strbuf_text(&text);
	if (strncmp(own, "0::", 3) != 0) {
		own = strstr(own, "\n0::");
		if (!own)
			return -ENOENT;
		own++;
	}
	own += 3;
	len = strcspn(own, "\n");
	root_len = strcmp(root, "/") ? strlen(root) : 0;
	if (len >= root_len && !strncmp(own, root, root_len)) {
		own += root_len;
		len -= root_len;
	}
	if (len == 1)
		len = 0; /* "/" */
	if (snprintf(ret_path, cap, "%s%.*s", point, (int)len, own) >= (int)cap)
		return -ENAMETOOLONG;
	return 0;
}

/* "wick-PID-START" of a process that is not there any more. */
static bool is_left_over(const struct proc *proc, const char *name)
{
	const char *pid_text = name + strlen(PREFIX), *dash;
	struct proc_stat stat;
	uint64_t pid, start;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return false;
	dash = strchr(pid_text, '-');
	if (!dash || parse_u64(pid_text, (size_t)(dash - pid_text), &pid) < 0 ||
		parse_u64(dash + 1, strlen(dash + 1), &start) < 0 || pid > INT32_MAX)
		return false;
	return proc_stat(proc, (int32_t)pid, &stat) == -ESRCH || stat.start_ticks != start;
}

static void remove_left_overs(const struct proc *proc, const char *own)
{
	DIR *dir = opendir(own);

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (is_left_over(proc, entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR); /* only when empty */
	closedir(dir);
}

int confine_new(struct confine *confine, const struct proc *proc)
{
	struct proc_stat stat;
	char own[400];
	int rc = own_path(proc, own, sizeof(own));

	*confine = (struct confine){.fd = -1};
	if (rc == 0)
		rc = proc_stat(proc, getpid(), &stat);
	if (rc < 0)
		return rc;
	remove_left_overs(proc, own);
	snprintf(confine->path, sizeof(confine->path), "%s/" PREFIX "%d-%llu", own,
		(int)getpid(), (unsigned long long)stat.start_ticks);
	if (mkdir(confine->path, 0755) < 0)
		return -errno;
	confine->made = true;
	confine->fd = open(confine->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (confine->fd >= 0)
		return 0;
	rc = -errno;
	confine_done(confine);
	return rc;
}

int confine_open(
	struct confine *confine, const struct proc *proc, const char *path, struct error *err)
{
	char point[256] = "", root[256];
	struct stat st;
	int rc = 0;

	*confine = (struct confine){.fd = -1};
	snprintf(confine->path, sizeof(confine->path), "%s", path);
	if (path[0] != '/' || stat(path, &st) < 0) {
		rc = mount_read(proc, point, root, sizeof(point));
		if (rc < 0)
			return error_set(err, rc,
				"cgroup %s: this machine has no cgroup v2 mounted", path);
		snprintf(confine->path, sizeof(confine->path), "%s/%s", point,
			path + (path[0] == '/'));
	}
	confine->fd = open(confine->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (confine->fd < 0)
		return error_set(err, -errno,
			"cgroup %s: %s (looked for %s); systemd-cgls and /proc/PID/cgroup name "
			"them",
			path, strerror(errno), confine->path);
	if (faccessat(confine->fd, "cgroup.procs", F_OK, 0) < 0) {
		confine_done(confine);
		return error_set(err, -EINVAL, "cgroup %s: %s is not a cgroup directory", path,
			confine->path);
	}
	return 0;
}

static uint64_t stat_value_ns(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	uint64_t usec;

	if (!at)
		return 0;
	at += strlen(key);
	return parse_u64(at, strcspn(at, "\n"), &usec) < 0 ? 0 : usec * 1000;
}

int confine_cpu(const struct confine *confine, uint64_t *ret_cpu, uint64_t *ret_user,
	uint64_t *ret_kernel)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	int rc = file_read(confine->fd, "cpu.stat", 1 << 16, &text);

	if (rc < 0)
		return rc;
	*ret_cpu = stat_value_ns(strbuf_text(&text), "usage_usec ");
	*ret_user = stat_value_ns(strbuf_text(&text), "user_usec ");
	*ret_kernel = stat_value_ns(strbuf_text(&text), "system_usec ");
	return 0;
}

/* What outlives the recording (a daemon that was started) goes where we are ourselves. */
static void move_out(const struct confine *confine)
{
	cleanup_with(strbuf_done) struct strbuf pids = {0};
	cleanup_close int to = openat(confine->fd, "../cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (to < 0 || file_read(confine->fd, "cgroup.procs", PROC_FILE_MAX, &pids) < 0)
		return;
	for (const char *pid = strbuf_text(&pids); *pid;) {
		size_t len = strcspn(pid, "\n");

		fd_write_all(to, pid, len); /* it may have ended meanwhile */
		pid += len + (pid[len] == '\n');
	}
}

void confine_done(struct confine *confine)
{
	for (int tries = 0; confine->made && tries < MOVE_TRIES; tries++) {
		if (rmdir(confine->path) == 0 || errno == ENOENT)
			break;
		if (confine->fd < 0)
			break;
		move_out(confine);
		usleep(1000);
	}
	if (confine->fd >= 0)
		close(confine->fd);
	*confine = (struct confine){.fd = -1};
}
