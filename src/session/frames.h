/*
 * Run-time addresses into frames of the profile: which module they lie in, and where.
 *
 * Chain entries repeat from sample to sample, so a direct-mapped cache remembers the frame of
 * (address, process, generation of its maps): a hit is a comparison, a miss is a binary search
 * in the maps and a hash lookup in the profile.
 */
#pragma once

#include "profile/profile.h"
#include "target/target.h"

#include <stdbool.h>
#include <stdint.h>

struct frames;

/* Is this the first function of a thread or process? */
typedef bool (*frames_root_fn)(void *ctx, struct profile *profile, uint32_t frame);

/* `is_root` (NULL: nothing is) is asked once a frame. */
int frames_new(struct target *target, struct profile *profile, frames_root_fn is_root,
	void *ctx, struct frames **ret_frames);
void frames_free(struct frames *frames); /* NULL is fine */

/* `seen` is called when a module gets its first frame. */
typedef void (*frames_module_fn)(void *ctx, const struct dso *dso, uint32_t module);
void frames_on_module(struct frames *frames, frames_module_fn seen);

/*
 * Asked for addresses in memory without a file, whose code changes in the course of time: 1 and
 * the frame; 0: not known at that time; -ENODATA: never; else an error.
 */
typedef int (*frames_code_fn)(void *ctx, int32_t pid, uint64_t ip, bool caller,
	uint64_t time_ns, uint32_t *ret_frame);
void frames_on_code(struct frames *frames, frames_code_fn code_at);
void frames_set_time(struct frames *frames, uint64_t time_ns); /* of the sample at hand */

/*
 * The frame of an address. `caller`: it is a return address. 0; -ENOSPC when the profile is
 * full (counted in profile.refused); -ENOMEM.
 */
int frames_user(
	struct frames *frames, uint32_t process, uint64_t ip, bool caller, uint32_t *ret_frame);
int frames_kernel(struct frames *frames, uint64_t ip, bool caller, uint32_t *ret_frame);

bool frames_is_root(struct frames *frames, uint32_t frame);
