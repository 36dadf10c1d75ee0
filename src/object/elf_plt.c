/*
 * How: the relocations of .rela.plt and .rela.dyn that fill a GOT slot with a function's
 * address are collected as (slot, name), sorted by slot. Then the stub sections are scanned for
 * the instruction that jumps through a slot:
 *
 *     x86_64   [endbr64] [bnd] jmp *disp(%rip)          ff 25 disp32
 *              [endbr64] push $n; [bnd] jmp PLT0        68 imm32: entry n of .rela.plt
 *     AArch64  [bti c] adrp x16, page; ldr x17, [x16, #off]
 *
 * PLT0, the way into the dynamic linker, jumps through a slot that no relocation fills: it gets
 * no name.
 */
#include "object/elf_symbols.h"

#include "base/array.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RELOCS_MAX = 8 << 20, /* function slots kept */
	RELOC_BYTES_MAX = 1 << 30,
	STUB_BYTES_MAX = 64 << 20,
	STUB_NAME_MAX = 4096,
};

struct slot {
	uint64_t vaddr;
	uint64_t addend; /* of an IRELATIVE one: the resolver */
	uint32_t symbol; /* in .dynsym; 0: none */
};

struct plt {
	const struct elf *elf;
	struct symtab_builder *builder;
	struct elf_blob symbols, strings; /* .dynsym and .dynstr */
	uint64_t symbol_bytes;
	struct slot *slots;
	uint32_t count, cap;
	struct slot *lazy; /* .rela.plt in its order */
	uint32_t lazy_count;
	bool damaged;
};

static void plt_done(struct plt *plt)
{
	elf_blob_done(&plt->symbols);
	elf_blob_done(&plt->strings);
	free(plt->slots);
	free(plt->lazy);
}

static bool fills_function_slot(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
		       type == R_X86_64_IRELATIVE;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
	       type == R_AARCH64_IRELATIVE;
}

static int dynsym_load(struct plt *plt)
{
	const struct elf *elf = plt->elf;
	const struct elf_section *dynsym = NULL;
	int r;

	for (uint32_t i = 0; i < elf->section_count && !dynsym; i++)
		if (elf->sections[i].type == SHT_DYNSYM)
			dynsym = &elf->sections[i];
	if (!dynsym)
		return 0; /* static: IRELATIVE ones only */
	if (dynsym->link >= elf->section_count || dynsym->entry_bytes < sizeof(Elf64_Sym))
		return -EBADMSG;
	plt->symbol_bytes = dynsym->entry_bytes;
	r = elf_load_section(elf, dynsym, RELOC_BYTES_MAX, &plt->symbols);
	if (r < 0)
		return r;
	return elf_load_section(
		elf, &elf->sections[dynsym->link], RELOC_BYTES_MAX, &plt->strings);
}

static int relocs_load(struct plt *plt, const char *section_name)
{
	const struct elf_section *section = elf_section(plt->elf, section_name);
	cleanup_elf_blob struct elf_blob blob = {0};
	struct bytes b;
	int r;

	if (!section || section->type != SHT_RELA || section->entry_bytes != sizeof(Elf64_Rela))
		return 0;
	r = elf_load_section(plt->elf, section, RELOC_BYTES_MAX, &blob);
	if (r < 0)
		return r;
	b = elf_blob_reader(plt->elf, &blob);
	while (bytes_left(&b) >= sizeof(Elf64_Rela)) {
		struct slot slot = {.vaddr = bytes_u64(&b)};
		uint64_t info = bytes_u64(&b), addend = bytes_u64(&b);

		if (!fills_function_slot(plt->elf->machine, (uint32_t)info))
			continue;
		slot.symbol = (uint32_t)(info >> 32);
		slot.addend = addend;
		r = array_reserve(&plt->slots, &plt->cap, (uint64_t)plt->count + 1,
			sizeof(*plt->slots), RELOCS_MAX);
		if (r < 0)
			return r;
		plt->slots[plt->count++] = slot;
	}
	return 0;
}

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int slots_collect(struct plt *plt)
{
	int r = relocs_load(plt, ".rela.plt");

	if (r < 0)
		return r;
	if (plt->count) {
		plt->lazy = malloc(plt->count * sizeof(*plt->lazy));
		if (!plt->lazy)
			return -ENOMEM;
		memcpy(plt->lazy, plt->slots, plt->count * sizeof(*plt->lazy));
		plt->lazy_count = plt->count;
	}
	r = relocs_load(plt, ".rela.dyn");
	if (plt->count)
		qsort(plt->slots, plt->count, sizeof(*plt->slots), compare_slots);
	return r;
}

static const struct slot *slot_at(const struct plt *plt, uint64_t vaddr)
{
	struct slot key = {.vaddr = vaddr};

	return plt->count ? bsearch(&key, plt->slots, plt->count, sizeof(key), compare_slots)
			  : NULL;
}

static const char *slot_name(const struct plt *plt, const struct slot *slot, size_t *ret_len)
{
	uint64_t at = slot->symbol * plt->symbol_bytes;
	const char *name;
	struct bytes b;
	uint32_t offset;

	if (!slot->symbol || at > plt->symbols.len || plt->symbols.len - at < 4)
		return NULL;
	b = bytes_of(plt->symbols.bytes + at, 4);
	b.swap = plt->elf->swap;
	offset = bytes_u32(&b);
	if (offset >= plt->strings.len)
		return NULL;
	name = (const char *)plt->strings.bytes + offset;
	*ret_len = strnlen(name, plt->strings.len - offset);
	return *ret_len && *ret_len < STUB_NAME_MAX ? name : NULL;
}

static int stub_add(struct plt *plt, const struct slot *slot, uint64_t vaddr, uint64_t size)
{
	char text[STUB_NAME_MAX + 8];
	size_t len = 0;
	const char *name = slot_name(plt, slot, &len);
	struct symbol_in in = {.addr = vaddr, .size = size, .limit = vaddr + size};
	int r;

	if (name)
		snprintf(text, sizeof(text), "%.*s@plt", (int)len, name);
	else if (!slot->symbol)
		snprintf(text, sizeof(text), "*ABS*+0x%" PRIx64 "@plt", slot->addend);
	else
		return 0;
	in.name = text;
	in.name_len = (uint32_t)strlen(text);
	in.rank = SYMBOL_LOCAL | SYMBOL_TYPED;
	r = symtab_add(plt->builder, &in);
	return r == -ENOMEM ? r : 0;
}

/* The slot of the x86_64 stub in `code`, or NULL. */
static const struct slot *x86_stub(
	const struct plt *plt, const uint8_t *code, size_t len, uint64_t vaddr)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = len >= 4 && !memcmp(code, endbr64, 4) ? 4 : 0;
	struct bytes b;
	uint32_t value;

	if (at < len && code[at] == 0xf2) /* bnd */
		at++;
	if (at + 6 <= len && code[at] == 0xff && code[at + 1] == 0x25) {
		b = bytes_of(code + at + 2, 4);
		value = bytes_u32(&b);
		return slot_at(plt, vaddr + at + 6 + (uint64_t)(int64_t)(int32_t)value);
	}
	if (at + 5 <= len && code[at] == 0x68) {
		b = bytes_of(code + at + 1, 4);
		value = bytes_u32(&b);
		return value < plt->lazy_count ? &plt->lazy[value] : NULL;
	}
	return NULL;
}

static int x86_scan(
	struct plt *plt, const struct elf_section *section, const struct elf_blob *code)
{
	uint64_t step = section->entry_bytes == 8 || section->entry_bytes == 16
				? section->entry_bytes
				: 16;
	int r = 0;

	for (uint64_t at = 0; at < code->len && r >= 0; at += step) {
		uint64_t len = code->len - at < step ? code->len - at : step;
		const struct slot *slot =
			x86_stub(plt, code->bytes + at, (size_t)len, section->addr + at);

		if (slot)
			r = stub_add(plt, slot, section->addr + at, len);
	}
	return r;
}

static uint32_t arm_word(const struct elf_blob *code, uint64_t at)
{
	struct bytes b;

	if (at >= code->len || code->len - at < 4)
		return 0;
	b = bytes_of(code->bytes + at, 4);
	return bytes_u32(&b); /* AArch64 instructions are little-endian in every file */
}

/* adrp x16, page: the page's address, signed 21 bits of pages around the instruction's own. */
static uint64_t adrp_page(uint32_t word, uint64_t vaddr)
{
	uint64_t pages = ((word >> 5) & 0x7ffff) << 2 | ((word >> 29) & 3);

	pages = (pages ^ 0x100000) - 0x100000;
	return (vaddr & ~(uint64_t)0xfff) + (pages << 12);
}

static int arm_scan(
	struct plt *plt, const struct elf_section *section, const struct elf_blob *code)
{
	enum { BTI_C = 0xd503245f, BR_X17 = 0xd61f0220 };
	int r = 0;

	for (uint64_t at = 0; at < code->len && r >= 0; at += 4) {
		uint32_t adrp = arm_word(code, at), ldr = arm_word(code, at + 4);
		uint64_t start = at, end = at + 8, vaddr = section->addr + at;
		const struct slot *slot;

		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		slot = slot_at(plt, adrp_page(adrp, vaddr) + ((ldr >> 10) & 0xfff) * 8);
		if (!slot)
			continue;
		if (at >= 4 && arm_word(code, at - 4) == BTI_C)
			start -= 4;
		while (end < at + 24 && end < code->len && arm_word(code, end) != BR_X17)
			end += 4;
		r = stub_add(plt, slot, section->addr + start,
			(end + 4 < code->len ? end + 4 : code->len) - start);
	}
	return r;
}

static int sections_scan(struct plt *plt)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got"};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(names) && r >= 0; i++) {
		const struct elf_section *section = elf_section(plt->elf, names[i]);
		cleanup_elf_blob struct elf_blob code = {0};

		if (!section || section->type != SHT_PROGBITS)
			continue;
		if (section->addr > UINT64_MAX - section->bytes)
			return -EBADMSG;
		r = elf_load_section(plt->elf, section, STUB_BYTES_MAX, &code);
		if (r >= 0)
			r = plt->elf->machine == EM_X86_64 ? x86_scan(plt, section, &code)
							   : arm_scan(plt, section, &code);
	}
	return r;
}

int elf_plt_add(const struct elf *elf, struct symtab_builder *builder, bool *damaged)
{
	cleanup_with(plt_done) struct plt plt = {.elf = elf, .builder = builder};
	int r;

	/* x32 uses Elf32_Rela and 32-bit slots; big-endian AArch64 keeps its data in that
	 * order. */
	if (!elf->is64 || (elf->machine != EM_X86_64 && elf->machine != EM_AARCH64))
		return 0;
	r = dynsym_load(&plt);
	if (r >= 0)
		r = slots_collect(&plt);
	if (r >= 0 && plt.count)
		r = sections_scan(&plt);
	if (r < 0 && r != -ENOMEM) {
		/* A --only-keep-debug file has none of these bytes; that is no damage. */
		*damaged |= r != -ENODATA;
		return 0;
	}
	return r;
}
