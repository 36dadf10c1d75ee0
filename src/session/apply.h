/*
 * Interprets records, in the order of their time: who runs and what is mapped (target), what
 * was sampled (profile), and what the records say about their own quality (profile->quality).
 *
 * The one door for live rings, files and simulated kernels. Samples are stored in the profile,
 * handed to `on_sample`, or only counted. In the steady state it allocates only for what was
 * never seen before.
 */
#pragma once

#include "profile/profile.h"
#include "session/frames.h"
#include "session/self_counts.h"
#include "session/stacks.h"
#include "target/target.h"
#include "wick/record.h"

#include <stdbool.h>
#include <stdint.h>

/* The kernel's record limit of 65,535 bytes is 8,190 chain entries. */
enum { APPLY_DEPTH_MAX = 8192 };

struct apply_options {
	struct target *target;
	struct profile *profile;
	/* Is this the first function of a thread or process? Asked once a frame. NULL: never.
	 */
	bool (*is_root)(void *ctx, struct profile *profile, uint32_t frame);
	/* A process that no record has told about (live): read it now, apply what is found.
	 * NULL: no. */
	void (*need_process)(void *ctx, int32_t pid, int32_t tid, uint64_t time_ns);
	/* In place of storing the sample. NULL: profile_add(). */
	int (*on_sample)(void *ctx, const struct sample *sample);
	/*
	 * With count_only: the sample as it shall be written, its chain unwound and why it
	 * ended (stop + 1) in id.cpu_reserved. NULL: nobody wants it.
	 */
	int (*on_counted)(void *ctx, const struct wick_record *record);
	/* A module gets its first frame: its file may be kept open from now on. NULL: no. */
	void (*module_seen)(void *ctx, const struct dso *dso, uint32_t module);
	/* A user mapping of code, when it has been applied: 0 or a negative errno. NULL: no. */
	int (*mapping_seen)(void *ctx, const struct wick_record_mmap *mmap);
	/* Is a memfd that has no build id an ELF file? NULL: none is. */
	bool (*is_program)(void *ctx, const struct wick_record_mmap *mmap);
	/* The frame of an address whose code changes in time: frames_code_fn. NULL: none. */
	frames_code_fn code_at;
	void *ctx;
	struct stacks
		*stacks; /* unwinds samples that bring registers and stack; NULL: nobody does */
	bool stored_stops; /* the file is one of ours: id.cpu_reserved says how chains ended */
	bool count_only;   /* stacks and samples are not kept: frames and quality only */
	/* With count_only: when the profile has so many, no further ones than the outermost of
	 * each stack are added. */
	uint32_t counted_frames_most;
	struct self_counts *self; /* with count_only: where samples stopped. NULL: not asked */
	uint32_t kernel_depth_limit; /* perf_event_max_stack: a chain that long was cut; 0: 127
				      */
};

struct apply;

int apply_new(const struct apply_options *options, struct apply **ret_apply);
void apply_free(struct apply *apply);

/*
 * One record of event `event` (profile's id). Returns 0; -ENOMEM and what on_sample returns. A
 * record that cannot be decoded is counted (quality.bad_records, unknown_records), not an
 * error.
 */
int apply_record(struct apply *apply, const struct wick_layout *layout, uint32_t event,
	const void *record, size_t size);
