/*
 * .gnu_debugdata: a small ELF file, packed with xz, that distributions leave in stripped
 * programs. It has the symbol table of the functions that .dynsym lacks, and nothing else.
 */
#pragma once

#include "object/elf.h"

#include <stddef.h>
#include <stdint.h>

enum { MINI_DEBUG_MAX = 256 << 20 }; /* bytes, unpacked */

/*
 * 0 and the unpacked file, free() it; -ENODATA: there is none; -EOPNOTSUPP: built without
 * liblzma; -EBADMSG, -EFBIG, -ENOMEM.
 */
int mini_debug_load(const struct elf *elf, uint8_t **ret_bytes, size_t *ret_len);
