/*
 *     header   magic 0 0 quantum ptrsize | nfunc nfiles [textStart] names cu files pctab pcln
 *     pcln     [(entry, ->func) ... sorted] last entry | func func ...
 *     func     entry name args defer ->pcsp ->pcfile ->pcln npcdata [cu] [line] id flag
 *     pctab    sequences of (value delta zigzag, pc delta) varints, ended by a 0
 *
 * The header's offsets count from the header. Entries are offsets from textStart since 1.18,
 * addresses before. In position-independent files textStart is written by a relocation; the
 * file may hold 0 there: then the relocation is looked for, and at last .text is believed.
 * Since 1.26 the header holds 0 always, and .go.module tells.
 *
 * The table is found by its section's name; else, in files that lost their section names or
 * keep it in .data.rel.ro, by a header that makes sense.
 */
#include "object/gopclntab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_12  0xfffffffbu
#define MAGIC_116 0xfffffffau
#define MAGIC_118 0xfffffff0u
#define MAGIC_120 0xfffffff1u

enum {
	FUNCTIONS_MAX = 1 << 24,
	STEPS_MAX = 1 << 20, /* of one pcsp sequence */
	RELOCATIONS_MAX = 64 << 20,
	MODULE_MAX = 1 << 20,
};

enum version { GO_12, GO_116, GO_118, GO_120 };

struct gopclntab {
	struct elf_blob blob;
	size_t at; /* of the header in the blob */
	bool swap;
	enum version version;
	uint8_t quantum, ptr_bytes;
	uint64_t count, text;
	uint64_t names, pctab, pcln; /* from the header */
};

static struct bytes reader(const struct gopclntab *t, uint64_t offset)
{
	struct bytes b = bytes_of(t->blob.bytes + t->at, t->blob.len - t->at);

	b.swap = t->swap;
	bytes_skip(&b, offset);
	return b;
}

static uint64_t word(const struct gopclntab *t, struct bytes *b)
{
	return t->ptr_bytes == 8 ? bytes_u64(b) : bytes_u32(b);
}

/* ---- opening */

static bool version_of(uint32_t magic, enum version *ret)
{
	switch (magic) {
	case MAGIC_12:
		*ret = GO_12;
		return true;
	case MAGIC_116:
		*ret = GO_116;
		return true;
	case MAGIC_118:
		*ret = GO_118;
		return true;
	case MAGIC_120:
		*ret = GO_120;
		return true;
	default:
		return false;
	}
}

/* *ret_text_at: where textStart stands, from the header; 0: nowhere. */
static bool header_parse(struct gopclntab *t, uint64_t *ret_text_at)
{
	struct bytes b = reader(t, 0);
	uint32_t magic = bytes_u32(&b);
	uint16_t zero = bytes_u16(&b);

	*ret_text_at = 0;
	t->quantum = bytes_u8(&b);
	t->ptr_bytes = bytes_u8(&b);
	if (b.bad || !version_of(magic, &t->version) || zero ||
		(t->quantum != 1 && t->quantum != 2 && t->quantum != 4) ||
		(t->ptr_bytes != 4 && t->ptr_bytes != 8))
		return false;
	t->count = word(t, &b);
	t->pcln = t->names = t->pctab = 0;
	if (t->version == GO_12) {
		t->pcln = 8 + t->ptr_bytes;
	} else {
		word(t, &b);
		if (t->version >= GO_118) {
			*ret_text_at = 8 + 2u * t->ptr_bytes;
			t->text = word(t, &b);
		}
		t->names = word(t, &b);
		word(t, &b);
		word(t, &b);
		t->pctab = word(t, &b);
		t->pcln = word(t, &b);
	}
	if (b.bad || !t->count || t->count > FUNCTIONS_MAX)
		return false;
	b = reader(t, t->pcln);
	return bytes_skip(&b, t->count * (t->version >= GO_118 ? 8u : 2u * t->ptr_bytes));
}

/* The addend of the relative relocation at a vaddr. */
static bool relocation_at(const struct elf *elf, uint64_t vaddr, uint64_t *ret_addend)
{
	for (uint32_t i = 0; i < elf->section_count; i++) {
		cleanup_elf_blob struct elf_blob blob = {0};
		struct bytes b;

		if (elf->sections[i].type != SHT_RELA || !elf->is64 ||
			elf_load_section(elf, &elf->sections[i], RELOCATIONS_MAX, &blob) < 0)
			continue;
		b = elf_blob_reader(elf, &blob);
		while (bytes_left(&b) >= sizeof(Elf64_Rela)) {
			uint64_t offset = bytes_u64(&b), addend;

			bytes_skip(&b, 8);
			addend = bytes_u64(&b);
			if (offset == vaddr) {
				*ret_addend = addend;
				return true;
			}
		}
	}
	return false;
}

/*
 * Since 1.26 only runtime.moduledata tells, which has a section of its own: it holds a pointer,
 * six slices, three pointers, then where the text starts.
 */
static bool module_text(struct gopclntab *t, const struct elf *elf)
{
	const struct elf_section *section = elf_section(elf, ".go.module");
	uint64_t offset = (1 + 6 * 3 + 3) * (uint64_t)t->ptr_bytes;
	cleanup_elf_blob struct elf_blob blob = {0};
	struct bytes b;

	if (!section || elf_load_section(elf, section, MODULE_MAX, &blob) < 0)
		return false;
	b = elf_blob_reader(elf, &blob);
	bytes_skip(&b, offset);
	t->text = word(t, &b);
	return (!b.bad && t->text) || relocation_at(elf, section->addr + offset, &t->text);
}

static void text_find(
	struct gopclntab *t, const struct elf *elf, uint64_t section_vaddr, uint64_t text_at)
{
	const struct elf_section *text = elf_section(elf, ".text");

	if (t->version < GO_118 || t->text || module_text(t, elf))
		return;
	if (!relocation_at(elf, section_vaddr + t->at + text_at, &t->text) && text)
		t->text = text->addr;
}

static int open_at(struct gopclntab *t, const struct elf *elf,
	const struct elf_section *section, size_t limit, bool search)
{
	uint64_t text_at;
	int rc = elf_load_section(elf, section, limit, &t->blob);

	if (rc < 0)
		return rc;
	for (t->at = 0; t->at + 16 < t->blob.len; t->at += 8) {
		if (header_parse(t, &text_at)) {
			text_find(t, elf, section->addr, text_at);
			return 0;
		}
		if (!search)
			break;
	}
	elf_blob_done(&t->blob);
	return search ? -ENOENT : -EBADMSG;
}

static bool looks_like_go(const struct elf *elf)
{
	return elf_section(elf, ".go.buildinfo") || elf_section(elf, ".note.go.buildid");
}

static int table_find(struct gopclntab *t, const struct elf *elf, size_t limit)
{
	static const char *const own[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	static const char *const others[] = {".data.rel.ro", ".rodata", ".noptrdata"};

	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		const struct elf_section *section = elf_section(elf, own[i]);

		if (section)
			return open_at(t, elf, section, limit, false);
	}
	for (size_t i = 0; i < ARRAY_LEN(others) && looks_like_go(elf); i++) {
		const struct elf_section *section = elf_section(elf, others[i]);
		int rc = section ? open_at(t, elf, section, limit, true) : -ENOENT;

		if (rc != -ENOENT && rc != -ENODATA)
			return rc;
	}
	return -ENOENT;
}

int gopclntab_open(const struct elf *elf, size_t limit, struct gopclntab **ret_table)
{
	struct gopclntab *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return -ENOMEM;
	t->swap = elf->swap;
	rc = table_find(t, elf, limit);
	if (rc < 0)
		gopclntab_free(t);
	else
		*ret_table = t;
	return rc;
}

void gopclntab_free(struct gopclntab *table)
{
	if (!table)
		return;
	elf_blob_done(&table->blob);
	free(table);
}

size_t gopclntab_bytes(const struct gopclntab *table)
{
	return sizeof(*table) + (table->blob.owned ? table->blob.len : 0);
}

/* ---- looking up */

static uint64_t entry_at(const struct gopclntab *t, uint64_t i, uint64_t *ret_function)
{
	bool small = t->version >= GO_118;
	struct bytes b = reader(t, t->pcln + i * (small ? 8u : 2u * t->ptr_bytes));
	uint64_t entry = small ? bytes_u32(&b) + t->text : word(t, &b);

	if (ret_function)
		*ret_function = small ? bytes_u32(&b) : word(t, &b);
	return entry;
}

/* A varint of at most 32 bits. */
static uint32_t varint(struct bytes *b)
{
	uint32_t value = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t byte = bytes_u8(b);

		value |= shift < 32 ? (uint32_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			return value;
	}
	b->bad = true;
	return 0;
}

static int sp_delta_at(const struct gopclntab *t, uint64_t sequence, uint64_t pc,
	uint64_t wanted, uint32_t *ret)
{
	struct bytes b = reader(t, sequence);
	uint32_t value = UINT32_MAX; /* -1 */

	for (uint32_t step = 0; step < STEPS_MAX && !b.bad; step++) {
		uint32_t delta = varint(&b);

		if (!delta && step)
			break;
		value += delta & 1 ? ~(delta >> 1) : delta >> 1;
		pc += (uint64_t)varint(&b) * t->quantum;
		if (!b.bad && wanted < pc) {
			*ret = value;
			return (int32_t)value < 0 ? -EBADMSG : 0;
		}
	}
	return -EBADMSG;
}

struct function_record {
	uint64_t start, end;
	uint32_t name, pcsp;
	uint8_t flags;
};

static bool record_at(const struct gopclntab *t, uint64_t offset, struct function_record *ret)
{
	struct bytes b = reader(t, offset);

	if (t->version >= GO_118)
		bytes_u32(&b);
	else
		word(t, &b);
	ret->name = bytes_u32(&b);
	bytes_u32(&b);
	bytes_u32(&b);
	ret->pcsp = bytes_u32(&b);
	ret->flags = 0;
	if (t->version >= GO_116) {
		bytes_skip(&b, 4 * 4u); /* pcfile, pcln, npcdata, cu */
		if (t->version == GO_120)
			bytes_u32(&b);
		bytes_u8(&b);
		ret->flags = bytes_u8(&b); /* padding, so 0, in 1.16 */
	}
	return !b.bad;
}

static int record_find(
	const struct gopclntab *t, uint64_t vaddr, struct function_record *ret_record)
{
	uint64_t lo = 0, hi = t->count, function, base = t->version == GO_12 ? 0 : t->pcln;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (entry_at(t, mid, NULL) <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return -ENOENT;
	ret_record->start = entry_at(t, lo - 1, &function);
	ret_record->end = entry_at(t, lo, NULL);
	if (vaddr >= ret_record->end)
		return -ENOENT;
	return record_at(t, base + function, ret_record) ? 0 : -EBADMSG;
}

/* NULL: damaged, or without an end where one should be. */
static const char *name_of(const struct gopclntab *t, const struct function_record *f)
{
	struct bytes b = reader(t, t->names + f->name);

	if (bytes_left(&b) > GO_NAME_MAX)
		b = bytes_of(b.at, GO_NAME_MAX);
	return bytes_str(&b);
}

/*
 * Since 1.17 flags say which functions write sp, have no caller or are assembly; a wrapper (for
 * another calling convention) has the same name and no flag. Before there were no wrappers.
 */
static enum go_special special_of(const struct gopclntab *t, const struct function_record *f)
{
	static const struct {
		const char *name;
		enum go_special special;
	} known[] = {
		{"runtime.goexit", GO_FIRST},
		{"runtime.mstart", GO_FIRST},
		{"runtime.rt0_go", GO_FIRST},
		{"runtime.mcall", GO_LEFT},
		{"runtime.systemstack", GO_SWITCH},
		{"runtime.asmcgocall", GO_SWITCH},
		{"runtime.morestack", GO_GROW},
		{"runtime.gogo", GO_JUMP},
		{"gogo", GO_JUMP},
		{"runtime.sigtramp", GO_SIGNAL},
		{"runtime.cgoSigtramp", GO_SIGNAL},
		{"runtime.sigreturn", GO_SIGRETURN},
		{"runtime.sigreturn__sigaction", GO_SIGRETURN},
	};
	const char *name;

	if (t->version >= GO_118 && !(f->flags & (GO_SP_WRITE | GO_TOP_FRAME | GO_ASM)))
		return GO_ORDINARY;
	name = name_of(t, f);
	for (size_t i = 0; name && i < ARRAY_LEN(known); i++)
		if (!strcmp(name, known[i].name))
			return known[i].special;
	return GO_ORDINARY;
}

int gopclntab_find(
	const struct gopclntab *table, uint64_t vaddr, struct go_function *ret_function)
{
	struct function_record record;
	struct go_function f = {0};
	int rc = record_find(table, vaddr, &record);

	if (rc < 0)
		return rc;
	f.start = record.start;
	f.end = record.end;
	f.flags = record.flags;
	f.special = special_of(table, &record);
	if (!record.pcsp) /* assembly that says nothing, C code */
		return -ENOENT;
	rc = sp_delta_at(table, table->pctab + record.pcsp, record.start, vaddr, &f.sp_delta);
	if (rc < 0)
		return rc;
	*ret_function = f;
	return 0;
}

bool gopclntab_at(const struct gopclntab *table, uint64_t i, uint64_t *ret_start,
	uint64_t *ret_end, const char **ret_name)
{
	struct function_record record = {0};
	uint64_t function, base = table->version == GO_12 ? 0 : table->pcln;

	if (i >= table->count)
		return false;
	*ret_start = entry_at(table, i, &function);
	*ret_end = entry_at(table, i + 1, NULL);
	*ret_name = NULL;
	if (record_at(table, base + function, &record))
		*ret_name = name_of(table, &record);
	return true;
}

const char *gopclntab_name(const struct gopclntab *table, uint64_t vaddr)
{
	struct function_record record;

	if (record_find(table, vaddr, &record) < 0)
		return NULL;
	return name_of(table, &record);
}
