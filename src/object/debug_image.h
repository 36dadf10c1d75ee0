/*
 * The debug sections of an ELF file, whole and inflated, as a small ELF file in memory that
 * libdw can read. libdw 0.188 does not inflate zstd sections, maps files (a file that is
 * truncated then kills the reader), and loads what nobody needs; here only what names and lines
 * come from is read, and every part was checked against the file.
 */
#pragma once

#include "object/elf.h"

#include <stddef.h>
#include <stdint.h>

enum { DEBUG_IMAGE_PARTS = 16, DEBUG_NAME_ROOM = 32 };
/* Bytes of one file's debug sections; what is in an image has offsets of 32 bits. */
#define DEBUG_IMAGE_MAX ((uint64_t)UINT32_MAX - (1 << 20))

/* A section to be: bytes that are lent until debug_image_build() returns. */
struct debug_image_part {
	const char *name;     /* ".debug_info" */
	const uint8_t *bytes; /* NULL: they are at `foff` of the file that the image is like */
	uint64_t foff;
	size_t len;
	size_t room; /* so many zero bytes more behind them */
};

struct debug_image {
	uint8_t *bytes;
	size_t len;
};

/* Does it have DWARF, in whatever compression? */
bool debug_image_possible(const struct elf *elf);

/*
 * The file's own sections (.zdebug_* under their new names; those that are damaged or too large
 * are left out; the strings have DEBUG_NAME_ROOM bytes of room). -ENODATA when there is no
 * .debug_info, -ENOMEM, -EFBIG: more than `limit` bytes, at most DEBUG_IMAGE_MAX.
 */
int debug_image_load(const struct elf *elf, uint64_t limit, struct debug_image *ret_image);

/* The same out of given parts; class, byte order and machine are those of `like`. */
int debug_image_build(const struct elf *like, const struct debug_image_part *parts, size_t n,
	struct debug_image *ret_image);

/* The bytes of a section in the image, to be changed in place; NULL when it is not there. */
uint8_t *debug_image_section(
	const struct debug_image *image, const char *name, size_t *ret_len);

void debug_image_done(struct debug_image *image);
