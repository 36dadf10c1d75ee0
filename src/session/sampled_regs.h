/* The registers of a sample that every unwinding begins with, by the kernel's numbers. */
#pragma once

#include "unwind/unwind.h"

/* Values stand by set mask bits; 0 where the register was not copied. */
static inline uint64_t sampled_reg(const struct wick_regs *regs, unsigned reg)
{
	uint64_t below = regs->mask & ((1ull << reg) - 1);

	if (!(regs->mask >> reg & 1))
		return 0;
	return wick_word(regs->values, (uint64_t)__builtin_popcountll(below));
}

static inline uint64_t sampled_fp(enum unwind_arch arch, const struct wick_regs *regs)
{
	return sampled_reg(regs, arch == UNWIND_X86_64 ? 6 : 29);
}

static inline uint64_t sampled_sp(enum unwind_arch arch, const struct wick_regs *regs)
{
	return sampled_reg(regs, arch == UNWIND_X86_64 ? 7 : 31);
}

static inline uint64_t sampled_pc(enum unwind_arch arch, const struct wick_regs *regs)
{
	return sampled_reg(regs, arch == UNWIND_X86_64 ? 8 : 32);
}
