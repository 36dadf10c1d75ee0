/*
 * For tests: a 64-bit ELF image of given parts, each a section at a vaddr, in memory.
 *
 *     Ehdr | Phdr LOAD (all of the file, executable, vaddr = MADE_BASE + offset) | parts |
 * names | Shdr ...
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_BASE = 0x10000, MADE_PARTS_MAX = 6 };

struct made_part {
	const char *name; /* NULL ends the list */
	const void *bytes;
	size_t len;
	uint64_t vaddr; /* out */
};

struct made_elf {
	uint8_t *bytes; /* free() */
	size_t len;
};

static inline size_t made_place(size_t at)
{
	return (at + 15) & ~(size_t)15;
}

/* Where the parts will lie; fills vaddr and returns the end of the last one. */
static inline size_t made_layout(struct made_part *parts)
{
	size_t at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);

	for (; parts->name; parts++) {
		at = made_place(at);
		parts->vaddr = MADE_BASE + at;
		at += parts->len;
	}
	return at;
}

static inline bool made_elf(struct made_part *parts, uint16_t machine, struct made_elf *ret)
{
	size_t end = made_layout(parts), names = made_place(end), names_len = 1, count = 0,
	       shdrs;
	Elf64_Shdr section;
	Elf64_Ehdr ehdr = {.e_type = ET_EXEC,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(section)};
	Elf64_Phdr phdr = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = MADE_BASE};

	for (const struct made_part *p = parts; p->name; p++, count++)
		names_len += strlen(p->name) + 1;
	shdrs = made_place(names + names_len + 16);
	ret->len = shdrs + (count + 2) * sizeof(section);
	ret->bytes = calloc(1, ret->len);
	if (!ret->bytes)
		return false;
	memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
	ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	ehdr.e_shoff = shdrs;
	ehdr.e_shnum = (uint16_t)(count + 2);
	ehdr.e_shstrndx = (uint16_t)(count + 1);
	phdr.p_filesz = phdr.p_memsz = end;
	memcpy(ret->bytes, &ehdr, sizeof(ehdr));
	memcpy(ret->bytes + sizeof(ehdr), &phdr, sizeof(phdr));
	names_len = 1;
	for (size_t i = 0; i < count; i++) {
		size_t offset = parts[i].vaddr - MADE_BASE;

		if (parts[i].len)
			memcpy(ret->bytes + offset, parts[i].bytes, parts[i].len);
		section = (Elf64_Shdr){.sh_name = (uint32_t)names_len,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC,
			.sh_addr = parts[i].vaddr,
			.sh_offset = offset,
			.sh_size = parts[i].len};
		memcpy(ret->bytes + names + names_len, parts[i].name,
			strlen(parts[i].name) + 1);
		names_len += strlen(parts[i].name) + 1;
		memcpy(ret->bytes + shdrs + (i + 1) * sizeof(section), &section,
			sizeof(section));
	}
	section = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = names_len};
	memcpy(ret->bytes + shdrs + (count + 1) * sizeof(section), &section, sizeof(section));
	return true;
}
