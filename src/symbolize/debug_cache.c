/*
 * How: a file is written under a name of its own (debuginfo.XXXXXX, as elfutils does it, whose
 * cleaning then finds what an interrupted run left) and renamed when it is whole and checked.
 */
#include "symbolize/debug_cache.h"

#include "symbolize/own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool debug_key_text(const struct debug_key *key, char ret_text[DEBUG_KEY_ROOM])
{
	int at = 0;

	if (!key->build_id_bytes || key->build_id_bytes > sizeof(key->build_id))
		return false;
	for (uint8_t i = 0; i < key->build_id_bytes; i++)
		at += snprintf(
			ret_text + at, DEBUG_KEY_ROOM - (size_t)at, "%02x", key->build_id[i]);
	snprintf(ret_text + at, DEBUG_KEY_ROOM - (size_t)at, "/%s",
		key->executable ? "executable" : "debuginfo");
	return true;
}

bool debug_cache_path(const char *dir, const struct debug_key *key, char ret_path[PATH_MAX])
{
	char text[DEBUG_KEY_ROOM];

	return dir && dir[0] && debug_key_text(key, text) &&
	       snprintf(ret_path, PATH_MAX, "%s/%s", dir, text) < PATH_MAX;
}

bool debug_cache_is_miss(const char *dir, const struct debug_key *key)
{
	char path[PATH_MAX];
	struct stat st;
	time_t now = time(NULL);

	return debug_cache_path(dir, key, path) && !lstat(path, &st) && S_ISREG(st.st_mode) &&
	       !st.st_size && st.st_mtime <= now &&
	       now - st.st_mtime < DEBUG_CACHE_MISS_SECONDS;
}

/* DIR and DIR/ID. */
static bool folders_make(const char *dir, const char *path)
{
	const char *slash = path;
	char folder[PATH_MAX];

	if (!own_folder_make(dir))
		return false;
	for (const char *p = path; *p; p++)
		if (*p == '/')
			slash = p;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	return mkdir(folder, 0700) == 0 || errno == EEXIST;
}

void debug_cache_add_miss(const char *dir, const struct debug_key *key)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (!debug_cache_path(dir, key, path) || !folders_make(dir, path))
		return;
	if (!lstat(path, &st) && S_ISREG(st.st_mode) && !st.st_size)
		unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

int debug_cache_create(
	const char *dir, const struct debug_key *key, char ret_path[PATH_MAX], int *ret_fd)
{
	static const char tail[] = ".XXXXXX";
	char path[PATH_MAX];
	int fd;

	if (!debug_cache_path(dir, key, path))
		return -EINVAL;
	if (!folders_make(dir, path))
		return -EACCES;
	if (snprintf(ret_path, PATH_MAX, "%s%s", path, tail) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = mkostemp(ret_path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int debug_cache_keep(const char *dir, const struct debug_key *key, const char *path)
{
	char kept[PATH_MAX];

	if (!debug_cache_path(dir, key, kept))
		return -EINVAL;
	return rename(path, kept) < 0 ? -errno : 0;
}
