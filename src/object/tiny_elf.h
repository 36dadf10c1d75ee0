/*
 * For tests: a small ELF file in memory, of either class and byte order.
 *
 *     Ehdr | LOAD | NOTE | 64 bytes of code | note | .symtab | .strtab | names | Shdr x 6
 *
 * It is loaded with the code's file offset at vaddr 0x401000 + that offset. Functions: "main"
 * (16 bytes) at the code's start, "_start@@V1" (32 bytes) 16 bytes behind it; a data object and
 * an undefined symbol.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { TINY_ELF_MAX = 2048, TINY_BASE = 0x401000, TINY_CODE = 64 };

struct tiny_elf {
	uint8_t bytes[TINY_ELF_MAX];
	size_t len;
	bool is64, big_endian;
	size_t code;	 /* file offset of main */
	size_t sections; /* of the section headers */
};

static inline void tiny_put(struct tiny_elf *t, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		t->bytes[t->len + (t->big_endian ? width - 1 - i : i)] =
			(uint8_t)(value >> (8 * i));
	t->len += width;
}

static inline void tiny_word(struct tiny_elf *t, uint64_t value)
{
	tiny_put(t, value, t->is64 ? 8 : 4);
}

static inline void tiny_segment(
	struct tiny_elf *t, uint32_t type, uint64_t foff, uint64_t bytes)
{
	tiny_put(t, type, 4);
	if (t->is64)
		tiny_put(t, PF_R | PF_X, 4);
	tiny_word(t, foff);
	tiny_word(t, TINY_BASE + foff);
	tiny_word(t, TINY_BASE + foff);
	tiny_word(t, bytes);
	tiny_word(t, bytes);
	if (!t->is64)
		tiny_put(t, PF_R | PF_X, 4);
	tiny_word(t, 4);
}

static inline void tiny_symbol(struct tiny_elf *t, uint32_t name, uint8_t type,
	uint16_t section, uint64_t value, uint64_t size)
{
	tiny_put(t, name, 4);
	if (!t->is64) {
		tiny_put(t, value, 4);
		tiny_put(t, size, 4);
	}
	tiny_put(t, ELF64_ST_INFO(STB_GLOBAL, type), 1);
	tiny_put(t, 0, 1);
	tiny_put(t, section, 2);
	if (t->is64) {
		tiny_put(t, value, 8);
		tiny_put(t, size, 8);
	}
}

struct tiny_section {
	uint32_t name, type;
	uint64_t flags, addr, foff, bytes;
	uint32_t link;
	uint64_t entry_bytes;
};

static inline void tiny_section(struct tiny_elf *t, const struct tiny_section *s)
{
	tiny_put(t, s->name, 4);
	tiny_put(t, s->type, 4);
	tiny_word(t, s->flags);
	tiny_word(t, s->addr);
	tiny_word(t, s->foff);
	tiny_word(t, s->bytes);
	tiny_put(t, s->link, 4);
	tiny_put(t, 0, 4);
	tiny_word(t, 4);
	tiny_word(t, s->entry_bytes);
}

static inline void tiny_header(struct tiny_elf *t, uint64_t sections)
{
	size_t ehdr = t->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);

	t->len = 0;
	memcpy(t->bytes, ELFMAG, SELFMAG);
	t->bytes[EI_CLASS] = t->is64 ? ELFCLASS64 : ELFCLASS32;
	t->bytes[EI_DATA] = t->big_endian ? ELFDATA2MSB : ELFDATA2LSB;
	t->bytes[EI_VERSION] = EV_CURRENT;
	t->len = EI_NIDENT;
	tiny_put(t, ET_EXEC, 2);
	tiny_put(t, t->is64 ? EM_X86_64 : EM_386, 2);
	tiny_put(t, EV_CURRENT, 4);
	tiny_word(t, TINY_BASE);
	tiny_word(t, ehdr);
	tiny_word(t, sections);
	tiny_put(t, 0, 4);
	tiny_put(t, ehdr, 2);
	tiny_put(t, t->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), 2);
	tiny_put(t, 2, 2);
	tiny_put(t, t->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), 2);
	tiny_put(t, 6, 2);
	tiny_put(t, 4, 2);
}

/* Sets everything; `is64` and `big_endian` choose the kind. */
static inline void tiny_elf_make(struct tiny_elf *t, bool is64, bool big_endian)
{
	static const char strings[] = "\0main\0_start@@V1\0object\0missing";
	static const char names[] = "\0.text\0.symtab\0.strtab\0.shstrtab\0.note.gnu.build-id";
	size_t phdrs, note, symbols, text;
	uint64_t code_addr;

	memset(t, 0, sizeof(*t));
	t->is64 = is64;
	t->big_endian = big_endian;
	tiny_header(t, 0);
	phdrs = t->len;
	t->len += 2 * (is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
	t->code = t->len;
	code_addr = TINY_BASE + t->code;
	memset(t->bytes + t->len, 0x90, TINY_CODE);
	t->len += TINY_CODE;
	note = t->len;
	tiny_put(t, 4, 4);
	tiny_put(t, 20, 4);
	tiny_put(t, NT_GNU_BUILD_ID, 4);
	memcpy(t->bytes + t->len, "GNU", 4);
	t->len += 4;
	for (int i = 0; i < 20; i++)
		tiny_put(t, 0xa0u + (unsigned)i, 1);
	symbols = t->len;
	tiny_symbol(t, 0, STT_NOTYPE, 0, 0, 0);
	tiny_symbol(t, 1, STT_FUNC, 1, code_addr, 16);
	tiny_symbol(t, 6, STT_FUNC, 1, code_addr + 16, 32);
	tiny_symbol(t, 17, STT_OBJECT, 1, code_addr + 32, 8);
	tiny_symbol(t, 24, STT_FUNC, 0, 0, 0);
	text = t->len;
	memcpy(t->bytes + t->len, strings, sizeof(strings));
	memcpy(t->bytes + t->len + sizeof(strings), names, sizeof(names));
	t->len = (t->len + sizeof(strings) + sizeof(names) + 7) & ~(size_t)7;
	t->sections = t->len;
	tiny_section(t, &(struct tiny_section){0});
	tiny_section(t, &(struct tiny_section){1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				code_addr, t->code, TINY_CODE, 0, 0});
	tiny_section(t, &(struct tiny_section){7, SHT_SYMTAB, 0, 0, symbols, text - symbols, 3,
				is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)});
	tiny_section(
		t, &(struct tiny_section){15, SHT_STRTAB, 0, 0, text, sizeof(strings), 0, 0});
	tiny_section(t, &(struct tiny_section){23, SHT_STRTAB, 0, 0, text + sizeof(strings),
				sizeof(names), 0, 0});
	tiny_section(t, &(struct tiny_section){
				33, SHT_NOTE, SHF_ALLOC, TINY_BASE + note, note, 36, 0, 0});
	text = t->len;
	tiny_header(t, t->sections);
	t->len = phdrs;
	tiny_segment(t, PT_LOAD, 0, symbols);
	tiny_segment(t, PT_NOTE, note, 36);
	t->len = text;
}
