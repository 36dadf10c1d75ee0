/*
 * What changed between two recordings, as a table: each function's share of the samples' weight
 * before and after, the largest change first. Shares, not weights: the recordings may be of
 * different length. Functions are the same when their name and their module's file name are.
 */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct diff_options {
	uint32_t limit;	    /* rows; 0: all */
	double min_percent; /* smaller changes of both self and total are left out */
	unsigned width;	    /* columns; 0: nothing is cut */
	bool colour, utf8;
};

/* 0, or -ENOMEM with the sentence; errors of `out` are the caller's to look for (ferror). */
int diff_write(const struct profile *before, const struct profile *after,
	const struct diff_options *options, FILE *out, struct error *err);
