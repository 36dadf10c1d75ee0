/*
 * How: /proc/PID/mem at the recorded mapping, and if that is refused the mapping that
 * getauxval() names in this process, whose length is read from /proc/self/maps.
 */
#include "symbolize/vdso_image.h"

#include "base/cleanup.h"
#include "base/fileio.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { VDSO_MAX = 1 << 20, MAPS_MAX = 64 << 20 };

static bool copy_from(int pid, uint64_t start, uint64_t len, struct vdso_image *ret)
{
	cleanup_close int fd = -1;
	char path[40];
	void *bytes;

	if (!len || len > VDSO_MAX)
		return false;
	if (pid > 0)
		snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/mem");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bytes = malloc(len);
	if (!bytes || fd_pread_all(fd, bytes, len, (off_t)start) != (int64_t)len ||
		memcmp(bytes, "\177ELF", 4) != 0) {
		free(bytes);
		return false;
	}
	ret->bytes = bytes;
	ret->len = len;
	return true;
}

/* Where this process's own vdso ends: "7ffd1000-7ffd3000 r-xp ... [vdso]". */
static uint64_t own_end(uint64_t start)
{
	struct strbuf maps = {0};
	char key[24];
	uint64_t end = 0;
	const char *at;

	snprintf(key, sizeof(key), "%llx-", (unsigned long long)start);
	if (!file_read(AT_FDCWD, "/proc/self/maps", MAPS_MAX, &maps)) {
		at = strstr(strbuf_text(&maps), key);
		if (at)
			end = strtoull(at + strlen(key), NULL, 16);
	}
	strbuf_done(&maps);
	return end;
}

bool vdso_image_read(const struct module *module, bool live, struct vdso_image *ret)
{
	uint64_t len = module->map_end - module->map_start, start = getauxval(AT_SYSINFO_EHDR);
	uint64_t end;

	if (live && module->pid > 0 && copy_from(module->pid, module->map_start, len, ret))
		return true;
	end = start ? own_end(start) : 0;
	if (end <= start || (len && len != end - start))
		return false;
	return copy_from(0, start, end - start, ret);
}
