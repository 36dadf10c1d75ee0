/*
 * Rows are made compact here, or found too odd for it. A register that rules do not restore
 * (because calls destroy it) is left out, but in signal frames, which restore everything: they
 * are always slow.
 */
#include "unwind/rules.h"

#include "unwind/expr.h"

enum { SLOTS_LIMIT = INT16_MAX - 1 };

struct making {
	const struct arch *arch;
	uint64_t pc;
	struct rule *rule;
	bool cfa_area, reg_area; /* slots that count from the CFA, from the register */
	bool odd;
};

void rule_clear(struct rule *rule)
{
	rule->flags &= RULE_CALL_ASKED | RULE_CALL_YES | RULE_CALL_UNKNOWN;
	rule->how = UNWIND_BY_CFI;
	rule->lo = INT16_MAX;
	rule->hi = INT16_MIN;
	rule->ra_slot = RULE_NOT_SAVED;
	for (unsigned i = 0; i < ARCH_TRACKED_MAX; i++)
		rule->slots[i] = RULE_NOT_SAVED;
}

static int16_t slot_of(struct making *m, int64_t offset)
{
	int64_t slot = offset / 8;

	if (offset % 8 || slot < -SLOTS_LIMIT || slot > SLOTS_LIMIT) {
		m->odd = true;
		return RULE_NOT_SAVED;
	}
	if (slot < m->rule->lo)
		m->rule->lo = (int16_t)slot;
	if (slot >= m->rule->hi)
		m->rule->hi = (int16_t)(slot + 1);
	return (int16_t)slot;
}

static uint8_t pc_column(const struct arch *arch)
{
	return arch->link_register ? EXPR_CONST - 1 : arch->ra;
}

static void make_cfa(struct making *m, const struct cfi_row *row)
{
	struct expr_linear value = {(uint8_t)row->cfa_reg, false, row->cfa.offset, 0};

	if (row->cfa.kind == CFI_VAL_EXPR && !expr_linear(row->cfa.expr, row->cfa.expr_len,
						     pc_column(m->arch), m->pc, NULL, &value)) {
		m->odd = true;
		return;
	}
	if (value.reg >= CFI_REGS || value.offset != (int32_t)value.offset ||
		value.add != (int16_t)value.add) {
		m->odd = true;
		return;
	}
	m->rule->cfa_reg = value.reg;
	m->rule->cfa_offset = (int32_t)value.offset;
	m->rule->cfa_add = (int16_t)value.add;
	if (value.deref)
		m->rule->flags |= RULE_DEREF;
}

static int16_t make_slot(struct making *m, const struct cfi_rule *rule)
{
	struct expr_linear cfa = {EXPR_CONST, false, 0, 0}, value;

	switch (rule->kind) {
	case CFI_UNSPECIFIED:
	case CFI_SAME:
		return RULE_NOT_SAVED;
	case CFI_UNDEFINED:
		return RULE_LOST;
	case CFI_OFFSET:
		m->cfa_area = true;
		return slot_of(m, rule->offset);
	case CFI_EXPR:
		/* The CFA lies on the stack at first; what uses it is no term here. */
		if (expr_linear(rule->expr, rule->expr_len, pc_column(m->arch), m->pc, &cfa,
			    &value) &&
			value.reg == m->rule->cfa_reg && !value.deref) {
			m->reg_area = true;
			return slot_of(m, value.offset);
		}
		break;
	default:
		break;
	}
	m->odd = true;
	return RULE_NOT_SAVED;
}

/* The stack pointer of the caller is the CFA, whether it is said or not. */
static bool plain_sp(const struct cfi_rule *sp)
{
	return sp->kind == CFI_UNSPECIFIED || sp->kind == CFI_SAME ||
	       (sp->kind == CFI_VAL_OFFSET && !sp->offset);
}

void rule_of_row(
	const struct arch *arch, const struct cfi_row *row, uint64_t pc, struct rule *ret_rule)
{
	struct making m = {arch, pc, ret_rule, false, false, false};

	rule_clear(ret_rule);
	if (row->ra_reg != arch->ra) {
		ret_rule->kind = RULE_BAD;
		return;
	}
	if (row->regs[arch->ra].kind == CFI_UNDEFINED) {
		ret_rule->kind = RULE_ROOT;
		return;
	}
	make_cfa(&m, row);
	for (unsigned i = 0; i < arch->tracked_count; i++)
		ret_rule->slots[i] = make_slot(&m, &row->regs[arch->tracked[i]]);
	ret_rule->ra_slot = make_slot(&m, &row->regs[arch->ra]);
	if (ret_rule->ra_slot == RULE_NOT_SAVED) {
		if (arch->link_register)
			ret_rule->flags |= RULE_RA_IN_REG;
		else
			m.odd = true;
	}
	if (m.reg_area)
		ret_rule->flags |= RULE_FROM_REG;
	if (m.odd || (m.cfa_area && m.reg_area) || row->signal_frame ||
		!plain_sp(&row->regs[arch->sp])) {
		ret_rule->kind = RULE_SLOW;
		return;
	}
	ret_rule->kind = RULE_FRAME;
}

void rule_of_code(
	const struct arch *arch, const struct code_result *code, struct rule *ret_rule)
{
	struct making m = {arch, 0, ret_rule, false, false, false};

	rule_clear(ret_rule);
	ret_rule->kind = code->unsure ? RULE_UNSURE : RULE_CODE;
	ret_rule->how = UNWIND_BY_CODE;
	ret_rule->cfa_reg = code->cfa_reg;
	ret_rule->cfa_offset = code->cfa_offset;
	if (code->ra_in_reg)
		ret_rule->flags |= RULE_RA_IN_REG;
	else
		ret_rule->ra_slot = slot_of(&m, 8LL * code->ra);
	for (unsigned i = 0; i < arch->tracked_count; i++)
		if (code->saved[i] != CODE_NOT_SAVED)
			ret_rule->slots[i] = slot_of(&m, 8LL * code->saved[i]);
	if (m.odd)
		ret_rule->kind = RULE_NONE;
}
