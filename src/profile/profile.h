/*
 * The model: what was sampled, as tables linked by dense u32 ids. Pure; no I/O.
 *
 *     sample --> stack --> frame --> module          (strings are interned)
 *        |         |         `--> lines --> function --> module
 *        |         `--> parent stack (towards the root)
 *        `--> thread, event
 *
 * A stack is a leaf-ward path: (parent stack, frame); the root's parent is PROFILE_NONE. Equal
 * paths have one id. Frames are addresses in modules; names come later, once per frame, as
 * "lines": the innermost inlined function first, the function that really was called last.
 *
 * Ids are valid until profile_done(). Adding returns 0 or -ENOMEM or -ENOSPC (a table's limit,
 * counted in `refused`).
 */
#pragma once

#include "base/hash.h"
#include "base/strings.h"
#include "profile/quality.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_NONE   UINT32_MAX
#define PROFILE_NO_CPU UINT16_MAX /* sample.cpu where the recording does not say it */

enum module_kind {
	MODULE_FILE,
	MODULE_KERNEL,
	MODULE_KMODULE,
	MODULE_VDSO,
	MODULE_ANON,   /* JIT code and the like: frame addresses are run-time addresses */
	MODULE_MARKER, /* holds the frames that are no code: [unknown], [truncated: ...] */
};

/* The path of the MODULE_ANON that takes the addresses that lie in no mapping at all. */
#define MODULE_UNMAPPED "[unknown]"

struct module {
	enum module_kind kind;
	uint32_t path; /* string; as the record has it */
	uint8_t build_id[20];
	uint8_t build_id_bytes; /* 0: none known */
	uint32_t maj, min;	/* of the file, 0 where unknown */
	uint64_t ino;
	int32_t pid; /* a process that had it mapped (0: none known), and where */
	uint64_t map_start, map_end;
	uint64_t reloc; /* MODULE_KERNEL: _stext's run-time address while recording, or 0 */
};

/*
 * What a frame's address counts from depends on its module's kind: FILE, VDSO: the file offset;
 * KERNEL, KMODULE, ANON: the run-time address; MARKER: 0, `name` says it.
 */
struct frame {
	uint64_t addr;
	uint64_t shown_addr; /* the first run-time address it was seen at, for script */
	uint32_t module;
	uint32_t first_line; /* index in profile.lines; PROFILE_NONE: not resolved (yet) */
	uint16_t line_count;
	bool caller;	 /* a return address: the call is the instruction before it */
	bool resolved;	 /* the symbolizer has been here, with or without success */
	uint32_t marker; /* string, MODULE_MARKER only: "[truncated: copy exhausted]" */
	uint32_t hits;	 /* how often it stood in a sample's stack; at UINT32_MAX it stays */
};

struct line {
	uint32_t function;
	uint32_t file;	 /* string, 0: unknown */
	uint32_t line;	 /* 0: unknown */
	uint32_t column; /* 0: unknown */
};

struct function {
	uint32_t name;	       /* string: as people read it (demangled), whole */
	uint32_t linkage_name; /* string: as the symbol table has it; "": nothing names it */
	uint32_t module;
	uint64_t addr; /* its first byte, counted as the frames of that module are */
	uint64_t size; /* 0: unknown */
};

struct stack {
	uint32_t parent; /* towards the root; PROFILE_NONE at the root */
	uint32_t frame;
	uint32_t depth; /* 1 at the root */
};

struct profile_thread {
	int32_t pid, tid;
	uint32_t comm; /* string; a thread that was renamed has several entries */
};

struct profile_event {
	uint32_t name;	   /* string: "cpu-clock:u" */
	bool weight_is_ns; /* the period counts nanoseconds (cpu-clock, task-clock) */
};

enum span_kind {
	SPAN_LOST,	/* samples were lost */
	SPAN_THROTTLED, /* the kernel held the event back */
};

/* A time for which samples are missing. */
struct profile_span {
	enum span_kind kind;
	uint64_t start_ns, end_ns; /* end: not before start */
	uint32_t thread;	   /* that ran then; PROFILE_NONE: not known */
};

enum { PROFILE_SPANS_MAX = 10000 };

struct sample {
	uint64_t time_ns;
	uint64_t weight; /* the period */
	uint32_t stack;	 /* PROFILE_NONE: no stack at all */
	uint32_t thread;
	uint16_t cpu;
	uint16_t event;
};

struct profile {
	struct strings strings;
	struct module *modules;
	struct frame *frames;
	struct line *lines;
	struct function *functions;
	struct stack *stacks;
	struct profile_thread *threads;
	struct profile_event *events;
	struct sample *samples;
	struct profile_span *spans; /* in the order of the records that told */
	uint32_t span_count, span_cap;
	uint32_t module_count, frame_count, line_count, function_count, stack_count;
	uint32_t thread_count, event_count, sample_count;
	uint32_t module_cap, frame_cap, line_cap, function_cap, stack_cap;
	uint32_t thread_cap, event_cap, sample_cap;
	struct hash_index by_module, by_frame, by_function, by_stack, by_thread;
	uint32_t marker_module; /* made with the first marker frame; see profile_marker() */
	bool has_marker_module;
	struct quality quality;
	uint64_t refused; /* additions that met a limit */
};

/* A zeroed struct is a valid empty profile. */
void profile_done(struct profile *profile);

int profile_string(struct profile *profile, const char *text, uint32_t *ret_id);
const char *profile_text(const struct profile *profile, uint32_t string_id);

/* Equal: kind, path, build id, inode; ANON also by pid. */
int profile_module(struct profile *profile, const struct module *key, uint32_t *ret_id);

/* `shown_addr` does not take part in the comparison. */
int profile_frame(struct profile *profile, uint32_t module, uint64_t addr, bool caller,
	uint64_t shown_addr, uint32_t *ret_id);

/* A frame that is no code, by its text, which wears brackets: "[truncated: no CFI]". */
int profile_marker(struct profile *profile, const char *text, uint32_t *ret_frame);

int profile_stack(struct profile *profile, uint32_t parent, uint32_t frame, uint32_t *ret_id);
int profile_thread(
	struct profile *profile, int32_t pid, int32_t tid, const char *comm, uint32_t *ret_id);
int profile_event(
	struct profile *profile, const char *name, bool weight_is_ns, uint32_t *ret_id);
/* Past PROFILE_SPANS_MAX the last one grows instead. 0 or -ENOMEM. */
int profile_span(struct profile *profile, const struct profile_span *span);
int profile_add(struct profile *profile, const struct sample *sample);

/* Equal: module, linkage name and addr. */
int profile_function(struct profile *profile, const struct function *key, uint32_t *ret_id);

/* Gives a frame its lines, innermost first; n 0: nothing is known. Marks it resolved. */
int profile_resolve(
	struct profile *profile, uint32_t frame, const struct line *lines, uint32_t n);

/*
 * The address to look a frame up by: the instruction that was executing, or that made the call
 * ("return address - 1": in this one function only).
 */
static inline uint64_t frame_lookup_addr(const struct frame *frame)
{
	return frame->addr - (frame->caller && frame->addr);
}

/*
 * How a frame reads: the function's name, the marker's text, or "[unknown]" where there is none
 * (never NULL). `inline_index` 0 is the innermost; a frame without lines has one entry.
 */
const char *frame_name(const struct profile *profile, uint32_t frame, uint32_t inline_index);

/*
 * Has the frame a function with a name? One that is known by its address alone ("[a.out+0x10]",
 * without a linkage name) has none.
 */
bool frame_is_named(const struct profile *profile, uint32_t frame);

/*
 * Is this the path of a MODULE_KMODULE that is one function, a BPF program say, named so? Its
 * `ino` is where it begins. Modules are "[ext4]" or files.
 */
static inline bool module_is_ksymbol(const char *path)
{
	return *path && *path != '[' && *path != '/';
}

/* The module's last path component, or its whole name where it wears brackets. */
const char *module_short_name(const struct profile *profile, uint32_t module);
