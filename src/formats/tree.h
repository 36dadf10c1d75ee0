/*
 * A call tree: the samples of a profile, merged by the names on their paths.
 *
 *     root (node 0) --> main --> work --> leaf        TREE_ROOT_FIRST: who calls what
 *     root (node 0) --> leaf --> work --> main        TREE_LEAF_FIRST: who was reached from
 * where
 *
 * A step of a path is one function as people see it: each inlined function is a step of its
 * own, and a marker ("[truncated: ...]") is one. Two steps are the same when their text and
 * their module (by path and kind) are; addresses do not matter. The profile must not change
 * while a tree lives. Root-first trees take memory linear in the distinct stacks; leaf-first
 * ones cannot (each sampled stack is a path of its own), so they may want `max_depth`. Nothing
 * recurses.
 */
#pragma once

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum tree_order { TREE_ROOT_FIRST, TREE_LEAF_FIRST };
enum tree_sort { TREE_BY_WEIGHT, TREE_BY_NAME };

/* Where the text of a node comes from. */
struct tree_step {
	uint32_t frame;	 /* PROFILE_NONE: the step is a thread's name */
	uint32_t line;	 /* the frame's inline index, 0 innermost */
	uint32_t thread; /* PROFILE_NONE unless the step is a thread's name */
};

struct tree_options {
	enum tree_order order;
	enum tree_sort sort; /* of each node's children */
	bool comm;	     /* the first level is the threads' names */
	bool ignore_modules; /* steps of equal text are the same, whatever their module */
	uint32_t max_depth;  /* steps below the root; what is deeper counts there; 0: all */
	uint32_t max_nodes;  /* 0: 16 M; what does not fit counts where it stopped */
	void *ctx;	     /* for the three below, each may be NULL */
	/* Which samples take part. */
	bool (*keep)(void *ctx, const struct profile *profile, const struct sample *sample);
	/*
	 * Paths begin at a step that this chooses: the outermost such in TREE_ROOT_FIRST
	 * (callees), the innermost in TREE_LEAF_FIRST (callers). Paths without one take
	 * no part. There is no level of threads' names then.
	 */
	bool (*focus)(void *ctx, const struct profile *profile, const struct tree_step *step);
	/*
	 * Appends the text of a step; NULL: frame_name(), or the thread's name. The same step
	 * has the same text each time.
	 */
	void (*label)(void *ctx, const struct profile *profile, const struct tree_step *step,
		struct strbuf *out);
};

struct tree_node {
	uint32_t parent;		   /* UINT32_MAX for node 0 */
	uint32_t name;			   /* see tree_name() */
	uint32_t module;		   /* PROFILE_NONE: a thread's name */
	uint32_t frame;			   /* one of its frames, or PROFILE_NONE */
	uint32_t depth;			   /* 0 for node 0 */
	uint32_t first_child, child_count; /* in tree.children */
	uint64_t self_weight, total_weight;
	uint64_t self_samples, total_samples; /* self: of the paths that end here */
};

struct tree {
	struct tree_node *nodes; /* parents before their children */
	uint32_t node_count, node_cap;
	uint32_t *children; /* node ids, those of one parent together, sorted */
	uint64_t left_out;  /* samples that keep or focus refused */
	uint64_t cut;	    /* samples whose path met max_nodes */
	uint32_t deepest;   /* the largest depth */
	struct strings names;
};

/* 0 or -ENOMEM or -ENOSPC (texts); the tree is empty then. */
int tree_build(const struct profile *profile, const struct tree_options *options,
	struct tree *ret_tree);
void tree_done(struct tree *tree);

static inline const char *tree_name(const struct tree *tree, uint32_t node)
{
	return strings_get(&tree->names, tree->nodes[node].name);
}
