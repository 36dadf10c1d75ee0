/*
 * How: the modules are looked at in the order of their samples, as naming will do it
 * (module_file.h), and what is not found becomes an entry of a list. download.h takes the
 * entries from its front; a debug file that came may add one at the end, for what dwz split off
 * of it.
 */
#include "symbolize/debuginfod.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "object/debug_image.h"
#include "symbolize/debug_cache.h"
#include "symbolize/download.h"
#include "symbolize/module_file.h"
#include "symbolize/open_regular.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wanted {
	struct debug_key key;
	int fd;	    /* while it is fetched */
	char *path; /* of the file that it becomes, until it is whole */
	bool refused;
};

struct fetch {
	const struct symbolizer_options *symbols;
	const struct debuginfod_options *options;
	struct debuginfod_result result;
	struct wanted *files;
	uint32_t count, cap, next;
	uint32_t done;
};

/* ---- what is missing */

static int want(struct fetch *f, const struct debug_key *key)
{
	int rc;

	if (!key->build_id_bytes)
		return 0;
	for (uint32_t i = 0; i < f->count; i++)
		if (!memcmp(&f->files[i].key, key, sizeof(*key)))
			return 0;
	rc = array_reserve(
		&f->files, &f->cap, f->count + 1ull, sizeof(*f->files), DEBUGINFOD_FILES_MAX);
	if (rc < 0)
		return rc == -ENOSPC ? 0 : rc;
	f->files[f->count++] = (struct wanted){.key = *key, .fd = -1};
	f->result.wanted++;
	return 0;
}

static struct debug_key key_make(const uint8_t *build_id, uint8_t bytes, bool executable)
{
	struct debug_key key;

	memset(&key, 0, sizeof(key)); /* compared as bytes */
	memcpy(key.build_id, build_id, bytes);
	key.build_id_bytes = bytes;
	key.executable = executable;
	return key;
}

/* What dwz split off of a debug file, where that is not found. */
static int want_alt(struct fetch *f, const struct module_file *file)
{
	cleanup_with(module_file_close) struct module_file alt = {.fd = -1, .elf.fd = -1};
	struct debug_key key = key_make((const uint8_t *)"", 0, false);

	if (!module_alt_id(file, key.build_id, &key.build_id_bytes) ||
		module_alt_file_open(f->symbols, file, &alt))
		return 0;
	return want(f, &key);
}

static int want_debug(struct fetch *f, const struct module_file *file, const char *path)
{
	cleanup_with(module_file_close) struct module_file debug = {.fd = -1, .elf.fd = -1};
	struct debug_key key = key_make(file->elf.build_id, file->elf.build_id_bytes, false);

	if (debug_image_possible(&file->elf))
		return want_alt(f, file);
	if (!module_debug_file_open(f->symbols, file, path, &debug))
		return want(f, &key);
	return want_alt(f, &debug);
}

static int want_module(struct fetch *f, const struct profile *profile, uint32_t id)
{
	cleanup_with(module_file_close) struct module_file file = {.fd = -1, .elf.fd = -1};
	const struct module *module = &profile->modules[id];
	struct debug_key key = key_make(module->build_id, module->build_id_bytes, true);
	int rc;

	if (module_file_open(f->symbols, profile, id, &file) == MODULE_NAMED)
		return want_debug(f, &file, profile_text(profile, module->path));
	rc = want(f, &key);
	key.executable = false;
	return rc < 0 ? rc : want(f, &key);
}

struct heat {
	uint64_t hits;
	uint32_t module;
	bool framed;
};

static int by_heat(const void *a, const void *b)
{
	const struct heat *x = a, *y = b;

	if (x->hits != y->hits)
		return x->hits < y->hits ? 1 : -1;
	return (x->module > y->module) - (x->module < y->module);
}

static int want_all(struct fetch *f, const struct profile *profile)
{
	cleanup_free struct heat *heat = calloc(profile->module_count + 1u, sizeof(*heat));
	int rc = heat ? 0 : -ENOMEM;

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < profile->module_count; i++)
		heat[i].module = i;
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		heat[profile->frames[i].module].hits += profile->frames[i].hits;
		heat[profile->frames[i].module].framed = true;
	}
	qsort(heat, profile->module_count, sizeof(*heat), by_heat);
	for (uint32_t i = 0; rc == 0 && i < profile->module_count; i++)
		if (heat[i].framed && profile->modules[heat[i].module].kind == MODULE_FILE)
			rc = want_module(f, profile, heat[i].module);
	return rc;
}

/* ---- fetching */

static void file_end(struct fetch *f, struct wanted *file, bool remove)
{
	if (remove && file->path)
		unlink(file->path);
	cleanup_close_fd(&file->fd);
	file->fd = -1;
	free(file->path);
	file->path = NULL;
	f->done++;
}

/* False: it stays away. */
static bool file_begin(struct fetch *f, struct wanted *file)
{
	char path[PATH_MAX];
	int rc;

	if (debug_cache_is_miss(f->symbols->debug_cache, &file->key)) {
		f->result.unknown++;
		file_end(f, file, false);
		return false;
	}
	rc = debug_cache_create(f->symbols->debug_cache, &file->key, path, &file->fd);
	file->path = rc < 0 ? NULL : strdup(path);
	if (file->path)
		return true;
	if (rc == 0)
		unlink(path);
	snprintf(f->result.why, sizeof(f->result.why), "%s: %s", f->symbols->debug_cache,
		strerror(rc < 0 ? -rc : ENOMEM));
	f->result.failed++;
	file_end(f, file, false);
	return false;
}

static bool fetch_next(void *ctx, char *ret_path, size_t room, int *ret_fd, uint32_t *ret_id)
{
	struct fetch *f = ctx;
	char text[DEBUG_KEY_ROOM];

	while (f->next < f->count) {
		struct wanted *file = &f->files[f->next++];

		if (!debug_key_text(&file->key, text) || !file_begin(f, file))
			continue;
		snprintf(ret_path, room, "buildid/%s", text);
		*ret_fd = file->fd;
		*ret_id = (uint32_t)(file - f->files);
		return true;
	}
	return false;
}

/* A file that was cut has lost its section headers, or they point behind its end. */
static bool is_whole(const struct elf *elf)
{
	for (uint32_t i = 0; i < elf->section_count; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (section->type != SHT_NOBITS && section->type != SHT_NULL &&
			(section->foff > elf->file_bytes ||
				section->bytes > elf->file_bytes - section->foff))
			return false;
	}
	return elf->section_count > 1;
}

static bool is_wanted(const struct debug_key *key, const struct elf *elf)
{
	return elf->build_id_bytes == key->build_id_bytes &&
	       !memcmp(elf->build_id, key->build_id, key->build_id_bytes) && is_whole(elf);
}

static bool fetch_came(void *ctx, uint32_t id)
{
	cleanup_with(module_file_close) struct module_file opened = {.fd = -1, .elf.fd = -1};
	struct fetch *f = ctx;
	struct wanted *file = &f->files[id];
	off_t bytes = lseek(file->fd, 0, SEEK_END);

	opened.fd = open_regular(NULL, file->path);
	if (opened.fd < 0 || elf_open_fd(opened.fd, &opened.elf, NULL) < 0 ||
		!is_wanted(&file->key, &opened.elf) ||
		debug_cache_keep(f->symbols->debug_cache, &file->key, file->path) < 0) {
		file->refused = true;
		return false;
	}
	f->result.fetched++;
	f->result.bytes += bytes > 0 ? (uint64_t)bytes : 0;
	file_end(f, file, false);
	if (!file->key.executable)
		want_alt(f, &opened); /* moves the list */
	return true;
}

static void fetch_lost(void *ctx, uint32_t id, enum download_result result, const char *why)
{
	struct fetch *f = ctx;
	struct wanted *file = &f->files[id];

	if (result == DOWNLOAD_UNKNOWN) {
		f->result.unknown++;
		debug_cache_add_miss(f->symbols->debug_cache, &file->key);
	} else if (file->refused) {
		f->result.refused++;
	} else if (result == DOWNLOAD_LATE) {
		f->result.late++;
	} else {
		f->result.failed++;
		snprintf(f->result.why, sizeof(f->result.why), "%s", why);
	}
	file_end(f, file, true);
}

static bool fetch_tick(void *ctx, uint64_t bytes)
{
	const struct fetch *f = ctx;

	return f->options->progress &&
	       f->options->progress(f->options->ctx, f->result.wanted - f->done, bytes);
}

int debuginfod_fetch(const struct symbolizer_options *symbols, const struct profile *profile,
	const struct debuginfod_options *options, struct debuginfod_result *ret_result,
	struct error *err)
{
	struct fetch f = {.symbols = symbols, .options = options};
	const struct download_source source = {
		fetch_next, fetch_came, fetch_lost, fetch_tick, &f};
	int rc = symbols->debug_cache && symbols->debug_cache[0] ? 0 : -EACCES;

	if (rc < 0)
		return error_set(err, rc,
			"nothing was fetched: there is no home to keep files in; set "
			"$DEBUGINFOD_CACHE_PATH");
	rc = want_all(&f, profile);
	if (rc < 0)
		error_set(err, rc, "nothing was fetched: out of memory");
	else if (f.count)
		rc = download_all(options->servers, options->limit_s * 1000, &source, err);
	for (uint32_t i = 0; i < f.count; i++)
		if (f.files[i].path)
			file_end(&f, &f.files[i], true);
	free(f.files);
	*ret_result = f.result;
	return rc;
}
