/*
 * How: sections that are compressed are inflated by elf_load_section(), then all are laid
 * behind one another, those that are as they were straight out of the file:
 *
 *     | Ehdr | section, section, ... (each at a multiple of 16) | names | Shdr ... |
 *
 * The old way to compress a section is its name (.zdebug_info), "ZLIB", and the size as 8
 * bytes, the high one first, before a zlib stream.
 */
#include "object/debug_image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ALIGN = 16, ZDEBUG_HEAD = 12, NAME_BYTES = 32 };

static const char *const wanted[] = {".debug_info", ".debug_abbrev", ".debug_str",
	".debug_line", ".debug_line_str", ".debug_ranges", ".debug_rnglists", ".debug_addr",
	".debug_str_offsets"};

void debug_image_done(struct debug_image *image)
{
	free(image->bytes);
	*image = (struct debug_image){0};
}

/* ".debug_info" as ".zdebug_info". */
static const struct elf_section *find_old(const struct elf *elf, const char *name)
{
	char old[NAME_BYTES] = ".z";

	strncat(old, name + 1, sizeof(old) - 3);
	return elf_section(elf, old);
}

bool debug_image_possible(const struct elf *elf)
{
	const struct elf_section *section = elf_section(elf, ".debug_info");

	if (section && section->type != SHT_NOBITS)
		return true;
	return find_old(elf, ".debug_info") != NULL;
}

static int inflate_old(struct elf_blob *blob, uint64_t limit)
{
	uint64_t size = 0;
	uLongf got;
	uint8_t *out;

	if (blob->len < ZDEBUG_HEAD || memcmp(blob->bytes, "ZLIB", 4) != 0)
		return -EBADMSG;
	for (int i = 4; i < ZDEBUG_HEAD; i++)
		size = size << 8 | blob->bytes[i];
	/* zlib shrinks to about 1 : 1,032 at most */
	if (size > limit || size / 1100 > blob->len)
		return -EFBIG;
	out = malloc(size ? (size_t)size : 1);
	if (!out)
		return -ENOMEM;
	got = (uLongf)size;
	if (uncompress(out, &got, blob->bytes + ZDEBUG_HEAD,
		    (uLong)(blob->len - ZDEBUG_HEAD)) != Z_OK ||
		got != size) {
		free(out);
		return -EBADMSG;
	}
	elf_blob_done(blob);
	*blob = (struct elf_blob){out, (size_t)size, out};
	return 0;
}

/* Makes a part; what had to be inflated is the blob's. */
static int part_load(const struct elf *elf, const char *name, uint64_t limit,
	struct elf_blob *ret_blob, struct debug_image_part *ret_part)
{
	const struct elf_section *section = elf_section(elf, name);
	struct elf_blob blob = {0};
	bool old = !section || section->type == SHT_NOBITS;
	int r;

	*ret_part = (struct debug_image_part){
		.name = name, .room = strstr(name, "_str") ? DEBUG_NAME_ROOM : 0};
	if (old)
		section = find_old(elf, name);
	if (!section)
		return -ENODATA;
	if (section->bytes > limit)
		return -EFBIG;
	if (!old && !(section->flags & SHF_COMPRESSED)) {
		ret_part->foff = section->foff;
		ret_part->len = (size_t)section->bytes;
		return section->foff > elf->file_bytes ||
				       section->bytes > elf->file_bytes - section->foff
			       ? -ENODATA
			       : 0;
	}
	r = elf_load_section(elf, section, limit, &blob);
	if (!r && old)
		r = inflate_old(&blob, limit);
	if (r < 0) {
		elf_blob_done(&blob);
		return r;
	}
	*ret_blob = blob;
	ret_part->bytes = blob.bytes;
	ret_part->len = blob.len;
	return 0;
}

/* As they are in the file: a first look at whether they can be within a limit. */
static bool fits(const struct elf *elf, uint64_t limit)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		const struct elf_section *section = elf_section(elf, wanted[i]);

		if (section && section->type != SHT_NOBITS &&
			__builtin_add_overflow(sum, section->bytes, &sum))
			return false;
	}
	return sum <= limit;
}

int debug_image_load(const struct elf *elf, uint64_t limit, struct debug_image *ret_image)
{
	struct elf_blob blobs[ARRAY_LEN(wanted)] = {{0}};
	struct debug_image_part parts[ARRAY_LEN(wanted)];
	bool all = limit < DEBUG_IMAGE_MAX; /* the caller wants all of it, or nothing */
	uint64_t left = limit;
	size_t n = 0;
	int r = all && !fits(elf, limit) ? -EFBIG : 0;

	for (size_t i = 0; i < ARRAY_LEN(wanted) && r != -ENOMEM && (r != -EFBIG || !all);
		i++) {
		r = part_load(elf, wanted[i], left, &blobs[i], &parts[n]);
		if (!r)
			left -= parts[n++].len;
		else if (!i)
			break; /* no .debug_info, no use */
	}
	if (r != -ENOMEM && (r != -EFBIG || !all))
		r = n ? debug_image_build(elf, parts, n, ret_image) : r;
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		elf_blob_done(&blobs[i]);
	return r;
}

/* Writes fields in the byte order of the image, which is of any kind. */
struct writer {
	uint8_t *at;
	bool big_endian, is64;
};

static void put(struct writer *w, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*w->at++ = (uint8_t)(value >> 8 * (w->big_endian ? bytes - 1 - i : i));
}

static void put_word(struct writer *w, uint64_t value)
{
	put(w, value, w->is64 ? 8 : 4);
}

static void put_section(
	struct writer *w, uint32_t name, uint32_t type, uint64_t foff, uint64_t len)
{
	put(w, name, 4);
	put(w, type, 4);
	put_word(w, 0); /* flags */
	put_word(w, 0); /* addr */
	put_word(w, foff);
	put_word(w, len);
	put(w, 0, 4); /* link */
	put(w, 0, 4); /* info */
	put_word(w, 1);
	put_word(w, 0);
}

static void put_header(
	struct writer *w, const struct elf *like, uint64_t shoff, uint16_t sections)
{
	uint8_t ident[EI_NIDENT] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3};

	ident[EI_CLASS] = like->is64 ? ELFCLASS64 : ELFCLASS32;
	ident[EI_DATA] = like->big_endian ? ELFDATA2MSB : ELFDATA2LSB;
	ident[EI_VERSION] = EV_CURRENT;
	memcpy(w->at, ident, sizeof(ident));
	w->at += sizeof(ident);
	put(w, ET_EXEC, 2);
	put(w, like->machine, 2);
	put(w, EV_CURRENT, 4);
	put_word(w, 0);
	put_word(w, 0);
	put_word(w, shoff);
	put(w, 0, 4);
	put(w, like->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr), 2);
	put(w, 0, 2);
	put(w, 0, 2);
	put(w, like->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), 2);
	put(w, sections, 2);
	put(w, sections - 1u, 2);
}

static uint64_t aligned(uint64_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

int debug_image_build(const struct elf *like, const struct debug_image_part *parts, size_t n,
	struct debug_image *ret_image)
{
	static const char own_name[] = ".shstrtab";
	uint64_t foff[DEBUG_IMAGE_PARTS], len = 64, names = 1 + sizeof(own_name), shoff;
	struct writer w = {.big_endian = like->big_endian, .is64 = like->is64};
	uint32_t name = 1;
	uint8_t *bytes;
	int r = 0;

	if (n > DEBUG_IMAGE_PARTS)
		return -E2BIG;
	for (size_t i = 0; i < n; i++) {
		foff[i] = len;
		len = aligned(len + parts[i].len + parts[i].room);
		names += strlen(parts[i].name) + 1;
		if (len > DEBUG_IMAGE_MAX)
			return -EFBIG;
	}
	shoff = aligned(len + names);
	bytes = calloc(1, shoff + (n + 2) * sizeof(Elf64_Shdr));
	if (!bytes)
		return -ENOMEM;
	w.at = bytes;
	put_header(&w, like, shoff, (uint16_t)(n + 2));
	w.at = bytes + shoff;
	put_section(&w, 0, SHT_NULL, 0, 0);
	for (size_t i = 0; i < n && !r; i++) {
		size_t name_bytes = strlen(parts[i].name) + 1;

		if (parts[i].bytes)
			memcpy(bytes + foff[i], parts[i].bytes, parts[i].len);
		else
			r = elf_copy(like, parts[i].foff, bytes + foff[i], parts[i].len);
		memcpy(bytes + len + name, parts[i].name, name_bytes);
		put_section(&w, name, SHT_PROGBITS, foff[i], parts[i].len + parts[i].room);
		name += (uint32_t)name_bytes;
	}
	memcpy(bytes + len + name, own_name, sizeof(own_name));
	put_section(&w, name, SHT_STRTAB, len, names);
	if (r < 0) { /* it shrank meanwhile */
		free(bytes);
		return r;
	}
	*ret_image = (struct debug_image){bytes, (size_t)(w.at - bytes)};
	return 0;
}

uint8_t *debug_image_section(const struct debug_image *image, const char *name, size_t *ret_len)
{
	const struct elf_section *section;
	struct elf elf = {0};
	uint8_t *found = NULL;

	if (!elf_open_bytes(image->bytes, image->len, &elf, NULL)) {
		section = elf_section(&elf, name);
		if (section) {
			found = image->bytes + section->foff;
			*ret_len = (size_t)section->bytes;
		}
	}
	elf_close(&elf);
	return found;
}
