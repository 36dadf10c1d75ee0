/*
 * A recording from its first perf_open to the finished file: events -> rings -> pump -> apply
 * -> perf.data. Prints nothing, installs no signal handler: the caller lends a descriptor that
 * becomes readable when the recording shall end.
 */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "session/downloads.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum record_stacks {
	RECORD_STACKS_AUTO, /* unwound from copies where this machine's architecture is known */
	RECORD_STACKS_DWARF, /* unwound from copies, or an error */
	RECORD_STACKS_FP,    /* the kernel's frame-pointer chains */
	RECORD_STACKS_NONE,  /* only where the thread was */
};

struct record_options {
	const char *output;	      /* NULL: perf.data */
	char *const *command;	      /* argv, NULL-terminated; NULL: none */
	const sigset_t *command_mask; /* the signal mask that the command starts with */
	const int32_t *pids, *tids;
	uint32_t pid_count, tid_count;
	const char *const
		*events; /* as spec_parse() takes them; none: the best that delivers */
	uint32_t event_count;
	uint64_t frequency_hz, period; /* both 0: RECORD_DEFAULT_HZ */
	uint32_t pages; /* of a ring's data, a power of two; 0: what is sensible here */
	enum record_stacks stacks;
	uint32_t stack_bytes;  /* to copy with each sample; 0: RECORD_STACK_BYTES */
	bool system_wide;      /* all processes on the CPUs */
	const char *cgroup;    /* all processes of an existing cgroup; NULL: none */
	const char *wait_name; /* the next process that execs into this; NULL: none */
	const char *cpus;      /* "0-3,8": only these; NULL: all that are online */
	bool inherit_only; /* follow a command by inheritance even where a cgroup could be had
			    */
	uint64_t duration_ns; /* 0: until the target ends */
	uint64_t delay_ns;    /* begin to sample so long after the start */
	bool start_paused;    /* begin to sample when told */
	bool can_pause;	     /* somebody may tell: the side-band goes on while sampling rests */
	const char *control; /* fifo:..., fd:...; NULL: none */
	int compression_level;			   /* of zstd; 0: none */
	const struct downloads_options *downloads; /* before naming; NULL: nothing is fetched */
	uint64_t embed_ns; /* CPU time for inlined functions and lines: RECORD_EMBED_NS */
	bool no_embed;	   /* leave the names of the sampled frames out of the file */
	/* A signalfd: SIGUSR2 pauses or goes on, anything else ends the recording. -1: none. */
	int signal_fd;
	char *const *own_argv; /* for the file's header */
	/* Told once, when the sampling has begun. */
	void (*started)(void *ctx, const struct quality *quality);
	void *ctx;
};

enum { RECORD_DEFAULT_HZ = 997, RECORD_STACK_BYTES = 24 << 10 };

/* What inlined functions and lines may cost at the end of a recording. */
#define RECORD_EMBED_NS	   ((uint64_t)500 * 1000 * 1000)
#define RECORD_EMBED_BYTES ((uint64_t)512 << 20)

struct recorded {
	struct profile profile; /* frames and quality; no samples */
	int exit_status;	/* of the command; -1: none */
	bool command_failed;	/* it could not be executed: exit_status is 126 or 127 */
	uint64_t file_bytes;
	const char *path;
};

/*
 * Records. 0, or a negative errno and a sentence; what had been written by then stays readable.
 * recorded_done() in either case.
 */
int record_run(
	const struct record_options *options, struct recorded *ret_recorded, struct error *err);
void recorded_done(struct recorded *recorded);
