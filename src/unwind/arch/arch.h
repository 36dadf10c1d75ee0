/*
 * What the unwinder knows about a CPU: its registers and how its code looks. Registers go by
 * their DWARF numbers. Everything works on every host: recordings are unwound elsewhere.
 */
#pragma once

#include "object/cfi.h"
#include "unwind/unwind.h"

enum { ARCH_TRACKED_MAX = 12 };

struct code_view;
struct code_result;

struct arch {
	uint16_t machine;   /* EM_* of the files that may be unwound */
	uint8_t sp, fp, ra; /* `ra`: the column, and the link register if there is one */
	bool link_register; /* a leaf's return address is in a register */
	uint8_t perf_pc;    /* the program counter's bit in perf's register mask */
	uint8_t perf_count; /* perf's registers that have a DWARF number, or ARCH_NONE */
	const uint8_t *dwarf_of_perf;
	uint64_t callee_saved; /* registers that survive a call, sp apart, as bits */
	uint8_t tracked_count; /* what rules restore: the callee-saved ones */
	const uint8_t *tracked;
	uint8_t call_bytes_max; /* the longest call instruction */
	/* Does a call instruction end where these bytes (before an address) end? */
	bool (*ends_in_call)(const uint8_t *bytes, size_t len);
	/* Do these bytes begin with the system call that ends a signal handler? */
	bool (*is_sigreturn)(const uint8_t *bytes, size_t len);
	/*
	 * What the kernel saved for a signal handler: words from sp, the registers in the order
	 * of their DWARF numbers in `sigframe_regs`.
	 */
	uint16_t sigframe_offset; /* of the first saved register, from sp */
	uint8_t sigframe_count;
	const uint8_t *sigframe_regs; /* ARCH_NONE: skip; ARCH_PC: the program counter */
	/* What the code from an address on does to the frame; NULL: not known for this CPU. */
	bool (*code_frame)(const struct code_view *view, struct code_result *ret_result);
	/*
	 * Can the call that ends where `bytes` end (at run-time address `addr`) have entered a
	 * function that lies at [lo, hi)? A direct call goes to its start, to a stub of the
	 * PLT, or to a function that jumps there. NULL: nobody can tell; then it is believed.
	 */
	bool (*call_enters)(const struct code_view *view, const uint8_t *bytes, size_t len,
		uint64_t addr, uint64_t lo, uint64_t hi);
};

enum { ARCH_NONE = 255, ARCH_PC = 254 };

/* NULL: unknown. */
const struct arch *arch_of(enum unwind_arch arch);

extern const struct arch arch_x86_64, arch_aarch64;

/* Code, read as needed; addresses are vaddrs of a file, or run-time ones where there is none.
 */
struct code_view {
	/* Up to `len` bytes at an address; returns how many there are. */
	size_t (*read)(void *ctx, uint64_t at, void *ret_bytes, size_t len);
	void *ctx;
	uint64_t at;		 /* where to begin */
	bool after_call;	 /* `at` is a return address */
	uint64_t function_start; /* of the symbol that holds it; 0: not known */
	const uint64_t *starts;	 /* known starts of functions, sorted */
	uint32_t start_count;
};

/* In words from the CFA. */
enum { CODE_NOT_SAVED = INT16_MIN };

struct code_result {
	uint8_t cfa_reg;
	int32_t cfa_offset;
	bool unsure;			 /* not all ways agree: a frame pointer is worth more */
	bool no_return;			 /* no path from here comes back */
	bool ra_in_reg;			 /* the return address never left the link register */
	int16_t ra;			 /* else where it lies */
	int16_t saved[ARCH_TRACKED_MAX]; /* as arch.tracked */
};

/* Is that one of the known starts? */
bool code_is_start(const struct code_view *view, uint64_t at);

/* Up to `len` bytes of a file at a vaddr; returns how many there are (0: none). */
size_t code_read(const struct elf *elf, uint64_t vaddr, void *ret_bytes, size_t len);
