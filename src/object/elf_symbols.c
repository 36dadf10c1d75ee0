/*
 * How: each table is loaded as two pieces, the entries and their strings, walked once into a
 * symtab builder, and let go.
 *
 *     Elf64_Sym  name:4 info:1 other:1 shndx:2 value:8 size:8      24 bytes
 *     Elf32_Sym  name:4 value:4 size:4 info:1 other:1 shndx:2      16 bytes
 */
#include "object/elf_symbols.h"

#include "object/gopclntab.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum { TABLE_MAX = 1 << 30, GO_NAMES_MAX = 256 << 20 };

struct walk {
	const struct elf *elf;
	struct symtab_builder *builder;
	const struct elf_blob *strings;
	bool strip_version;
};

struct entry {
	uint32_t name;
	uint8_t info;
	uint16_t section;
	uint64_t value, size;
};

static struct entry entry_parse(const struct elf *elf, struct bytes *b)
{
	struct entry e = {.name = bytes_u32(b)};

	if (elf->is64) {
		e.info = bytes_u8(b);
		bytes_skip(b, 1);
		e.section = bytes_u16(b);
		e.value = bytes_u64(b);
		e.size = bytes_u64(b);
	} else {
		e.value = bytes_u32(b);
		e.size = bytes_u32(b);
		e.info = bytes_u8(b);
		bytes_skip(b, 1);
		e.section = bytes_u16(b);
	}
	return e;
}

static uint8_t rank_of(uint8_t info)
{
	uint8_t type = ELF64_ST_TYPE(info), bind = ELF64_ST_BIND(info);
	uint8_t rank = bind == STB_LOCAL  ? SYMBOL_LOCAL
		       : bind == STB_WEAK ? SYMBOL_WEAK
					  : SYMBOL_GLOBAL;

	return type == STT_NOTYPE ? rank : (uint8_t)(rank | SYMBOL_TYPED);
}

/* "$x", "$d.5": the state of the disassembler, not a name. Real names may begin with '$' too.
 */
static bool is_mapping_symbol(const struct elf *elf, const char *name)
{
	if (name[0] != '$' || !name[1] || !strchr("xdat", name[1]))
		return false;
	if (elf->machine == EM_RISCV && name[1] == 'x')
		return true; /* "$xrv64i2p1_..." */
	return (elf->machine == EM_ARM || elf->machine == EM_AARCH64 ||
		       elf->machine == EM_RISCV) &&
	       (!name[2] || name[2] == '.');
}

static int entry_add(const struct walk *w, const struct entry *e)
{
	uint8_t type = ELF64_ST_TYPE(e->info);
	const struct elf_section *section;
	struct symbol_in in;
	const char *name, *end, *version;
	size_t room;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
		e->section == SHN_UNDEF || e->section >= w->elf->section_count ||
		e->name >= w->strings->len)
		return 0;
	section = &w->elf->sections[e->section];
	if ((section->flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR))
		return 0;
	name = (const char *)w->strings->bytes + e->name;
	room = w->strings->len - e->name;
	end = memchr(name, '\0', room);
	if (!end || end == name || !strncmp(name, ".L", 2) || is_mapping_symbol(w->elf, name))
		return 0;
	version = w->strip_version ? memchr(name + 1, '@', (size_t)(end - name - 1)) : NULL;
	if (version && strcmp(version, "@plt") != 0)
		end = version;
	if ((size_t)(end - name) > UINT32_MAX)
		return 0;
	in = (struct symbol_in){
		.addr = e->value,
		.size = e->size,
		.limit = section->bytes <= UINT64_MAX - section->addr
				 ? section->addr + section->bytes
				 : 0,
		.name = name,
		.name_len = (uint32_t)(end - name),
		.rank = rank_of(e->info),
	};
	if (w->elf->machine == EM_ARM && type != STT_NOTYPE)
		in.addr &= ~(uint64_t)1; /* Thumb */
	return symtab_add(w->builder, &in);
}

static int table_walk(
	const struct walk *w, const struct elf_blob *entries, uint64_t entry_bytes)
{
	for (uint64_t at = 0; entries->len - at >= entry_bytes; at += entry_bytes) {
		struct bytes b = bytes_of(entries->bytes + at, entry_bytes);
		struct entry e;
		int r;

		b.swap = w->elf->swap;
		e = entry_parse(w->elf, &b);
		r = entry_add(w, &e);
		if (r == -ENOMEM)
			return r;
	}
	return 0;
}

/* 1: read; 0: damaged or not there; or -ENOMEM. */
static int table_read(struct walk *w, const struct elf_section *section, bool *damaged)
{
	cleanup_elf_blob struct elf_blob entries = {0}, strings = {0};
	uint64_t need = w->elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	int r = 0;

	if (section->type == SHT_NOBITS)
		return 0; /* what strip --only-keep-debug leaves of .dynsym */
	if (section->link >= w->elf->section_count || section->entry_bytes < need)
		r = -EBADMSG;
	if (!r)
		r = elf_load_section(w->elf, section, TABLE_MAX, &entries);
	if (!r)
		r = elf_load_section(
			w->elf, &w->elf->sections[section->link], TABLE_MAX, &strings);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		*damaged = true;
		return 0;
	}
	w->strings = &strings;
	r = table_walk(w, &entries, section->entry_bytes);
	w->strings = NULL;
	return r < 0 ? r : 1;
}

static int tables_read(
	const struct elf *elf, struct symtab_builder *builder, struct elf_symbols *out)
{
	int r = 0;

	/* Object files count from their sections, not from addresses. */
	for (uint32_t i = 0; i < elf->section_count && r >= 0 && elf->type != ET_REL; i++) {
		const struct elf_section *section = &elf->sections[i];
		struct walk walk = {.elf = elf, .builder = builder};

		if (section->type != SHT_SYMTAB && section->type != SHT_DYNSYM)
			continue;
		walk.strip_version = section->type == SHT_SYMTAB;
		r = table_read(&walk, section, &out->damaged);
		if (r > 0 && section->type == SHT_SYMTAB)
			out->has_symtab = true;
		else if (r > 0)
			out->has_dynsym = true;
	}
	return r < 0 ? r : 0;
}

/* A Go file that was stripped (-s -w) still has its functions' names. 1: so it is. */
static int go_add(const struct elf *elf, struct symtab_builder *builder)
{
	struct gopclntab *go = NULL;
	uint64_t start, end, total = 0;
	const char *name;
	int r = gopclntab_open(elf, TABLE_MAX, &go);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (uint64_t i = 0; r != -ENOMEM && total < GO_NAMES_MAX &&
			     gopclntab_at(go, i, &start, &end, &name);
		i++) {
		size_t len = name ? strlen(name) : GO_NAME_MAX; /* so much was searched */

		total += len;
		if (name && len && end > start)
			r = symtab_add(builder,
				&(struct symbol_in){.addr = start,
					.size = end - start,
					.name = name,
					.name_len = (uint32_t)len,
					.rank = rank_of(ELF64_ST_INFO(STB_LOCAL, STT_FUNC))});
	}
	gopclntab_free(go);
	return r == -ENOMEM ? r : 1;
}

int elf_symbols_load(const struct elf *elf, const struct elf *debug, struct elf_symbols *ret)
{
	cleanup_with(symtab_builder_done) struct symtab_builder builder = {0};
	struct elf_symbols out = {0};
	int r = tables_read(elf, &builder, &out);

	if (r >= 0 && debug)
		r = tables_read(debug, &builder, &out);
	if (r >= 0 && !out.has_symtab) {
		r = go_add(elf, &builder);
		out.has_symtab = r > 0;
	}
	if (r >= 0 && elf->type != ET_REL)
		r = elf_plt_add(elf, &builder, &out.damaged);
	if (r >= 0 && !out.has_symtab && elf->type != ET_REL)
		r = elf_first_functions_add(elf, &builder);
	if (r >= 0)
		r = symtab_build(&builder, &out.table);
	if (r < 0)
		return r;
	*ret = out;
	return 0;
}

void elf_symbols_done(struct elf_symbols *symbols)
{
	symtab_done(&symbols->table);
	*symbols = (struct elf_symbols){0};
}
