/*
 * What a recording waits for: rings that fill, and whatever ends it.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum ends_seen {	       /* bits */
	ENDS_SIGNAL = 1,       /* the signal descriptor is readable */
	ENDS_CONTROL = 2,      /* the control descriptor is */
	ENDS_TARGETS_GONE = 4, /* the last process has ended */
	ENDS_PROCESS_GONE = 8, /* a process has ended */
};

struct ends {
	struct pollfd *polls;
	enum end_kind {
		END_RING,
		END_SIGNAL,
		END_CONTROL,
		END_PROCESS,
	} *
		kinds;
	bool *owned; /* the descriptor is ours to close */
	uint32_t count, cap;
	uint32_t processes; /* that still live */
};

int ends_init(struct ends *ends, uint32_t cap); /* 0 or -ENOMEM */
void ends_done(struct ends *ends);		/* takes a zeroed struct, too */

/* The descriptors stay the caller's. A negative one is left out. */
void ends_add_ring(struct ends *ends, int fd);
void ends_add_signal(struct ends *ends, int fd);
void ends_add_control(struct ends *ends, int fd);
void ends_add_process(struct ends *ends, int pidfd);
/* Opens a pidfd of its own; a process that is gone already has ended. */
void ends_add_pid(struct ends *ends, pid_t pid);

/*
 * Waits for a ring's watermark, something else or the timeout. ENDS_* bits, or a negative
 * errno. When the last process of several has ended the targets are gone; without any they
 * never are.
 */
int ends_wait(struct ends *ends, int timeout_ms);
