/*
 * Puts a file on the disk while a recording goes on, in a thread of its own: fdatasync() may
 * take long, and the thread that drains the rings must not wait for a disk.
 */
#pragma once

struct syncer;

/* Starts the thread for a descriptor that stays the caller's. NULL where there can be none. */
struct syncer *syncer_start(int fd);

/* Asks for a sync of what has been written so far; several that wait are one. NULL is fine. */
void syncer_ask(struct syncer *syncer);

/* Ends the thread, a running sync first, and frees. NULL is fine. */
void syncer_stop(struct syncer *syncer);
