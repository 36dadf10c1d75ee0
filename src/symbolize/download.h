/*
 * Fetches files by HTTP, several at a time, from the first of some servers that has them. By
 * libcurl, which is loaded when it is needed; built without its header, all of it is
 * -EOPNOTSUPP.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum download_result {
	DOWNLOAD_UNKNOWN, /* all servers said that they do not have it */
	DOWNLOAD_FAILED,  /* at least one could not be asked, or sent something else */
	DOWNLOAD_LATE,	  /* the time was over */
};

enum {
	DOWNLOAD_SERVERS_MAX = 16,
	DOWNLOAD_AT_ONCE = 8,
	DOWNLOAD_CONNECT_MS = 3000, /* to a server */
	DOWNLOAD_SILENCE_S = 8, /* no more than 1,000 bytes a second for so long: given up */
};
#define DOWNLOAD_BYTES_MAX ((int64_t)4 << 30) /* of one file */

/* What is to be fetched is asked for one by one, so the first ones come first. */
struct download_source {
	/* The next file: its path behind the servers' (no slash at the front), the descriptor
	 * that it goes to, and a number of the caller's. False: no more, as of now. */
	bool (*next)(void *ctx, char *ret_path, size_t room, int *ret_fd, uint32_t *ret_id);
	/* All of it is there. False: it is not what was wanted; the next server is tried. */
	bool (*came)(void *ctx, uint32_t id);
	/* It will not come. `why` is one of libcurl's sentences, or "". */
	void (*lost)(void *ctx, uint32_t id, enum download_result result, const char *why);
	/* Several times a second; true: enough, what is on its way is given up. */
	bool (*tick)(void *ctx, uint64_t bytes);
	void *ctx;
};

/*
 * Fetches until nothing is left, or `limit_ms` are over. `servers`: URLs of http and https,
 * spaces between them; others are passed over. 0; -EOPNOTSUPP, -ENOENT (no such server),
 * -ELIBACC (there is no libcurl), -ENOMEM, all with a sentence.
 */
int download_all(const char *servers, uint32_t limit_ms, const struct download_source *source,
	struct error *err);
