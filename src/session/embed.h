/* The names of sampled frames into the header of a file: a profile that travels. */
#pragma once

#include "perfdata/perfdata.h"
#include "profile/names.h"
#include "session/gather.h"
#include "symbolize/symbolize.h"

/* How many distinct frames a recorder remembers to name at the end: 50 MB of memory. */
enum { EMBED_FRAMES_MOST = 1 << 20 };

/*
 * Where kernel symbols are remembered: $XDG_CACHE_HOME/wick, else ~/.cache/wick, in a home of
 * our own. "" where there is none.
 */
enum { CACHE_DIR_ROOM = 1024 };
const char *cache_dir(char ret_dir[CACHE_DIR_ROOM]);

/*
 * Resolves every frame of the profile and puts the names into features->names, in place of what
 * is there. `codes` may be NULL. With a budget (NULL: none) some frames may get their symbol's
 * name only: *ret_left says how many. 0, -ENOMEM, -EFBIG.
 */
int embed_names(struct symbolizer *symbolizer, struct profile *profile,
	const struct codes *codes, const struct symbolize_budget *budget, uint32_t *ret_left,
	struct perfdata_features *features);

/*
 * Puts code into features->code, in place of what is there; none where there is none.
 * 0, -ENOMEM, -EFBIG.
 */
int embed_code(const struct excerpts *excerpts, const struct profile *profile,
	struct perfdata_features *features);

/*
 * A copy of a recording with the names and the code of a profile that was loaded from it: its
 * records pass through, also those of a file that perf wrote. What is kept of the header are
 * the sections that perfdata.h knows. An old file `to` is kept as to.old. 0, or a negative
 * errno and a sentence.
 */
int embed_copy(const char *from, const char *to, struct symbolizer *symbolizer,
	struct profile *profile, const struct codes *codes, const struct excerpts *excerpts,
	struct error *err);
