/* What the files of debug_info share. */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "object/debug_image.h"
#include "object/debug_info.h"
#include "object/debug_split.h"
#include "object/intervals.h"

#include <elfutils/libdw.h>

enum {
	DEBUG_DEPTH_MAX = 256,	    /* of nested entries */
	DEBUG_HOPS_MAX = 16,	    /* from a copy to its original, from a definition to its
				       declaration */
	DEBUG_RANGES_MAX = 1 << 16, /* of one entry */
	DEBUG_SCOPES_MAX = 1 << 24, /* of one unit */
};

/* A function or an inlined copy in it. */
struct debug_scope {
	Dwarf_Die die;
	uint64_t lo;	 /* its first byte */
	uint32_t parent; /* the scope it is inlined into; UINT32_MAX: it is a function */
	uint32_t call_file, call_line, call_column;
};

struct debug_row { /* of the line table */
	uint64_t addr;
	const char *file;
	uint32_t line;
	uint16_t column;
	bool end; /* no code from here on */
};

struct debug_unit {
	Dwarf_Off offset; /* of the unit's first entry */
	uint64_t bytes;	  /* up to the next unit */
	Dwarf_Die die;	  /* valid while walked; of the split part where there is one */
	bool walked;
	char *dwo_name; /* of a skeleton, as the file has it; kept when the tables are dropped
			 */
	struct debug_scope *scopes;
	uint32_t scope_count, scope_cap;
	struct intervals ranges; /* to scopes */
	struct debug_row *rows;	 /* by address */
	uint32_t row_count;
	const char *comp_dir; /* libdw's, or NULL */
	Dwarf_Files *files;   /* libdw's */
	size_t file_count;
};

/* What an original is called, kept by the address of its entry; and files, by libdw's string.
 */
struct debug_name {
	const void *key;
	const char *linkage_name, *name; /* in the arena, or NULL */
};

struct debug_names {
	struct arena arena;
	struct debug_name *items;
	uint32_t count, cap;
	struct hash_index index;
};

/*
 * Fills a unit's tables; lines are those of `lines_die` (the skeleton of a split unit). No more
 * entries are looked at than it has bytes. 0 or -ENOMEM: damaged parts are left out.
 */
int debug_unit_walk(
	struct debug_unit *unit, Dwarf_Die *die, Dwarf_Die *lines_die, uint64_t unit_bytes);
void debug_unit_done(struct debug_unit *unit); /* forgets the tables */
uint64_t debug_unit_bytes(const struct debug_unit *unit);

/* Where the other halves of skeletons come from. */
struct debug_skeletons {
	const struct debug_package *package; /* or NULL */
	const struct debug_finder *finder;   /* or NULL */
	const struct debug_image *image;     /* where a skeleton's name is changed */
	bool big_endian;
};

bool debug_is_skeleton(Dwarf_Die *die);

/*
 * 1, the first entry of the split unit, and the bytes it holds until the handle is closed; 0:
 * it is not to be found; or -ENOMEM.
 */
int debug_skeleton_join(struct debug_skeletons *skeletons, struct debug_unit *unit,
	Dwarf_Die *die, Dwarf_Die *ret_die, uint64_t *ret_bytes);

/* Adds an entry's ranges of addresses. *ret_lo: the lowest. Returns how many, or -ENOMEM. */
int debug_ranges_add(struct intervals *list, Dwarf_Die *die, uint32_t value, uint64_t *ret_lo);

/* A number of an entry itself (0: not there). */
uint32_t debug_number(Dwarf_Die *die, unsigned attribute);

/* The name of a function, an original's where it is a copy. 0 or -ENOMEM. */
int debug_names_get(struct debug_names *names, const Dwarf_Die *die, struct debug_name *ret);
/* A file of libdw's, its unit's directory before it where it is relative. 0 or -ENOMEM. */
int debug_names_file(struct debug_names *names, const char *comp_dir, const char *file,
	const char **ret_file);
void debug_names_done(struct debug_names *names);
