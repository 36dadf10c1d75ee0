/*
 * Complete user stacks for samples that carry registers and a piece of the stack: runs the
 * unwinder, reads what lies deeper from a live target, and makes one call chain of the kernel's
 * part and what was unwound.
 */
#pragma once

#include "proc/pins.h"
#include "proc/proc.h"
#include "profile/quality.h"
#include "session/strain.h"
#include "target/target.h"
#include "unwind/unwind.h"
#include "wick/record.h"

#include <stdbool.h>
#include <stdint.h>

struct jit;

struct stacks_options {
	const struct target *target;
	const struct proc
		*proc; /* live: files through /proc/PID, memory that lies deeper; else NULL */
	const char *sysroot; /* not live: put before every path; NULL: none */
	struct jit *jit;     /* what compilers say of code without a file; NULL: nothing */
	enum unwind_arch arch;
	uint32_t depth_limit; /* 0: the unwinder's */
};

struct stacks;

int stacks_new(const struct stacks_options *options, struct stacks **ret_stacks);
void stacks_free(struct stacks *stacks); /* NULL is fine */

/* The unwinder's architecture for a machine as uname() calls it; negative: none that is known.
 */
int stacks_arch_of(const char *machine);
int stacks_arch_here(void);

/* The registers to have copied for it: attr.sample_regs_user. */
uint64_t stacks_regs(int arch);

/*
 * A sample's chain with its user part unwound: the kernel's entries, PERF_CONTEXT_USER, then
 * the user's. The marker stands again before an entry that is no return address (a function
 * that a signal interrupted), so that it is not looked up as one. Returns why it ended; the
 * chain is valid until the next call.
 */
enum stack_stop stacks_unwind(struct stacks *stacks, uint32_t process,
	const struct wick_record *record, struct wick_words *ret_chain);

/* While the recorder does not keep up: less of each stack (STOP_BEHIND). */
void stacks_set_effort(struct stacks *stacks, enum effort effort);

struct stacks_stats {
	struct unwind_stats unwind;
	uint64_t by_pointers;	     /* stacks, at EFFORT_POINTERS */
	uint64_t fully;		     /* stacks at full effort, */
	uint64_t ran_out;	     /* of which so many ended with the copy */
	uint64_t late_forbidden;     /* stacks that ended as their process may not be read */
	int32_t forbidden_by;	     /* the first such process */
	uint64_t late, late_refused; /* stacks that were read late: completed so, or changed
					meanwhile */
	uint64_t frames[UNWIND_HOW_COUNT];
};

void stacks_stats(const struct stacks *stacks, struct stacks_stats *ret_stats);
