/*
 * Writes a perf.data.
 *
 *     | header 104 | ids of event 0, 1, ... | attrs | data ...           | feature table |
 * sections | ^ again, last: data.size and which features there are    reserved on the disk:
 * |......|
 *
 * The header stands from the start with data.size 0, so a recorder that is killed leaves a file
 * whose data can be read up to its end. Blocks of whole records go out of a buffer of 256 KiB.
 *
 * A full disk, a limit of the file's size: room is reserved ahead of the data (fallocate, where
 * the file system can), in steps that leave enough for the features; the less there is, the
 * smaller the steps. So a write fails while there is still room to finish the file. From the
 * first failure on nothing more is taken; what fitted, up to the last whole record, is finished
 * like any other recording.
 *
 * What stands behind the data, and how a recording survives a kill, is trailer.c's.
 */
#include "base/cleanup.h"
#include "base/fileio.h"
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Room for the data is reserved so far ahead, and this much more for the features. */
static const struct room {
	uint32_t step, features;
} rooms[] = {{1 << 20, 512 << 10}, {128 << 10, 64 << 10}, {16 << 10, 16 << 10}, {0, 8 << 10}};

/* ---- the file */

static int32_t sudo_id(const char *name)
{
	const char *text = getenv(name);
	uint64_t id;

	if (geteuid() != 0 || !text || parse_u64(text, strlen(text), &id) < 0 || id > INT32_MAX)
		return -1;
	return (int32_t)id;
}

/* Puts the old file out of the way: an empty one is removed, any other is kept as path.old. */
static int keep_old(const char *path, const struct stat *old, struct error *err)
{
	cleanup_free char *kept = NULL;
	int rc;

	if (S_ISREG(old->st_mode) && old->st_size == 0) {
		rc = unlink(path);
	} else {
		if (asprintf(&kept, "%s.old", path) < 0) {
			kept = NULL;
			return error_set(err, -ENOMEM, "%s: out of memory", path);
		}
		rc = rename(path, kept);
	}
	if (rc < 0 && errno != ENOENT)
		return error_set(err, -errno,
			"%s: the old file cannot be kept as %s (%s); remove it, or use -o "
			"another name",
			path, kept ? kept : "", strerror(errno));
	return 0;
}

static int open_failed(const char *path, int code, struct error *err)
{
	return error_set(err, -code, "%s: cannot be written (%s); use -o to write elsewhere",
		path, strerror(code));
}

/* "-", a FIFO or a device: what is there is written to, in the pipe format unless it can seek.
 */
static int open_as_it_is(struct perfdata_writer *writer, struct error *err)
{
	const char *path = writer->path;
	bool is_stdout = strcmp(path, "-") == 0;

	writer->fd = is_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
			       : open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (writer->fd < 0)
		return open_failed(path, errno, err);
	if (isatty(writer->fd))
		return error_set(err, -EINVAL,
			"%s: is a terminal, and a recording is no text; send it into a pipe or "
			"a file",
			is_stdout ? "standard output" : path);
	writer->pipe = is_stdout || lseek(writer->fd, 0, SEEK_CUR) < 0;
	return 0;
}

static uint64_t size_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY
		       ? UINT64_MAX
		       : limit.rlim_cur;
}

/*
 * A fresh file, always: whoever has put a file or a link under this name before us has no part
 * in the new one.
 */
static int open_output(struct perfdata_writer *writer, struct error *err)
{
	const char *path = writer->path;

	if (strcmp(path, "-") == 0)
		return open_as_it_is(writer, err);

	for (int tries = 0; tries < 10; tries++) {
		struct stat st;
		int rc = lstat(path, &st);

		if (rc == 0 && S_ISDIR(st.st_mode))
			return open_failed(path, EISDIR, err);
		if (rc == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
			return open_as_it_is(writer, err);
		if (rc == 0) {
			rc = keep_old(path, &st, err);
			if (rc < 0)
				return rc;
		}
		writer->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			S_IRUSR | S_IWUSR);
		if (writer->fd >= 0) {
			writer->regular = writer->can_reserve = true;
			writer->size_limit = size_limit();
			return 0;
		}
		if (errno != EEXIST)
			return open_failed(path, errno, err);
	}
	return open_failed(path, EEXIST, err);
}

/* The file is good whoever owns it: where it cannot be given away it stays ours. */
static void give_to_owner(
	struct perfdata_writer *writer, const struct perfdata_writer_options *options)
{
	int32_t uid = options->owner_uid, gid = options->owner_gid;

	if (uid < 0)
		uid = sudo_id("SUDO_UID");
	if (gid < 0)
		gid = sudo_id("SUDO_GID");
	if (writer->regular && (uid >= 0 || gid >= 0) &&
		fchown(writer->fd, (uid_t)uid, (gid_t)gid) < 0)
		return;
}

/* ---- the header */

int writer_header(struct perfdata_writer *writer, uint64_t data_bytes, const uint64_t bits[4])
{
	uint64_t entry = writer->attr_bytes + 2 * sizeof(uint64_t);
	const uint64_t header[PERFDATA_HEADER_SIZE / sizeof(uint64_t)] = {
		PERFDATA_MAGIC,
		PERFDATA_HEADER_SIZE,
		entry,
		writer->attrs_offset,
		entry * writer->event_count,
		writer->data_offset,
		data_bytes,
		0, /* event types: not in use */
		0,
		bits[0],
		bits[1],
		bits[2],
		bits[3],
	};

	return fd_pwrite_all(writer->fd, header, sizeof(header), 0);
}

static int write_attrs(struct perfdata_writer *writer)
{
	cleanup_with(strbuf_done) struct strbuf out = {0};
	uint64_t offset = PERFDATA_HEADER_SIZE;

	for (uint32_t i = 0; i < writer->event_count; i++)
		strbuf_add(&out, writer->events[i].ids,
			writer->events[i].id_count * sizeof(uint64_t));
	writer->attrs_offset = PERFDATA_HEADER_SIZE + out.len;
	for (uint32_t i = 0; i < writer->event_count; i++) {
		struct perf_event_attr attr = writer->events[i].attr;
		uint64_t ids[2] = {offset, writer->events[i].id_count * sizeof(uint64_t)};

		attr.size = writer->attr_bytes;
		strbuf_add(&out, &attr, writer->attr_bytes);
		strbuf_add(&out, ids, sizeof(ids));
		offset += ids[1];
	}
	if (out.failed)
		return -ENOMEM;
	writer->data_offset = PERFDATA_HEADER_SIZE + out.len;
	return fd_pwrite_all(writer->fd, out.text, out.len, PERFDATA_HEADER_SIZE);
}

static int write_start(struct perfdata_writer *writer)
{
	static const uint64_t no_features[4];
	int rc = write_attrs(writer);

	return rc < 0 ? rc : writer_header(writer, 0, no_features);
}

static int copy_events(
	struct perfdata_writer *writer, const struct perfdata_event *events, uint32_t count)
{
	writer->events = calloc(count, sizeof(*events));
	for (uint32_t i = 0; writer->events && i < count; i++) {
		struct perfdata_event *copy = &writer->events[i];

		*copy = events[i];
		copy->name = strdup(events[i].name ? events[i].name : "");
		copy->ids =
			calloc(events[i].id_count ? events[i].id_count : 1, sizeof(uint64_t));
		writer->event_count = i + 1;
		if (!copy->name || !copy->ids)
			return -ENOMEM;
		if (events[i].id_count)
			memcpy(copy->ids, events[i].ids, events[i].id_count * sizeof(uint64_t));
	}
	writer->attr_bytes = attrs_used_bytes(writer->events, writer->event_count);
	return writer->events ? 0 : -ENOMEM;
}

static int start_packer(struct perfdata_writer *writer,
	const struct perfdata_writer_options *options, struct error *err)
{
	int rc;

	if (!options->compression_level)
		return 0;
	writer->level = options->compression_level;
	rc = packer_new(writer->level, &writer->packer);
	return rc < 0 ? error_set(err, rc,
				"%s: zstd compression of level %d cannot be had (%s)",
				options->path, writer->level,
				rc == -ENOTSUP ? "wick was built without it" : strerror(-rc))
		      : 0;
}

int perfdata_create(const struct perfdata_writer_options *options,
	struct perfdata_writer **ret_writer, struct error *err)
{
	struct perfdata_writer *writer;
	int rc;

	if (!options->event_count)
		return error_set(
			err, -EINVAL, "%s: there is no event to record", options->path);
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return error_set(err, -ENOMEM, "%s: out of memory", options->path);
	writer->fd = -1;
	writer->size_limit = UINT64_MAX;
	writer->path = strdup(options->path);
	rc = writer->path ? copy_events(writer, options->events, options->event_count)
			  : -ENOMEM;
	if (rc < 0) {
		error_set(err, rc, "%s: out of memory", options->path);
		goto fail;
	}
	rc = start_packer(writer, options, err);
	if (rc == 0)
		rc = open_output(writer, err);
	if (rc < 0)
		goto fail;
	give_to_owner(writer, options);
	rc = writer->pipe ? pipe_write_start(writer) : write_start(writer);
	if (rc < 0) {
		open_failed(options->path, -rc, err);
		goto fail;
	}
	writer->reserved_to = writer->data_offset;
	*ret_writer = writer;
	return 0;
fail:
	if (writer->regular)
		unlink(writer->path); /* nobody has use for a part of a header */
	perfdata_writer_free(writer);
	return rc;
}

void perfdata_writer_free(struct perfdata_writer *writer)
{
	if (!writer)
		return;
	syncer_stop(writer->syncer);
	packer_free(writer->packer);
	section_cache_done(&writer->sections);
	if (writer->fd >= 0)
		close(writer->fd);
	events_free(writer->events, writer->event_count);
	free(writer->path);
	free(writer);
}

/* ---- the data */

int writer_fail(struct perfdata_writer *writer, int rc, struct error *err)
{
	writer->failed = rc;
	writer->used = 0;
	return error_set(err, rc,
		"%s: %s after %" PRIu64 " bytes of data; what was written stays readable%s",
		writer->path,
		rc == -ENOSPC  ? "the disk is full"
		: rc == -EFBIG ? "the limit of file sizes (ulimit -f) is met"
			       : strerror(-rc),
		writer->data_bytes,
		rc == -ENOSPC ? "; make room, or use -o to write elsewhere" : "");
}

bool writer_no_room(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG;
}

static int reserve_room(struct perfdata_writer *writer, uint64_t end, const struct room *room)
{
	uint64_t want = end + room->features;

	if (want > writer->size_limit)
		return -EFBIG;
	if (!writer->can_reserve || want <= writer->reserved_to)
		return 0;
	want += room->step;
	if (fallocate(writer->fd, FALLOC_FL_KEEP_SIZE, (off_t)writer->reserved_to,
		    (off_t)(want - writer->reserved_to)) < 0) {
		if (writer_no_room(-errno))
			return -errno;
		writer->can_reserve = false;
		return 0;
	}
	writer->reserved_to = want;
	return 0;
}

/* Sees to it that the data may grow to `end` and the features still fit behind it. */
static int reserve(struct perfdata_writer *writer, uint64_t end)
{
	int rc = reserve_room(writer, end, &rooms[writer->room]);

	while (writer_no_room(rc) && writer->room + 1 < ARRAY_LEN(rooms))
		rc = reserve_room(writer, end, &rooms[++writer->room]);
	return rc;
}

/* How many of `len` bytes are whole records. */
static size_t whole_records(const uint8_t *records, size_t len)
{
	struct bytes b = bytes_of(records, len);
	size_t whole = 0;

	for (;;) {
		struct bytes record = b;

		bytes_skip(&record, 6);
		if (!bytes_skip(&b, bytes_u16(&record)) || record.bad ||
			b.at == records + whole)
			return whole;
		whole = (size_t)(b.at - records);
	}
}

/* Reserves room for the block, or for those of its first records that fit. */
static int reserve_block(struct perfdata_writer *writer, uint64_t at, const uint8_t *block,
	size_t len, size_t *ret_fits)
{
	int rc = reserve(writer, at + len);
	size_t fits = rc < 0 ? 0 : len;

	for (size_t part = len / 2; writer_no_room(rc) && part; part /= 2) {
		size_t whole = whole_records(block + fits, part);

		if (whole && reserve(writer, at + fits + whole) == 0)
			fits += whole;
	}
	*ret_fits = fits;
	return rc;
}

/* One block of whole records, behind what is there. */
static int append(
	struct perfdata_writer *writer, const uint8_t *block, size_t len, struct error *err)
{
	uint64_t at;
	size_t done = 0, fits;
	int rc = 0, room_rc;

	writer->data_bytes += writer->dead_bytes; /* of a checkpoint; see trailer.c */
	writer->dead_bytes = 0;
	at = writer->data_offset + writer->data_bytes;
	room_rc = reserve_block(writer, at, block, len, &fits);
	while (rc == 0 && done < fits) {
		ssize_t put = writer->regular ? pwrite(writer->fd, block + done, fits - done,
							(off_t)(at + done))
					      : write(writer->fd, block + done, fits - done);

		if (put > 0)
			done += (size_t)put;
		else if (put == 0 || errno != EINTR)
			rc = put ? -errno : -ENOSPC;
	}
	if (rc < 0)
		done = whole_records(block, done);
	writer->data_bytes += done;
	rc = rc < 0 ? rc : room_rc;
	return rc < 0 ? writer_fail(writer, rc, err) : 0;
}

/* How much of the records goes into the next COMPRESSED record: whole ones, if possible. */
static size_t next_piece(const uint8_t *records, size_t len)
{
	size_t whole;

	if (len <= PACKER_PIECE)
		return len;
	whole = whole_records(records, PACKER_PIECE);
	return whole ? whole : PACKER_PIECE; /* a record may be longer than a piece */
}

static int append_packed(
	struct perfdata_writer *writer, const uint8_t *records, size_t len, struct error *err)
{
	int rc = 0;

	while (rc == 0 && len) {
		size_t piece = next_piece(records, len);
		const uint8_t *packed = NULL;
		int size = packer_pack(writer->packer, records, piece, &packed);

		if (size < 0)
			return writer_fail(writer, size, err);
		rc = append(writer, packed, (size_t)size, err);
		records += piece;
		len -= piece;
	}
	return rc;
}

static int append_records(
	struct perfdata_writer *writer, const uint8_t *records, size_t len, struct error *err)
{
	return writer->packer ? append_packed(writer, records, len, err)
			      : append(writer, records, len, err);
}

int writer_flush(struct perfdata_writer *writer, struct error *err)
{
	size_t used = writer->used;

	writer->used = 0;
	return used ? append_records(writer, writer->buf, used, err) : 0;
}

int perfdata_write(
	struct perfdata_writer *writer, const void *records, size_t len, struct error *err)
{
	int rc;

	if (writer->failed || !len)
		return 0;
	writer->round_open = true;
	if (len > sizeof(writer->buf) - writer->used) {
		rc = writer_flush(writer, err);
		if (rc < 0)
			return rc;
		if (len > sizeof(writer->buf))
			return append_records(writer, records, len, err);
	}
	memcpy(writer->buf + writer->used, records, len);
	writer->used += len;
	return 0;
}

int perfdata_write_round(struct perfdata_writer *writer, struct error *err)
{
	const struct perf_event_header round = {
		.type = PERF_RECORD_FINISHED_ROUND, .size = sizeof(round)};
	int rc;

	if (!writer->round_open)
		return 0;
	rc = perfdata_write(writer, &round, sizeof(round), err);
	writer->round_open = false;
	return rc;
}

uint64_t perfdata_bytes(const struct perfdata_writer *writer)
{
	return writer->data_bytes + writer->dead_bytes + writer->used;
}

uint64_t perfdata_file_bytes(const struct perfdata_writer *writer)
{
	struct stat st;

	return writer->regular && fstat(writer->fd, &st) == 0 ? (uint64_t)st.st_size
							      : perfdata_bytes(writer);
}
