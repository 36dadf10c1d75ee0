/*
 * A file is found by a descriptor that cannot read (O_PATH), looked at, and only when it is a
 * regular file opened for reading, by /proc/self/fd: no FIFO is waited for, no device is
 * opened, and between looking and opening nobody can put another file there.
 *
 * Below /proc/PID/root the path belongs to the target, who may have made a link that leads out
 * of its root: openat2() with RESOLVE_IN_ROOT (Linux 5.6) keeps it inside. Where there is no
 * openat2() no link at all is followed in the last component, and the inode still has to agree.
 */
#include "proc/pins.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIN_ENTRIES_LIMIT = 1 << 20 };

static int open_path_in_root(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd >= 0)
		return (int)fd;
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	while (*path == '/')
		path++;
	fd = openat(root, path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : (int)fd;
}

/* Takes a path descriptor, gives a readable one when it is the wanted regular file. */
static int reopen_regular(int path_fd, uint64_t ino, int *ret_fd)
{
	cleanup_close int found = path_fd;
	char self[64];
	struct stat st;
	int fd;

	if (found < 0)
		return found;
	if (fstat(found, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	if (ino && st.st_ino != ino)
		return -ESTALE;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", found);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int path_at(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int pin_by_map_files(
	const struct proc *proc, const struct pin_request *request, int *ret_fd)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%d/map_files/%" PRIx64 "-%" PRIx64, request->pid,
		request->start, request->end);
	return reopen_regular(path_at(proc->root, path), request->ino, ret_fd);
}

static int pin_by_root(const struct proc *proc, const struct pin_request *request, int *ret_fd)
{
	cleanup_close int root = -1;
	char path[64];

	(void)snprintf(path, sizeof(path), "%d/root", request->pid);
	root = openat(proc->root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	return reopen_regular(open_path_in_root(root, request->path), request->ino, ret_fd);
}

/* /proc/PID/exe needs less privilege than map_files, and shows a deleted program, too. */
static int pin_by_exe(const struct proc *proc, const struct pin_request *request, int *ret_fd)
{
	char path[64], link[4096];
	ssize_t len;

	(void)snprintf(path, sizeof(path), "%d/exe", request->pid);
	len = readlinkat(proc->root, path, link, sizeof(link) - 1);
	if (len < 0)
		return -errno;
	link[len] = '\0';
	if (strcmp(link, request->path) != 0)
		return -ENOENT;
	return reopen_regular(path_at(proc->root, path), request->ino, ret_fd);
}

int pin_open(const struct proc *proc, const struct pin_request *request, int *ret_fd,
	enum pin_trust *ret_trust)
{
	int rc = pin_by_map_files(proc, request, ret_fd), stale = 0;

	if (rc < 0)
		rc = pin_by_exe(proc, request, ret_fd);
	if (rc == 0) {
		*ret_trust = PIN_MAPPED;
		return 0;
	}
	if (request->path[0] != '/')
		return rc;
	rc = pin_by_root(proc, request, ret_fd);
	if (rc == -ESTALE)
		stale = rc;
	if (rc < 0)
		rc = reopen_regular(path_at(AT_FDCWD, request->path), request->ino, ret_fd);
	if (rc < 0)
		return stale ? stale : rc;
	*ret_trust = request->ino ? PIN_INODE : PIN_NAME;
	return 0;
}

/* ---- the table */

void pins_init(struct pins *pins, uint32_t most)
{
	struct rlimit limit;

	*pins = (struct pins){.limit = most};
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < most)
		pins->limit = (uint32_t)(limit.rlim_cur / 4);
}

void pins_done(struct pins *pins)
{
	for (uint32_t i = 0; i < pins->count; i++)
		close(pins->at[i].fd);
	free(pins->at);
	hash_done(&pins->by_dso);
	*pins = (struct pins){0};
}

static const struct pin *find(const struct pins *pins, uint32_t dso)
{
	struct hash_probe probe = hash_probe(&pins->by_dso, hash_u64(dso));
	uint32_t id;

	while (hash_next(&pins->by_dso, &probe, &id)) {
		if (pins->at[id].dso == dso)
			return &pins->at[id];
	}
	return NULL;
}

int pins_add(struct pins *pins, uint32_t dso, int fd, enum pin_trust trust)
{
	int rc;

	if (find(pins, dso))
		return -EEXIST;
	if (pins->count >= pins->limit)
		return -ENOSPC;
	rc = array_reserve(&pins->at, &pins->cap, (uint64_t)pins->count + 1, sizeof(*pins->at),
		PIN_ENTRIES_LIMIT);
	if (rc == 0)
		rc = hash_add(&pins->by_dso, hash_u64(dso), pins->count);
	if (rc < 0)
		return rc;
	pins->at[pins->count++] = (struct pin){dso, fd, trust};
	return 0;
}

int pins_fd(const struct pins *pins, uint32_t dso, enum pin_trust *ret_trust)
{
	const struct pin *pin = find(pins, dso);

	if (!pin)
		return -1;
	if (ret_trust)
		*ret_trust = pin->trust;
	return pin->fd;
}
