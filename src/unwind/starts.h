/* Where functions start, by the symbol tables: for code without call frame information. */
#pragma once

#include "object/elf.h"

/*
 * The starts of all functions of an ELF file, sorted. 0 (also when there are none), -ENOMEM.
 * *ret_starts is the caller's to free.
 */
int function_starts(const struct elf *elf, uint64_t **ret_starts, uint32_t *ret_count);

/* The last start at or before an address; 0: none. */
uint64_t function_start_before(const uint64_t *starts, uint32_t count, uint64_t vaddr);
