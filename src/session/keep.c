/*
 * Whose /proc shows a file: the process that mapped it, else its forefathers, who mostly share
 * its root: a shell in a container outlives what it runs. Only a file with the inode or the
 * build id of the record is used in the end, so a wrong guess costs a name, never a wrong one.
 */
#include "session/keep.h"

#include "proc/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { FOREFATHERS = 4 };

void keep_init(struct keep *keep, const struct proc *proc, const struct target *target)
{
	*keep = (struct keep){.proc = proc, .target = target};
	pins_init(&keep->pins, KEEP_FILES_MOST);
}

void keep_done(struct keep *keep)
{
	pins_done(&keep->pins);
	for (uint32_t i = 0; i < keep->folder_count; i++) {
		close(keep->folders[i].where.fd);
		if (keep->folders[i].where.map_fd >= 0)
			close(keep->folders[i].where.map_fd);
	}
	keep->folder_count = 0;
}

/* Asked for files that cannot be had otherwise, which is seldom: the table has no such index.
 */
static int32_t parent_of(const struct keep *keep, int32_t pid)
{
	for (uint32_t i = 0; i < keep->target->process_count; i++)
		if (keep->target->processes[i].pid == pid)
			return keep->target->processes[i].ppid;
	return 0;
}

static void keep_file(struct keep *keep, const struct dso *dso, uint32_t module)
{
	struct pin_request request = {(int32_t)dso->pid, dso->map_start, dso->map_end,
		strings_get(&keep->target->strings, dso->key.path), dso->key.ino};
	enum pin_trust trust;
	int fd, rc = -1;

	if (keep->pins.count >= keep->pins.limit) {
		keep->refused++;
		return;
	}
	for (int i = 0; rc < 0 && i < FOREFATHERS && request.pid > 0; i++) {
		rc = pin_open(keep->proc, &request, &fd, &trust);
		request.pid = parent_of(keep, request.pid);
		request.start = request.end = 0;
	}
	if (rc == 0 && pins_add(&keep->pins, module, fd, trust) < 0)
		close(fd);
}

static void keep_tmp(struct keep *keep, int32_t pid)
{
	struct keep_folder folder = {.pid = pid};
	char path[40];

	if (pid <= 0 || keep_folder(keep, pid))
		return;
	if (keep->folder_count == KEEP_FOLDERS_MOST) {
		keep->refused++;
		return;
	}
	if (proc_identity_read(keep->proc->root, pid, &folder.where.who) < 0)
		return;
	/* No link is followed at the end: a container's /tmp -> /etc would lead into our own.
	 */
	snprintf(path, sizeof(path), "%d/root/tmp", pid);
	folder.where.fd =
		openat(keep->proc->root, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder.where.fd < 0)
		return;
	folder.where.map_fd = perf_map_file_open(folder.where.fd, folder.where.who.own_pid);
	keep->folders[keep->folder_count++] = folder;
}

void keep_refresh(struct keep *keep)
{
	for (uint32_t i = 0; i < keep->folder_count; i++) {
		struct map_folder *where = &keep->folders[i].where;

		if (where->map_fd < 0)
			where->map_fd = perf_map_file_open(where->fd, where->who.own_pid);
	}
}

void keep_module(void *ctx, const struct dso *dso, uint32_t module)
{
	struct keep *keep = ctx;

	if (dso->key.kind == DSO_FILE && pins_fd(&keep->pins, module, NULL) < 0)
		keep_file(keep, dso, module);
	else if (dso->key.kind == DSO_ANON)
		keep_tmp(keep, (int32_t)dso->pid);
}

int keep_fd(const struct keep *keep, uint32_t module)
{
	return pins_fd(&keep->pins, module, NULL);
}

const struct keep_folder *keep_folder(const struct keep *keep, int32_t pid)
{
	for (uint32_t i = 0; i < keep->folder_count; i++)
		if (keep->folders[i].pid == pid)
			return &keep->folders[i];
	return NULL;
}
