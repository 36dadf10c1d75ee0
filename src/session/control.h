/*
 * Starting and stopping the sampling from outside while a recording runs, as perf spells it:
 * --control fifo:CTL[,ACK] or fd:CTL[,ACK]. Words, each ended by a newline: enable, disable,
 * ping, stop. To each that is understood "ack\n" is answered.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct control {
	int ctl_fd, ack_fd; /* -1: none */
	char line[64];
	size_t len;
};

enum control_word {
	CONTROL_NONE,
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_STOP,
	CONTROL_PING,
	CONTROL_UNKNOWN,
};

/* Opens (fifos) or takes (descriptors) what `spec` names. */
int control_open(struct control *control, const char *spec, struct error *err);
void control_done(struct control *control);

/* The next word that has come; CONTROL_NONE when there is none (yet). Does not wait. */
enum control_word control_next(struct control *control);

/* Answers that the last word was carried out. */
void control_ack(const struct control *control);
