/* The unwinder's own state, and the parts that the room's files share. */
#pragma once

#include "unwind/memory.h"
#include "unwind/modules.h"
#include "unwind/rules.h"

enum { RULE_WAYS = 2, RULE_SETS = 8192, RULES = RULE_SETS * RULE_WAYS, LINKS = 1024 };

/* A caller and its callee that were found to belong together. */
struct link {
	uint64_t callee, addr;
	uint32_t generation;
	bool fits;
};

struct regs_order {
	const struct arch *arch;
	uint64_t mask;	/* perf's */
	uint64_t known; /* DWARF registers that it has */
	uint8_t words, pc_at, count;
	struct {
		uint8_t at, reg;
	} of[64];
};

/* A rule that holds for all addresses of its row. */
struct row_rule {
	uint64_t lo, hi; /* [lo, hi) at run time */
	struct rule rule;
};

enum { ROW_RULES = 1024, ROW_BLOCK = 64 };

struct unwinder {
	void *allocated; /* what it lies in */
	struct modules modules;
	struct unwind_stats stats;
	struct regs_order regs_order;
	struct cfi_row row; /* of the look-up at hand: large */
	struct memory memory;
	struct link links[LINKS];
	struct rule passing; /* of code that may be another soon: not remembered */
	struct row_rule row_rules[ROW_RULES];
	_Alignas(64) struct rule rules[RULES]; /* each is one cache line */
};

/* ---- lookup.c */

/* The rule for an address; valid until the next call. */
struct rule *lookup_rule(struct walk *walk, uint64_t pc, bool exact);

/* The row for a frame, in unwinder->row. 0, -ENOENT, -EBADMSG, -ENOMEM. */
int lookup_row(struct walk *walk, const struct rule *rule);

enum call_check {
	CALL_NO,
	CALL_YES,
	CALL_UNKNOWN, /* mapped, but its bytes cannot be had */
};

/* Is that a return address: mapped, and behind a call instruction? */
enum call_check lookup_is_call(struct walk *walk, uint64_t addr);

/*
 * Can the call before `addr` have led to the function that holds `callee`? Tells a stack that
 * was put together from two moments: where they meet, somebody is called who was not.
 */
bool lookup_links(struct walk *walk, uint64_t callee, bool exact, uint64_t addr);

/* ---- step.c */

/*
 * From the frame at hand to its caller, by one way. 0: walk->regs, pc, exact are the caller's.
 * -EBADMSG: the rule leads nowhere; -ENODATA: it needs a register that is not known (any more);
 * -EFAULT: memory (walk->fail). On failure the frame may be
 * half changed.
 */
int step_rule(struct walk *walk, const struct rule *rule);
int step_slow(struct walk *walk, const struct cfi_row *row);
int step_sigreturn(struct walk *walk);
int step_fp(struct walk *walk);
int step_scan(struct walk *walk);

/* ---- go_stacks.c */

/*
 * From a frame on the scheduler's stack to the goroutine that switched there, by memory outside
 * of the copy. 0, or -EFAULT: it cannot be read, or is not what it was.
 */
int step_switched(struct walk *walk, const struct rule *rule);

/* A function that is about to leave its stack, or has done so. -EBADMSG: it has. */
int step_jumping(struct walk *walk, const struct rule *rule);
