/* How many samples stopped at each frame: which functions are hot. */
#pragma once

#include "profile/profile.h"

#include <stdint.h>

/* A zeroed struct has counted nothing. */
struct self_counts {
	uint64_t *of; /* by the profile's frame id */
	uint32_t count, cap;
	uint64_t all;
};

void self_counts_done(struct self_counts *self);

/* One sample. Allocates only for frames that are new. 0, -ENOMEM, -ENOSPC. */
int self_counts_add(struct self_counts *self, uint32_t frame);

/* All samples that a profile holds. 0, -ENOMEM, -ENOSPC. */
int self_counts_of(struct self_counts *ret_self, const struct profile *profile);
