/* What the environment says of debuginfod: where its clients keep files, and whom they ask. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "symbolize/symbolize.h"

/*
 * $DEBUGINFOD_CACHE_PATH; else ~/.debuginfod_client_cache if it is there; else
 * $XDG_CACHE_HOME/debuginfod_client or ~/.cache/debuginfod_client: as elfutils does it. ""
 * where there is none. It is read whoever's it is.
 */
enum { DOWNLOADS_DIR_ROOM = 1024, DOWNLOADS_DEFAULT_S = 30 };
const char *downloads_dir(char ret_dir[DOWNLOADS_DIR_ROOM]);

struct downloads_options {
	uint32_t limit_s; /* 0: nothing is fetched */
	/* Told several times a second; true: enough. NULL: nobody. */
	bool (*progress)(void *ctx, uint32_t files_left, uint64_t bytes);
	/* Told what came of it, in place of a note in the quality. NULL: nobody. */
	void (*say)(void *ctx, const char *sentence);
	void *ctx;
};

/*
 * Fetches what the symbolizer lacks for the modules of the profile, and notes in its quality
 * what came of it: what cannot be fetched is no error. Nothing is fetched into a home that is
 * another user's, as under sudo.
 */
void downloads_run(const struct downloads_options *options, struct symbolizer *symbolizer,
	struct profile *profile);
