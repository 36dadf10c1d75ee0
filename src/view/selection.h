/* Which samples a report is about: --thread and --time, worked out once. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct selection {
	bool *threads;		    /* by thread id; NULL: all */
	uint64_t first_ns, last_ns; /* both inclusive, absolute */
	uint64_t start_ns, end_ns;  /* of the recording's samples */
	uint64_t samples;	    /* that are in */
	bool filtered;
};

/*
 * `threads`: tids, pids or names (with * and ?), comma separated; `range`: "a..b", each end
 * left out, a number of seconds since the first sample, or a percentage of the recording. NULL:
 * all. -EINVAL, -ENOENT (nobody is called so), -ENOMEM; the sentence says it.
 */
int selection_init(struct selection *selection, const struct profile *profile,
	const char *threads, const char *range, struct error *err);
void selection_done(struct selection *selection);

static inline bool selection_has(const struct selection *selection, const struct sample *sample)
{
	return sample->time_ns >= selection->first_ns &&
	       sample->time_ns <= selection->last_ns &&
	       (!selection->threads || selection->threads[sample->thread]);
}
