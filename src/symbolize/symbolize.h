/*
 * Names for the frames of a profile: (module, address) -> functions and lines.
 *
 * Off the per-sample path: each distinct frame is resolved once, modules are opened when their
 * first frame is. Order for a file: the pinned descriptor, /proc/PID/map_files and
 * /proc/PID/root of a process that still has it mapped (live only), then its path; a build id
 * decides where there is one, else the inode; a file that is not the one that was mapped never
 * lends its symbols; at last, by build id, what debuginfod clients fetched. The function that
 * was called is named by the symbol table, where that has the address; what is inlined into it,
 * and the lines, come from DWARF (module_debug.h). Kernel symbols come from /proc/kallsyms,
 * read when the first kernel frame asks, and only when the running kernel is the one that was
 * recorded (build id), moved by the difference of _stext.
 */
#pragma once

#include "base/error.h"
#include "proc/identity.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct symbolizer;

/* Where a process leaves its perf map. The descriptors stay the lender's. */
struct map_folder {
	struct proc_identity who;
	int fd;	    /* of the folder */
	int map_fd; /* of the map, as it was while the process ran; -1: there was none */
};

/* The map in such a folder, for keeping; a descriptor of the caller's, or negative. */
int perf_map_file_open(int folder, int32_t number);

struct symbolizer_options {
	bool live; /* the processes run on this machine now: /proc/PID may be asked */
	bool no_demangle;
	bool no_inlines; /* functions of the symbol tables only: no inlined ones, no lines */
	const char *debug_dir; /* searched for debug files before /usr/lib/debug; NULL: none */
	const char *debug_cache;     /* what debuginfod clients fetched; NULL or "": none */
	const char *kallsyms;	     /* path, NULL: /proc/kallsyms */
	const char *kernel_cache;    /* a folder to remember kallsyms in, NULL: do not */
	const char *kernel_notes;    /* path, NULL: /sys/kernel/notes */
	uint8_t kernel_build_id[20]; /* of the recorded kernel; 0 bytes: not known */
	uint8_t kernel_build_id_bytes;
	/* It was recorded on this host, under a kernel of the release that runs now. Together
	 * with a random address at which it lay then and lies now, that is as good as an id. */
	bool same_release;
	const char *sysroot; /* put before every path; NULL: none */
	/* A descriptor that was pinned while the module was mapped (it stays the callee's), or
	 * -1. */
	int (*pinned_fd)(void *ctx, const struct profile *profile, uint32_t module);
	/* The /tmp of a process, kept open while it ran; false: it was not. NULL: never. */
	bool (*map_folder)(void *ctx, int32_t pid, struct map_folder *ret_folder);
	void *ctx;
};

/* What became of a module, for the quality block. */
enum module_outcome {
	MODULE_NOT_TRIED,
	MODULE_NAMED,	    /* has a full symbol table */
	MODULE_DYNSYM_ONLY, /* stripped: exported names only */
	MODULE_NO_SYMBOLS,  /* stripped, nothing left */
	MODULE_FILE_MISSING,
	MODULE_FILE_CHANGED, /* another build id or inode: not used */
	MODULE_FILE_BROKEN,  /* not an ELF file, or damaged */
	MODULE_HIDDEN,	     /* kptr_restrict, or another kernel than the recorded one */
	MODULE_NO_FILE,	     /* anonymous memory */
	MODULE_MAP_CUT,	     /* the perf map has more lines or bytes than are read */
	MODULE_MAP_BAD,	     /* nearly none of its lines is one */
	MODULE_MAP_REFUSED,  /* it is another user's, or an earlier process's */
	MODULE_MAP_CLOSED,   /* it cannot be read */
	MODULE_OUTCOMES,
};

int symbolizer_new(
	const struct symbolizer_options *options, struct symbolizer **ret_symbolizer);
void symbolizer_free(struct symbolizer *symbolizer);

/*
 * Resolves one frame (nothing happens when it is resolved). 0 or -ENOMEM, -ENOSPC: no name is
 * no error. Debug information stays open for the next frame, up to a limit of memory.
 */
int symbolize_frame(struct symbolizer *symbolizer, struct profile *profile, uint32_t frame);

/*
 * The symbol that a frame lies in, as the symbol table has it, without looking at debug
 * information and without resolving the frame: quick enough to be asked while recording. NULL:
 * none. Valid until the symbolizer's next call.
 */
const char *symbolizer_symbol(
	struct symbolizer *symbolizer, const struct profile *profile, uint32_t frame);

/* Resolves all, a module at a time; `progress` (may be NULL) is told (done, total) now and
 * then. */
int symbolize_all(struct symbolizer *symbolizer, struct profile *profile,
	void (*progress)(void *ctx, uint32_t done, uint32_t total), void *ctx);

/* Forgets what it knows of files: others are there now. Frames that have names keep them. */
void symbolizer_forget_files(struct symbolizer *symbolizer);

enum module_outcome symbolizer_outcome(const struct symbolizer *symbolizer, uint32_t module);

/* The file that the module's inlined functions and lines came from; "": there was none. */
const char *symbolizer_debug_file(const struct symbolizer *symbolizer, uint32_t module);

/*
 * The source lines of [addr, addr + size), which is to be one function's of a file, by its
 * debug information: `row` gets them by address, `offset` counting from addr; `file` NULL: of
 * no line. 0 (also where there are none), what `row` returned if not 0, or -ENOMEM, -ENOSPC.
 */
int symbolizer_lines(struct symbolizer *symbolizer, const struct profile *profile,
	uint32_t module, uint64_t addr, uint64_t size,
	int (*row)(void *ctx, uint64_t offset, const char *file, uint32_t line), void *ctx);

/* What debug information may cost where somebody waits. */
struct symbolize_budget {
	uint64_t cpu_ns; /* of this thread */
	uint64_t bytes;	 /* of memory at a time */
};

/*
 * Resolves all: by the symbol tables; and with inlined functions and lines, those that stand in
 * most samples first, as far as the budget goes. It holds for later calls, too. *ret_left: how
 * many frames have less than there is.
 */
int symbolize_within(struct symbolizer *symbolizer, struct profile *profile,
	const struct symbolize_budget *budget, uint32_t *ret_left);

/* Have frames of the module less than there is, for want of budget? */
bool symbolizer_left(const struct symbolizer *symbolizer, uint32_t module);

/* What it was made with. */
const struct symbolizer_options *symbolizer_options(const struct symbolizer *symbolizer);

/* One plain sentence with the remedy; "" for MODULE_NAMED. */
const char *module_outcome_text(enum module_outcome outcome);

/*
 * True for functions at which a complete stack ends: _start, the threads' clone and clone3,
 * __start_context, runtime.goexit, ...; by linkage name.
 */
bool symbol_is_root(const char *linkage_name);

/*
 * True for roots, and for the C library's functions between a root and the program's first
 * function
 * (__libc_start_call_main, start_thread, ...). glibc is built without frame pointers and clears
 * the register before it calls, so a *frame-pointer chain* that lost nothing ends there, one or
 * two frames below the root. An unwinder that reads CFI goes on to the root itself.
 */
bool symbol_is_start(const char *linkage_name);
