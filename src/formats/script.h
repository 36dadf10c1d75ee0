/*
 * Samples as `perf script` (6.1) prints them, so that what folds perf's text folds ours:
 *
 *     a  4211  1581.161088:    1001001 cpu-clock:u:
 *                 1217 inl+0x17 (inlined)
 *                 1217 leaf+0x17 (/usr/bin/a)
 *                 1238 mid+0x8 (/usr/bin/a)
 *
 * and an empty line. The number behind the command is the thread's; "[cpu]" stands only where
 * the recording has the CPU (PROFILE_NO_CPU). A frame's address is the file offset in files, as
 * perf shows it with call chains, and the run-time address in the kernel and in anonymous code.
 */
#pragma once

#include "base/strbuf.h"
#include "profile/profile.h"

#include <stdio.h>

/*
 * Writes the samples of one profile. A frame's lines are made once, when it is first met, and
 * copied from then on; so a frame that stands in a sample must have its names by then.
 */
struct script {
	FILE *out;
	struct strbuf text;  /* not written yet */
	struct strbuf lines; /* of the frames */
	struct script_place *places;
	uint32_t places_cap;
	int event_width;
	uint32_t event_count; /* for which that is */
	/* To be set before the first sample: below a function "  app.c:12", as perf's
	 * -F +srcline has it, with the file's whole path or its last component. */
	bool srcline, full_paths;
};

void script_init(struct script *script, FILE *out);

/* -ENOMEM; -EIO when `out` fails. */
int script_sample(
	struct script *script, const struct profile *profile, const struct sample *sample);

/* Writes what is left, then frees. 0 or as above. */
int script_done(struct script *script);
