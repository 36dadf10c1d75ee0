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

/* A module with frames that have no name, and the plain reason. */
struct unnamed_module {
	uint32_t module;
	uint64_t frames; /* of this module, counted once a sample they stand in */
	uint64_t unnamed;
	const char *why;
};

/* For apply_options.is_root: resolves the frame (ctx is the symbolizer). */
bool resolve_is_root(void *symbolizer, struct profile *profile, uint32_t frame);

/* Resolves every frame and fills quality.user_frames and unnamed_frames. */
int resolve_all(struct symbolizer *symbolizer, struct profile *profile,
	void (*progress)(void *ctx, uint32_t done, uint32_t total), void *ctx);

/*
 * The modules with unnamed frames, most unnamed first; free() the array. Returns how many, or a
 * negative errno.
 */
int resolve_unnamed(const struct symbolizer *symbolizer, const struct profile *profile,
	struct unnamed_module **ret_modules);
