/*
 * How much of the stack is copied with each sample.
 *
 * What lies deeper than the copy is read from the process a moment later. Where that is refused
 * (another user's process, one that is not dumpable, Yama, seccomp) the copy is all there will
 * be, and is as large as a record allows. A ring must hold the copies of a while, or samples
 * are lost whenever the recorder waits for its turn: at high rates, or where little memory may
 * be locked, the copies are smaller. Programs that go up and down their stacks quickly (a
 * compiler) have changed them before they are read: when that happens often, larger copies are
 * taken.
 */
#pragma once

#include "session/recorder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* With the registers and a kernel chain of 127 entries a record has 65,535 bytes. */
	COPY_LARGE = 62 << 10,
	COPY_LEAST = 512,
};

/*
 * Why the stacks of whom the options name cannot be read late: 0: they can, as far as is known;
 * else a negative errno. `ret_pid`: the process that refused; 0: all of others; -1: all, as the
 * call itself is refused.
 */
int copies_late_refused(const struct record_options *options, int32_t *ret_pid);

/* Before anything is open: of the options, or by default. */
uint32_t copies_first(const struct record_options *options, bool late_refused);

/*
 * With rings of so many bytes and samples at this rate (0: not known): `bytes`, or less, so
 * that a ring holds them for a while.
 */
uint32_t copies_fit(size_t ring_bytes, uint64_t hz, uint32_t bytes, bool late_refused);

/*
 * Do so many stacks end with the copy, though they were to be read late, that larger copies are
 * worth their cost? Told how many there have been so far; starts from a zeroed struct.
 */
struct copies_watch {
	uint64_t seen, ran_out;
};
bool copies_run_out(struct copies_watch *watch, uint64_t seen, uint64_t ran_out);

/* The bytes that a ring should have for that, of at least `least`: a power of two. */
size_t copies_ring_bytes(uint64_t hz, uint32_t bytes, size_t least);
