/*
 * The folder in which elfutils' debuginfod client keeps what it fetched, so that all programs
 * that use it share the files:
 *
 *     DIR/9f0c...4e/debuginfo      DIR/9f0c...4e/executable
 *
 * One without bytes says that the servers did not have it at its time (mtime). What is there is
 * believed only by its build id, as any other file.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debug_key {
	uint8_t build_id[20];
	uint8_t build_id_bytes;
	bool executable; /* else its debug file */
};

/* For how long the servers' no is believed; elfutils' default. */
enum { DEBUG_CACHE_MISS_SECONDS = 600 };

/* "9f0c...4e/debuginfo"; false: there is no build id. */
enum { DEBUG_KEY_ROOM = 64 };
bool debug_key_text(const struct debug_key *key, char ret_text[DEBUG_KEY_ROOM]);

/* Where it is, if it is there; false: `dir` is NULL or "", the id is empty, or it does not fit.
 */
bool debug_cache_path(const char *dir, const struct debug_key *key, char ret_path[PATH_MAX]);

/* Was it asked for a short while ago, in vain? */
bool debug_cache_is_miss(const char *dir, const struct debug_key *key);
void debug_cache_add_miss(const char *dir, const struct debug_key *key);

/*
 * Begins a file: a descriptor to write to, and the path that it has until debug_cache_keep()
 * puts it in its place or the caller unlinks it. Or a negative errno.
 */
int debug_cache_create(
	const char *dir, const struct debug_key *key, char ret_path[PATH_MAX], int *ret_fd);
int debug_cache_keep(const char *dir, const struct debug_key *key, const char *path);
