/*
 * Go: frames by .gopclntab, and from one stack to the other.
 *
 * A goroutine has a small stack of its own. What needs more (the collector, the scheduler,
 * growing that stack, C code) runs on the stack of the thread's scheduler, "g0":
 *
 *     goroutine's stack                       g0's stack
 *     caller C:  ret into C's caller
 *                C's caller's rbp  <- rbp
 *                locals
 *                ret into C  (slot)   ....    systemstack          nothing above it is alive
 *                                             what it calls; has saved rbp
 *
 * The frame pointer is not changed by the switch, so it leads back: C's frame ends at rbp, and
 * the return address that the call of systemstack left lies just below C's locals. Where that
 * is C's own size tells, which depends on the address that is looked for: each word below rbp
 * that is a return address behind a call of systemstack, in a function whose frame is as large
 * as the distance, is taken (there can be only one for each size). Since Go 1.21 systemstack
 * keeps a frame of its own, and rbp points into that one.
 *
 * morestack is called at a function's start, when its frame does not exist yet:
 *
 *                C's caller's rbp  <- rbp
 *                C's locals
 *                ret into C        slot + 8, belongs to C's size as above
 *                ret into the function that grows   slot
 *
 * cgocallback, when C calls Go, goes to the goroutine's stack and keeps rbp as it was on C's.
 *
 * mcall leaves the goroutine for good: what it calls never returns. Its stack is complete.
 *
 * The goroutine's stack is not in the copy; it is read late, and believed as such memory is
 * (memory.c). Without that the stack ends with a reason of its own.
 */
#include "object/gopclntab.h"
#include "unwind/unwinder.h"

#include <errno.h>

enum { FRAME_WORDS = 1024, SWITCHES_MAX = 32 };

/* How a RULE_SWITCHED leads on; it stands in rule.cfa_add, which such a rule has no use for. */
enum way {
	WAY_SEARCH, /* no frame of its own */
	WAY_FRAME,  /* rbp points into its own frame */
	WAY_GROWN,
};

/*
 * The frame of a Go function, from the top: (x86-64) return address, caller's frame pointer,
 * locals; (AArch64) locals, and the return address at sp.
 */
static void rule_of_frame(const struct arch *arch, uint32_t delta, struct rule *rule)
{
	int64_t words = delta / 8;

	rule->kind = RULE_FRAME;
	rule->cfa_reg = arch->sp;
	if (delta % 8 || words >= INT16_MAX - 2) {
		rule->kind = RULE_BAD;
	} else if (!arch->link_register) {
		rule->cfa_offset = (int32_t)delta + 8;
		rule->ra_slot = rule->lo = -1;
		rule->hi = 0;
		if (delta >= 8)
			rule->slots[1] = rule->lo = -2;
	} else if (delta) {
		rule->cfa_offset = (int32_t)delta;
		rule->ra_slot = rule->lo = (int16_t)-words;
		rule->hi = (int16_t)(1 - words);
	} else {
		rule->flags |= RULE_RA_IN_REG;
	}
}

/* It called on another stack; the frame pointer still points into its own. */
static void rule_of_switch(const struct go_function *function, struct rule *rule)
{
	rule->kind = RULE_SWITCHED;
	rule->cfa_add = function->special == GO_GROW ? WAY_GROWN
			: function->sp_delta < 8     ? WAY_SEARCH
						     : WAY_FRAME;
}

void rule_of_go(const struct arch *arch, const struct go_function *function, bool exact,
	struct rule *ret_rule)
{
	rule_clear(ret_rule);
	rule_of_frame(arch, function->sp_delta, ret_rule);
	switch (function->special) {
	case GO_SIGRETURN:
		ret_rule->kind = RULE_SIGRETURN;
		return;
	case GO_SIGNAL:
		return;
	case GO_FIRST:
		ret_rule->kind = RULE_ROOT;
		return;
	case GO_LEFT:
		if (!exact)
			ret_rule->kind = RULE_ROOT;
		else if (ret_rule->kind != RULE_BAD)
			ret_rule->kind = RULE_JUMPING;
		return;
	default:
		break;
	}
	if (function->flags & GO_TOP_FRAME)
		ret_rule->kind = RULE_ROOT;
	else if (ret_rule->kind == RULE_BAD)
		return;
	else if (function->special == GO_ORDINARY && !(function->flags & GO_SP_WRITE))
		return;
	else if (exact)
		ret_rule->kind = RULE_JUMPING;
	else
		rule_of_switch(function, ret_rule);
}

/* ---- to the goroutine's stack */

/* Is `addr`, found in `slot`, a return address into the function whose frame ends at fp? */
static bool ends_at_fp(struct walk *walk, uint64_t addr, uint64_t slot, uint64_t fp)
{
	const struct rule *rule;

	if (lookup_is_call(walk, addr) != CALL_YES)
		return false;
	rule = lookup_rule(walk, addr, false);
	return rule->kind == RULE_FRAME && rule->cfa_reg == walk->arch->sp &&
	       slot + 8 + (uint64_t)(int64_t)rule->cfa_offset == fp + 16;
}

static void arrive(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t fp)
{
	walk->known = 0;
	reg_set(walk, walk->arch->sp, sp);
	reg_set(walk, walk->arch->fp, fp);
	walk->pc = pc;
	walk->exact = false;
}

/* The slot below fp; `grown`: two return addresses, the upper one fits fp. */
static int slot_find(struct walk *walk, uint64_t fp, bool grown)
{
	uint64_t above = 0, word;

	for (uint64_t slot = fp - 8; fp - slot <= 8ull * FRAME_WORDS; slot -= 8) {
		if (walk_u64(walk, slot, &word) < 0)
			return -EFAULT;
		if (ends_at_fp(walk, grown ? above : word, grown ? slot + 8 : slot, fp) &&
			lookup_links(walk, walk->pc, false, word)) {
			arrive(walk, word, slot + 8, fp);
			return 0;
		}
		above = word;
	}
	return -EFAULT;
}

/* systemstack's own frame. */
static int own_frame(struct walk *walk, uint64_t fp)
{
	uint64_t ra, next;

	if (walk_u64(walk, fp + 8, &ra) < 0 || walk_u64(walk, fp, &next) < 0 ||
		lookup_is_call(walk, ra) != CALL_YES)
		return -EFAULT;
	arrive(walk, ra, fp + 16, next);
	return 0;
}

int step_switched(struct walk *walk, const struct rule *rule)
{
	uint64_t fp = walk->regs[walk->arch->fp];
	enum way way = (enum way)rule->cfa_add;

	walk->switched = true;
	walk->fail_addr = fp;
	if (walk->arch->link_register || !reg_known(walk, walk->arch->fp) || fp % 8 ||
		fp < 8ull * FRAME_WORDS || ++walk->backwards > SWITCHES_MAX)
		return -EFAULT;
	return way == WAY_FRAME ? own_frame(walk, fp) : slot_find(walk, fp, way == WAY_GROWN);
}

int step_jumping(struct walk *walk, const struct rule *rule)
{
	struct rule frame = *rule; /* looking for calls may take its place */
	int rc = step_rule(walk, &frame);

	return rc == 0 && lookup_is_call(walk, walk->pc) == CALL_NO ? -EBADMSG : rc;
}
