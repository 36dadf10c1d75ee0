/*
 * The code of the functions that samples stopped in: chosen by their samples, up to limits, and
 * read from where it is: the module's file, the vdso, a jitdump.
 */
#pragma once

#include "profile/excerpts.h"
#include "profile/profile.h"
#include "session/jit.h"
#include "session/self_counts.h"
#include "symbolize/symbolize.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What a recording carries at most. A function counts as hot from one in GATHER_PART samples
 * on, and not with less than GATHER_SAMPLES: fewer say nothing about its instructions.
 */
enum {
	GATHER_FUNCTIONS = 128,
	GATHER_BYTES = 128 << 10,
	GATHER_FUNCTION_BYTES = 96 << 10,
	GATHER_PART = 200,
	GATHER_SAMPLES = 5,
};

struct gather {
	struct symbolizer *symbolizer;
	struct profile *profile;
	const struct jit *jit; /* NULL: none */
	/*
	 * While recording, frames in compiled code have no names yet: what they lie in is found
	 * in this table. NULL: frames have their names.
	 */
	struct codes *codes;
	const struct self_counts *self;
	/* NULL: the hot ones, up to the limits; else these functions, up to 64 MiB of code. */
	bool (*wants)(void *ctx, const struct profile *profile, uint32_t function);
	void *ctx;
};

/*
 * Adds the functions that are not in there yet; frames must have their names. A function that
 * is wanted and has no code to be read gets an entry that says why. 0 or -ENOMEM.
 */
int gather_code(const struct gather *gather, struct excerpts *excerpts);
