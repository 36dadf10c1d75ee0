/*
 * The writer's side of a ring, as the kernel does it: in a memfd that perf_ringbuf_open() maps
 * as it maps an event's.
 *
 *     | metadata page |  data page 0 .. 2^n - 1  |
 *
 * One thread writes a ring, one reads it; nothing is locked and, once the ring is there,
 * nothing is allocated, so a signal handler may write, also in the middle of a record that its
 * thread is writing: as an interrupt of the kernel does, it reserves what lies behind and is
 * done first, and the reader sees both when the outermost record is committed.
 *
 * When there is no room the record is dropped and counted; the count goes out as a LOST record
 * in front of the next record that fits, as the kernel does it. What is lost at the very end
 * shows in ringwriter_lost_total() only.
 */
#pragma once

#include "wick/record.h"

struct ringwriter;

struct ringwriter_options {
	size_t pages;		   /* of data, a power of two */
	uint64_t id;		   /* of the event, for LOST */
	struct wick_layout layout; /* of the event: the trailer of LOST */
	uint32_t wakeup_events; /* a wakeup every so many SAMPLEs; 0: by the watermark alone */
	uint32_t watermark_bytes; /* a wakeup every so many bytes; 0: half of the ring */
	bool overwrite; /* nobody moves data_tail: the newest records replace the oldest */
	bool backward;	/* records grow downwards; data_head is where the newest begins */
	bool deferred;	/* a wakeup waits for ringwriter_deferred() */
};

/* 0, -EINVAL, -ENOMEM, or what memfd_create, mmap and eventfd answer. NULL may be freed. */
int ringwriter_new(const struct ringwriter_options *options, struct ringwriter **ret_writer);
void ringwriter_free(struct ringwriter *writer);

/* The memfd, for perf_ringbuf_open(); and an eventfd that is readable after a wakeup. The
 * writer's. */
int ringwriter_fd(const struct ringwriter *writer);
int ringwriter_wakeup_fd(const struct ringwriter *writer);

/* Whose record it is, where several events share a ring: for LOST and the wakeups. */
struct ringwriter_speaker {
	uint64_t id;
	const struct wick_layout *layout;
	uint32_t wakeup_events;
};

/* A record on its way (struct perf_output_handle). */
struct ringwriter_record {
	struct ringwriter *writer;
	uint64_t at;	 /* where the next byte goes */
	uint64_t wakeup; /* the writer's, before this record */
	uint32_t wakeup_events;
	bool first_bytes; /* the next put holds the record's header */
};

/*
 * Reserves room for a record of `size` bytes (a multiple of 8, 8 to 65,528), and for a LOST in
 * front of it where one is owed: `now` fills its trailer. `speaker` NULL: as the options said.
 * Then put the bytes, piece by piece, and commit, each record that was reserved in between
 * before it: the reader sees them from then on. -ENOSPC: dropped and counted; do not commit.
 */
int ringwriter_reserve(struct ringwriter *writer, const struct ringwriter_speaker *speaker,
	size_t size, const struct wick_sample_id *now, struct ringwriter_record *ret_record);
void ringwriter_put(struct ringwriter_record *record, const void *bytes, size_t len);
void ringwriter_commit(struct ringwriter_record *record);

/* While a ring is paused nothing is written; what would have been counts as lost. */
void ringwriter_pause(struct ringwriter *writer, bool paused);

/* data_head and data_tail, as the reader sees them. */
void ringwriter_head_tail(
	const struct ringwriter *writer, uint64_t *ret_head, uint64_t *ret_tail);

/* How often the reader was woken so far. */
uint64_t ringwriter_wakeups(const struct ringwriter *writer);

/* The wakeup that is due, if one is, is made now: true. Only with `deferred`. */
bool ringwriter_deferred(struct ringwriter *writer);

/* A wakeup without a record: the writer's end. */
void ringwriter_wake(struct ringwriter *writer);

/* All three for a finished record; the LOST in front takes the record's own time, thread and
 * CPU. */
int ringwriter_write(struct ringwriter *writer, const void *record, size_t size);

/* Everything that was dropped, said in-band or not (PERF_FORMAT_LOST). */
uint64_t ringwriter_lost_total(const struct ringwriter *writer);
