/*
 * Does the recorder keep up? And how much of a stack is worth its time while it does not.
 *
 *     EFFORT_FULL --> EFFORT_SHORT --> EFFORT_POINTERS       down: a ring fills, samples are
 * lost
 *         ^-----------------^-----------------'              up: calm for a while, one at a
 * time
 *
 * Pure: fed with how full the rings are and what time it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum effort {
	EFFORT_FULL,
	EFFORT_SHORT,	 /* the inner frames only, and nothing is read late */
	EFFORT_POINTERS, /* frame pointers only, as the kernel would have followed them */
	EFFORT_COUNT,
};

/* The fullest ring, in thousandths of its size; without what is only too young to be read. */
struct pressure {
	uint32_t waiting;
	uint32_t arrived, read; /* since this round of reading began */
	bool begins;		/* now */
};

struct strain {
	enum effort effort;
	bool raised;	     /* the last change was one up */
	uint64_t round_ns;   /* when this round of reading began */
	uint64_t lost;	     /* samples, as told so far */
	uint64_t loss_ns;    /* when that rose; what follows at once is the same loss */
	uint64_t changed_ns; /* when the effort changed */
	uint64_t calm_ns;    /* since when it is calm; 0: it is not */
	uint64_t hold_ns;    /* how long it must be calm before more is tried */
	uint64_t lowered_ns; /* not at full effort, up to changed_ns */
	uint64_t lowered_times;
};

/* Starts from a zeroed struct. `lost`: samples, as told so far. */
enum effort strain_update(
	struct strain *strain, const struct pressure *pressure, uint64_t lost, uint64_t now_ns);

/* How long it was not at full effort. */
uint64_t strain_lowered_ns(const struct strain *strain, uint64_t now_ns);
