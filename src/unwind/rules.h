/*
 * Rules: what was found out about one code address, in one cache line.
 *
 *     CFA = regs[cfa_reg] + cfa_offset          or, with RULE_DEREF, memory[that] + cfa_add
 *     return address = memory[area + 8 * ra_slot]
 *     tracked register i = memory[area + 8 * slots[i]]
 *     area = CFA, or with RULE_FROM_REG regs[cfa_reg]
 *
 * What does not fit is RULE_SLOW: the row is worked out again each time.
 */
#pragma once

#include "object/gopclntab.h"
#include "unwind/walk.h"

enum rule_kind {
	RULE_EMPTY,
	RULE_FRAME,
	RULE_CODE,	/* the same, but read from the code: to be checked */
	RULE_UNSURE,	/* the same, and the frame pointer is tried first */
	RULE_SLOW,	/* look the row up again */
	RULE_SIGRETURN, /* the kernel's signal frame lies at sp */
	RULE_SWITCHED,	/* Go: the caller is on another stack (go_stacks.c) */
	RULE_JUMPING,	/* Go: as FRAME, if that leads to a call: sp may be another stack's */
	RULE_ROOT,	/* nobody called this */
	RULE_NONE,	/* nothing is known about this code */
	RULE_BAD,	/* what is known is damaged */
	RULE_UNMAPPED,	/* there is no code */
};

enum rule_flag {
	/* A return address that no call left: the start of a function, put there by the kernel
	 * (the signal trampoline), by makecontext() and its like. */
	RULE_STARTS = 1,
	RULE_DEREF = 2,
	RULE_FROM_REG = 4,
	RULE_RA_IN_REG = 8,  /* the link register still holds the return address */
	RULE_NO_RETURN = 16, /* RULE_NONE: the code never comes back */
	/* Does a call instruction end here? Asked for return addresses that were not found by
	 * CFI. */
	RULE_CALL_ASKED = 32,
	RULE_CALL_YES = 64,
	RULE_CALL_UNKNOWN = 128, /* no bytes to look at */
};

enum {
	RULE_NOT_SAVED = INT16_MIN,
	RULE_LOST = INT16_MIN + 1, /* undefined: not known in the caller */
};

struct rule {
	uint64_t key;	     /* pc << 1 | exact */
	uint64_t bias;	     /* start - pgoff of its mapping */
	uint32_t generation; /* of the maps that this was found in */
	uint32_t dso;	     /* TARGET_NONE: RULE_UNMAPPED */
	int32_t cfa_offset;
	int16_t cfa_add;
	uint8_t kind, flags, cfa_reg, how;
	int16_t ra_slot, lo, hi; /* all slots lie in [lo, hi) */
	int16_t slots[ARCH_TRACKED_MAX];
};

/* Everything a frame needs that is not in the rule. */
struct place {
	uint64_t vaddr; /* of the instruction to look up: pc, or pc - 1 */
	struct module *module;
};

/* A row as a rule: fills kind, flags and the numbers, leaves the tags alone. */
void rule_of_row(
	const struct arch *arch, const struct cfi_row *row, uint64_t pc, struct rule *ret_rule);

/* The same for what was read from the code. */
void rule_of_code(
	const struct arch *arch, const struct code_result *code, struct rule *ret_rule);

/* The same for a Go function at one address (go_stacks.c). */
void rule_of_go(const struct arch *arch, const struct go_function *function, bool exact,
	struct rule *ret_rule);

/* What all of them begin with. */
void rule_clear(struct rule *rule);
