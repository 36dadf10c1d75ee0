/*
 * Self and total by keys.
 *
 * Self: the sample stopped right there (the innermost line of the innermost frame). Total: it
 * stands somewhere in the stack; once a sample, however often it recurses.
 */
#pragma once

#include "profile/profile.h"
#include "view/label.h"
#include "view/selection.h"

#include <stdbool.h>
#include <stdint.h>

enum tally_keys { /* of a sample's thread */
	TALLY_COMM = 1,
	TALLY_PID = 2,
	TALLY_TID = 4,
};

struct tally_row {
	uint32_t thread; /* one that has the row's keys; PROFILE_NONE where there are none */
	uint32_t label;	 /* PROFILE_NONE where rows are by thread keys alone */
	uint64_t self, total; /* weights */
	uint64_t self_samples, total_samples;
};

struct tally {
	struct tally_row *rows; /* sorted: self, then total, falling */
	uint32_t count, cap;
	uint64_t weight, samples; /* of all that was selected of the event */
};

/*
 * Counts one event. `labels` NULL: rows by thread keys alone. 0, -ENOMEM, -ENOSPC. The time is
 * linear in the samples and in the part of the stack table that each group of threads uses.
 */
int tally_make(struct tally *tally, const struct profile *profile,
	const struct selection *selection, const struct label_table *labels, unsigned keys,
	uint16_t event);
void tally_done(struct tally *tally);
