/* Call frame information inside: entries, pointers, programs. */
#pragma once

#include "object/cfi.h"

enum { CFI_PROGRAM_MAX = 256 << 10 };

/* DW_EH_PE_*: the lower half is the form, the upper one what it counts from. */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SIGNED = 0x08,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_FUNCREL = 0x40,
	PE_ALIGNED = 0x50,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/* .eh_frame or .debug_frame in memory. */
struct cfi_section {
	struct elf_blob blob;
	uint64_t vaddr; /* of its first byte */
	bool eh;	/* .eh_frame: ids are 4 bytes and relative, pointers are encoded */
	bool is64, swap;
	uint16_t machine;
	uint64_t text, data; /* what textrel and datarel count from */
};

struct cfi_cie {
	uint64_t offset; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint16_t ra_reg;
	uint8_t version, address_bytes, segment_bytes;
	uint8_t pointer_enc, lsda_enc;
	bool has_augmentation_data, signal_frame;
	struct bytes program;
};

struct cfi_fde {
	struct cfi_cie cie;
	uint64_t start, end;
	bool dead; /* its function was thrown away by the linker */
	struct bytes program;
};

/*
 * Reads an encoded pointer. `b` stands inside `section`; `function` is what funcrel counts
 * from. b->bad when it is damaged. *ret_raw (may be NULL) is the value before its base was
 * added.
 */
uint64_t cfi_pointer(const struct cfi_section *section, struct bytes *b, uint8_t enc,
	uint8_t address_bytes, uint64_t function, uint64_t *ret_raw);

enum cfi_entry_kind {
	CFI_ENTRY_CIE,
	CFI_ENTRY_FDE,
	CFI_ENTRY_END, /* a length of 0 */
};

/*
 * The entry at `offset`; *ret_next is where the next one starts. 0 or -EBADMSG. With a CIE,
 * ret_fde->cie is filled, with an FDE everything; ret_fde->cie may hold the CIE of the last
 * call, which saves reading it again (zeroed at first: offset 0 with version 0 is none).
 */
int cfi_entry(const struct cfi_section *section, uint64_t offset, struct cfi_fde *ret_fde,
	enum cfi_entry_kind *ret_kind, uint64_t *ret_next);

/* Runs the programs of an entry as far as `vaddr`. 0 or -EBADMSG. */
int cfi_program_run(const struct cfi_section *section, const struct cfi_fde *fde,
	uint64_t vaddr, struct cfi_row *ret_row);
