/*
 * The running kernel's functions, remembered in a file: reading /proc/kallsyms takes tens of
 * milliseconds in the kernel, for every recording anew. The file is named by the kernel's build
 * id and holds addresses as distances from _stext, so it is good after a reboot, too. Modules,
 * which come and go, are not in it.
 */
#pragma once

#include "object/symtab.h"

#include <stdint.h>

struct kernel_id {
	uint8_t bytes[20];
	uint8_t len;
};

/*
 * 1 and the table; 0: there is none, or it is damaged, or somebody else's; -ENOMEM. `dir` NULL:
 * none.
 */
int kernel_cache_load(
	const char *dir, const struct kernel_id *id, uint64_t stext, struct symtab *ret_table);

/* Keeps a table for the next time. Nothing happens where that cannot be. */
void kernel_cache_store(const char *dir, const struct kernel_id *id, uint64_t stext,
	const struct symtab *table);
