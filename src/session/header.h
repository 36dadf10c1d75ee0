/* What a recording's file says about itself and its machine. */
#pragma once

#include "perfdata/perfdata.h"
#include "proc/proc.h"
#include "profile/quality.h"
#include "target/target.h"

#include <time.h>

/*
 * Fills the features; perfdata_features_done() frees them. `clock` is the events' clock, or
 * negative. 0 or -ENOMEM.
 */
int header_fill(struct perfdata_features *features, const struct proc *proc,
	const struct quality *quality, const struct target *target, char *const *own_argv,
	clockid_t clock);
