/*
 * Call frame information: for a code address of an ELF file, where its caller's registers are.
 *
 * From .eh_frame (found through the table in .eh_frame_hdr where it is there and tells the
 * truth, else through an index of our own) and .debug_frame. Both classes and byte orders, all
 * pointer encodings, CIE versions 1, 3 and 4, the augmentations "eh", z, R, P, L, S, B, G, and
 * all DW_CFA_* with GNU's and AArch64's.
 *
 * Sources: DWARF 5 chapter 6.4, the LSB core specification 10.6, the AArch64 DWARF ABI.
 * Addresses are vaddrs. A struct cfi is used by one thread at a time. After opening only
 * cfi_find() may still read from the file, and allocate: the first time that .debug_frame is
 * needed, or that the table of .eh_frame_hdr is not believed.
 */
#pragma once

#include "object/elf.h"

enum {
	CFI_REGS = 35, /* DWARF numbers kept; higher ones (vector registers) are skipped */
	CFI_AARCH64_RA_STATE = 34,
};

enum cfi_rule_kind {
	CFI_UNSPECIFIED, /* as the ABI has it: the value is still in the register */
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_OFFSET,	/* at memory CFA + offset */
	CFI_VAL_OFFSET, /* is CFA + offset */
	CFI_REGISTER,	/* is in register `offset` */
	CFI_EXPR,	/* at memory <expression> */
	CFI_VAL_EXPR,	/* is <expression> */
};

struct cfi_rule {
	uint8_t kind;	   /* enum cfi_rule_kind */
	uint32_t expr_len; /* bytes, of expressions */
	union {
		int64_t offset;
		const uint8_t *expr; /* valid until cfi_free() */
	};
};

/* What holds for the addresses [start, end). */
struct cfi_row {
	uint64_t start, end;
	uint64_t function_start, function_end; /* of the FDE */
	/* CFA = register + offset; or, when cfa.kind is CFI_VAL_EXPR, an expression */
	struct cfi_rule cfa;
	uint16_t cfa_reg;
	uint16_t ra_reg;   /* the column of the return address */
	bool signal_frame; /* the caller was interrupted: its address is exact */
	bool ra_signed;	   /* AArch64: the return address carries authentication bits */
	struct cfi_rule regs[CFI_REGS];
};

struct cfi;

/*
 * Reads what the file has; `elf` stays the caller's and must live (and stay readable) as long
 * as the cfi. -ENOENT: the file has no call frame information. -EFBIG: a section is larger than
 * `limit`. -ENOMEM, -ENODATA, -EIO, -EBADMSG.
 */
int cfi_open(const struct elf *elf, size_t limit, struct cfi **ret_cfi);

/* A bare .eh_frame that lies at an address of its own, for 64-bit code. */
struct cfi_bare {
	const void *bytes; /* the caller's; must live as long as the cfi */
	size_t len;
	uint64_t
		vaddr; /* of the first byte: what pointers that are relative to it count from */
	uint16_t machine;
	bool swap; /* of the other byte order */
};

/* 0 or -ENOMEM. */
int cfi_open_bare(const struct cfi_bare *bare, struct cfi **ret_cfi);
void cfi_free(struct cfi *cfi); /* NULL is fine */

/* Memory held, in bytes. */
size_t cfi_bytes(const struct cfi *cfi);

/* The row for an address. 0; -ENOENT: nothing covers it; -EBADMSG: it is damaged; -ENOMEM. */
int cfi_find(struct cfi *cfi, uint64_t vaddr, struct cfi_row *ret_row);

struct cfi_range {
	uint64_t start, end;
};

/*
 * What .eh_frame's FDEs cover, sorted by start: the functions of a file without symbols (parts
 * of some: a compiler may give a function's cold part an FDE of its own). *ret_ranges is to be
 * freed. Their number, or -ENOMEM.
 */
int cfi_ranges(struct cfi *cfi, struct cfi_range **ret_ranges);

/* For tests: how addresses are found. */
enum cfi_lookup {
	CFI_BY_HDR,
	CFI_BY_INDEX,
};

enum cfi_lookup cfi_lookup_kind(const struct cfi *cfi);
