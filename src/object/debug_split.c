/*
 * How: the index of a package is a hash table from unit ids to rows, and a table of offsets and
 * sizes: where in each section the row's unit has its part.
 *
 *     version:4 (2, or 5 in two bytes)  columns:4  units:4  slots:4
 *     slots x id:8     slots x row:4 (from 1)     columns x section:4
 *     units x columns x offset:4                  units x columns x size:4
 *
 * The strings of a package are shared by all units; a unit gets those that its table of offsets
 * names, and a table that points to its own copies. DWARF 5, section 7.3.5.3, and
 * https://gcc.gnu.org/wiki/DebugFissionDWP for version 2.
 */
#include "object/debug_split.h"

#include "base/strbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	INDEX_MAX = 256 << 20,
	COLUMNS_MAX = 16,
	UNIT_MAX = 1 << 30, /* bytes of a unit's part of a section */
	STRING_MAX = 64 << 10,
};

/* What a unit needs, with the numbers of the sections in an index of version 2 and 5. */
enum part { INFO, ABBREV, LINE, STR_OFFSETS, RNGLISTS, STR, PART_COUNT };
static const char *const part_names[PART_COUNT] = {".debug_info.dwo", ".debug_abbrev.dwo",
	".debug_line.dwo", ".debug_str_offsets.dwo", ".debug_rnglists.dwo", ".debug_str.dwo"};
static const uint32_t part_ids[2][STR] = {{1, 3, 4, 6, 0}, {1, 3, 4, 6, 8}};

struct debug_package {
	const struct elf *elf;
	struct elf_blob index;
	uint32_t columns, units, slots;
	bool version5;
	size_t ids_at, rows_at, sections_at, offsets_at, sizes_at; /* in the index */
	struct elf_blob inflated[PART_COUNT]; /* of compressed sections, and the strings */
};

static int package_parse(struct debug_package *p)
{
	struct bytes b = elf_blob_reader(p->elf, &p->index);
	uint32_t version = bytes_u32(&b);
	uint64_t cells;

	/* Version 5 has two bytes of version and two of padding. */
	p->version5 = version != 2;
	if (p->version5 && (p->elf->big_endian ? version >> 16 : version & 0xffff) != 5)
		return -EBADMSG;
	p->columns = bytes_u32(&b);
	p->units = bytes_u32(&b);
	p->slots = bytes_u32(&b);
	if (b.bad || p->columns > COLUMNS_MAX || !p->slots || (p->slots & (p->slots - 1)))
		return -EBADMSG;
	cells = (uint64_t)p->units * p->columns;
	if ((uint64_t)p->slots * 12 + p->columns * 4ull + cells * 8 > bytes_left(&b))
		return -EBADMSG;
	p->ids_at = 16;
	p->rows_at = p->ids_at + (size_t)p->slots * 8;
	p->sections_at = p->rows_at + (size_t)p->slots * 4;
	p->offsets_at = p->sections_at + (size_t)p->columns * 4;
	p->sizes_at = p->offsets_at + (size_t)cells * 4;
	return 0;
}

struct debug_package *debug_package_open(const struct elf *dwp)
{
	const struct elf_section *section = dwp ? elf_section(dwp, ".debug_cu_index") : NULL;
	struct debug_package *p = section ? calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return NULL;
	p->elf = dwp;
	if (elf_load_section(dwp, section, INDEX_MAX, &p->index) < 0 || package_parse(p) < 0) {
		debug_package_close(p);
		return NULL;
	}
	for (int i = 0; i < PART_COUNT; i++) {
		section = elf_section(dwp, part_names[i]);
		if (section && (i == STR || section->flags & 0x800 /* SHF_COMPRESSED */))
			elf_load_section(dwp, section, DEBUG_IMAGE_MAX, &p->inflated[i]);
	}
	return p;
}

void debug_package_close(struct debug_package *package)
{
	if (!package)
		return;
	elf_blob_done(&package->index);
	for (int i = 0; i < PART_COUNT; i++)
		elf_blob_done(&package->inflated[i]);
	free(package);
}

/* What follows from `at` of the index, which package_parse() has found to be there. */
static struct bytes index_at(const struct debug_package *p, size_t at)
{
	struct bytes b = elf_blob_reader(p->elf, &p->index);

	bytes_skip(&b, at);
	return b;
}

/* The unit's row, from 0; -ENOENT. The second hash is made of the id's upper half. */
static int64_t row_find(const struct debug_package *p, uint64_t unit_id)
{
	uint32_t mask = p->slots - 1, at = (uint32_t)unit_id & mask;
	uint32_t step = ((uint32_t)(unit_id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < p->slots; i++, at = (at + step) & mask) {
		struct bytes id = index_at(p, p->ids_at + (size_t)at * 8);
		struct bytes row = index_at(p, p->rows_at + (size_t)at * 4);
		uint64_t found = bytes_u64(&id);
		uint32_t number = bytes_u32(&row);

		if (!number)
			return -ENOENT;
		if (found == unit_id)
			return number <= p->units ? (int64_t)number - 1 : -EBADMSG;
	}
	return -ENOENT;
}

/* The unit's part of a section; empty when it has none there. */
static int part_load(
	const struct debug_package *p, enum part part, uint32_t row, struct elf_blob *ret_blob)
{
	const struct elf_section *section = elf_section(p->elf, part_names[part]);
	const struct elf_blob *whole = &p->inflated[part];
	uint32_t want = part_ids[p->version5][part], column = 0, offset, size;
	struct bytes b = index_at(p, p->sections_at);
	size_t cell;

	while (column < p->columns && bytes_u32(&b) != want)
		column++;
	if (!want || !section || column == p->columns)
		return 0;
	cell = ((size_t)row * p->columns + column) * 4;
	b = index_at(p, p->offsets_at + cell);
	offset = bytes_u32(&b);
	b = index_at(p, p->sizes_at + cell);
	size = bytes_u32(&b);
	if (size > UNIT_MAX)
		return -EFBIG;
	if (section->flags & 0x800) {
		if (!whole->bytes || offset > whole->len || size > whole->len - offset)
			return -EBADMSG;
		*ret_blob = (struct elf_blob){whole->bytes + offset, size, NULL};
		return 0;
	}
	if (offset > section->bytes || size > section->bytes - offset)
		return -EBADMSG;
	return elf_load(p->elf, section->foff + offset, size, UNIT_MAX, ret_blob);
}

static void word_put(uint8_t *at, uint32_t value, bool swap)
{
	value = swap ? __builtin_bswap32(value) : value;
	memcpy(at, &value, sizeof(value));
}

/*
 * Copies the strings that a table of 32-bit offsets names, and turns the table to the copies.
 * The table is the unit's own memory by now.
 */
static int strings_gather(
	const struct debug_package *p, uint8_t *table, size_t len, struct strbuf *ret_strings)
{
	const struct elf_blob *all = &p->inflated[STR];
	size_t at = p->version5 ? 8 : 0;

	strbuf_putc(ret_strings, '\0');
	for (; len >= 4 && at <= len - 4; at += 4) {
		struct bytes b = bytes_of(table + at, 4);
		uint32_t offset;
		const char *text;
		size_t n;

		b.swap = p->elf->swap;
		offset = bytes_u32(&b);
		text = offset < all->len ? (const char *)all->bytes + offset : "";
		n = offset < all->len ? strnlen(text, all->len - offset) : 0;
		if (n > STRING_MAX || (offset < all->len && n == all->len - offset))
			n = 0; /* it has no end, or is nobody's name */
		if (ret_strings->len + n > UNIT_MAX)
			return -EFBIG;
		word_put(table + at, n ? (uint32_t)ret_strings->len : 0, p->elf->swap);
		strbuf_add(ret_strings, text, n);
		if (n)
			strbuf_putc(ret_strings, '\0');
	}
	return ret_strings->failed ? -ENOMEM : 0;
}

/* Makes the table of offsets our own, to be written to. */
static int blob_own(struct elf_blob *blob)
{
	uint8_t *copy;

	if (blob->owned || !blob->len)
		return 0;
	copy = malloc(blob->len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, blob->bytes, blob->len);
	*blob = (struct elf_blob){copy, blob->len, copy};
	return 0;
}

int debug_package_unit(
	const struct debug_package *package, uint64_t unit_id, struct debug_image *ret_image)
{
	cleanup_with(strbuf_done) struct strbuf strings = {0};
	struct elf_blob blobs[STR] = {{0}};
	struct debug_image_part parts[PART_COUNT];
	int64_t row = row_find(package, unit_id);
	size_t n = 0;
	int r = row < 0 ? (int)row : 0;

	for (int i = 0; i < STR && !r; i++)
		r = part_load(package, (enum part)i, (uint32_t)row, &blobs[i]);
	if (!r)
		r = blob_own(&blobs[STR_OFFSETS]);
	if (!r && blobs[STR_OFFSETS].len)
		r = strings_gather(
			package, blobs[STR_OFFSETS].owned, blobs[STR_OFFSETS].len, &strings);
	for (int i = 0; i < STR && !r; i++)
		if (blobs[i].len)
			parts[n++] = (struct debug_image_part){.name = part_names[i],
				.bytes = blobs[i].bytes,
				.len = blobs[i].len};
	if (!r && strings.len)
		parts[n++] = (struct debug_image_part){.name = part_names[STR],
			.bytes = (const uint8_t *)strings.text,
			.len = strings.len};
	if (!r)
		r = debug_image_build(package->elf, parts, n, ret_image);
	for (int i = 0; i < STR; i++)
		elf_blob_done(&blobs[i]);
	return r;
}

int debug_dwo_load(int fd, struct debug_image *ret_image)
{
	struct elf_blob blobs[PART_COUNT] = {{0}};
	struct debug_image_part parts[PART_COUNT];
	struct elf elf = {0};
	size_t n = 0;
	int r = elf_open_fd(fd, &elf, NULL);

	for (int i = 0; i < PART_COUNT && !r; i++) {
		const struct elf_section *section = elf_section(&elf, part_names[i]);

		if (!section || elf_load_section(&elf, section, UNIT_MAX, &blobs[i]) < 0)
			continue;
		parts[n++] = (struct debug_image_part){
			.name = part_names[i], .bytes = blobs[i].bytes, .len = blobs[i].len};
	}
	if (!r)
		r = n ? debug_image_build(&elf, parts, n, ret_image) : -ENOENT;
	for (int i = 0; i < PART_COUNT; i++)
		elf_blob_done(&blobs[i]);
	elf_close(&elf);
	return r;
}
