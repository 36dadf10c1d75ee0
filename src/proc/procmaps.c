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

enum { BUFFER_BYTES = 32768, PATH_BYTES = 4096 + 64, WAITING_MOST = 16 };

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

/*
 * Programs that want their code on huge pages put a copy of it where it was. What has no file,
 * and lies in the middle of one, is that file's:
 *
 *     7f0000000000-7f0000001000 r--p 00000000 fe:00 1835  /usr/lib/libx.so
 *     7f0000001000-7f0000400000 r-xp 00000000 00:00 0                         <- 1000
 *     7f0000400000-7f0000410000 r--p 00400000 fe:00 1835  /usr/lib/libx.so
 */
struct reading {
	proc_mapping_fn visit;
	void *ctx;
	int count;
	struct proc_mapping file; /* the last that has one; ino 0: none that touches */
	char file_path[PATH_BYTES];
	struct proc_mapping waiting[WAITING_MOST]; /* behind it, without a file */
	uint32_t waiting_count;
};

static int give(struct reading *r, const struct proc_mapping *mapping)
{
	int rc;

	if (!(mapping->prot & PROT_EXEC))
		return 0;
	rc = r->visit(r->ctx, mapping);
	r->count += rc >= 0;
	return rc < 0 ? rc : 0;
}

static uint64_t waiting_end(const struct reading *r)
{
	return r->waiting_count ? r->waiting[r->waiting_count - 1].end : r->file.end;
}

/* What waits is given as it is, or as a part of the file around it. */
static int give_waiting(struct reading *r, bool of_file)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < r->waiting_count; i++) {
		struct proc_mapping mapping = r->waiting[i];

		mapping.path = "//anon";
		if (of_file) {
			mapping.pgoff = r->file.pgoff + (mapping.start - r->file.start);
			mapping.maj = r->file.maj;
			mapping.min = r->file.min;
			mapping.ino = r->file.ino;
			mapping.path = r->file_path;
		}
		rc = give(r, &mapping);
	}
	r->waiting_count = 0;
	return rc;
}

static bool goes_on(const struct reading *r, const struct proc_mapping *mapping)
{
	return r->file.ino && mapping->ino == r->file.ino && mapping->maj == r->file.maj &&
	       mapping->min == r->file.min && mapping->start == waiting_end(r) &&
	       mapping->pgoff - r->file.pgoff == mapping->start - r->file.start;
}

static int take(struct reading *r, const struct proc_mapping *mapping)
{
	bool anon = !strcmp(mapping->path, "//anon");
	int rc;

	if (anon && r->file.ino && mapping->start == waiting_end(r) &&
		r->waiting_count < WAITING_MOST) {
		r->waiting[r->waiting_count++] = *mapping;
		return 0;
	}
	rc = give_waiting(r, goes_on(r, mapping));
	r->file = *mapping;
	if (mapping->ino)
		strcpy(r->file_path, mapping->path);
	return rc < 0 ? rc : give(r, mapping);
}

/* Takes the whole lines of the buffer; at the end of the file any line is whole. */
static int take_lines(struct reading *r, struct span *buffer, bool at_end)
{
	char path[PATH_BYTES];

	for (;;) {
		struct proc_mapping mapping;
		struct span line;
		int rc;

		if (!at_end && !memchr(buffer->at, '\n', (size_t)(buffer->end - buffer->at)))
			return 0;
		if (!span_line(buffer, &line))
			return at_end ? give_waiting(r, false) : 0;
		if (!mapping_of(line, &mapping, path))
			continue;
		rc = take(r, &mapping);
		if (rc < 0)
			return rc;
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
	struct reading reading = {.visit = visit, .ctx = ctx};
	char bytes[BUFFER_BYTES], path[64];
	cleanup_close int fd = -1;
	bool skipping = false; /* inside a line that is too long */
	size_t kept = 0;

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
		rc = take_lines(&reading, &buffer, !got);
		if (rc < 0)
			return rc;
		if (!got)
			return reading.count;
		kept = (size_t)(buffer.end - buffer.at);
		skipping = skipping || kept == sizeof(bytes);
		if (skipping)
			kept = 0;
		memmove(bytes, buffer.at, kept);
	}
}
