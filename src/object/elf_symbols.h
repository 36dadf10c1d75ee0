/*
 * The functions of an ELF file as a symbol table: .symtab, .dynsym, and names for PLT stubs; of
 * a Go file without .symtab those of .gopclntab.
 *
 * Taken: defined STT_FUNC, STT_GNU_IFUNC and STT_NOTYPE symbols of sections that are loaded and
 * executable. Not taken: undefined, TLS, object, section and file symbols, absolute ones, the
 * mapping symbols of ARM, AArch64 and RISC-V ($x, $d, $a, $t, also "$x.name"), assembler-local
 * labels (.L...). The version that linkers write into .symtab's names ("@GLIBC_2.2.5") is taken
 * off. Addresses are the ELF file's vaddr.
 */
#pragma once

#include "object/elf.h"
#include "object/symtab.h"

struct elf_symbols {
	struct symtab table;
	bool has_symtab; /* a full table; else exported names and PLT stubs only */
	bool has_dynsym;
	bool damaged; /* a part was skipped because it contradicts itself */
};

/*
 * 0 (also when there are no symbols), or -ENOMEM. Damage is a flag: what is readable is there.
 * `debug` (may be NULL) is the separate debug file of `elf`: same addresses, and the .symtab
 * that was stripped.
 */
int elf_symbols_load(
	const struct elf *elf, const struct elf *debug, struct elf_symbols *ret_symbols);
void elf_symbols_done(struct elf_symbols *symbols);

/*
 * Adds "name@plt" for the stubs of .plt, .plt.sec and .plt.got (x86_64, AArch64). A stub jumps
 * through a slot of the GOT, and a relocation says whose slot it is; so the stubs are decoded,
 * not counted: that holds for every linker's layout. A stub for an unnamed resolver is
 * "*ABS*+0x1234@plt", as objdump has it.
 */
int elf_plt_add(const struct elf *elf, struct symtab_builder *builder, bool *damaged);

/*
 * For files without .symtab: names for the functions at which stacks begin, which are never
 * exported: _start, and in glibc (x86_64) __libc_start_call_main, start_thread and clone3,
 * recognised by their code. 0 or -ENOMEM.
 */
int elf_first_functions_add(const struct elf *elf, struct symtab_builder *builder);
