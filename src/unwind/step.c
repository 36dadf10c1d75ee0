/*
 * One step up the stack.
 *
 *     rule   the compact form; nearly all steps
 *     slow   a whole row: expressions, registers in registers, signal frames
 *     fp     [fp] = the caller's fp, [fp + 8] = the return address
 *     scan   the first word above sp that is a return address
 *
 * The stack grows downwards, so a caller's frame lies above: a CFA that is not above sp ends
 * the walk, but for signal frames (an alternate stack may lie anywhere) and frames that find
 * their CFA elsewhere (code that switches stacks); those may go down BACKWARDS_MAX times.
 */
#include "unwind/expr.h"
#include "unwind/unwinder.h"

#include <errno.h>

enum { BACKWARDS_MAX = 32, SCAN_WORDS = 256, FP_REACH = 8 << 20 };
enum { RA_IN_REG = CFI_REGS + 1 }; /* in place of the CFA's register */

static void edge_add(struct walk *walk, uint64_t cfa, uint64_t slot, uint64_t value,
	uint64_t lo, uint64_t hi)
{
	walk->edges[walk->edge_total++ & 1] = (struct edge){cfa, slot, value, lo, hi};
}

/* May the caller's stack pointer be `cfa`? */
static bool progress(struct walk *walk, uint64_t cfa, bool signal, unsigned cfa_reg)
{
	uint64_t sp = walk->regs[walk->arch->sp];

	if (cfa > sp)
		return true;
	/*
	 * A leaf with its return address in a register need not have touched the stack; vfork()
	 * takes it there itself.
	 */
	if (cfa == sp && walk->exact && (walk->arch->link_register || cfa_reg == RA_IN_REG))
		return true;
	return (signal || cfa_reg != walk->arch->sp) && ++walk->backwards <= BACKWARDS_MAX;
}

/* The tracked registers and the return address, all of which lie in the copy. */
static uint64_t load_from_copy(struct walk *walk, const struct rule *rule, const uint8_t *area)
{
	const struct arch *arch = walk->arch;
	const uint8_t *tracked = arch->tracked;
	unsigned count = arch->tracked_count;
	uint64_t known = walk->known, ra;

	for (unsigned i = 0; i < count; i++) {
		unsigned reg = tracked[i];
		int16_t slot = rule->slots[i];
		uint64_t value;

		if (slot > RULE_LOST) {
			memcpy(&value, area + 8 * slot, sizeof(value));
			walk->regs[reg] = value;
			known |= 1ull << reg;
		} else if (slot == RULE_LOST) {
			known &= ~(1ull << reg);
		}
	}
	walk->known = known;
	if (rule->flags & RULE_RA_IN_REG)
		return walk->regs[arch->ra];
	memcpy(&ra, area + 8 * rule->ra_slot, sizeof(ra));
	return ra;
}

static int load_slot(struct walk *walk, uint64_t area, int16_t slot, uint64_t *ret)
{
	return walk_u64(walk, area + (uint64_t)(8 * (int64_t)slot), ret);
}

/*
 * gcc does not say in an epilogue that a register was popped: what was pushed lies below sp,
 * and will do until a signal comes. It is below the copy; but the register has its value again.
 */
static bool was_popped(const struct walk *walk, uint64_t area, int16_t slot)
{
	uint64_t at = area + (uint64_t)(8 * (int64_t)slot);

	return slot != RULE_LOST && at < walk->regs[walk->arch->sp] && area > at;
}

static int load_one_by_one(
	struct walk *walk, const struct rule *rule, uint64_t area, uint64_t *ret_ra)
{
	const struct arch *arch = walk->arch;
	uint64_t value;

	/* The return address first: without it the rest is worth nothing. */
	*ret_ra = walk->regs[arch->ra];
	if (!(rule->flags & RULE_RA_IN_REG) && load_slot(walk, area, rule->ra_slot, ret_ra) < 0)
		return -EFAULT;
	for (unsigned i = 0; i < arch->tracked_count; i++) {
		unsigned reg = arch->tracked[i];

		if (rule->slots[i] == RULE_NOT_SAVED || was_popped(walk, area, rule->slots[i]))
			continue;
		if (rule->slots[i] == RULE_LOST ||
			load_slot(walk, area, rule->slots[i], &value) < 0)
			walk->known &= ~(1ull << reg);
		else
			reg_set(walk, reg, value);
	}
	return 0;
}

int step_rule(struct walk *walk, const struct rule *rule)
{
	const struct arch *arch = walk->arch;
	uint64_t cfa = walk->regs[rule->cfa_reg] + (uint64_t)(int64_t)rule->cfa_offset;
	uint64_t area, lo, hi, ra, slot;
	const uint8_t *copy = NULL;

	if (!reg_known(walk, rule->cfa_reg))
		return -ENODATA;
	if (rule->flags & RULE_DEREF) {
		if (walk_u64(walk, cfa, &cfa) < 0)
			return -EFAULT;
		cfa += (uint64_t)(int64_t)rule->cfa_add;
	}
	if (!progress(walk, cfa, false, rule->cfa_reg))
		return -EBADMSG;
	if ((rule->flags & RULE_RA_IN_REG) && !(walk->exact && reg_known(walk, arch->ra)))
		return -EBADMSG;
	area = rule->flags & RULE_FROM_REG ? walk->regs[rule->cfa_reg] : cfa;
	if (rule->lo < rule->hi) {
		lo = area + (uint64_t)(8 * (int64_t)rule->lo);
		hi = area + (uint64_t)(8 * (int64_t)rule->hi);
		copy = stack_at(walk, lo, hi - lo);
	} else { /* nothing was saved */
		lo = hi = area;
		copy = walk->stack;
	}
	if (copy) {
		slot = area + (uint64_t)(8 * (int64_t)rule->ra_slot);
		ra = load_from_copy(walk, rule, lo < hi ? copy - 8 * rule->lo : copy);
		if (!(rule->flags & RULE_RA_IN_REG))
			edge_add(walk, cfa, slot, ra, lo, hi);
	} else if (load_one_by_one(walk, rule, area, &ra) < 0) {
		return -EFAULT;
	}
	/* What calls destroy is not known any more. */
	walk->known &= arch->callee_saved;
	reg_set(walk, arch->sp, cfa);
	walk->pc = ra & walk->addr_mask;
	walk->exact = false;
	return 0;
}

/* ---- whole rows */

static int row_cfa(struct walk *walk, const struct cfi_row *row, uint64_t *ret_cfa)
{
	if (row->cfa.kind == CFI_VAL_EXPR)
		return expr_eval(walk, row->cfa.expr, row->cfa.expr_len, NULL, ret_cfa);
	if (!reg_known(walk, row->cfa_reg))
		return -ENODATA;
	*ret_cfa = walk->regs[row->cfa_reg] + (uint64_t)row->cfa.offset;
	return 0;
}

/* 0; 1: the register is not known in the caller. */
static int row_register(struct walk *walk, const struct cfi_rule *rule, unsigned reg,
	uint64_t cfa, uint64_t *ret_value)
{
	uint64_t at;
	int rc;

	switch (rule->kind) {
	case CFI_OFFSET:
		if (rule->offset < 0 &&
			cfa + (uint64_t)rule->offset < walk->regs[walk->arch->sp])
			break; /* was popped */
		return walk_u64(walk, cfa + (uint64_t)rule->offset, ret_value);
	case CFI_VAL_OFFSET:
		*ret_value = cfa + (uint64_t)rule->offset;
		return 0;
	case CFI_EXPR:
		rc = expr_eval(walk, rule->expr, rule->expr_len, &cfa, &at);
		return rc < 0 ? rc : walk_u64(walk, at, ret_value);
	case CFI_VAL_EXPR:
		return expr_eval(walk, rule->expr, rule->expr_len, &cfa, ret_value);
	case CFI_REGISTER:
		if (rule->offset < 0 || rule->offset >= CFI_REGS)
			return -EBADMSG;
		reg = (unsigned)rule->offset;
		break;
	case CFI_UNDEFINED:
		return 1;
	default:
		break;
	}
	*ret_value = walk->regs[reg];
	return reg_known(walk, reg) ? 0 : 1;
}

int step_slow(struct walk *walk, const struct cfi_row *row)
{
	const struct arch *arch = walk->arch;
	uint64_t regs[CFI_REGS], known = 0, cfa, slot;
	int rc;

	if (!arch->link_register)
		reg_set(walk, arch->ra, walk->pc);
	rc = row_cfa(walk, row, &cfa);
	if (rc < 0)
		return rc;
	for (unsigned reg = 0; reg < CFI_REGS; reg++) {
		const struct cfi_rule *rule = &row->regs[reg];

		if (rule->kind == CFI_UNSPECIFIED && !row->signal_frame && reg != arch->ra &&
			!(arch->callee_saved >> reg & 1))
			continue;
		rc = row_register(walk, rule, reg, cfa, &regs[reg]);
		if (rc < 0 && reg == arch->ra)
			return rc;
		if (rc == 0)
			known |= 1ull << reg;
	}
	if (!(known >> arch->ra & 1))
		return -EBADMSG;
	if (!(known >> arch->sp & 1) || row->regs[arch->sp].kind == CFI_UNSPECIFIED ||
		row->regs[arch->sp].kind == CFI_SAME)
		regs[arch->sp] = cfa;
	known |= 1ull << arch->sp;
	if (!progress(walk, regs[arch->sp], row->signal_frame,
		    row->cfa.kind == CFI_VAL_EXPR	       ? CFI_REGS
		    : row->regs[arch->ra].kind == CFI_REGISTER ? RA_IN_REG
							       : row->cfa_reg))
		return -EBADMSG;
	slot = cfa + (uint64_t)row->regs[arch->ra].offset;
	if (row->regs[arch->ra].kind == CFI_OFFSET && stack_at(walk, slot, 8))
		edge_add(walk, cfa, slot, regs[arch->ra], slot, slot + 8);
	walk->pc = regs[arch->ra] & walk->addr_mask;
	walk->exact = row->signal_frame;
	walk->known = known;
	memcpy(walk->regs, regs, sizeof(regs));
	return 0;
}

int step_sigreturn(struct walk *walk)
{
	const struct arch *arch = walk->arch;
	uint64_t sp = walk->regs[arch->sp], at = sp + arch->sigframe_offset, value;
	uint64_t regs[CFI_REGS] = {0}, known = 0, pc = 0;

	for (unsigned i = 0; i < arch->sigframe_count; i++, at += 8) {
		unsigned reg = arch->sigframe_regs[i];

		if (walk_u64(walk, at, &value) < 0)
			return -EFAULT;
		if (reg == ARCH_PC) {
			pc = value;
		} else if (reg != ARCH_NONE) {
			regs[reg] = value;
			known |= 1ull << reg;
		}
	}
	if (!progress(walk, regs[arch->sp], true, arch->sp))
		return -EBADMSG;
	at -= 8;
	if (stack_at(walk, at, 8))
		edge_add(walk, sp, at, pc, at, at + 8);
	memcpy(walk->regs, regs, sizeof(regs));
	walk->known = known;
	walk->pc = pc & walk->addr_mask;
	walk->exact = true;
	return 0;
}

/* ---- without CFI */

int step_fp(struct walk *walk)
{
	const struct arch *arch = walk->arch;
	uint64_t fp = walk->regs[arch->fp], sp = walk->regs[arch->sp], next, ra;

	if (!reg_known(walk, arch->fp) || fp % 8 || fp < sp || fp - sp > FP_REACH)
		return -EBADMSG;
	if (walk_u64(walk, fp + 8, &ra) < 0 || walk_u64(walk, fp, &next) < 0)
		return -EFAULT;
	ra &= walk->addr_mask;
	if (lookup_is_call(walk, ra) == CALL_NO)
		return -EBADMSG;
	if (stack_at(walk, fp, 16))
		edge_add(walk, fp + 16, fp + 8, ra, fp, fp + 16);
	walk->known = 0;
	reg_set(walk, arch->sp, fp + 16);
	reg_set(walk, arch->fp, next);
	walk->pc = ra;
	walk->exact = false;
	return 0;
}

int step_scan(struct walk *walk)
{
	const struct arch *arch = walk->arch;
	uint64_t sp = walk->regs[arch->sp], fp = walk->regs[arch->fp], word;
	bool fp_known = reg_known(walk, arch->fp);

	for (unsigned i = 0; i < SCAN_WORDS; i++, sp += 8) {
		const uint8_t *p = stack_at(walk, sp, 8);

		if (!p)
			return -EFAULT;
		memcpy(&word, p, sizeof(word));
		if (lookup_is_call(walk, word & walk->addr_mask) != CALL_YES)
			continue;
		walk->known = 0;
		reg_set(walk, arch->sp, sp + 8);
		if (fp_known && fp > sp)
			reg_set(walk, arch->fp, fp);
		walk->pc = word & walk->addr_mask;
		walk->exact = false;
		return 0;
	}
	return -EBADMSG;
}
