/*
 * Code that was compiled while the program ran, as its jitdump tells: which dumps there are
 * (they are mapped once, executable, to be found in the records), what they say, and the frame
 * of an address at a time.
 *
 * While recording, dumps are held open and read at the end: compilers buffer what they write.
 * Of a recording, what it brought along itself counts, else the dump where it was.
 */
#pragma once

#include "base/error.h"
#include "object/jitcfi.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "target/target.h"

#include <stdbool.h>
#include <stdint.h>

enum { JIT_DUMPS_MOST = 256 };

struct jit_dump {
	int32_t pid;
	int fd;		       /* kept for the code in it */
	uint32_t path;	       /* string of the codes */
	uint16_t machine;      /* EM_*; 0: not read yet, or no dump */
	bool read;	       /* its names, as far as they are wanted */
	struct jitcfi *frames; /* for unwinding; NULL: not asked for */
	bool has_frames;       /* some of its functions are described */
};

struct jit {
	struct jit_dump dumps[JIT_DUMPS_MOST];
	uint32_t dump_count;
	struct codes own;
	struct codes *codes; /* `own`, or those that a file brought along */
	bool brought;
	bool unwinds; /* the caller's: stacks are unwound, so what dumps say of frames counts */
	bool no_time; /* the samples' clock is not that of the dumps: what came last counts */
	uint64_t refused, torn, unreadable;
};

void jit_init(struct jit *jit);
void jit_done(struct jit *jit); /* takes a zeroed struct, too */

/* The file's own table in place of the dumps; it stays the caller's. */
void jit_bring(struct jit *jit, struct codes *codes);

/* Is this mapping of a process a dump that is to be read? Then jit_add() it, opened. */
bool jit_wants(const struct jit *jit, int32_t pid, const char *path);

/* Takes the descriptor over; a negative one: it cannot be had. */
void jit_add(struct jit *jit, int32_t pid, const char *path, int fd);

/*
 * Reads the dumps that were added since the last time. With `sampled` only functions that hold
 * one of its frames are kept, and of their lines those that are needed. 0 or -ENOMEM.
 */
int jit_read(struct jit *jit, const struct profile *sampled);

/*
 * The code of a function of the module that jit_frame() made of a dump: `size` bytes at its
 * key, to be freed. 0 and *ret_machine (EM_*); -ENOENT: the dump is not here, or not all of the
 * code is in it; -ENOMEM.
 */
int jit_code(const struct jit *jit, const struct profile *profile, uint32_t module,
	uint64_t key, uint32_t size, uint8_t **ret_bytes, uint16_t *ret_machine);

/* What of the dumps could not be used, into the notes. */
void jit_say(const struct jit *jit, struct quality *quality);

/*
 * Reads on what the process's dumps say of the frames of their functions. 1: for the first time
 * they say something at all; 0, -ENOMEM.
 */
int jit_update(struct jit *jit, int32_t pid);

/*
 * The call frame information of a run-time address at a time, valid until the next call. 0;
 * -ENOENT: there is none for it; -ENODATA: the process's dumps for that machine (EM_*) describe
 * no function (yet); -EBADMSG, -ENOMEM.
 */
int jit_row(struct jit *jit, int32_t pid, uint16_t machine, uint64_t addr, uint64_t time_ns,
	struct cfi_row *ret_row);

/*
 * The frame of a run-time address at a time, with its name: 1; 0: nothing is known of that
 * address then; -ENODATA: of no address at all; -ENOMEM, -ENOSPC.
 */
int jit_frame(struct jit *jit, struct profile *profile, int32_t pid, uint64_t ip, bool caller,
	uint64_t time_ns, uint32_t *ret_frame);
