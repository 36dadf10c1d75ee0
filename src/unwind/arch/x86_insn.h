/*
 * One x86-64 instruction: how long it is, and what it does to the stack pointer or to the flow.
 * (Intel's manual, volume 2, chapter 2 and appendix A.)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { X86_INSN_MAX = 15 };

enum x86_kind {
	X86_OTHER,
	X86_PUSH,    /* reg, or -1: something else */
	X86_POP,     /* reg, or -1: memory */
	X86_ADD_SP,  /* sp += value */
	X86_SP_FROM, /* sp = reg + value */
	X86_LOAD,    /* reg = [base + value], 64 bits */
	X86_SP_LOST, /* sp = what cannot be told */
	X86_LEAVE,
	X86_RET,	  /* value: bytes taken off besides */
	X86_JMP,	  /* value: relative to the end */
	X86_JCC,	  /* the same */
	X86_JMP_FAR_AWAY, /* through a register or memory */
	X86_CALL,
	X86_STOP, /* hlt, ud2, int3: nothing goes on behind it */
	X86_SYSCALL,
	X86_NOP,
};

/* Registers as the instruction set counts them: ax cx dx bx sp bp si di r8..r15. */
struct x86_insn {
	enum x86_kind kind;
	int8_t reg, base;
	uint8_t length;
	int64_t value;
};

enum { X86_SP = 4, X86_BP = 5 };

/* False: no instruction that is known, or cut. */
bool x86_decode(const uint8_t *bytes, size_t len, struct x86_insn *ret_insn);
