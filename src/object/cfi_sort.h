/* Sorting of many addresses at once: a symbol table or an .eh_frame has hundreds of thousands.
 */
#pragma once

#include <stdint.h>

/*
 * Sorts `count` records of `words` 64-bit words each (1 or 2) by their first word; stable. 0 or
 * -ENOMEM: it needs as much memory again for a moment.
 */
int cfi_sort(uint64_t *records, uint32_t count, unsigned words);
