/*
 * Machine code as text, one instruction at a time: by capstone for the machines that are named
 * in disasm.c; everything else, and what capstone does not know, as hexadecimal numbers.
 *
 * Built without capstone, all of it is numbers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum disasm_syntax { DISASM_INTEL, DISASM_ATT }; /* of x86; others have one */

struct disasm;

enum { DISASM_TEXT_ROOM = 200 };

struct instruction {
	uint32_t size;		     /* in bytes, at least 1 and no more than there are */
	bool decoded;		     /* else the text is ".byte 0x06" or the like */
	char text[DISASM_TEXT_ROOM]; /* "mov eax, dword ptr [rbp - 4]" */
};

/* For code of an EM_* machine. 0 or -ENOMEM: a machine that is not known gives numbers. */
int disasm_open(uint16_t machine, enum disasm_syntax syntax, struct disasm **ret_disasm);
void disasm_close(struct disasm *disasm); /* takes NULL */

/* Is there a disassembler for this machine? */
bool disasm_knows(const struct disasm *disasm);

/* The instruction at the front of `len` > 0 bytes, which lie at `vaddr`. */
void disasm_next(struct disasm *disasm, const uint8_t *bytes, size_t len, uint64_t vaddr,
	struct instruction *ret_instruction);
