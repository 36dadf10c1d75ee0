/*
 * DWARF 2 to 5, by libdw: an address in a file -> the functions that are inlined there, and the
 * source lines, innermost first.
 *
 * A unit is walked once, when its first address is asked for, into a table of ranges and one of
 * lines; each address then costs two binary searches. Memory: the debug sections that are
 * needed, inflated (debug_image.h), and the tables of the units that were walked; when those
 * have grown past a limit (DEBUG_UNITS_BYTES) all are dropped and libdw's handle is opened
 * anew. Asking in the order of the addresses walks few units twice.
 *
 * Debug information is input from outside: numbers of entries, the depth of nesting, the hops
 * from a copy to its original and the ranges of an entry are limited; past a limit there are
 * fewer names. (What libdw itself does with damaged sections is libdw's.)
 *
 * Built without libdw, opening is -EOPNOTSUPP.
 */
#pragma once

#include "object/elf.h"

#include <stdbool.h>
#include <stdint.h>

struct debug_info;

/* One function, or one inlined copy. Strings live until the next debug_info_find(). */
struct debug_step {
	const char *linkage_name; /* "_ZN3foo3barEv"; NULL: it has none */
	const char *name;	  /* as DWARF has it, with its scopes ("foo::bar"); or NULL */
	const char *file;	  /* as absolute as DWARF has it; NULL: unknown */
	uint32_t line, column;	  /* where execution is, or the call of the step before; 0:
				     unknown */
	uint64_t vaddr;		  /* the function's first byte; 0 for an inlined copy */
};

enum { DEBUG_STEPS_MAX = 512, DEBUG_UNITS_BYTES = 256 << 20 };

/* Where the parts of a split program are (.dwo files, a .dwp); NULL where there are none. */
struct debug_finder {
	/*
	 * Opens a file that the debug information names (relative ones below comp_dir or beside
	 * the program). A descriptor, which becomes debug_info's, or negative. The
	 * finder must live as long as the debug_info.
	 */
	int (*open)(void *ctx, const char *comp_dir, const char *name);
	void *ctx;
};

struct debug_files {
	const struct elf *elf; /* the file with .debug_info */
	const struct elf *alt; /* what its .gnu_debugaltlink names, or NULL */
	const struct elf *dwp; /* NULL: none */
	const struct debug_finder *finder;
	uint64_t bytes_max; /* of the file's sections and of the alt's, inflated; 0: no limit */
};

/*
 * Reads what it needs: the files may be closed after it (the dwp must stay open). -ENODATA: no
 * DWARF in there; -EBADMSG: libdw does not take it; -EFBIG: more than bytes_max, or than 4 GB;
 * -ENOMEM, -EOPNOTSUPP.
 */
int debug_info_open(const struct debug_files *files, struct debug_info **ret_info);
void debug_info_close(struct debug_info *info);

/*
 * The steps at an address, innermost first; the last one is the function that was called. 0
 * steps: the address is in no unit. A step without a name may stand alone: only the line is
 * known. Returns the number of steps, at most DEBUG_STEPS_MAX, or -ENOMEM.
 */
int debug_info_find(
	struct debug_info *info, uint64_t vaddr, const struct debug_step **ret_steps);

/* A row of the line table, cut to the range that was asked for. */
struct debug_line {
	uint64_t vaddr;	  /* from here on, to the next row */
	const char *file; /* as absolute as DWARF has it; NULL: unknown. Lives until the next
			     call */
	uint32_t line;	  /* 0: of no line */
};

/*
 * The rows that tell the lines of [start, end), which is to be one function's: by address, the
 * first of them at `start`. Returns 0, what `row` returned where that was not 0, or -ENOMEM.
 */
int debug_info_lines(struct debug_info *info, uint64_t start, uint64_t end,
	int (*row)(void *ctx, const struct debug_line *line), void *ctx);

/* Has the address's unit been walked, so that finding is quick? True where there is no unit. */
bool debug_info_is_walked(const struct debug_info *info, uint64_t vaddr);

/* Bytes held now, sections included. */
uint64_t debug_info_bytes(const struct debug_info *info);
