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

/* Bits of go_function.flags, and ids (internal/abi/symtab.go). */
enum {
	GO_TOP_FRAME = 1, /* nobody called it */
	GO_SP_WRITE = 2,  /* it sets sp to something else */
	GO_ASM = 4,
};

struct go_function {
	uint64_t start, end;
	uint32_t sp_delta; /* bytes between sp and what sp was at the function's start */
	uint8_t flags;	   /* 0 before Go 1.17 */
};

/* -ENOENT: not a Go binary. -EBADMSG: damaged. -EFBIG: larger than `limit`. -ENOMEM. */
int gopclntab_open(const struct elf *elf, size_t limit, struct gopclntab **ret_table);
void gopclntab_free(struct gopclntab *table); /* NULL is fine */
size_t gopclntab_bytes(const struct gopclntab *table);

/* 0; -ENOENT: in no Go function; -EBADMSG. */
int gopclntab_find(
	const struct gopclntab *table, uint64_t vaddr, struct go_function *ret_function);

/* The name of the function that holds an address; NULL. Valid until gopclntab_free(). */
const char *gopclntab_name(const struct gopclntab *table, uint64_t vaddr);
