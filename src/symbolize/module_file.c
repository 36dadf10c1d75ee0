/*
 * How: the candidates are tried from the most certain to the least:
 *
 *     the descriptor pinned while it was mapped
 *     /proc/PID/map_files/START-END   the mapping itself, deleted files too; needs privilege
 *     /proc/PID/root + path           as the process sees it: containers, chroots
 *     sysroot + path                  or the path alone
 *     the debuginfod clients' cache   what was fetched by its build id
 *
 * Each is compared with what the recording knows of the module. One that is another file makes
 * the outcome "changed", and the next is tried.
 */
#include "symbolize/module_file.h"

#include "base/cleanup.h"
#include "symbolize/debug_cache.h"
#include "symbolize/open_regular.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { DEBUGLINK_MAX = 4096, CRC_CHUNK = 64 << 10 };

enum candidate { PINNED, MAP_FILES, PROCESS_ROOT, PATH, CACHE, CANDIDATE_COUNT };

static const char deleted[] = " (deleted)";

void module_file_close(struct module_file *file)
{
	elf_close(&file->elf);
	cleanup_close_fd(&file->fd);
	file->fd = -1;
}

/* The path without " (deleted)"; false when it does not fit or is no path. */
static bool plain_path(const char *path, char ret[PATH_MAX], bool *ret_deleted)
{
	size_t len = strlen(path), tail = sizeof(deleted) - 1;

	*ret_deleted = len > tail && !strcmp(path + len - tail, deleted);
	if (*ret_deleted)
		len -= tail;
	if (path[0] != '/' || len >= PATH_MAX)
		return false;
	memcpy(ret, path, len);
	ret[len] = '\0';
	return true;
}

static bool same_build_id(const uint8_t *a, uint8_t a_bytes, const uint8_t *b, uint8_t b_bytes)
{
	uint8_t n = a_bytes < b_bytes ? a_bytes : b_bytes;

	if (!n || memcmp(a, b, n) != 0)
		return false;
	/* Some files store every id as 20 bytes, with zeros behind a short one. */
	for (uint8_t i = n; i < a_bytes; i++)
		if (a[i])
			return false;
	for (uint8_t i = n; i < b_bytes; i++)
		if (b[i])
			return false;
	return true;
}

/* Is this open file the one that was mapped? Device numbers prove nothing (btrfs, overlayfs).
 */
static bool is_the_file(const struct module *module, const struct elf *elf, int fd,
	bool was_deleted, enum candidate candidate)
{
	struct stat st;

	if (module->build_id_bytes)
		return same_build_id(module->build_id, module->build_id_bytes, elf->build_id,
			elf->build_id_bytes);
	if (module->ino)
		return !fstat(fd, &st) && st.st_ino == module->ino;
	return !was_deleted || candidate == PINNED || candidate == MAP_FILES;
}

/* Where a debuginfod client puts it. */
static bool cached_path(const struct symbolizer_options *options, const uint8_t *build_id,
	uint8_t build_id_bytes, bool executable, char ret_path[PATH_MAX])
{
	struct debug_key key = {.build_id_bytes = build_id_bytes, .executable = executable};

	memcpy(key.build_id, build_id, build_id_bytes);
	return debug_cache_path(options->debug_cache, &key, ret_path);
}

/* A descriptor or a negative errno. *ret_owned: it is ours to close. */
static int candidate_open(const struct symbolizer_options *options,
	const struct profile *profile, uint32_t id, enum candidate candidate,
	struct module_file *file)
{
	const struct module *module = &profile->modules[id];
	char path[PATH_MAX], link[96];
	bool was_deleted;

	file->root[0] = '\0';
	if (candidate == PINNED)
		return options->pinned_fd ? options->pinned_fd(options->ctx, profile, id)
					  : -ENOENT;
	if ((candidate == MAP_FILES || candidate == PROCESS_ROOT) &&
		(!options->live || module->pid <= 0))
		return -ENOENT;
	if (candidate == MAP_FILES) {
		snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
			module->pid, module->map_start, module->map_end);
		return file->fd = open_regular(NULL, link);
	}
	if (!plain_path(profile_text(profile, module->path), path, &was_deleted))
		return -ENOENT;
	if (candidate == CACHE &&
		!cached_path(options, module->build_id, module->build_id_bytes, true, path))
		return -ENOENT;
	if (strlen(path) < sizeof(file->path))
		memcpy(file->path, path, strlen(path) + 1);
	if (candidate == CACHE)
		return file->fd = open_regular(NULL, path);
	if (candidate == PROCESS_ROOT)
		snprintf(file->root, sizeof(file->root), "/proc/%d/root", module->pid);
	else if (options->sysroot)
		snprintf(file->root, sizeof(file->root), "%s", options->sysroot);
	return file->fd = open_regular(file->root, path);
}

static enum module_outcome candidate_try(const struct symbolizer_options *options,
	const struct profile *profile, uint32_t id, enum candidate candidate,
	struct module_file *file)
{
	const struct module *module = &profile->modules[id];
	const char *path = profile_text(profile, module->path);
	size_t len = strlen(path), tail = sizeof(deleted) - 1;
	bool was_deleted = len > tail && !strcmp(path + len - tail, deleted);
	int fd = candidate_open(options, profile, id, candidate, file);

	if (fd < 0)
		return fd == -ENOEXEC ? MODULE_FILE_CHANGED : MODULE_FILE_MISSING;
	if (elf_open_fd(fd, &file->elf, NULL) < 0) /* the cache has empty files, too */
		return candidate == CACHE ? MODULE_FILE_MISSING : MODULE_FILE_BROKEN;
	return is_the_file(module, &file->elf, fd, was_deleted, candidate)
		       ? MODULE_NAMED
		       : MODULE_FILE_CHANGED;
}

enum module_outcome module_file_open(const struct symbolizer_options *options,
	const struct profile *profile, uint32_t module, struct module_file *ret_file)
{
	enum module_outcome worst = MODULE_FILE_MISSING;

	for (int candidate = PINNED; candidate < CANDIDATE_COUNT; candidate++) {
		struct module_file file = {.fd = -1, .elf.fd = -1};
		enum module_outcome outcome = candidate_try(
			options, profile, module, (enum candidate)candidate, &file);

		if (outcome == MODULE_NAMED) {
			*ret_file = file;
			return outcome;
		}
		module_file_close(&file);
		/* "Another file" says more than "damaged", and both say more than "missing". */
		if (outcome == MODULE_FILE_CHANGED || worst == MODULE_FILE_MISSING)
			worst = outcome;
	}
	return worst;
}

static bool crc_matches(int fd, uint32_t want)
{
	uint8_t chunk[CRC_CHUNK];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;

	for (;;) {
		ssize_t got = pread(fd, chunk, sizeof(chunk), at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return !got && crc == want;
		crc = crc32(crc, chunk, (uInt)got);
		at += got;
	}
}

/* What a debug file must be. */
struct wanted {
	const struct elf *elf; /* of this machine and class */
	const uint8_t *build_id;
	uint8_t build_id_bytes;
	const uint32_t *crc; /* NULL: only the build id counts */
};

static bool debug_try(const struct wanted *wanted, const char *root, const char *path,
	struct module_file *ret_file)
{
	struct module_file debug = {.elf.fd = -1};
	const struct elf *elf = &debug.elf;
	bool ok = false;

	debug.fd = open_regular(root, path);
	if (debug.fd >= 0 && elf_open_fd(debug.fd, &debug.elf, NULL) >= 0) {
		if (wanted->build_id_bytes && elf->build_id_bytes)
			ok = same_build_id(wanted->build_id, wanted->build_id_bytes,
				elf->build_id, elf->build_id_bytes);
		else
			ok = wanted->crc && crc_matches(debug.fd, *wanted->crc);
		ok = ok && wanted->elf->machine == elf->machine &&
		     wanted->elf->is64 == elf->is64;
	}
	if (ok) {
		snprintf(debug.root, sizeof(debug.root), "%s", root);
		if (strlen(path) < sizeof(debug.path))
			memcpy(debug.path, path, strlen(path) + 1);
		*ret_file = debug;
	} else {
		module_file_close(&debug);
	}
	return ok;
}

/*
 * "DIR" + path: the user's folder as it is, the system's in the file's world, then in ours (a
 * container has no debug files, but its host may; the build id decides).
 */
static bool debug_try_dirs(const struct symbolizer_options *options,
	const struct wanted *wanted, const char *root, const char *path,
	struct module_file *ret_file)
{
	char full[2 * PATH_MAX + NAME_MAX];

	if (options->debug_dir) {
		snprintf(full, sizeof(full), "%s%s", options->debug_dir, path);
		if (debug_try(wanted, "", full, ret_file))
			return true;
	}
	snprintf(full, sizeof(full), "/usr/lib/debug%s", path);
	return debug_try(wanted, root, full, ret_file) ||
	       (root[0] && debug_try(wanted, "", full, ret_file));
}

static bool debug_by_build_id(const struct symbolizer_options *options,
	const struct wanted *wanted, const char *root, struct module_file *ret_file)
{
	char path[128];
	int at;

	if (wanted->build_id_bytes < 2)
		return false;
	at = snprintf(path, sizeof(path), "/.build-id/%02x/", wanted->build_id[0]);
	for (uint8_t i = 1; i < wanted->build_id_bytes; i++)
		at += snprintf(
			path + at, sizeof(path) - (size_t)at, "%02x", wanted->build_id[i]);
	snprintf(path + at, sizeof(path) - (size_t)at, ".debug");
	return debug_try_dirs(options, wanted, root, path, ret_file);
}

static bool debug_by_cache(const struct symbolizer_options *options,
	const struct wanted *wanted, struct module_file *ret_file)
{
	char path[PATH_MAX];

	return cached_path(options, wanted->build_id, wanted->build_id_bytes, false, path) &&
	       debug_try(wanted, "", path, ret_file);
}

/* .gnu_debuglink: a file name, its NUL, padding to 4, the CRC-32 of that file. */
static bool debuglink_read(
	const struct elf *elf, char ret_name[NAME_MAX + 1], uint32_t *ret_crc)
{
	const struct elf_section *section = elf_section(elf, ".gnu_debuglink");
	cleanup_elf_blob struct elf_blob blob = {0};
	const char *name;
	struct bytes b;
	size_t len;

	if (!section || elf_load_section(elf, section, DEBUGLINK_MAX, &blob) < 0)
		return false;
	b = elf_blob_reader(elf, &blob);
	name = bytes_str(&b);
	if (!name)
		return false;
	len = strlen(name);
	bytes_skip(&b, -(len + 1) & 3);
	*ret_crc = bytes_u32(&b);
	if (b.bad || !len || len > NAME_MAX || strchr(name, '/'))
		return false;
	memcpy(ret_name, name, len + 1);
	return true;
}

static bool debug_by_link(const struct symbolizer_options *options, struct wanted *wanted,
	const char *root, const char *path, struct module_file *ret_file)
{
	char plain[PATH_MAX], name[NAME_MAX + 1], full[PATH_MAX + NAME_MAX + 32];
	bool was_deleted, found = false;
	char *slash;
	uint32_t crc;

	if (!debuglink_read(wanted->elf, name, &crc) || !plain_path(path, plain, &was_deleted))
		return false;
	wanted->crc = &crc;
	slash = strrchr(plain, '/');
	slash[1] = '\0';
	for (int hidden = 0; hidden < 2 && !found; hidden++) {
		snprintf(full, sizeof(full), "%s%s%s", plain, hidden ? ".debug/" : "", name);
		found = debug_try(wanted, root, full, ret_file);
	}
	snprintf(full, sizeof(full), "%s%s", plain, name);
	found = found || debug_try_dirs(options, wanted, root, full, ret_file);
	wanted->crc = NULL;
	return found;
}

bool module_debug_file_open(const struct symbolizer_options *options,
	const struct module_file *file, const char *path, struct module_file *ret_file)
{
	struct wanted wanted = {.elf = &file->elf,
		.build_id = file->elf.build_id,
		.build_id_bytes = file->elf.build_id_bytes};

	return debug_by_build_id(options, &wanted, file->root, ret_file) ||
	       debug_by_link(options, &wanted, file->root, path, ret_file) ||
	       debug_by_cache(options, &wanted, ret_file);
}

/* .gnu_debugaltlink: a path, its NUL, a build id. The bytes stay the blob's. */
static const char *altlink_read(const struct elf *elf, struct elf_blob *blob,
	const uint8_t **ret_id, uint8_t *ret_bytes)
{
	const struct elf_section *section = elf_section(elf, ".gnu_debugaltlink");
	const char *name;
	struct bytes b;

	if (!section || elf_load_section(elf, section, DEBUGLINK_MAX, blob) < 0)
		return NULL;
	b = elf_blob_reader(elf, blob);
	name = bytes_str(&b);
	if (!name || bytes_left(&b) < 2)
		return NULL;
	*ret_bytes = bytes_left(&b) > 20 ? 20 : (uint8_t)bytes_left(&b);
	*ret_id = b.at;
	return name;
}

bool module_alt_id(const struct module_file *file, uint8_t ret_id[20], uint8_t *ret_bytes)
{
	cleanup_elf_blob struct elf_blob blob = {0};
	const uint8_t *id;

	if (!altlink_read(&file->elf, &blob, &id, ret_bytes))
		return false;
	memcpy(ret_id, id, *ret_bytes);
	return true;
}

/* Relative paths begin at the linking file. */
bool module_alt_file_open(const struct symbolizer_options *options,
	const struct module_file *file, struct module_file *ret_file)
{
	cleanup_elf_blob struct elf_blob blob = {0};
	struct wanted wanted = {.elf = &file->elf};
	const char *slash = strrchr(file->path, '/');
	const char *name =
		altlink_read(&file->elf, &blob, &wanted.build_id, &wanted.build_id_bytes);
	char full[PATH_MAX];
	int len;

	if (!name)
		return false;
	if (debug_by_build_id(options, &wanted, file->root, ret_file))
		return true;
	len = snprintf(full, sizeof(full), "%.*s%s",
		name[0] == '/' || !slash ? 0 : (int)(slash + 1 - file->path), file->path, name);
	if (len > 0 && len < (int)sizeof(full) && full[0] == '/' &&
		debug_try(&wanted, file->root, full, ret_file))
		return true;
	return debug_by_cache(options, &wanted, ret_file);
}
