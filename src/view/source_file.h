/* Source files that debug information names, where they are still there: by line. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* A larger file is taken for none, and so are those past the limits of all; longer lines are
 * cut. */
enum {
	SOURCE_BYTES_MAX = 16 << 20,
	SOURCE_LINE_MAX = 400,
	SOURCES_BYTES_MAX = 256 << 20, /* in memory: texts and where their lines begin */
	SOURCES_MAX = 1024,
	SOURCE_SLOTS = 4 * SOURCES_MAX,
};

struct source_file {
	uint32_t name; /* the caller's number for it */
	struct strbuf text;
	uint32_t *starts; /* of line i + 1 */
	uint32_t count;	  /* lines; 0: the file is not here */
	const char *why;  /* then: "not found here" and its like; static */
};

/* A zeroed struct has none yet. */
struct source_files {
	const char *root; /* put before every path; NULL: none */
	struct source_file *at;
	uint32_t count;
	uint64_t bytes;
	uint16_t slots[SOURCE_SLOTS]; /* by name: an index + 1; 0: free */
};

/* Whether a path is called as sources are. */
bool source_name_is_one(const char *path);

void source_files_done(struct source_files *files);

/* The file, read when it is first asked for; count 0: it is not shown. NULL: out of memory. */
const struct source_file *source_file_get(
	struct source_files *files, uint32_t name, const char *path);

/* Puts a line (from 1 on) into `out`, tabs as blanks. False: there is no such line. */
bool source_line(const struct source_file *file, uint32_t line, struct strbuf *out);
