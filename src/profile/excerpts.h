/*
 * Code that travels: the bytes of the hot functions, and which source line each of them is of.
 * perf.data files carry them in a feature section of their own (docs/FORMATS.md, "wick-code
 * 1"), so that `wick annotate` shows instructions on another machine and after the program is
 * gone. Sources are not in there. Pure.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "profile/names.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* The code of one function. Rows: struct code_row with `file` a string of the profile. */
struct excerpt {
	uint32_t module;	   /* of the profile */
	uint64_t addr;		   /* its first byte, counted as the frames of the module are */
	uint64_t vaddr;		   /* the same as the file's symbols count; to be shown */
	uint16_t machine;	   /* EM_* */
	uint32_t first_byte, size; /* in `bytes`; size 0: there is no code, `why` says it */
	uint32_t first_row, row_count; /* in the order of their offsets */
	const char *why;	       /* static text, or NULL */
	bool brought;		       /* by the recording */
};

/* A zeroed struct is an empty table. */
struct excerpts {
	struct excerpt *at;
	uint8_t *bytes;
	struct code_row *rows;
	uint32_t count, cap, byte_count, byte_cap, row_count, row_cap;
};

enum {
	EXCERPTS_MAX = 1 << 16,
	EXCERPT_BYTES_MAX = 64 << 20,
	EXCERPT_ROWS_MAX = 16 << 20,
};

void excerpts_done(struct excerpts *excerpts);

/*
 * Adds one with its bytes (`size` of them; copied) and then the rows of the one that was added
 * last. 0, -ENOMEM, -ENOSPC.
 */
int excerpts_add(struct excerpts *excerpts, const struct excerpt *excerpt, const void *bytes);
int excerpts_add_row(struct excerpts *excerpts, const struct code_row *row);

/* The one that begins there, or NULL. */
const struct excerpt *excerpts_find(
	const struct excerpts *excerpts, uint32_t module, uint64_t addr);

/* The row at an offset into the code, or NULL; one without a line is NULL, too. */
const struct code_row *excerpt_row(
	const struct excerpts *excerpts, const struct excerpt *excerpt, uint64_t offset);

/* Those with code, as bytes; nothing is written where there are none. 0, -ENOMEM, -EFBIG. */
int excerpts_write(const struct excerpts *excerpts, const struct profile *profile,
	struct strbuf *ret_bytes);

/*
 * Back, into a table that may have some already; modules and strings that the profile lacks are
 * added to it. -ENOTSUP: a version or a packing that this build does not know; -EBADMSG:
 * damaged, nothing of it is kept; -ENOMEM. All with a sentence.
 */
int excerpts_read(const void *bytes, size_t len, struct profile *profile,
	struct excerpts *excerpts, struct error *err);
