/*
 * /proc/PID/maps, line by line through one buffer: the file of a program with a million
 * mappings is a hundred megabytes, and is never held.
 *
 *     start-end perms offset maj:min inode      path
 *
 * The path is the rest of the line, blanks and all; the kernel escapes a newline in it as \012
 * and nothing else. A line longer than the buffer (no path is) is passed over.
 *
 * Names, by kernel/events/core.c, perf_event_mmap_event(): a file's d_path; else what the
 * mapping calls itself ("[vdso]"); else "[heap]", "[stack]", "//anon". Where /proc shows the
 * name that prctl() gave to anonymous memory ("[anon:x]", "[anon_shmem:x]", and "[stack:TID]"
 * before Linux 4.5) the record has "//anon" or, for shared memory, the file behind it.
 * Anonymous private memory has its own start as its offset in a record, where /proc shows 0.
 * (Compared side by side on Linux 6.18. Only the stack differs: its offset in a record is where
 * it was before exec moved it.)
 */
#include "proc/proc.h"

#include "base/cleanup.h"
#include "proc/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BUFFER_BYTES = 32768, PATH_BYTES = 4096 + 64 };

static void path_of(struct span rest, char path[PATH_BYTES])
{
	size_t len = 0;

	while (rest.at < rest.end && len < PATH_BYTES - 1) {
		if (span_skip(&rest, "\\012"))
			path[len++] = '\n';
		else
			path[len++] = *rest.at++;
	}
	path[len] = '\0';
	if (!len || !strncmp(path, "[anon:", 6) || !strncmp(path, "[stack:", 7))
		strcpy(path, "//anon");
	else if (!strncmp(path, "[anon_shmem:", 12))
		strcpy(path, "/dev/zero (deleted)");
}

static bool perms_of(struct span *line, struct proc_mapping *mapping)
{
	const char *p = line->at;

	if (line->end - p < 5 || p[4] != ' ')
		return false;
	mapping->prot = (p[0] == 'r' ? PROT_READ : 0u) | (p[1] == 'w' ? PROT_WRITE : 0u) |
			(p[2] == 'x' ? PROT_EXEC : 0u);
	mapping->flags = p[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	line->at += 5;
	return true;
}

static bool mapping_of(struct span line, struct proc_mapping *mapping, char path[PATH_BYTES])
{
	uint64_t maj, min;

	if (!span_hex(&line, &mapping->start) || !span_skip(&line, "-") ||
		!span_hex(&line, &mapping->end) || !span_skip(&line, " ") ||
		!perms_of(&line, mapping) || !span_hex(&line, &mapping->pgoff) ||
		!span_hex(&line, &maj) || !span_skip(&line, ":") || !span_hex(&line, &min) ||
		!span_decimal(&line, &mapping->ino) || mapping->start >= mapping->end)
		return false;
	mapping->maj = (uint32_t)maj;
	mapping->min = (uint32_t)min;
	span_blanks(&line);
	path_of(line, path);
	mapping->path = path;
	if (!strcmp(path, "//anon") || !strcmp(path, "[heap]") || !strcmp(path, "[stack]"))
		mapping->pgoff = mapping->start;
	return true;
}

/* Visits the whole lines of the buffer and takes them; at the end of the file any line is
 * whole. */
static int visit_lines(struct span *buffer, bool at_end, proc_mapping_fn visit, void *ctx)
{
	char path[PATH_BYTES];
	int count = 0;

	for (;;) {
		struct proc_mapping mapping;
		struct span line;
		int rc;

		if (!at_end && !memchr(buffer->at, '\n', (size_t)(buffer->end - buffer->at)))
			return count;
		if (!span_line(buffer, &line))
			return count;
		if (!mapping_of(line, &mapping, path) || !(mapping.prot & PROT_EXEC))
			continue;
		rc = visit(ctx, &mapping);
		if (rc < 0)
			return rc;
		count++;
	}
}

static ssize_t read_more(int fd, char *bytes, size_t len)
{
	for (;;) {
		ssize_t got = read(fd, bytes, len);

		if (got >= 0)
			return got;
		if (errno != EINTR)
			return -errno;
	}
}

int proc_read_maps(const struct proc *proc, int32_t pid, proc_mapping_fn visit, void *ctx)
{
	char bytes[BUFFER_BYTES], path[64];
	cleanup_close int fd = -1;
	bool skipping = false; /* inside a line that is too long */
	size_t kept = 0;
	int count = 0;

	(void)snprintf(path, sizeof(path), "%d/maps", pid);
	fd = openat(proc->root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	for (;;) {
		ssize_t got = read_more(fd, bytes + kept, sizeof(bytes) - kept);
		struct span buffer = {bytes, bytes + kept + (got > 0 ? got : 0)};
		int rc;

		if (got < 0)
			return (int)got;
		if (skipping && !span_skip_past_first(&buffer, '\n'))
			buffer.at = buffer.end;
		else
			skipping = false;
		rc = visit_lines(&buffer, !got, visit, ctx);
		if (rc < 0)
			return rc;
		count += rc;
		if (!got)
			return count;
		kept = (size_t)(buffer.end - buffer.at);
		skipping = skipping || kept == sizeof(bytes);
		if (skipping)
			kept = 0;
		memmove(bytes, buffer.at, kept);
	}
}
