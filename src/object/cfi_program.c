/*
 * Runs the programs of a CIE and an FDE up to an address: every DW_CFA_* instruction changes
 * the row, an "advance" ends it. The row that holds the address is the answer.
 *
 * Each instruction takes at least a byte and a bounded time, a program is at most
 * CFI_PROGRAM_MAX bytes, and remembered states are bounded: so is the whole.
 */
#include "object/cfi_internal.h"

#include <elf.h>
#include <errno.h>

enum {
	CFA_ADVANCE = 0x40, /* in the upper two bits, as are these three */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE8 = 0x1d,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d, /* SPARC's GNU_window_save */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum { REMEMBERED_MAX = 16 };

/* What remember_state keeps. */
struct state {
	struct cfi_rule cfa;
	uint16_t cfa_reg;
	bool ra_signed;
	struct cfi_rule regs[CFI_REGS];
};

struct machine {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	uint64_t function, wanted;
	uint64_t loc;
	uint64_t end; /* of the row that holds `wanted`, when `done` */
	bool done, bad;
	struct state state, initial;
	bool has_initial;
	uint32_t remembered;
	struct state stack[REMEMBERED_MAX];
};

static void set_rule(struct machine *m, uint64_t reg, uint8_t kind, int64_t offset)
{
	if (reg < CFI_REGS)
		m->state.regs[reg] = (struct cfi_rule){.kind = kind, .offset = offset};
}

static void set_expr(struct machine *m, struct bytes *b, uint64_t reg, uint8_t kind)
{
	uint64_t len = bytes_uleb(b);
	const uint8_t *expr = bytes_take(b, len);

	if (expr && len <= UINT32_MAX && reg < CFI_REGS)
		m->state.regs[reg] = (struct cfi_rule){
			.kind = kind, .expr_len = (uint32_t)len, .expr = expr};
}

static void restore(struct machine *m, uint64_t reg)
{
	if (reg < CFI_REGS)
		m->state.regs[reg] =
			m->has_initial ? m->initial.regs[reg] : (struct cfi_rule){.kind = 0};
}

static void move_to(struct machine *m, uint64_t loc)
{
	if (loc < m->loc) { /* DW_CFA_set_loc only goes forwards */
		m->bad = true;
	} else if (loc > m->wanted) {
		m->end = loc;
		m->done = true;
	} else {
		m->loc = loc;
	}
}

static void advance(struct machine *m, uint64_t units)
{
	uint64_t bytes, loc;

	/* An advance out of the address space is behind everything that is wanted. */
	if (__builtin_mul_overflow(units, m->cie->code_align, &bytes) ||
		__builtin_add_overflow(m->loc, bytes, &loc))
		loc = UINT64_MAX;
	move_to(m, loc);
}

static int64_t factored(const struct machine *m, uint64_t units)
{
	return (int64_t)(units * (uint64_t)m->cie->data_align);
}

static void def_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	if (reg >= CFI_REGS) {
		m->bad = true;
		return;
	}
	m->state.cfa = (struct cfi_rule){.kind = CFI_VAL_OFFSET, .offset = offset};
	m->state.cfa_reg = (uint16_t)reg;
}

/* Only the register or only the offset: there must be both already. */
static void def_cfa_register(struct machine *m, uint64_t reg)
{
	if (m->state.cfa.kind != CFI_VAL_OFFSET)
		m->bad = true;
	else
		def_cfa(m, reg, m->state.cfa.offset);
}

static void def_cfa_offset(struct machine *m, int64_t offset)
{
	if (m->state.cfa.kind != CFI_VAL_OFFSET)
		m->bad = true;
	else
		m->state.cfa.offset = offset;
}

static void def_cfa_expression(struct machine *m, struct bytes *b)
{
	uint64_t len = bytes_uleb(b);
	const uint8_t *expr = bytes_take(b, len);

	if (expr && len <= UINT32_MAX)
		m->state.cfa = (struct cfi_rule){
			.kind = CFI_VAL_EXPR, .expr_len = (uint32_t)len, .expr = expr};
}

static void remember_state(struct machine *m)
{
	if (m->remembered == REMEMBERED_MAX)
		m->bad = true;
	else
		m->stack[m->remembered++] = m->state;
}

static void restore_state(struct machine *m)
{
	if (!m->remembered)
		m->bad = true;
	else
		m->state = m->stack[--m->remembered];
}

static void step_location(struct machine *m, uint8_t op, struct bytes *b)
{
	switch (op) {
	case CFA_SET_LOC:
		move_to(m, cfi_pointer(m->section, b, m->cie->pointer_enc,
				   m->cie->address_bytes, m->function, NULL));
		break;
	case CFA_ADVANCE1:
		advance(m, bytes_u8(b));
		break;
	case CFA_ADVANCE2:
		advance(m, bytes_u16(b));
		break;
	case CFA_ADVANCE4:
		advance(m, bytes_u32(b));
		break;
	case CFA_MIPS_ADVANCE8:
		advance(m, bytes_u64(b));
		break;
	default:
		m->bad = true;
	}
}

static void step_cfa(struct machine *m, uint8_t op, struct bytes *b)
{
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = bytes_uleb(b);
		def_cfa(m, reg, (int64_t)bytes_uleb(b));
		break;
	case CFA_DEF_CFA_SF:
		reg = bytes_uleb(b);
		def_cfa(m, reg, factored(m, (uint64_t)bytes_sleb(b)));
		break;
	case CFA_DEF_CFA_REGISTER:
		def_cfa_register(m, bytes_uleb(b));
		break;
	case CFA_DEF_CFA_OFFSET:
		def_cfa_offset(m, (int64_t)bytes_uleb(b));
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		def_cfa_offset(m, factored(m, (uint64_t)bytes_sleb(b)));
		break;
	case CFA_DEF_CFA_EXPRESSION:
		def_cfa_expression(m, b);
		break;
	default:
		m->bad = true;
	}
}

static void step_register(struct machine *m, uint8_t op, struct bytes *b)
{
	uint64_t reg = bytes_uleb(b);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_rule(m, reg, CFI_OFFSET, factored(m, bytes_uleb(b)));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		set_rule(m, reg, CFI_OFFSET, factored(m, (uint64_t)bytes_sleb(b)));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_rule(m, reg, CFI_OFFSET, factored(m, 0 - bytes_uleb(b)));
		break;
	case CFA_VAL_OFFSET:
		set_rule(m, reg, CFI_VAL_OFFSET, factored(m, bytes_uleb(b)));
		break;
	case CFA_VAL_OFFSET_SF:
		set_rule(m, reg, CFI_VAL_OFFSET, factored(m, (uint64_t)bytes_sleb(b)));
		break;
	case CFA_RESTORE_EXTENDED:
		restore(m, reg);
		break;
	case CFA_UNDEFINED:
		set_rule(m, reg, CFI_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		set_rule(m, reg, CFI_SAME, 0);
		break;
	case CFA_REGISTER:
		set_rule(m, reg, CFI_REGISTER, (int64_t)bytes_uleb(b));
		break;
	case CFA_EXPRESSION:
		set_expr(m, b, reg, CFI_EXPR);
		break;
	case CFA_VAL_EXPRESSION:
		set_expr(m, b, reg, CFI_VAL_EXPR);
		break;
	default:
		m->bad = true;
	}
}

static void step(struct machine *m, struct bytes *b)
{
	uint8_t op = bytes_u8(b), low = op & 0x3f;

	switch (op & 0xc0) {
	case CFA_ADVANCE:
		advance(m, low);
		return;
	case CFA_OFFSET:
		set_rule(m, low, CFI_OFFSET, factored(m, bytes_uleb(b)));
		return;
	case CFA_RESTORE:
		restore(m, low);
		return;
	default:
		break;
	}
	switch (op) {
	case CFA_NOP:
		break;
	case CFA_SET_LOC:
	case CFA_ADVANCE1:
	case CFA_ADVANCE2:
	case CFA_ADVANCE4:
	case CFA_MIPS_ADVANCE8:
		step_location(m, op, b);
		break;
	case CFA_REMEMBER_STATE:
		remember_state(m);
		break;
	case CFA_RESTORE_STATE:
		restore_state(m);
		break;
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_EXPRESSION:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_OFFSET_SF:
		step_cfa(m, op, b);
		break;
	case CFA_GNU_ARGS_SIZE:
		bytes_uleb(b);
		break;
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		if (m->section->machine != EM_AARCH64)
			m->bad = true;
		m->state.ra_signed = !m->state.ra_signed;
		break;
	default:
		step_register(m, op, b);
	}
}

static void run(struct machine *m, struct bytes program)
{
	if (bytes_left(&program) > CFI_PROGRAM_MAX)
		m->bad = true;
	while (!m->bad && !m->done && bytes_left(&program)) {
		step(m, &program);
		if (program.bad)
			m->bad = true;
	}
}

int cfi_program_run(const struct cfi_section *section, const struct cfi_fde *fde,
	uint64_t vaddr, struct cfi_row *ret_row)
{
	struct machine m;

	/* The remembered states are large and need not be cleared. */
	memset(&m, 0, offsetof(struct machine, stack));
	m.section = section;
	m.cie = &fde->cie;
	m.function = fde->start;
	m.wanted = UINT64_MAX;
	m.loc = fde->start;
	run(&m, fde->cie.program);
	m.initial = m.state;
	m.has_initial = true;
	m.wanted = vaddr;
	m.loc = fde->start;
	m.done = false;
	run(&m, fde->program);
	if (m.bad || m.state.cfa.kind == CFI_UNSPECIFIED)
		return -EBADMSG;
	ret_row->start = m.loc;
	ret_row->end = m.done && m.end < fde->end ? m.end : fde->end;
	ret_row->function_start = fde->start;
	ret_row->function_end = fde->end;
	ret_row->cfa = m.state.cfa;
	ret_row->cfa_reg = m.state.cfa_reg;
	ret_row->ra_reg = fde->cie.ra_reg;
	ret_row->signal_frame = fde->cie.signal_frame;
	ret_row->ra_signed = m.state.ra_signed;
	memcpy(ret_row->regs, m.state.regs, sizeof(ret_row->regs));
	return 0;
}
