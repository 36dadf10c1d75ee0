/* What a recording's file says about itself and its machine. */
#pragma once

#include "perfdata/perfdata.h"
#include "proc/proc.h"
#include "profile/quality.h"
#include "target/target.h"

#include <time.h>

/*
 * What does not change while a recording lasts; perfdata_features_done() frees it all. `clock`
 * is the events' clock, or negative. 0 or -ENOMEM.
 */
int header_fill(struct perfdata_features *features, const struct proc *proc,
	char *const *own_argv, clockid_t clock);

/* What does: quality, times, build ids. Again before every writing. */
int header_refresh(struct perfdata_features *features, const struct quality *quality,
	const struct target *target);
