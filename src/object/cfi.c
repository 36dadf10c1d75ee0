/*
 * From an address to its FDE.
 *
 *     .eh_frame_hdr   version, encodings, ->.eh_frame, count, [(start, ->FDE) ... sorted]
 *     .eh_frame       CIE FDE FDE CIE FDE ...
 *     .debug_frame    the same, without a table
 *
 * The table is searched in place. It is a claim like everything in a file: it must be sorted
 * and point at an FDE with the start that it says. When an address is in none of its FDEs,
 * .eh_frame itself is read through once and the number of FDEs compared. A table that lied is
 * given up for an index of our own, (start, offset) sorted by start, which is also what
 * .debug_frame and files without a table get.
 *
 * Sections are found by name; in a file without section headers by PT_GNU_EH_FRAME.
 */
#include "base/array.h"
#include "object/cfi_internal.h"
#include "object/cfi_sort.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 1 << 26, EH_FRAME_HDR_MAX = 1 << 30 };

struct index_entry {
	uint64_t start, offset;
};

struct index {
	struct index_entry *at;
	uint32_t count, cap;
	bool built;
};

/* .eh_frame_hdr's table: `count` pairs of `width` bytes each at `at`. */
struct table {
	struct elf_blob blob;
	uint64_t vaddr; /* of .eh_frame_hdr: what the entries count from */
	const uint8_t *at;
	uint64_t count;
	uint8_t width;
	bool is_signed, relative;
	bool trusted; /* compared with the whole of .eh_frame */
};

struct cfi {
	const struct elf *elf;
	size_t limit;
	struct cfi_section eh, debug;
	struct index eh_index, debug_index;
	struct table table;
	enum {
		DEBUG_NONE,
		DEBUG_THERE,
		DEBUG_LOADED,
	} debug_state;
	bool has_eh, use_table;
	struct cfi_fde fde; /* of the last look-up: its CIE is often the next one's, too */
};

/* ---- sections */

static void section_init(struct cfi_section *section, const struct elf *elf)
{
	const struct elf_section *text = elf_section(elf, ".text");
	const struct elf_section *got = elf_section(elf, ".got");

	section->is64 = elf->is64;
	section->swap = elf->swap;
	section->machine = elf->machine;
	section->text = text ? text->addr : 0;
	section->data = got ? got->addr : 0;
}

/* Where PT_GNU_EH_FRAME says that .eh_frame_hdr is. */
static bool hdr_segment(const struct elf *elf, uint64_t *ret_vaddr, uint64_t *ret_bytes)
{
	cleanup_elf_blob struct elf_blob ehdr = {0}, phdrs = {0};
	uint64_t phoff, phnum, entry;
	struct bytes b;

	if (elf_load(elf, 0, elf->is64 ? 64 : 52, 64, &ehdr) < 0)
		return false;
	b = elf_blob_reader(elf, &ehdr);
	bytes_skip(&b, EI_NIDENT + 8);
	elf_word(elf, &b);
	phoff = elf_word(elf, &b);
	elf_word(elf, &b);
	bytes_skip(&b, 4 + 2);
	entry = bytes_u16(&b);
	phnum = bytes_u16(&b);
	if (b.bad || entry < (elf->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) ||
		elf_load(elf, phoff, phnum * entry, ELF_SEGMENTS_MAX * 64, &phdrs) < 0)
		return false;
	for (uint64_t i = 0; i < phnum; i++) {
		b = elf_blob_reader(elf, &phdrs);
		bytes_skip(&b, i * entry);
		if (bytes_u32(&b) != PT_GNU_EH_FRAME)
			continue;
		if (elf->is64)
			bytes_skip(&b, 4);
		elf_word(elf, &b);
		*ret_vaddr = elf_word(elf, &b);
		elf_word(elf, &b);
		*ret_bytes = elf_word(elf, &b);
		return !b.bad;
	}
	return false;
}

/* [vaddr, end of its segment) of the file. */
static int load_segment_rest(
	const struct elf *elf, uint64_t vaddr, size_t limit, struct elf_blob *ret_blob)
{
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *s = &elf->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->file_bytes)
			return elf_load(elf, s->foff + (vaddr - s->vaddr),
				s->file_bytes - (vaddr - s->vaddr), limit, ret_blob);
	}
	return -ENOENT;
}

/* ---- .eh_frame_hdr */

static uint64_t table_word(const struct cfi *cfi, const uint8_t *at)
{
	const struct table *t = &cfi->table;
	struct bytes b = bytes_of(at, t->width);
	uint64_t value;

	b.swap = cfi->eh.swap;
	if (t->width == 8)
		value = bytes_u64(&b);
	else if (t->width == 4)
		value = t->is_signed ? (uint64_t)(int64_t)(int32_t)bytes_u32(&b)
				     : bytes_u32(&b);
	else
		value = t->is_signed ? (uint64_t)(int64_t)(int16_t)bytes_u16(&b)
				     : bytes_u16(&b);
	if (t->relative)
		value += t->vaddr;
	return cfi->eh.is64 ? value : (uint32_t)value;
}

static uint64_t table_start(const struct cfi *cfi, uint64_t i)
{
	return table_word(cfi, cfi->table.at + i * 2 * cfi->table.width);
}

static bool table_sorted(const struct cfi *cfi)
{
	uint64_t last = 0;

	for (uint64_t i = 0; i < cfi->table.count; i++) {
		uint64_t start = table_start(cfi, i);

		if (start < last)
			return false;
		last = start;
	}
	return true;
}

/* Parses the head; true when there is a table that can be searched. */
static bool table_parse(struct cfi *cfi, uint64_t *ret_eh_frame)
{
	struct table *t = &cfi->table;
	struct cfi_section hdr = cfi->eh;
	struct bytes b = bytes_of(t->blob.bytes, t->blob.len);
	uint8_t version, frame_enc, count_enc, table_enc, address = hdr.is64 ? 8 : 4;

	b.swap = hdr.swap;
	hdr.blob = t->blob;
	hdr.vaddr = hdr.data = t->vaddr;
	version = bytes_u8(&b);
	frame_enc = bytes_u8(&b);
	count_enc = bytes_u8(&b);
	table_enc = bytes_u8(&b);
	if (b.bad || version != 1 || frame_enc == PE_OMIT)
		return false;
	*ret_eh_frame = cfi_pointer(&hdr, &b, frame_enc, address, 0, NULL);
	if (b.bad)
		return false;
	if (count_enc == PE_OMIT || table_enc == PE_OMIT || (frame_enc & PE_INDIRECT))
		return false;
	t->count = cfi_pointer(&hdr, &b, count_enc, address, 0, NULL);
	t->relative = (table_enc & 0x70) == PE_DATAREL;
	t->is_signed = table_enc & PE_SIGNED;
	t->width = (uint8_t[]){address, 0, 2, 4, 8, 0, 0, 0}[table_enc & 7];
	if (b.bad || !t->width || (!t->relative && (table_enc & 0x70)) ||
		(table_enc & PE_INDIRECT) || t->count > bytes_left(&b) / (2u * t->width))
		return false;
	t->at = b.at;
	return t->count && table_sorted(cfi);
}

static int hdr_load(struct cfi *cfi, bool *ret_found)
{
	const struct elf_section *section = elf_section(cfi->elf, ".eh_frame_hdr");
	uint64_t vaddr, bytes, foff;
	int rc;

	*ret_found = false;
	if (section) {
		cfi->table.vaddr = section->addr;
		rc = elf_load_section(cfi->elf, section, EH_FRAME_HDR_MAX, &cfi->table.blob);
	} else if (hdr_segment(cfi->elf, &vaddr, &bytes) &&
		   elf_vaddr_to_foff(
			   cfi->elf->segments, cfi->elf->segment_count, vaddr, &foff)) {
		cfi->table.vaddr = vaddr;
		rc = elf_load(cfi->elf, foff, bytes, EH_FRAME_HDR_MAX, &cfi->table.blob);
	} else {
		return 0;
	}
	*ret_found = rc == 0;
	return rc == -ENOMEM ? rc : 0;
}

static int eh_open(struct cfi *cfi)
{
	const struct elf_section *section = elf_section(cfi->elf, ".eh_frame");
	uint64_t said = 0;
	bool found, table;
	int rc = hdr_load(cfi, &found);

	if (rc < 0)
		return rc;
	table = found && table_parse(cfi, &said);
	if (section && section->type != SHT_NOBITS) {
		cfi->eh.vaddr = section->addr;
		rc = elf_load_section(cfi->elf, section, cfi->limit, &cfi->eh.blob);
		table = table && said == section->addr;
	} else if (found && said) {
		cfi->eh.vaddr = said;
		rc = load_segment_rest(cfi->elf, said, cfi->limit, &cfi->eh.blob);
	} else {
		return -ENOENT;
	}
	if (rc < 0)
		return rc;
	cfi->use_table = table;
	if (!table)
		elf_blob_done(&cfi->table.blob);
	cfi->has_eh = true;
	return 0;
}

/* ---- an index of our own */

/* Reads the section through; what cannot be read ends it (the entries so far stay). */
static int index_fill(const struct cfi_section *section, struct index *index)
{
	struct cfi_fde fde = {0};
	uint64_t offset = 0, next = 0;
	enum cfi_entry_kind kind;

	while (offset < section->blob.len) {
		int rc = cfi_entry(section, offset, &fde, &kind, &next);

		/* An entry that is bad in itself can be stepped over if its length is right. */
		if (rc < 0 && next <= offset)
			break;
		if (rc == 0 && kind == CFI_ENTRY_FDE && !fde.dead) {
			rc = array_reserve(&index->at, &index->cap, index->count + 1ull,
				sizeof(*index->at), ENTRIES_MAX);
			if (rc < 0)
				return rc;
			index->at[index->count++] = (struct index_entry){fde.start, offset};
		}
		offset = next;
	}
	return 0;
}

static int index_build(const struct cfi_section *section, struct index *index)
{
	int rc;

	if (index->built)
		return 0;
	rc = index_fill(section, index);
	if (rc == 0 && index->count)
		rc = cfi_sort(&index->at->start, index->count, 2);
	if (rc < 0) {
		free(index->at);
		*index = (struct index){0};
		return rc;
	}
	index->built = true;
	return 0;
}

/* ---- looking up */

static int fde_at(
	struct cfi *cfi, const struct cfi_section *section, uint64_t offset, uint64_t vaddr)
{
	enum cfi_entry_kind kind;
	uint64_t next;
	int rc = cfi_entry(section, offset, &cfi->fde, &kind, &next);

	if (rc < 0)
		return rc;
	if (kind != CFI_ENTRY_FDE)
		return -EBADMSG;
	return vaddr >= cfi->fde.start && vaddr < cfi->fde.end ? 0 : -ENOENT;
}

/* 0; -ENOENT: not covered; -EBADMSG: what the table says is not so. */
static int table_find(struct cfi *cfi, uint64_t vaddr)
{
	uint64_t lo = 0, hi = cfi->table.count, start, fde;
	int rc;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (table_start(cfi, mid) <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return -ENOENT;
	start = table_start(cfi, lo - 1);
	fde = table_word(
		cfi, cfi->table.at + (lo - 1) * 2 * cfi->table.width + cfi->table.width);
	if (fde < cfi->eh.vaddr || fde - cfi->eh.vaddr >= cfi->eh.blob.len)
		return -EBADMSG;
	rc = fde_at(cfi, &cfi->eh, fde - cfi->eh.vaddr, vaddr);
	return (rc == 0 || rc == -ENOENT) && cfi->fde.start != start ? -EBADMSG : rc;
}

static int index_find(struct cfi *cfi, const struct cfi_section *section,
	const struct index *index, uint64_t vaddr)
{
	enum { LOOK_BACK = 8 }; /* ranges may overlap in odd files */
	uint32_t lo = 0, hi = index->count;
	int rc = -ENOENT;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (index->at[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (uint32_t i = 0; i < LOOK_BACK && lo && rc == -ENOENT; i++, lo--)
		rc = fde_at(cfi, section, index->at[lo - 1].offset, vaddr);
	return rc;
}

/* The table failed at an address: is it wrong, or is there nothing? */
static int table_judge(struct cfi *cfi, int found)
{
	int rc;

	if (cfi->table.trusted)
		return found;
	rc = index_build(&cfi->eh, &cfi->eh_index);
	if (rc < 0)
		return rc;
	if (found == -ENOENT && cfi->eh_index.count <= cfi->table.count) {
		cfi->table.trusted = true;
		free(cfi->eh_index.at);
		cfi->eh_index = (struct index){0};
		return found;
	}
	cfi->use_table = false;
	elf_blob_done(&cfi->table.blob);
	return 1;
}

static int eh_find(struct cfi *cfi, uint64_t vaddr)
{
	int rc;

	if (cfi->use_table) {
		rc = table_find(cfi, vaddr);
		if (rc != -ENOENT && rc != -EBADMSG)
			return rc;
		rc = table_judge(cfi, rc);
		if (rc <= 0)
			return rc;
	}
	rc = index_build(&cfi->eh, &cfi->eh_index);
	return rc < 0 ? rc : index_find(cfi, &cfi->eh, &cfi->eh_index, vaddr);
}

static int debug_find(struct cfi *cfi, uint64_t vaddr)
{
	int rc;

	if (cfi->debug_state == DEBUG_NONE)
		return -ENOENT;
	if (cfi->debug_state == DEBUG_THERE) {
		rc = elf_load_section(cfi->elf, elf_section(cfi->elf, ".debug_frame"),
			cfi->limit, &cfi->debug.blob);
		if (rc == -ENOMEM)
			return rc;
		cfi->debug_state = rc < 0 ? DEBUG_NONE : DEBUG_LOADED;
		if (rc < 0)
			return -ENOENT;
	}
	rc = index_build(&cfi->debug, &cfi->debug_index);
	return rc < 0 ? rc : index_find(cfi, &cfi->debug, &cfi->debug_index, vaddr);
}

int cfi_find(struct cfi *cfi, uint64_t vaddr, struct cfi_row *ret_row)
{
	const struct cfi_section *section = &cfi->eh;
	int rc = cfi->has_eh ? eh_find(cfi, vaddr) : -ENOENT;

	if (rc == -ENOENT) {
		section = &cfi->debug;
		/* The remembered CIE is one of the other section. */
		cfi->fde.cie.version = 0;
		rc = debug_find(cfi, vaddr);
	}
	if (rc == 0)
		rc = cfi_program_run(section, &cfi->fde, vaddr, ret_row);
	if (section == &cfi->debug)
		cfi->fde.cie.version = 0;
	return rc;
}

int cfi_ranges(struct cfi *cfi, struct cfi_range **ret_ranges)
{
	struct cfi_range *ranges;
	enum cfi_entry_kind kind;
	uint64_t next;
	int rc = cfi->has_eh ? index_build(&cfi->eh, &cfi->eh_index) : 0, n = 0;

	if (rc < 0)
		return rc;
	ranges = calloc(cfi->eh_index.count + 1u, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfi->eh_index.count; i++)
		if (cfi_entry(&cfi->eh, cfi->eh_index.at[i].offset, &cfi->fde, &kind, &next) ==
			0)
			ranges[n++] = (struct cfi_range){cfi->fde.start, cfi->fde.end};
	*ret_ranges = ranges;
	return n;
}

int cfi_open(const struct elf *elf, size_t limit, struct cfi **ret_cfi)
{
	struct cfi *cfi = calloc(1, sizeof(*cfi));
	const struct elf_section *debug = elf_section(elf, ".debug_frame");
	int rc;

	if (!cfi)
		return -ENOMEM;
	cfi->elf = elf;
	cfi->limit = limit;
	section_init(&cfi->eh, elf);
	cfi->eh.eh = true;
	section_init(&cfi->debug, elf);
	if (debug && debug->type != SHT_NOBITS)
		cfi->debug_state = DEBUG_THERE;
	rc = eh_open(cfi);
	if (rc < 0 && (cfi->debug_state == DEBUG_NONE || rc == -ENOMEM)) {
		cfi_free(cfi);
		return rc;
	}
	*ret_cfi = cfi;
	return 0;
}

int cfi_open_bare(const struct cfi_bare *bare, struct cfi **ret_cfi)
{
	struct cfi *cfi = calloc(1, sizeof(*cfi));

	if (!cfi)
		return -ENOMEM;
	cfi->eh = (struct cfi_section){
		.blob = {.bytes = bare->bytes, .len = bare->len},
		.vaddr = bare->vaddr,
		.eh = true,
		.is64 = true,
		.swap = bare->swap,
		.machine = bare->machine,
	};
	cfi->has_eh = true;
	*ret_cfi = cfi;
	return 0;
}

void cfi_free(struct cfi *cfi)
{
	if (!cfi)
		return;
	elf_blob_done(&cfi->eh.blob);
	elf_blob_done(&cfi->debug.blob);
	elf_blob_done(&cfi->table.blob);
	free(cfi->eh_index.at);
	free(cfi->debug_index.at);
	free(cfi);
}

size_t cfi_bytes(const struct cfi *cfi)
{
	size_t blobs = (cfi->eh.blob.owned ? cfi->eh.blob.len : 0) +
		       (cfi->debug.blob.owned ? cfi->debug.blob.len : 0) +
		       (cfi->table.blob.owned ? cfi->table.blob.len : 0);

	return sizeof(*cfi) + blobs +
	       sizeof(struct index_entry) * (cfi->eh_index.cap + (size_t)cfi->debug_index.cap);
}

enum cfi_lookup cfi_lookup_kind(const struct cfi *cfi)
{
	return cfi->use_table ? CFI_BY_HDR : CFI_BY_INDEX;
}
