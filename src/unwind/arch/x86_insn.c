/*
 *     [prefixes] [REX | VEX | EVEX] opcode [ModRM [SIB] [displacement]] [immediate]
 *
 * The length follows from three tables (one-byte opcodes, 0f xx, and the VEX maps) that say
 * whether there is a ModRM byte and which immediate. Then the few instructions that move the
 * stack pointer or the flow are picked out.
 */
#include "unwind/arch/x86_insn.h"

#include "base/bytes.h"

enum form {
	NONE,
	MODRM = 1,
	IMM8 = 2,
	IMMZ = 4, /* 4 bytes, 2 with the operand size prefix */
	IMM16 = 8,
	IMMV = 16, /* 8 bytes with REX.W, else as IMMZ */
	MOFFS = 32,
	BAD = 64,
};

struct decoding {
	struct bytes b;
	bool size16, rep, address32, rex_w, vector;
	uint8_t rex;
	unsigned map; /* 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a */
	uint8_t op;
	bool has_modrm, has_disp;
	uint8_t mod, reg, rm, sib;
	int64_t disp, imm;
	bool rip; /* the operand is relative to rip */
};

static unsigned form_one(uint8_t op)
{
	if (op < 0x40) {
		uint8_t low = op & 7;

		return low < 4 ? MODRM : low == 4 ? IMM8 : low == 5 ? IMMZ : BAD;
	}
	if (op < 0x60)
		return NONE;
	if (op >= 0x70 && op < 0x80)
		return IMM8;
	if (op >= 0x84 && op < 0x90)
		return MODRM;
	if (op >= 0xb0 && op < 0xb8)
		return IMM8;
	if (op >= 0xb8 && op < 0xc0)
		return IMMV;
	if (op >= 0xd8 && op < 0xe0)
		return MODRM;
	switch (op) {
	case 0x60:
	case 0x61:
	case 0x82:
	case 0x9a:
	case 0xce:
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xea:
		return BAD;
	case 0x63:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff:
		return MODRM;
	case 0x68:
	case 0xa9:
	case 0xe8:
	case 0xe9:
		return IMMZ;
	case 0x69:
	case 0x81:
	case 0xc7:
		return MODRM | IMMZ;
	case 0x6a:
	case 0xa8:
	case 0xcd:
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
	case 0xe4:
	case 0xe5:
	case 0xe6:
	case 0xe7:
	case 0xeb:
		return IMM8;
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xc6:
		return MODRM | IMM8;
	case 0xa0:
	case 0xa1:
	case 0xa2:
	case 0xa3:
		return MOFFS;
	case 0xc2:
	case 0xca:
		return IMM16;
	case 0xc8:
		return IMM16 | IMM8;
	default:
		return NONE;
	}
}

/* The 0f map, also of VEX and EVEX map 1. */
static unsigned form_two(uint8_t op)
{
	if ((op >= 0x80 && op < 0x90))
		return IMMZ;
	if ((op >= 0x30 && op <= 0x37) || (op >= 0xc8 && op <= 0xcf) ||
		(op >= 0xa0 && op <= 0xa2) || (op >= 0xa8 && op <= 0xaa) ||
		(op >= 0x05 && op <= 0x09) || op == 0x0b || op == 0x0e || op == 0x77)
		return NONE;
	if ((op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba ||
		op == 0xc2 || op == 0xc4 || op == 0xc5 || op == 0xc6 || op == 0x0f)
		return MODRM | IMM8;
	return MODRM;
}

static bool prefixes_read(struct decoding *d)
{
	for (;;) {
		uint8_t byte = bytes_u8(&d->b);

		if (d->b.bad)
			return false;
		switch (byte) {
		case 0x66:
			d->size16 = true;
			break;
		case 0x67:
			d->address32 = true;
			break;
		case 0xf3:
			d->rep = true;
			break;
		case 0xf2:
		case 0xf0:
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
			break;
		default:
			if ((byte & 0xf0) == 0x40) {
				d->rex = byte;
				d->rex_w = byte & 8;
				byte = bytes_u8(&d->b);
			}
			d->op = byte;
			return !d->b.bad;
		}
	}
}

/* VEX and EVEX, which take the place of the escape bytes. */
static void vector_read(struct decoding *d)
{
	uint8_t first = bytes_u8(&d->b);

	d->vector = true;
	if (d->op == 0xc5) {
		d->map = 1;
	} else if (d->op == 0xc4) {
		d->map = first & 0x1f;
		bytes_skip(&d->b, 1);
	} else {
		d->map = first & 7;
		bytes_skip(&d->b, 2);
	}
	d->op = bytes_u8(&d->b);
}

static unsigned opcode_read(struct decoding *d)
{
	if (d->op == 0xc4 || d->op == 0xc5 || d->op == 0x62) {
		vector_read(d);
		if (d->map == 1)
			return form_two(d->op) | (d->op == 0x77 ? NONE : MODRM);
		return d->map == 3 ? MODRM | IMM8 : d->map ? MODRM : BAD;
	}
	if (d->op != 0x0f)
		return form_one(d->op);
	d->op = bytes_u8(&d->b);
	d->map = 1;
	if (d->op != 0x38 && d->op != 0x3a)
		return form_two(d->op);
	d->map = d->op == 0x38 ? 2 : 3;
	d->op = bytes_u8(&d->b);
	return d->map == 3 ? MODRM | IMM8 : MODRM;
}

static void modrm_read(struct decoding *d)
{
	uint8_t byte = bytes_u8(&d->b);

	d->has_modrm = true;
	d->mod = byte >> 6;
	d->reg = (uint8_t)(((byte >> 3) & 7) | (d->rex & 4) << 1);
	d->rm = (uint8_t)((byte & 7) | (d->rex & 1) << 3);
	if (d->mod == 3)
		return;
	if ((byte & 7) == 4)
		d->sib = bytes_u8(&d->b);
	d->rip = d->mod == 0 && (byte & 7) == 5;
	if (d->mod == 2 || d->rip || (d->mod == 0 && (byte & 7) == 4 && (d->sib & 7) == 5))
		d->disp = (int32_t)bytes_u32(&d->b);
	else if (d->mod == 1)
		d->disp = (int8_t)bytes_u8(&d->b);
}

static void immediate_read(struct decoding *d, unsigned form)
{
	bool branch = (d->map == 0 && (d->op == 0xe8 || d->op == 0xe9)) ||
		      (d->map == 1 && (d->op & 0xf0) == 0x80);

	/* f6 and f7 have an immediate only as "test". */
	if (d->map == 0 && !d->vector && (d->op == 0xf6 || d->op == 0xf7) && (d->reg & 6) == 0)
		form |= d->op == 0xf6 ? IMM8 : IMMZ;
	if (form & MOFFS)
		bytes_skip(&d->b, d->address32 ? 4 : 8);
	if (form & IMM16)
		d->imm = bytes_u16(&d->b);
	if (form & IMM8)
		d->imm = (int8_t)bytes_u8(&d->b);
	if ((form & IMMV) && d->rex_w)
		bytes_skip(&d->b, 8);
	else if (form & (IMMZ | IMMV))
		d->imm = d->size16 && !d->rex_w && !branch ? (int16_t)bytes_u16(&d->b)
							   : (int32_t)bytes_u32(&d->b);
}

/* [base + disp] without an index; -1: another operand. */
static int8_t plain_base(const struct decoding *d)
{
	if (d->mod == 3 || d->rip)
		return -1;
	if ((d->rm & 7) != 4)
		return (int8_t)d->rm;
	if ((d->sib & 0x38) != 0x20 || (d->rex & 2)) /* an index */
		return -1;
	if (d->mod == 0 && (d->sib & 7) == 5)
		return -1;
	return (int8_t)((d->sib & 7) | (d->rex & 1) << 3);
}

static void set(struct x86_insn *insn, enum x86_kind kind, int reg, int64_t value)
{
	insn->kind = kind;
	insn->reg = (int8_t)reg;
	insn->value = value;
}

/* add, or, adc, sbb, and, sub, xor, cmp with an immediate, on the stack pointer */
static void arithmetic_sp(const struct decoding *d, struct x86_insn *insn)
{
	switch (d->reg & 7) {
	case 0:
		set(insn, X86_ADD_SP, X86_SP, d->imm);
		break;
	case 5:
		set(insn, X86_ADD_SP, X86_SP, -d->imm);
		break;
	case 7:
		break;
	default:
		set(insn, X86_SP_LOST, X86_SP, 0);
	}
}

static void modrm_kind(const struct decoding *d, struct x86_insn *insn)
{
	int8_t base = plain_base(d);

	switch (d->op) {
	case 0x89:
		if (d->mod == 3 && d->rm == X86_SP)
			set(insn, X86_SP_FROM, d->reg, 0);
		break;
	case 0x8b:
		if (d->mod == 3 && d->reg == X86_SP)
			set(insn, X86_SP_FROM, d->rm, 0);
		else if (d->reg == X86_SP)
			set(insn, X86_SP_LOST, 0, 0);
		else if (base >= 0 && d->rex_w) {
			set(insn, X86_LOAD, d->reg, d->disp);
			insn->base = base;
		}
		break;
	case 0x8d:
		if (d->reg == X86_SP && base >= 0)
			set(insn, X86_SP_FROM, base, d->disp);
		else if (d->reg == X86_SP)
			set(insn, X86_SP_LOST, 0, 0);
		break;
	case 0x81:
	case 0x83:
		if (d->mod == 3 && d->rm == X86_SP)
			arithmetic_sp(d, insn);
		break;
	case 0x01:
	case 0x21:
	case 0x29:
	case 0x09:
	case 0x31:
		if (d->mod == 3 && d->rm == X86_SP)
			set(insn, X86_SP_LOST, 0, 0);
		break;
	case 0x03:
	case 0x23:
	case 0x2b:
	case 0x0b:
	case 0x33:
	case 0x63:
		if (d->reg == X86_SP)
			set(insn, X86_SP_LOST, 0, 0);
		break;
	case 0x87:
		if (d->mod == 3 && (d->reg == X86_SP || d->rm == X86_SP))
			set(insn, X86_SP_LOST, 0, 0);
		break;
	case 0x8f:
		set(insn, X86_POP, d->mod == 3 ? d->rm : -1, 0);
		break;
	case 0xff:
		if ((d->reg & 7) == 2 || (d->reg & 7) == 3)
			insn->kind = X86_CALL;
		else if ((d->reg & 7) == 4 || (d->reg & 7) == 5)
			insn->kind = X86_JMP_FAR_AWAY;
		else if ((d->reg & 7) == 6)
			set(insn, X86_PUSH, -1, 0);
		break;
	default:
		break;
	}
}

static void plain_kind(const struct decoding *d, struct x86_insn *insn)
{
	uint8_t op = d->op, reg = (uint8_t)((op & 7) | (d->rex & 1) << 3);

	if (op >= 0x50 && op < 0x58)
		set(insn, X86_PUSH, reg, 0);
	else if (op >= 0x58 && op < 0x60)
		set(insn, X86_POP, reg, 0);
	else if (op >= 0x70 && op < 0x80)
		set(insn, X86_JCC, 0, d->imm);
	else if (op >= 0xe0 && op <= 0xe3)
		set(insn, X86_JCC, 0, d->imm);
	switch (op) {
	case 0x68:
	case 0x6a:
	case 0x9c:
		set(insn, X86_PUSH, -1, 0);
		break;
	case 0x9d:
		set(insn, X86_POP, -1, 0);
		break;
	case 0x90:
		insn->kind = X86_NOP;
		break;
	case 0xc2:
		set(insn, X86_RET, 0, d->imm);
		break;
	case 0xc3:
		insn->kind = X86_RET;
		break;
	case 0xc8:
		insn->kind = X86_SP_LOST;
		break;
	case 0xc9:
		insn->kind = X86_LEAVE;
		break;
	case 0xcc:
	case 0xf4:
		insn->kind = X86_STOP;
		break;
	case 0xe8:
		set(insn, X86_CALL, 0, d->imm);
		break;
	case 0xe9:
	case 0xeb:
		set(insn, X86_JMP, 0, d->imm);
		break;
	default:
		break;
	}
}

static void two_byte_kind(const struct decoding *d, struct x86_insn *insn)
{
	if (d->op >= 0x80 && d->op < 0x90)
		set(insn, X86_JCC, 0, d->imm);
	else if (d->op == 0x05)
		insn->kind = X86_SYSCALL;
	else if (d->op == 0x0b || d->op == 0xb9 || d->op == 0xff)
		insn->kind = X86_STOP;
	else if (d->op == 0x1f || (d->op == 0x1e && d->rep))
		insn->kind = X86_NOP;
	else if (d->op == 0xa0 || d->op == 0xa8)
		set(insn, X86_PUSH, -1, 0);
	else if (d->op == 0xa1 || d->op == 0xa9)
		set(insn, X86_POP, -1, 0);
}

bool x86_decode(const uint8_t *bytes, size_t len, struct x86_insn *ret_insn)
{
	struct decoding d = {.b = bytes_of(bytes, len < X86_INSN_MAX ? len : X86_INSN_MAX)};
	struct x86_insn insn = {.kind = X86_OTHER, .base = -1};
	unsigned form;

	if (!prefixes_read(&d))
		return false;
	form = opcode_read(&d);
	if (d.b.bad || (form & BAD))
		return false;
	if (form & MODRM)
		modrm_read(&d);
	immediate_read(&d, form);
	if (d.b.bad)
		return false;
	insn.length = (uint8_t)(d.b.at - bytes);
	if (!d.vector && d.map == 0 && d.has_modrm)
		modrm_kind(&d, &insn);
	else if (!d.vector && d.map == 0)
		plain_kind(&d, &insn);
	else if (!d.vector && d.map == 1)
		two_byte_kind(&d, &insn);
	*ret_insn = insn;
	return true;
}
