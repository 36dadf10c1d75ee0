/*
 * Go's table of functions: where each starts, and how far its frame has grown at each address.
 * It is in every Go binary, stripped or not, and stands in for call frame information.
 *
 * Versions: Go 1.2 (magic 0xfffffffb), 1.16 (0xfffffffa), 1.18 (0xfffffff0), 1.20 and later
 * (0xfffffff1). Source of the format: Go's src/runtime/symtab.go and src/debug/gosym.
 * Addresses are vaddrs. Pure; read-only after opening, so any thread.
 */
#pragma once

#include "object/elf.h"

struct gopclntab;

enum { GO_NAME_MAX = 16 << 10 }; /* so far the end of a name is looked for */

/* Bits of go_function.flags, and ids (internal/abi/symtab.go). */
enum {
	GO_TOP_FRAME = 1, /* nobody called it, or the kernel */
	GO_SP_WRITE = 2,  /* it sets sp to something else */
	GO_ASM = 4,
};

/*
 * The runtime's functions that leave the stack they were called on. They are told by their
 * names, which a stripped binary has, too; the ids that stand beside the flags are numbered
 * anew with nearly every release.
 */
enum go_special {
	GO_ORDINARY,
	GO_FIRST,  /* a stack begins here: runtime.goexit, mstart, rt0_go */
	GO_LEFT,   /* runtime.mcall: what it calls on the scheduler's stack never returns */
	GO_SWITCH, /* runtime.systemstack, asmcgocall: its caller lies on the goroutine's stack
		    */
	GO_GROW,   /* runtime.morestack: the same, called before the caller has a frame */
	GO_JUMP,   /* runtime.gogo: loads another stack's pointer and jumps there */
	GO_SIGNAL, /* runtime.sigtramp: called by the kernel, returns to ... */
	GO_SIGRETURN, /* runtime.sigreturn: the signal's frame lies at sp */
};

struct go_function {
	uint64_t start, end;
	uint32_t sp_delta; /* bytes between sp and what sp was at the function's start */
	uint8_t flags;	   /* 0 before Go 1.17 */
	enum go_special special;
};

/* -ENOENT: not a Go binary. -EBADMSG: damaged. -EFBIG: larger than `limit`. -ENOMEM. */
int gopclntab_open(const struct elf *elf, size_t limit, struct gopclntab **ret_table);
void gopclntab_free(struct gopclntab *table); /* NULL is fine */
size_t gopclntab_bytes(const struct gopclntab *table);

/* 0; -ENOENT: in no Go function; -EBADMSG. */
int gopclntab_find(
	const struct gopclntab *table, uint64_t vaddr, struct go_function *ret_function);

/* One function after another, by address: false behind the last. The name: as below. */
bool gopclntab_at(const struct gopclntab *table, uint64_t i, uint64_t *ret_start,
	uint64_t *ret_end, const char **ret_name);

/* The name of the function that holds an address; NULL. Valid until gopclntab_free(). */
const char *gopclntab_name(const struct gopclntab *table, uint64_t vaddr);
