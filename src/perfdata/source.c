/*
 * A window of 256 KiB over a file or a stream.
 *
 *     file:   ......|  used  | at ....... len |......... end
 *                            '-- the window --'next
 *
 * A file is read by pread() and not mapped: a file that somebody cuts while it is read is then
 * a short read and not a SIGBUS, and memory stays bounded whatever the file's size. The price
 * is one copy, which is small beside decoding.
 */
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW_BYTES = 256 << 10 };

int source_init(struct source *source, int fd, bool seekable)
{
	*source = (struct source){.fd = fd, .seekable = seekable, .end = UINT64_MAX};
	source->buf = malloc(WINDOW_BYTES);
	return source->buf ? 0 : -ENOMEM;
}

void source_done(struct source *source)
{
	free(source->buf);
	source->buf = NULL;
}

void source_seek(struct source *source, uint64_t offset, uint64_t end)
{
	source->at = source->len = 0;
	source->next = offset;
	source->end = end;
	source->ended = false;
}

/* One read into `at`; 0 at the end. */
static ssize_t source_read(struct source *source, void *at, size_t room)
{
	ssize_t got;

	if (source->next >= source->end || source->next > INT64_MAX - WINDOW_BYTES)
		return 0;
	if (room > source->end - source->next)
		room = (size_t)(source->end - source->next);
	do {
		got = source->seekable ? pread(source->fd, at, room, (off_t)source->next)
				       : read(source->fd, at, room);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

int source_need(struct source *source, size_t need)
{
	if (source_left(source) >= need || source->ended)
		return 0;
	if (source->at) {
		memmove(source->buf, source->buf + source->at, source_left(source));
		source->len -= source->at;
		source->at = 0;
	}
	while (source->len < need) {
		ssize_t got = source_read(
			source, source->buf + source->len, WINDOW_BYTES - source->len);

		if (got < 0)
			return (int)got;
		if (!got) {
			source->ended = true;
			break;
		}
		source->len += (size_t)got;
		source->next += (uint64_t)got;
	}
	return 0;
}

int source_skip(struct source *source, uint64_t len, uint64_t *ret_skipped)
{
	uint64_t skipped = len < source_left(source) ? len : source_left(source);

	source->at += (size_t)skipped;
	/* A file is not asked for what nobody wants: its end bounds the jump. */
	if (source->seekable && skipped < len) {
		uint64_t room = source->end > source->next ? source->end - source->next : 0;
		uint64_t jump = len - skipped < room ? len - skipped : room;

		source_seek(source, source->next + jump, source->end);
		skipped += jump;
	}
	while (skipped < len && !source->ended) {
		int rc = source_need(source, 1);
		uint64_t step = source_left(source);

		if (rc < 0)
			return rc;
		if (step > len - skipped)
			step = len - skipped;
		source->at += (size_t)step;
		skipped += step;
	}
	*ret_skipped = skipped;
	return 0;
}
