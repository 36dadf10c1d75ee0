/* Reading a file: what load.c and load_names.c share. */
#pragma once

#include "base/strbuf.h"
#include "perfdata/perfdata.h"
#include "profile/names.h"
#include "record/reorder.h"
#include "session/apply.h"
#include "session/jit.h"
#include "session/layouts.h"
#include "session/load.h"
#include "session/stacks.h"
#include "symbolize/symbolize.h"
#include "target/target.h"

struct load {
	const struct load_options *options;
	struct loaded *out;
	struct perfdata_reader *reader;
	const struct perfdata_info *info;
	struct layouts layouts;
	struct reorder *reorder;
	struct target target;
	struct apply *apply;
	struct stacks *stacks;
	bool own; /* the file is one of ours */
	uint32_t since_round;
	uint32_t frames_named; /* so many have been, while samples are streamed */
	struct symbolizer *symbolizer;
	struct jit jit;
	struct strbuf text;  /* for the moment */
	struct names *names; /* that the file brought along; NULL: none */
	uint32_t *events;    /* profile event by the file's event index */
	uint32_t event_count;
	struct error *err;
};

static inline bool load_fetches(const struct load_options *options)
{
	return options->downloads && options->downloads->limit_s;
}

/* The names that the file brought. 0 or -ENOMEM. */
int load_names(struct load *load);

/* Does a thread begin in this frame? Names it for that, if need be. */
bool load_is_root(void *ctx, struct profile *profile, uint32_t frame);

/* Names the frames that are new, for a caller that streams. 0 or -ENOMEM. */
int load_resolve_new(struct load *load);

/* Names all frames, and says what is wrong with modules (out's notes and namings). 0 or
 * -ENOMEM. */
int load_resolve(struct load *load);
