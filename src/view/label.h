/*
 * What a line of a report stands for: a function, a module, "[unknown]" in a module, a marker.
 *
 * Frames are addresses; a report counts by what people call them. Each distinct thing gets one
 * label, and each frame the labels of its lines (an inlined function is a thing of its own), so
 * that tables and trees count small numbers.
 */
#pragma once

#include "base/hash.h"
#include "base/error.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum label_kind {
	LABEL_FUNCTION,
	LABEL_UNKNOWN,	/* code without a name */
	LABEL_MARKER,	/* no code: [truncated: ...] */
	LABEL_NO_STACK, /* a sample without any frame */
};

struct label {
	enum label_kind kind;
	uint32_t name;	 /* string, 0: none */
	uint32_t module; /* PROFILE_NONE: none */
	uint32_t file,
		line;	 /* where it was executing or calling, as LABEL_BY_LINE; 0: unknown */
	uint32_t column; /* as LABEL_BY_COLUMN */
	bool kernel;
	bool called; /* seen as a function of its own, not only inlined into others */
	bool inlined;
};

struct label_table {
	const struct profile *profile;
	struct label *labels;
	uint32_t count, cap;
	struct hash_index by_key;
	uint32_t *first;   /* by frame: where its labels start in `ids` */
	uint32_t *ids;	   /* innermost first; first[frame + 1] ends them */
	uint32_t no_stack; /* the label of samples without a frame */
};

enum label_identity {
	LABEL_BY_NAME = 1,
	LABEL_BY_MODULE = 2,
	LABEL_BY_LINE = 4,
	LABEL_BY_COLUMN = 8, /* with LABEL_BY_LINE */
};

/* 0 or -ENOMEM. `identity` is what makes two lines the same thing: LABEL_BY_* bits. */
int label_table_init(
	struct label_table *table, const struct profile *profile, unsigned identity);
void label_table_done(struct label_table *table);

/* The name as it is in the profile ("[unknown]" where there is none), never NULL. */
const char *label_name(const struct label_table *table, uint32_t label);
const char *label_module(const struct label_table *table, uint32_t label); /* "" for none */

/* module_short_name(), but "[kernel]" for what records have under several names. */
const char *module_shown(const struct profile *profile, uint32_t module);

/* "[k] " in front of the kernel's functions, "(inlined)" behind, else "". */
const char *label_prefix(const struct label_table *table, uint32_t label);
const char *label_suffix(const struct label_table *table, uint32_t label);

/*
 * The labels that `pattern` means: those whose whole name it is; else whose name without the
 * arguments it is; else in whose name it is; "/.../": whom the regular expression matches.
 * *ret_ids is the caller's to free. 0; -EINVAL: a broken expression; -ENOENT; -ENOMEM.
 */
int label_find(const struct label_table *table, const char *pattern, uint32_t **ret_ids,
	uint32_t *ret_count, struct error *err);
