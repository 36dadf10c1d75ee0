/*
 * AArch64 instructions, as far as they matter for frames: what they do to sp, x29 and x30, what
 * they load from the stack, and where they go on. (Arm ARM, C4: the top-level encodings.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { A64_FP = 29, A64_LR = 30, A64_SP = 31 };

enum a64_kind {
	A64_OTHER, /* nothing of this; `writes` still holds */
	A64_RET,   /* through x30 */
	A64_JMP,   /* `value` from this instruction on */
	A64_JCC,
	A64_CALL,
	A64_JMP_REG, /* through `base` */
	A64_STOP,    /* brk, udf, hlt */
	A64_ADD,     /* reg = base + value, one of them sp or x29 */
	A64_SP_LOST,
	A64_LOAD,  /* reg (and reg2) = memory[base + value ..], 64 bits each */
	A64_STORE, /* the other way */
};

struct a64_insn {
	enum a64_kind kind;
	uint8_t reg, reg2, base; /* reg2 A64_SP: there is none; base 31 is sp */
	int64_t value;
	int64_t before, after; /* ADD to `base`: pre- and post-index forms */
	uint32_t writes;       /* general registers that get another value, as bits */
};

void a64_decode(uint32_t insn, struct a64_insn *ret_insn);
