/*
 * Names for a profile's frames, and what their absence means: roots, unnamed frames, module
 * notes.
 */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "symbolize/symbolize.h"

#include <stdbool.h>
#include <stdint.h>

/* What is wrong with a module: frames without a name, stacks that end in it. */
struct module_note {
	uint32_t module;
	uint64_t frames;  /* of this module, counted once a sample they stand in */
	uint64_t unnamed; /* of them, without a name */
	const char *why;  /* they have none: a sentence with the remedy, or NULL */
	uint64_t stopped; /* samples whose stack ended in this module, and not at a root */
	const char *stopped_why; /* the most frequent reason: a marker's text, or NULL */
};

/* How well a module's frames are named; each is counted once for each sample it stands in. */
struct module_naming {
	uint32_t module;
	uint64_t samples;	       /* in whose stacks it stands */
	uint64_t frames, named, lined; /* all; with a function; with a source line */
	uint32_t debug_file;	       /* string: where lines came from; 0: nowhere */
	const char *why;	       /* what is missing, and the remedy; "": nothing */
};

/* For apply_options.is_root; ctx is the symbolizer. By the symbol table alone: it is asked
 * while recording. */
bool resolve_is_root(void *symbolizer, struct profile *profile, uint32_t frame);
bool resolve_is_root_name(const char *linkage_name); /* the same of a name, not of JIT code */

/* Resolves every frame and fills quality.user_frames and unnamed_frames. */
int resolve_all(struct symbolizer *symbolizer, struct profile *profile,
	void (*progress)(void *ctx, uint32_t done, uint32_t total), void *ctx);

/*
 * The modules with something wrong, most unnamed frames first; free() the array, whose texts
 * live as long as the profile. Returns how many, or a negative errno.
 */
int resolve_notes(const struct symbolizer *symbolizer, const struct profile *profile,
	struct module_note **ret_notes);

/* The same for each module with frames, most frames first; free() the array. */
int resolve_namings(const struct symbolizer *symbolizer, struct profile *profile,
	struct module_naming **ret_namings);
