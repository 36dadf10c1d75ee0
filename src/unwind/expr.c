/*
 * Two readers of the same little language.
 *
 * expr_eval() runs it: a stack of EXPR_STACK words, at most EXPR_STEPS operations (it has
 * jumps, so it can loop).
 *
 * expr_linear() runs it over terms "register + number" and "memory[register + number] + number"
 * and gives up where a value is anything else. The expressions that occur (PLT entries, whose
 * CFA depends on the address only; realigned stacks, whose CFA was saved beside the frame
 * pointer; signal frames) come out as terms, and a rule can hold those.
 */
#include "unwind/expr.h"

#include "base/bytes.h"

#include <errno.h>

enum { EXPR_STACK = 64, EXPR_STEPS = 1000 };

enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

/* The operations that push a number. */
static bool constant(uint8_t op, struct bytes *b, uint64_t *ret_value)
{
	if (op >= OP_LIT0 && op <= OP_LIT31) {
		*ret_value = op - OP_LIT0;
		return true;
	}
	switch (op) {
	case OP_ADDR:
	case OP_CONST8U:
	case OP_CONST8S:
		*ret_value = bytes_u64(b);
		return true;
	case OP_CONST1U:
		*ret_value = bytes_u8(b);
		return true;
	case OP_CONST1S:
		*ret_value = (uint64_t)(int64_t)(int8_t)bytes_u8(b);
		return true;
	case OP_CONST2U:
		*ret_value = bytes_u16(b);
		return true;
	case OP_CONST2S:
		*ret_value = (uint64_t)(int64_t)(int16_t)bytes_u16(b);
		return true;
	case OP_CONST4U:
		*ret_value = bytes_u32(b);
		return true;
	case OP_CONST4S:
		*ret_value = (uint64_t)(int64_t)(int32_t)bytes_u32(b);
		return true;
	case OP_CONSTU:
		*ret_value = bytes_uleb(b);
		return true;
	case OP_CONSTS:
		*ret_value = (uint64_t)bytes_sleb(b);
		return true;
	default:
		return false;
	}
}

/* register + number */
static bool register_term(uint8_t op, struct bytes *b, uint64_t *ret_reg, int64_t *ret_offset)
{
	if (op >= OP_BREG0 && op <= OP_BREG31)
		*ret_reg = op - OP_BREG0;
	else if (op == OP_BREGX)
		*ret_reg = bytes_uleb(b);
	else
		return false;
	*ret_offset = bytes_sleb(b);
	return true;
}

/* Two numbers into one; false: another operation, or one without a result. */
static bool arithmetic(uint8_t op, uint64_t a, uint64_t b, uint64_t *ret)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case OP_AND:
		*ret = a & b;
		return true;
	case OP_OR:
		*ret = a | b;
		return true;
	case OP_XOR:
		*ret = a ^ b;
		return true;
	case OP_PLUS:
		*ret = a + b;
		return true;
	case OP_MINUS:
		*ret = a - b;
		return true;
	case OP_MUL:
		*ret = a * b;
		return true;
	case OP_DIV:
		*ret = y == -1 ? 0 - a : y ? (uint64_t)(x / y) : 0;
		return y != 0;
	case OP_MOD:
		*ret = b ? a % b : 0;
		return b != 0;
	case OP_SHL:
		*ret = b < 64 ? a << b : 0;
		return true;
	case OP_SHR:
		*ret = b < 64 ? a >> b : 0;
		return true;
	case OP_SHRA:
		*ret = (uint64_t)(x >> (b < 64 ? b : 63));
		return true;
	case OP_EQ:
		*ret = x == y;
		return true;
	case OP_GE:
		*ret = x >= y;
		return true;
	case OP_GT:
		*ret = x > y;
		return true;
	case OP_LE:
		*ret = x <= y;
		return true;
	case OP_LT:
		*ret = x < y;
		return true;
	case OP_NE:
		*ret = x != y;
		return true;
	default:
		return false;
	}
}

struct eval {
	struct walk *walk;
	struct bytes code;
	const uint8_t *start;
	uint64_t stack[EXPR_STACK];
	unsigned depth;
};

static int push(struct eval *e, uint64_t value)
{
	if (e->depth == EXPR_STACK)
		return -EBADMSG;
	e->stack[e->depth++] = value;
	return 0;
}

static int eval_deref(struct eval *e, unsigned width)
{
	uint64_t *top = &e->stack[e->depth - 1], value;
	int rc = walk_u64(e->walk, *top, &value);

	if (rc < 0)
		return rc;
	if (width > 8 || !width)
		return -EBADMSG;
	*top = width == 8 ? value : value & ((1ull << (8 * width)) - 1);
	return 0;
}

static int eval_jump(struct eval *e, int16_t by, bool taken)
{
	int64_t to = (e->code.at - e->start) + by;

	if (!taken)
		return 0;
	if (to < 0 || to > e->code.end - e->start)
		return -EBADMSG;
	e->code.at = e->start + to;
	return 0;
}

/* Operations on the stack's order. -ENOSYS: another operation. */
static int eval_order(struct eval *e, uint8_t op)
{
	uint64_t *s = e->stack + e->depth, t;

	switch (op) {
	case OP_DUP:
		return e->depth < 1 ? -EBADMSG : push(e, s[-1]);
	case OP_OVER:
		return e->depth < 2 ? -EBADMSG : push(e, s[-2]);
	case OP_PICK: {
		uint8_t n = bytes_u8(&e->code);

		return n >= e->depth ? -EBADMSG : push(e, e->stack[e->depth - 1 - n]);
	}
	case OP_DROP:
		if (e->depth < 1)
			return -EBADMSG;
		e->depth--;
		return 0;
	case OP_SWAP:
		if (e->depth < 2)
			return -EBADMSG;
		t = s[-1];
		s[-1] = s[-2];
		s[-2] = t;
		return 0;
	case OP_ROT:
		if (e->depth < 3)
			return -EBADMSG;
		t = s[-1];
		s[-1] = s[-2];
		s[-2] = s[-3];
		s[-3] = t;
		return 0;
	default:
		return -ENOSYS;
	}
}

/* Operations that change the top. -ENOSYS: another operation. */
static int eval_top(struct eval *e, uint8_t op)
{
	uint64_t *top = &e->stack[e->depth - 1];

	switch (op) {
	case OP_ABS:
		*top = (int64_t)*top < 0 ? 0 - *top : *top;
		return 0;
	case OP_NEG:
		*top = 0 - *top;
		return 0;
	case OP_NOT:
		*top = ~*top;
		return 0;
	case OP_PLUS_UCONST:
		*top += bytes_uleb(&e->code);
		return 0;
	case OP_DEREF:
		return eval_deref(e, 8);
	case OP_DEREF_SIZE:
		return eval_deref(e, bytes_u8(&e->code));
	case OP_BRA:
		e->depth--;
		return eval_jump(e, (int16_t)bytes_u16(&e->code), *top != 0);
	default:
		return -ENOSYS;
	}
}

static int eval_step(struct eval *e)
{
	uint8_t op = bytes_u8(&e->code);
	uint64_t value, reg;
	int64_t offset;
	int rc;

	if (op == OP_NOP)
		return 0;
	if (op == OP_SKIP)
		return eval_jump(e, (int16_t)bytes_u16(&e->code), true);
	if (constant(op, &e->code, &value))
		return push(e, value);
	if (register_term(op, &e->code, &reg, &offset)) {
		if (reg >= CFI_REGS || !reg_known(e->walk, (unsigned)reg))
			return -EBADMSG;
		return push(e, e->walk->regs[reg] + (uint64_t)offset);
	}
	rc = eval_order(e, op);
	if (rc != -ENOSYS)
		return rc;
	if (!e->depth)
		return -EBADMSG;
	rc = eval_top(e, op);
	if (rc != -ENOSYS)
		return rc;
	if (e->depth < 2 ||
		!arithmetic(op, e->stack[e->depth - 2], e->stack[e->depth - 1], &value))
		return -EBADMSG;
	e->stack[--e->depth - 1] = value;
	return 0;
}

int expr_eval(struct walk *walk, const uint8_t *expr, uint32_t len, const uint64_t *initial,
	uint64_t *ret_value)
{
	struct eval e;
	int rc = 0;

	e.walk = walk;
	e.code = bytes_of(expr, len);
	e.start = expr;
	e.depth = 0;
	if (initial)
		e.stack[e.depth++] = *initial;
	for (unsigned steps = 0; bytes_left(&e.code); steps++) {
		if (steps == EXPR_STEPS)
			return -EBADMSG;
		rc = eval_step(&e);
		if (rc < 0)
			return rc;
		if (e.code.bad)
			return -EBADMSG;
	}
	if (!e.depth)
		return -EBADMSG;
	*ret_value = e.stack[e.depth - 1];
	return 0;
}

/* ---- terms */

static bool linear_add(struct expr_linear *a, uint64_t by)
{
	int64_t *to = a->deref ? &a->add : &a->offset;

	*to = (int64_t)((uint64_t)*to + by);
	return true;
}

/* a op b for terms; false: not a term. */
static bool linear_two(uint8_t op, struct expr_linear *a, const struct expr_linear *b)
{
	uint64_t value;

	if (b->reg == EXPR_CONST && !b->deref) {
		if (a->reg == EXPR_CONST && !a->deref) {
			if (!arithmetic(op, (uint64_t)a->offset, (uint64_t)b->offset, &value))
				return false;
			a->offset = (int64_t)value;
			return true;
		}
		if (op == OP_PLUS)
			return linear_add(a, (uint64_t)b->offset);
		if (op == OP_MINUS)
			return linear_add(a, 0 - (uint64_t)b->offset);
		return false;
	}
	if (op != OP_PLUS || a->reg != EXPR_CONST || a->deref)
		return false;
	value = (uint64_t)a->offset;
	*a = *b;
	return linear_add(a, value);
}

bool expr_linear(const uint8_t *expr, uint32_t len, uint8_t pc_reg, uint64_t pc,
	const struct expr_linear *initial, struct expr_linear *ret)
{
	struct expr_linear stack[8];
	struct bytes b = bytes_of(expr, len);
	unsigned depth = 0;

	if (initial)
		stack[depth++] = *initial;
	while (bytes_left(&b)) {
		uint8_t op = bytes_u8(&b);
		uint64_t value, reg;
		int64_t offset;

		if (constant(op, &b, &value)) {
			if (depth == ARRAY_LEN(stack))
				return false;
			stack[depth++] =
				(struct expr_linear){EXPR_CONST, false, (int64_t)value, 0};
		} else if (register_term(op, &b, &reg, &offset)) {
			if (depth == ARRAY_LEN(stack) || reg >= CFI_REGS)
				return false;
			if (reg == pc_reg)
				offset = (int64_t)(pc + (uint64_t)offset);
			stack[depth++] = (struct expr_linear){
				reg == pc_reg ? EXPR_CONST : (uint8_t)reg, false, offset, 0};
		} else if (op == OP_PLUS_UCONST && depth) {
			linear_add(&stack[depth - 1], bytes_uleb(&b));
		} else if (op == OP_DEREF && depth) {
			if (stack[depth - 1].deref || stack[depth - 1].reg == EXPR_CONST)
				return false;
			stack[depth - 1].deref = true;
		} else if (depth >= 2) {
			depth--;
			if (!linear_two(op, &stack[depth - 1], &stack[depth]))
				return false;
		} else {
			return false;
		}
		if (b.bad)
			return false;
	}
	if (!depth)
		return false;
	*ret = stack[depth - 1];
	return true;
}
