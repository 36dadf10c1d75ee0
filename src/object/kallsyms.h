/*
 * /proc/kallsyms: the running kernel's functions, at run-time addresses.
 *
 *     ffffffff81000000 T _stext
 *     ffffffffc0a51000 t ext4_fill_super<TAB>[ext4]
 *     ffffffffc0223e80 t bpf_prog_6deef7357e7b4530<TAB>[bpf]
 *
 * One table for the kernel proper and one for each module. Only code is kept (t T w W i I u),
 * but data symbols end the function before them. There are no sizes: a function reaches to the
 * next symbol.
 */
#pragma once

#include "object/symtab.h"

enum { KALLSYMS_MODULES_MAX = 10000 };

struct kallsyms_module {
	char name[64];	    /* "ext4", without brackets */
	uint64_t low, high; /* from its first function to the end of its last */
	struct symtab table;
};

enum kallsyms_state {
	KALLSYMS_EMPTY, /* nothing in it that reads as a symbol */
	KALLSYMS_FULL,
	KALLSYMS_HIDDEN, /* every address is 0: kernel.kptr_restrict */
};

struct kallsyms {
	enum kallsyms_state state;
	struct symtab kernel;
	struct kallsyms_module *modules;
	uint32_t module_count, module_cap;
	uint64_t stext; /* address of _stext; 0: not listed */
	uint64_t bad_lines;
};

/* 0 and a state, or -ENOMEM. The text may be let go afterwards. */
int kallsyms_parse(const char *text, size_t len, struct kallsyms *ret_kallsyms);
void kallsyms_done(struct kallsyms *kallsyms);

/*
 * The function of a module at a run-time address, or NULL; `name` ("ext4") NULL: any module.
 * *ret_table is where its name is.
 */
const struct symbol *kallsyms_find_in_modules(
	struct kallsyms *kallsyms, const char *name, uint64_t addr, struct symtab **ret_table);
