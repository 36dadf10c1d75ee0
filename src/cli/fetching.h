/* --debuginfod: its value, and what is shown while files are fetched. */
#pragma once

#include "session/downloads.h"

#include <time.h>

/* The option of a command's table; `set` calls fetching_set(). */
#define FETCHING_OPTION(set)                                                                   \
	{                                                                                      \
		0, "debuginfod", "[SECONDS]",                                                  \
			"fetch the debug files that are missing from the servers in "          \
			"$DEBUGINFOD_URLS, those of the hottest modules first; default 30 "    \
			"seconds for all",                                                     \
			set                                                                    \
	}

int fetching_set(const char *value, uint32_t *ret_limit_s, struct error *err);

/* Keeps the state of what is shown on a terminal's stderr. */
struct fetching {
	struct downloads_options options;
	int stop_fd;  /* readable: that is enough; -1: none */
	time_t shown; /* when last; 0: not yet */
};

/* It must stay where it is until fetching_done(), which wipes what was shown. */
void fetching_init(struct fetching *fetching, uint32_t limit_s, int stop_fd);
void fetching_done(const struct fetching *fetching);
