/* DWARF expressions as call frame information uses them (DWARF 5, chapter 2.5 and 6.4.2). */
#pragma once

#include "unwind/walk.h"

/*
 * Runs an expression with the registers and the memory of the walk. `initial` (may be NULL) is
 * on the stack at the start. 0; -EBADMSG: damaged, too long, or needs a register that is not
 * known; -EFAULT: memory (walk->fail says which).
 */
int expr_eval(struct walk *walk, const uint8_t *expr, uint32_t len, const uint64_t *initial,
	uint64_t *ret_value);

/* value = reg + offset, or memory[reg + offset] + add, or (reg EXPR_CONST) offset */
struct expr_linear {
	uint8_t reg;
	bool deref;
	int64_t offset, add;
};

enum { EXPR_CONST = 255 };

/* Tells whether an expression is that simple, where the return address column is `pc`. */
bool expr_linear(const uint8_t *expr, uint32_t len, uint8_t pc_reg, uint64_t pc,
	const struct expr_linear *initial, struct expr_linear *ret);
