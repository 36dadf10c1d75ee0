/*
 * How: the file is first opened with O_PATH, which neither blocks on a FIFO nor touches a
 * device, and looked at; then that very file is opened for reading through /proc/self/fd.
 * openat2() with RESOLVE_IN_ROOT keeps the links of a container's files in the container; on
 * kernels before 5.6 a plain openat() does, and the check of the build id decides.
 */
#include "symbolize/open_regular.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_in_root(const char *root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	cleanup_close int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	long fd;

	if (dir < 0)
		return -errno;
	fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		while (*path == '/')
			path++;
		fd = openat(dir, path, O_PATH | O_CLOEXEC);
	}
	return fd < 0 ? -errno : (int)fd;
}

int open_regular(const char *root, const char *path)
{
	cleanup_close int look = -1;
	char self[40];
	struct stat st;
	int fd;

	if (root && root[0]) {
		look = open_in_root(root, path);
		if (look < 0)
			return look;
	} else {
		look = open(path, O_PATH | O_CLOEXEC);
		if (look < 0)
			return -errno;
	}
	if (fstat(look, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", look);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
