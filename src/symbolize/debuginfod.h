/*
 * Fetches what the modules of a profile lack, from debuginfod servers into elfutils' cache
 * (debug_cache.h): the debug files of those that are stripped, the files that are gone or were
 * replaced, and what dwz split off. Names then come out of the cache as from any folder of
 * debug files. Only where the user asks for it.
 *
 * The modules with the most samples come first, several at a time; all of it ends after a given
 * time, whatever the servers do. A file that is not whole, or has another build id than was
 * asked for, is thrown away.
 */
#pragma once

#include "base/error.h"
#include "symbolize/symbolize.h"

struct debuginfod_options {
	const char *servers; /* as in $DEBUGINFOD_URLS */
	uint32_t limit_s;    /* for all of it */
	/* Told several times a second; true: enough. NULL: nobody. */
	bool (*progress)(void *ctx, uint32_t files_left, uint64_t bytes);
	void *ctx;
};

struct debuginfod_result {
	uint32_t wanted;  /* files, of which: */
	uint32_t fetched; /* are in the cache now */
	uint32_t unknown; /* the servers do not have; or said so a short while ago */
	uint32_t refused; /* were other files than asked for, or damaged */
	uint32_t failed;  /* could not be had: `why` is the last reason */
	uint32_t late;	  /* were not there in time */
	uint64_t bytes;
	char why[256];
};

/* How many of the hottest modules are looked at. */
enum { DEBUGINFOD_FILES_MAX = 4096 };

/*
 * `symbols`: where the files are looked for before; its debug_cache is where they go. 0;
 * -EACCES, -ENOENT, -EOPNOTSUPP, -ELIBACC, -ENOMEM, with a sentence.
 */
int debuginfod_fetch(const struct symbolizer_options *symbols, const struct profile *profile,
	const struct debuginfod_options *options, struct debuginfod_result *ret_result,
	struct error *err);
