/* How: mkdir of the last two folders of the path; then whose it is decides. */
#include "symbolize/own_folder.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool own_folder_make(const char *dir)
{
	const char *slash = strrchr(dir, '/');
	char parent[PATH_MAX];
	struct stat st;

	if (slash && slash > dir && slash - dir < PATH_MAX) {
		memcpy(parent, dir, (size_t)(slash - dir));
		parent[slash - dir] = '\0';
		if (mkdir(parent, 0700) < 0 && errno != EEXIST)
			return false;
	}
	return (mkdir(dir, 0700) == 0 || errno == EEXIST) && stat(dir, &st) == 0 &&
	       st.st_uid == geteuid();
}
