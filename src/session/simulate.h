/*
 * A recording out of the simulated kernel: machine -> rings -> pump -> apply -> perf.data, by
 * the same code as a real one behind the rings. The file is the same, byte for byte, each time.
 */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>

struct simulate_options {
	const char *scenario; /* the text; see softperf/machine.h */
	size_t scenario_bytes;
	const char *output; /* NULL: nothing is written */
	/* Told what happens inside the simulated kernel, and when; NULL: nobody asks. */
	void (*trace)(void *ctx, uint64_t ns, const char *who, const char *text);
	void *ctx;
};

struct simulated {
	struct profile profile; /* frames and quality; no samples */
	uint64_t wakeups;	/* of the reader */
	uint64_t file_bytes;
};

/* 0, or a negative errno and a sentence. simulated_done() in either case. */
int simulate_run(const struct simulate_options *options, struct simulated *ret_simulated,
	struct error *err);
void simulated_done(struct simulated *simulated);
