/*
 * ELF files as bytes: headers, segments, sections, build id. The base for symbols, CFI and
 * DWARF.
 *
 * Everything in a file is a claim: each count, offset and size is checked against the file's
 * real length before anything is allocated or read. A file is read with pread(), never mapped:
 * a file that is truncated while it is mapped kills the reader with SIGBUS, and a recorder must
 * not die of a rebuild. Only the parts that are asked for are read, so memory stays small.
 *
 * Both classes and both byte orders; fields come out in the host's order. The two address kinds
 * that meet here are `foff` (file offset) and `vaddr` (what the file's symbols and CFI use);
 * run-time addresses never come here.
 *
 * Errors: -ENOEXEC not an ELF file; -ENODATA truncated (a part lies beyond the end); -EBADMSG a
 * header that contradicts itself; -EFBIG a part larger than the limit; -EIO and other errno of
 * pread().
 */
#pragma once

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_SEGMENTS_MAX = 1 << 16, ELF_SECTIONS_MAX = 1 << 20 };

/* A PT_LOAD: file bytes [foff, foff + file_bytes) appear at [vaddr, vaddr + mem_bytes). */
struct elf_segment {
	uint64_t foff, file_bytes, vaddr, mem_bytes;
	bool exec;
};

struct elf_section {
	const char *name; /* never NULL */
	uint64_t addr, foff, bytes, flags, entry_bytes;
	uint32_t type, link, info; /* SHT_*; link and info as the file says: not checked */
};

struct elf {
	bool is64, big_endian;
	bool swap;		/* the bytes are of the other byte order: for struct bytes */
	uint16_t machine, type; /* EM_*, ET_* */
	uint64_t file_bytes, entry;
	struct elf_segment *segments; /* PT_LOAD only, as the file has them */
	struct elf_section *sections;
	uint32_t segment_count, section_count;
	uint8_t build_id[20];	/* a longer one is cut */
	uint8_t build_id_bytes; /* 0: none */
	char *section_names;
	int fd; /* -1: image */
	const uint8_t *image;
};

/*
 * Bytes of a part of the file: in place where the whole file is in memory, else a copy that
 * blob_done() frees. A zeroed blob is empty.
 */
struct elf_blob {
	const uint8_t *bytes;
	size_t len;
	void *owned;
};

/*
 * Opens an ELF file. The descriptor (or the bytes) stays the caller's and must live as long as
 * parts are loaded; its position is not used. 0 or a negative errno, see above; elf_close()
 * takes a zeroed struct and one whose opening failed.
 */
int elf_open_fd(int fd, struct elf *ret_elf, struct error *err);
int elf_open_bytes(const void *image, size_t len, struct elf *ret_elf, struct error *err);
void elf_close(struct elf *elf);

/* The first section of that name, or NULL. */
const struct elf_section *elf_section(const struct elf *elf, const char *name);

/*
 * Loads [foff, foff + len) or a section. A section without bytes in the file (SHT_NOBITS) is
 * -ENODATA. Compressed sections (SHF_COMPRESSED, zlib and, where it was built in, zstd) come
 * out inflated; another compression: -EOPNOTSUPP. -EFBIG above `limit` bytes.
 */
int elf_load(const struct elf *elf, uint64_t foff, uint64_t len, uint64_t limit,
	struct elf_blob *ret_blob);
int elf_load_section(const struct elf *elf, const struct elf_section *section, uint64_t limit,
	struct elf_blob *ret_blob);
/* A part into memory of the caller's. */
int elf_copy(const struct elf *elf, uint64_t foff, void *ret_bytes, size_t len);
void elf_blob_done(struct elf_blob *blob);
#define cleanup_elf_blob cleanup_with(elf_blob_done)

static inline struct bytes elf_blob_reader(const struct elf *elf, const struct elf_blob *blob)
{
	struct bytes b = bytes_of(blob->bytes, blob->len);

	b.swap = elf->swap;
	return b;
}

/* An address or size of the file's class. */
static inline uint64_t elf_word(const struct elf *elf, struct bytes *b)
{
	return elf->is64 ? bytes_u64(b) : bytes_u32(b);
}

/*
 * Translates by the PT_LOAD that holds the offset (executable ones first: small files may
 * overlap) or the address. False when none does.
 */
bool elf_foff_to_vaddr(
	const struct elf_segment *segments, uint32_t count, uint64_t foff, uint64_t *ret_vaddr);
bool elf_vaddr_to_foff(
	const struct elf_segment *segments, uint32_t count, uint64_t vaddr, uint64_t *ret_foff);

/*
 * The build id in a run of ELF notes (PT_NOTE, .note.gnu.build-id, /sys/kernel/notes). Returns
 * its length (at most 20; a longer one is cut), 0 when there is none.
 */
uint8_t elf_notes_build_id(struct bytes notes, uint64_t align, uint8_t ret_id[20]);
