/*
 * The unwinder: user registers + a copied piece of the stack + what the process has mapped ->
 * return addresses, and why they end.
 *
 *     registers, stack bytes --+
 *     target (mappings) -------+--> unwind_run() --> addresses, leaf first; stop reason
 *     modules (a callback) ----+
 *
 * Pure: it knows no process and makes no syscall but reading the files that it is handed.
 * Memory outside the copied stack comes from bytes that were read later (`late`) or through a
 * callback, both optional.
 *
 * Ways to find a caller, tried in this order at every frame, so they alternate freely within
 * one stack: call frame information (.eh_frame, .debug_frame), Go's .gopclntab, what the
 * machine code until the next `ret` does to the stack pointer (libraries without CFI), the
 * frame pointer, a scan of the stack for something that a call left there. What was found for a
 * code address is kept in a cache as a small rule.
 *
 * An unwinder belongs to one thread. In the steady state unwind_run() neither allocates nor
 * locks; it allocates and reads files when it meets a module for the first time.
 */
#pragma once

#include "object/cfi.h"
#include "object/elf.h"
#include "profile/quality.h"
#include "target/target.h"
#include "wick/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNWIND_DEPTH_MAX = 8000 }; /* a chain that fits in a record */

enum unwind_arch {
	UNWIND_X86_64,
	UNWIND_AARCH64,
};

/* The register mask to ask the kernel for (attr.sample_regs_user). */
#define UNWIND_REGS_X86_64  0xff0fffull
#define UNWIND_REGS_AARCH64 0x1ffffffffull

struct unwinder_options {
	/*
	 * The ELF file behind a dso (never a DSO_ANON), asked for once until it is closed
	 * again. 0: *ret_elf is open and its bytes can be read until close_module(). Negative:
	 * there is none (gone, replaced, not permitted), and the stack goes on without CFI.
	 */
	int (*open_module)(
		void *ctx, const struct target *target, uint32_t dso, struct elf *ret_elf);
	void (*close_module)(void *ctx, uint32_t dso, struct elf *elf); /* NULL: elf_close() */
	/*
	 * The row for code of a DSO_ANON (compiled while the program ran), at its run-time
	 * address; valid until the next call. 0; -ENOENT: it has none now, ask again next time;
	 * -ENODATA: the process has none at all, which is remembered until unwinder_forget().
	 * NULL: never any.
	 */
	int (*code_row)(void *ctx, const struct target *target, uint32_t process, uint64_t addr,
		struct cfi_row *ret_row);
	void *ctx;
	/*
	 * Memory for the tables of all modules; the least recently used go first. A file whose
	 * section alone is larger is unwound as if it had none. 0: 256 MiB
	 */
	size_t tables_limit;
};

struct unwinder;

/* 0 or -ENOMEM. */
int unwinder_new(const struct unwinder_options *options, struct unwinder **ret_unwinder);
void unwinder_free(struct unwinder *unwinder); /* NULL is fine */

/* Forgets a module, or all of them (TARGET_NONE): its file can be had now, or is another. */
void unwinder_forget(struct unwinder *unwinder, uint32_t dso);

struct unwind_input {
	enum unwind_arch arch;
	const struct target *target; /* as it was when the sample was taken */
	uint32_t process;
	const struct wick_regs *regs; /* as the record has them; abi NONE: nothing to unwind */
	const void *stack;	      /* what lay at [sp, sp + stack_bytes) */
	uint64_t stack_bytes;
	uint32_t depth_limit; /* 0: UNWIND_DEPTH_MAX */
	/*
	 * Memory as it was a little later: a piece of the stack that goes on where the copy
	 * ends and overlaps it (take at least 4 KiB of overlap), and anything else through
	 * read_memory() (len bytes or a negative errno). Nothing of it is believed before the
	 * outermost two frames of the copy were found unchanged in it: their return addresses
	 * and what else the rules read there.
	 */
	const void *late;
	uint64_t late_addr, late_bytes;
	int (*read_memory)(void *ctx, uint64_t addr, void *ret_bytes, size_t len);
	void *read_ctx;
	/* aarch64: address bits; those above are pointer authentication. 0: 48 */
	unsigned addr_bits;
	bool no_scan; /* end a stack in place of guessing */
};

/* How the caller of a frame was found, and what its address is. */
enum unwind_how {
	UNWIND_LEAF,   /* from the registers */
	UNWIND_BY_CFI, /* CFI or .gopclntab */
	UNWIND_BY_CODE,
	UNWIND_BY_FP,
	UNWIND_BY_SCAN, /* a guess */
	UNWIND_HOW_COUNT,
	UNWIND_HOW_MASK = 7,
	/*
	 * Not a return address: the instruction that a signal interrupted (or that the kernel
	 * returns to: the signal trampoline). Look it up as it is, not at - 1.
	 */
	UNWIND_EXACT = 8,
};

/* A frame whose return address lies in the copy: for comparing with what is read later. */
struct unwind_edge {
	uint64_t cfa;
	uint64_t slot;	/* where the return address lies */
	uint64_t value; /* the return address as it lies there */
};

struct unwind_result {
	uint64_t *addrs; /* the caller's, `cap` of them */
	uint8_t *hows;	 /* the caller's, enum unwind_how; NULL: not wanted */
	uint32_t cap;
	/* ---- set by unwind_run() */
	uint32_t count; /* leaf first */
	enum stack_stop stop;
	bool late;	    /* something was read from `late` or read_memory(), and verified */
	bool late_refused;  /* it was there, but had changed */
	uint32_t stop_dso;  /* where it ended: the module, TARGET_NONE outside of any */
	uint64_t stop_addr; /* the address whose caller was not found */
	uint64_t stop_read; /* STOP_COPY_EXHAUSTED, STOP_UNREADABLE: what could not be read */
	uint32_t counts[UNWIND_HOW_COUNT]; /* frames by how they were found */
	uint32_t edge_count;		   /* 0 to 2 */
	struct unwind_edge edges[2];	   /* outermost last */
};

/*
 * One stack. Always gives an answer: `stop` is never an error but says how it ended:
 *
 *   STOP_ROOT            CFI says that there is no caller, or the return address is 0
 *   STOP_NO_USER         no registers
 *   STOP_COPY_EXHAUSTED  the next frame lies above the copied bytes
 *   STOP_UNREADABLE      it lies elsewhere, and nobody could read it
 *   STOP_NO_CFI          the module says nothing about its frames and nothing else helped
 *   STOP_BAD_CFI         what it says is damaged, or leads nowhere
 *   STOP_DEPTH           depth_limit, or `cap`
 *   STOP_SWITCHED        Go's scheduler stack was unwound to its root, and the goroutine that
 *                        switched to it could not be read
 *
 * A first function known by name only (_start of a libc without CFI) is the caller's business.
 */
void unwind_run(struct unwinder *unwinder, const struct unwind_input *input,
	struct unwind_result *result);

struct unwind_stats {
	uint64_t frames;    /* steps taken */
	uint64_t hits;	    /* the rule was in the cache, and the mappings had not changed */
	uint64_t rechecked; /* it was there after a look at the mappings */
	uint64_t misses;
	uint64_t from_rows; /* of them: in a row that was worked out for another address */
	uint64_t modules_opened, modules_refused, modules_evicted;
	size_t tables_bytes; /* held now */
};

void unwinder_stats(const struct unwinder *unwinder, struct unwind_stats *ret_stats);
