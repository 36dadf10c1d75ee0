/*
 * How good a recording is: what was measured while it was made and what its samples say.
 *
 * The recorder stores the first half in the file (quality_write, a feature section of its own);
 * whoever reads the file counts the second half from the records and so does not have to trust
 * it. Every number that is unknown is QUALITY_UNKNOWN, never 0.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUALITY_UNKNOWN UINT64_MAX

enum quality_source { /* the rungs, from the best down */
	SOURCE_UNKNOWN,
	SOURCE_KERNEL,		 /* perf events with kernel frames */
	SOURCE_KERNEL_USER_ONLY, /* perf events, user mode only */
	SOURCE_AGENT,
	SOURCE_PTRACE,
	SOURCE_SIM,
};

enum quality_scope { /* how targets are followed */
	SCOPE_UNKNOWN,
	SCOPE_INHERIT, /* threads and what they create */
	SCOPE_CGROUP,  /* per CPU, confined to a cgroup */
	SCOPE_SYSTEM,  /* whole CPUs */
};

/* Why a stack ended; the names stand in quality.c, quality_stop_name(). */
enum stack_stop {
	STOP_ROOT,	       /* complete: a known first function (_start, __clone, ...) */
	STOP_NO_USER,	       /* no user part is owed: kernel thread, exec, exit */
	STOP_NO_CHAIN,	       /* the kernel gave no user frames */
	STOP_NOT_ROOT,	       /* the frame-pointer chain ended elsewhere */
	STOP_TRUNCATED_KERNEL, /* the kernel's own depth limit (perf_event_max_stack) */
	STOP_COPY_EXHAUSTED,   /* the copied piece of the stack ended */
	STOP_NO_CFI,
	STOP_BAD_CFI,
	STOP_UNREADABLE,
	STOP_DEPTH,    /* our own limit */
	STOP_LATE,     /* complete, but read late from the target and checked */
	STOP_SWITCHED, /* Go's system stack is complete, the goroutine that went there unread */
	STOP_BEHIND,   /* the recorder could not keep up: cut short, or by frame pointers */
	STOP_NO_COPY,  /* nothing was copied: the page was not in memory */
	STOP_COUNT,
};

/* What stands for the frames that are missing in a STOP_SWITCHED stack. */
#define GOROUTINE_MARKER "[goroutine not read]"

struct quality {
	/* ---- measured by the recorder, stored */
	char event[64];	     /* "cpu-clock", with :u where the kernel's part is excluded */
	char why_event[192]; /* why it is not the first choice; "" */
	char clock[32];	     /* "CLOCK_MONOTONIC" */
	enum quality_source source;
	enum quality_scope scope;
	bool weight_is_ns;
	uint64_t frequency_hz, period; /* asked for; one of them is 0 */
	uint64_t wall_ns;	       /* from enable to disable */
	uint64_t event_count;	 /* read() of the sampling events, in the unit of the periods */
	uint64_t cpu_ns;	 /* the target's CPU time by an independent clock */
	char cpu_clock_name[48]; /* which: "rusage", "process clocks", "cgroup cpu.stat" */
	uint64_t user_ns, kernel_ns;	       /* of cpu_ns, where the clock tells */
	uint64_t lost_read;		       /* PERF_FORMAT_LOST at the end */
	uint64_t ring_pages, ring_pages_asked; /* a CPU */
	uint64_t coverage_events; /* event_count is of so many events, the first ones of the
				     file */
	uint64_t targets;	  /* threads attached to, or 1 for a command */
	int32_t exit_status;	  /* of the command; -1: none */
	uint64_t copy_bytes;	  /* of the stack, with each sample */
	uint64_t first_stack_ns; /* from enable until the first stack was unwound to its root */
	uint64_t behind_ns;	 /* so long stacks were cut short, to keep up */
	uint64_t behind_times;	 /* and so often that began */
	uint64_t by_pointers;	 /* stacks followed by frame pointers only then */
	bool scaled;		 /* the PMU was shared: event_count is scaled up */
	bool unfinished;	 /* a checkpoint: the recorder did not come to its end */
	bool interrupted;	 /* ended by a signal or -d, not by the target's end */
	char notes[1024];	 /* one sentence a line: what else the user should know */

	/* ---- counted from the records */
	uint64_t samples;
	uint64_t period_sum;
	uint64_t lost;			      /* LOST and LOST_SAMPLES */
	uint64_t lost_records;		      /* how often that was said */
	uint64_t first_loss_ns, last_loss_ns; /* since the first record */
	uint64_t throttled;		      /* THROTTLE records */
	uint64_t throttled_ns;		      /* between THROTTLE and UNTHROTTLE */
	uint64_t unknown_records, bad_records, out_of_order;
	uint64_t stops[STOP_COUNT];	      /* stacks by why they ended */
	uint64_t user_frames, unnamed_frames; /* over all samples, after resolving */
	uint64_t first_ns, last_ns;	      /* of the samples */
	uint64_t truncated_at; /* byte at which the file ends too early; else QUALITY_UNKNOWN */
};

/*
 * The stored numbers become unknown, and what is a moment or a place (first_ns, last_ns,
 * first_loss_ns, last_loss_ns, truncated_at); the counters of the second half start at 0.
 */
void quality_init(struct quality *quality);

/* Adds a sentence to the notes, as far as there is room. */
void quality_note(struct quality *quality, const char *sentence);

/*
 * The stored half as "key value" lines behind a first line "wick-quality 1", and back. What is
 * unknown is left out; unknown keys and words are skipped, so it can grow. Reading resets the
 * stored half to unknown first and leaves the counted half alone. -EBADMSG for a text that is
 * not of this form: *quality is as it was then.
 */
void quality_write(const struct quality *quality, struct strbuf *ret_text);
int quality_read(struct quality *quality, const char *text, size_t len, struct error *err);

const char *quality_stop_name(enum stack_stop stop); /* "root reached", ... */
const char *quality_source_name(enum quality_source source);
/* One word each, as the section and JSON have it: "kernel-user-only", "cgroup". */
const char *quality_source_key(enum quality_source source);
const char *quality_scope_key(enum quality_scope scope);

/* Every number of both halves by its name in the struct; QUALITY_UNKNOWN is told as it is. */
typedef void (*quality_number_fn)(void *ctx, const char *key, uint64_t value);
void quality_numbers(const struct quality *quality, quality_number_fn tell, void *ctx);

/* ---- derived; each returns false when it does not apply or is unknown */

/*
 * Share of what the mode can see that the samples account for: period sum over the count of the
 * same event, less the kernel time that a user-only clock event counts but cannot sample. May
 * be a little more than 1 (the kernel's timers are early as often as late). False too where
 * less than ten periods could be seen (quality_too_short()): one sample more or less would
 * decide.
 */
bool quality_coverage(const struct quality *quality, double *ret_share);
/* The same against the independent clock (weights in ns only). */
bool quality_coverage_clock(const struct quality *quality, double *ret_share);
/* The reason why there is no coverage: too short to tell. */
bool quality_too_short(const struct quality *quality);
/*
 * How far off coverage may be, in shares: one period a target (of many: 5 % at most); and where
 * a hidden part was subtracted, two standard deviations of that estimate (quality_measures.c
 * says which).
 */
bool quality_coverage_slack(const struct quality *quality, double *ret_share);
/* Share of the target's CPU time that this mode cannot see (kernel time hidden). */
bool quality_hidden(const struct quality *quality, double *ret_share);
/* CPU time over wall time: 2.0 is two CPUs busy. */
bool quality_on_cpu(const struct quality *quality, double *ret_cpus);
/* Lost over lost + samples; in-band or PERF_FORMAT_LOST, whichever says more. */
bool quality_lost(const struct quality *quality, uint64_t *ret_lost, double *ret_share);
/* Complete over owed (those with STOP_NO_USER are not owed). */
bool quality_complete(const struct quality *quality, double *ret_share);

/*
 * --strict: 0 fine; 3 no samples; 4 falls short of `min_coverage` or above `max_lost` (shares);
 * the sentence says which. Coverage falls short when even with its slack it is below the
 * minimum, by the event's own count or by the independent clock (which is granted 25 ms more:
 * it counts the start of the command). Too short to tell is fine; coverage that cannot be told
 * for another reason is not (4). A minimum of 0 asks for nothing.
 */
int quality_verdict(const struct quality *quality, double min_coverage, double max_lost,
	struct error *ret_why);
