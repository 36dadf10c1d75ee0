/*
 * Only the addresses of functions are taken from .symtab and .dynsym; the names are not read.
 * STT_NOTYPE symbols are taken, too, if they lie in executable segments: assembly forgets
 * types.
 */
#include "unwind/starts.h"

#include "base/array.h"
#include "object/cfi_sort.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

enum { STARTS_MAX = 1 << 22, TABLE_MAX = 256 << 20 };

struct starts {
	uint64_t *at;
	uint32_t count, cap;
};

static bool executable(const struct elf *elf, uint64_t vaddr)
{
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *s = &elf->segments[i];

		if (s->exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_bytes)
			return true;
	}
	return false;
}

static int symbol_read(const struct elf *elf, struct bytes *b, struct starts *starts)
{
	uint8_t info, type;
	uint64_t value = 0;
	uint16_t section;
	int rc;

	bytes_u32(b);
	if (!elf->is64) {
		value = bytes_u32(b);
		bytes_u32(b);
	}
	info = bytes_u8(b);
	bytes_u8(b);
	section = bytes_u16(b);
	if (elf->is64) {
		value = bytes_u64(b);
		bytes_u64(b);
	}
	type = info & 15;
	if (b->bad || !section || section >= SHN_LORESERVE || !value ||
		(type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
		!executable(elf, value))
		return 0;
	rc = array_reserve(&starts->at, &starts->cap, starts->count + 1ull, sizeof(*starts->at),
		STARTS_MAX);
	if (rc < 0)
		return rc;
	starts->at[starts->count++] = value;
	return 0;
}

static int table_read(
	const struct elf *elf, const struct elf_section *section, struct starts *starts)
{
	cleanup_elf_blob struct elf_blob blob = {0};
	size_t entry = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct bytes b;
	int rc = elf_load_section(elf, section, TABLE_MAX, &blob);

	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	b = elf_blob_reader(elf, &blob);
	while (bytes_left(&b) >= entry && rc == 0)
		rc = symbol_read(elf, &b, starts);
	return rc == -ENOSPC ? 0 : rc;
}

int function_starts(const struct elf *elf, uint64_t **ret_starts, uint32_t *ret_count)
{
	struct starts starts = {0};
	int rc = 0;

	for (uint32_t i = 0; i < elf->section_count && rc == 0; i++)
		if (elf->sections[i].type == SHT_SYMTAB || elf->sections[i].type == SHT_DYNSYM)
			rc = table_read(elf, &elf->sections[i], &starts);
	if (rc == 0 && starts.count)
		rc = cfi_sort(starts.at, starts.count, 1);
	if (rc < 0) {
		free(starts.at);
		return rc;
	}
	*ret_starts = starts.at;
	*ret_count = starts.count;
	return 0;
}

uint64_t function_start_before(const uint64_t *starts, uint32_t count, uint64_t vaddr)
{
	uint32_t lo = 0, hi = count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (starts[mid] <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? starts[lo - 1] : 0;
}
