/*
 * Names that travel: those of a profile's frames as bytes, and back. perf.data files carry them
 * in a feature section (docs/FORMATS.md, "wick-names 1"), so that a recording reads the same on
 * another machine and after its programs are gone. Pure.
 *
 * A frame is known again by its module (kind, path, build id, inode; the process where the code
 * is its own) and its address. Code of JIT compilers, whose addresses are used again, is known
 * by process, address and time: it stands in a table of its own (struct codes).
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* From `offset` bytes into the code on, it is this line. */
struct code_row {
	uint64_t offset;
	uint32_t file; /* string of the table */
	uint32_t line;
	uint32_t column; /* 0: unknown */
};

/* A function that was compiled while the program ran; it lay there in [start_ns, end_ns). */
struct code {
	int32_t pid;
	uint64_t addr, size;
	uint64_t start_ns, end_ns; /* end: UINT64_MAX, to the end */
	uint64_t key;		   /* no two functions of a process share [key, key + size) */
	uint32_t name, path;	   /* strings of the table; path: of the file that told */
	uint32_t first_row, row_count; /* rows in the order of their offsets */
	bool sampled;		       /* a frame lies in it: names_write() takes only those */
};

/* A zeroed struct is an empty table. */
struct codes {
	struct strings strings;
	struct code *at;
	struct code_row *rows;
	uint32_t count, cap, row_count, row_cap;
	uint32_t sorted_count; /* codes_find() sorts when there are more */
	uint64_t max_size;
};

enum { CODES_LIMIT = 16 << 20 };

struct codes_walk {
	uint32_t next, steps; /* of all calls */
};

void codes_done(struct codes *codes);
/* Adds a function, and then the rows of the one that was added last. 0, -ENOMEM, -ENOSPC. */
int codes_add(struct codes *codes, const struct code *code);
int codes_add_row(struct codes *codes, const struct code_row *row);
/* The function that lay at `addr` of a process at that time, or NULL. May move the table. */
struct code *codes_find(struct codes *codes, int32_t pid, uint64_t addr, uint64_t time_ns);
/* The next function that lay at `addr` at any time, or NULL; a walk begins zeroed. */
struct code *codes_each(
	struct codes *codes, int32_t pid, uint64_t addr, struct codes_walk *walk);
/* The row at an offset into a function, or NULL. */
const struct code_row *codes_row(
	const struct codes *codes, const struct code *code, uint64_t offset);

/* ---- out */

/* With an outcome: inlined functions and lines of some frames were left out, for want of time.
 */
enum { NAMES_LEFT = 0x80 };

struct names_source {
	const struct profile *profile;
	/* What became of a module's file, a number of the caller's below NAMES_LEFT, which may
	 * be added; NULL: 0. */
	uint8_t (*outcome)(void *ctx, uint32_t module);
	/* The file that the module's lines came from, "": none; NULL: not known. */
	const char *(*debug_file)(void *ctx, uint32_t module);
	void *ctx;
	const struct codes *codes; /* NULL: none */
};

/* The frames that have names. 0, -ENOMEM, or -EFBIG past NAMES_BYTES_MAX (nothing is kept). */
int names_write(const struct names_source *source, struct strbuf *ret_bytes);

/* ---- in */

struct names;

enum { NAMES_BYTES_MAX = 1 << 28 };

/*
 * -ENOTSUP: a version or a packing that this build does not know; -EBADMSG: damaged; -ENOMEM.
 * All with a sentence.
 */
int names_read(const void *bytes, size_t len, struct names **ret_names, struct error *err);
void names_free(struct names *names); /* takes NULL */

/* Leave out inlined functions and lines; give the names of the symbol tables. */
void names_choose(struct names *names, bool no_inlines, bool no_demangle);

/*
 * Names a frame that has no name. All calls with one profile: what was found is remembered
 * by its ids. 1: done; 0: not known here; -ENOMEM, -ENOSPC.
 */
int names_frame(struct names *names, struct profile *profile, uint32_t frame);

/*
 * There may be more in the files: true for a frame of which only the symbol's name is known
 * here, and whose module has NAMES_LEFT, and for one whose function has no name.
 */
bool names_has_less(struct names *names, const struct profile *profile, uint32_t frame);

/* The linkage name of the function that a frame lies in, or NULL; the profile stays as it is.
 * The caller's buffer lends the room. */
const char *names_symbol(struct names *names, const struct profile *profile, uint32_t frame,
	struct strbuf *room);

/* The number that names_source.outcome gave for a module; 0: none, or not known here. */
uint8_t names_outcome(struct names *names, const struct profile *profile, uint32_t module);

/* What names_source.debug_file gave for a module; "": nothing, or not known here. */
int names_debug_file(
	struct names *names, struct profile *profile, uint32_t module, uint32_t *ret_string);

/* Was there a file of that path and inode, without a build id? */
bool names_has_file(const struct names *names, const char *path, uint64_t ino);

/* The JIT-compiled functions; they stay the names'. */
struct codes *names_codes(struct names *names);

/* How many frames it can name. */
uint32_t names_count(const struct names *names);
