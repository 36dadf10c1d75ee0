/*
 * The recorder's parts share one struct: recorder.c is its life, recorder_pipeline.c what
 * happens to a record, recorder_wait.c what it waits for, recorder_measures.c what it measures.
 */
#pragma once

#include "session/control.h"
#include "session/copies.h"
#include "session/ends.h"
#include "session/jit.h"
#include "session/keep.h"
#include "session/layouts.h"
#include "session/pump.h"
#include "session/self_counts.h"
#include "session/strain.h"
#include "session/synth.h"
#include "session/targets.h"

#include "session/recorder.h"

enum {
	POLL_MS = 250, /* records wait no longer than this for their merge */
	/* While a recording is young: files are opened before they are gone. */
	POLL_EARLY_MS = 10,
	EARLY_NS = 100 * 1000 * 1000,
	/* While stacks are deeper than their copies: the sooner the rest is read, the more of
	 * it is still there. */
	POLL_LATE_MS = 20,
	CHECKPOINT_NS = 1000 * 1000 * 1000, /* what a killed recorder may lose */
	EXIT_GRACE_MS = 5000,
	PRIORITY_MOST = -20, /* nice */
};

/* When the sampling events count. */
struct span {
	bool on, begun, paused_once;
	uint64_t begun_ns, since_ns, total_ns;
};

struct recorder {
	const struct record_options *options;
	struct record_options waited; /* with --wait-name: the options, and the process */
	int32_t waited_pid;
	struct recorded *out;
	struct error *err;
	struct proc proc;
	struct cpu_list cpus;
	struct events events;
	struct targets targets;
	struct control control;
	struct layouts layouts;
	bool narrowed; /* the file's records lack the fields that record/narrow.h leaves out */
	struct pump pump;
	struct target target;
	struct symbolizer *symbolizer;
	struct apply *apply;
	struct synth synth;
	struct perfdata_writer *writer;
	struct perfdata_features features;
	struct ends ends;
	struct span span;
	uint64_t started_ns;
	uint64_t now_ns;       /* when it woke last */
	uint64_t clocks_ns;    /* when the targets' clocks were read last */
	uint64_t late_tried;   /* stacks that were read late, when it was asked last */
	struct stacks *stacks; /* NULL: the kernel's chains are taken */
	struct strain strain;
	struct copies_watch copies;
	struct keep keep;
	struct jit jit;
	struct self_counts self; /* which functions are hot: their code goes into the file */
	struct wick_layout file_layout;
	uint32_t frames_left; /* that have less than there is: the time was over */
	bool disk_full, stop;
	bool rewritten; /* the record at hand was written in another form */
	bool priority_raised;
	int priority; /* nice, as it was */
	int status;   /* of the command; -1: it runs, or there is none */
	struct rusage usage;
	_Alignas(8) uint8_t record[PERF_RECORD_SIZE_MAX + 1];
};

static inline struct quality *quality_of(struct recorder *r)
{
	return &r->out->profile.quality;
}

uint64_t recorder_now_ns(void); /* CLOCK_MONOTONIC */

/* Adds a sentence to the quality's notes. */
__attribute__((format(printf, 2, 3))) void recorder_note(
	struct recorder *r, const char *fmt, ...);

/* ---- recorder_pipeline.c */

int recorder_make_file(struct recorder *r);
int recorder_make_pipeline(struct recorder *r);
/* Has more of the stack copied, where too many end early. */
void recorder_watch_copies(struct recorder *r);

/* ---- recorder_wait.c */

int recorder_make_ends(struct recorder *r);
/* Lets the command exec, and sampling begin where it need not wait. */
int recorder_begin(struct recorder *r);
/* Waits, and carries out what has come. 1: the recording ends; 0, or a negative errno. */
int recorder_wait(struct recorder *r);
void recorder_span_off(struct recorder *r); /* sampling ends */
bool recorder_command_ended(struct recorder *r);
bool recorder_duration_over(const struct recorder *r);
void recorder_priority_restore(struct recorder *r);
/* Puts the cause of a command that could not be executed where the caller finds it. */
int recorder_exec_failed(struct recorder *r, int code);

/* ---- recorder_measures.c */

void recorder_read_counts(struct recorder *r);
void recorder_take_measures(struct recorder *r);
void recorder_take_usage(struct recorder *r);
void recorder_say_limits(struct recorder *r);
/* At the end: processes whose stacks could not be read on. */
void recorder_say_forbidden(struct recorder *r);
