/*
 * Building walks each distinct stack once. A table remembers for (first level, stack) the node
 * where that stack's path ends:
 *
 *     sample's stack s4 --> parent s3 --> parent s2: remembered, node 17
 *                                          then s3 and s4 are stepped down from node 17
 *
 * so in a root-first tree a stack costs only the part that no stack before it had. A leaf-first
 * path shares nothing with its parents' paths and is walked whole, but only once.
 *
 * Self numbers are added where paths end. Parents stand before their children, so one pass from
 * the last node to the first makes the totals, and sorting the ids by (parent, weight or name)
 * puts each node's children together.
 */
#include "formats/tree.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_LIMIT = 16 << 20, MEMO_LIMIT = 64 << 20, NOWHERE = UINT32_MAX };

struct memo {
	uint32_t top, stack; /* the key */
	uint32_t node;	     /* NOWHERE: focus has not been met */
	bool cut;
};

struct builder {
	const struct profile *profile;
	const struct tree_options *options;
	struct tree *tree;
	uint32_t *module_of; /* the first module of the same path and kind */
	uint32_t *name_of;   /* of frames that are one step: the text's id, or NOWHERE */
	struct hash_index by_step, by_memo;
	struct memo *memos;
	uint32_t memo_count, memo_cap;
	uint32_t *path; /* stacks still to be walked, the last one first */
	uint32_t path_cap;
	struct strbuf text;
	bool cut; /* the walk of now met max_nodes */
};

static void builder_done(struct builder *b)
{
	free(b->module_of);
	free(b->name_of);
	free(b->memos);
	free(b->path);
	hash_done(&b->by_step);
	hash_done(&b->by_memo);
	strbuf_done(&b->text);
}

void tree_done(struct tree *tree)
{
	free(tree->nodes);
	free(tree->children);
	strings_done(&tree->names);
	*tree = (struct tree){0};
}

static int merge_modules(struct builder *b)
{
	const struct profile *profile = b->profile;
	struct hash_index by_path = {0};
	int rc = 0;

	b->module_of = calloc((size_t)profile->module_count + 1, sizeof(*b->module_of));
	if (!b->module_of)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && i < profile->module_count; i++) {
		const struct module *module = &profile->modules[i];
		uint32_t hash = hash_pair(module->path, module->kind), id;
		struct hash_probe probe = hash_probe(&by_path, hash);
		bool found = false;

		while (!found && hash_next(&by_path, &probe, &id))
			found = profile->modules[id].path == module->path &&
				profile->modules[id].kind == module->kind;
		b->module_of[i] = found ? id : i;
		if (!found)
			rc = hash_add(&by_path, hash, i);
	}
	hash_done(&by_path);
	return rc;
}

static int forget_names(struct builder *b)
{
	size_t bytes = ((size_t)b->profile->frame_count + 1) * sizeof(*b->name_of);

	b->name_of = malloc(bytes);
	if (!b->name_of)
		return -ENOMEM;
	memset(b->name_of, 0xff, bytes);
	return 0;
}

static int node_add(struct builder *b, const struct tree_node *node, uint32_t hash)
{
	struct tree *tree = b->tree;
	int rc = array_reserve(&tree->nodes, &tree->node_cap, (uint64_t)tree->node_count + 1,
		sizeof(*node), NODE_LIMIT);

	if (rc < 0)
		return rc;
	rc = hash_add(&b->by_step, hash, tree->node_count);
	if (rc < 0)
		return rc;
	tree->nodes[tree->node_count++] = *node;
	if (node->depth > tree->deepest)
		tree->deepest = node->depth;
	return 0;
}

static int make_text(struct builder *b, const struct tree_step *step, uint32_t *ret_name)
{
	const struct profile *profile = b->profile;

	strbuf_reset(&b->text);
	if (b->options->label)
		b->options->label(b->options->ctx, profile, step, &b->text);
	else if (step->frame == PROFILE_NONE)
		strbuf_puts(
			&b->text, profile_text(profile, profile->threads[step->thread].comm));
	else
		strbuf_puts(&b->text, frame_name(profile, step->frame, step->line));
	if (b->text.failed)
		return -ENOMEM;
	return strings_add(&b->tree->names, strbuf_text(&b->text), b->text.len, ret_name);
}

static int step_text(struct builder *b, const struct tree_step *step, uint32_t *ret_name)
{
	uint32_t *known = NULL;
	int rc;

	if (step->frame != PROFILE_NONE && b->profile->frames[step->frame].line_count < 2)
		known = &b->name_of[step->frame];
	if (known && *known != NOWHERE) {
		*ret_name = *known;
		return 0;
	}
	rc = make_text(b, step, ret_name);
	if (!rc && known)
		*known = *ret_name;
	return rc;
}

/* From *node to its child for this step, which is made where there is none. */
static int step_down(struct builder *b, const struct tree_step *step, uint32_t *node)
{
	struct tree *tree = b->tree;
	uint32_t limit = b->options->max_nodes ? b->options->max_nodes : NODE_LIMIT, hash, id;
	struct tree_node child = {
		.parent = *node, .frame = step->frame, .module = PROFILE_NONE};
	struct hash_probe probe;
	int rc;

	if (b->options->max_depth && tree->nodes[*node].depth >= b->options->max_depth)
		return 0;
	rc = step_text(b, step, &child.name);
	if (rc < 0)
		return rc;
	if (step->frame != PROFILE_NONE)
		child.module = b->module_of[b->profile->frames[step->frame].module];
	hash = hash_pair((uint64_t)child.parent << 32 | child.name,
		b->options->ignore_modules ? 0 : child.module);
	probe = hash_probe(&b->by_step, hash);
	while (hash_next(&b->by_step, &probe, &id)) {
		const struct tree_node *there = &tree->nodes[id];

		if (there->parent == child.parent && there->name == child.name &&
			(b->options->ignore_modules || there->module == child.module)) {
			*node = id;
			return 0;
		}
	}
	if (tree->node_count >= limit) {
		b->cut = true;
		return 0;
	}
	child.depth = tree->nodes[*node].depth + 1;
	rc = node_add(b, &child, hash);
	if (!rc)
		*node = tree->node_count - 1;
	return rc;
}

/* One frame of a path: its inlined functions in the tree's order. `top`: where a focus begins.
 */
static int frame_down(struct builder *b, uint32_t frame, uint32_t top, uint32_t *node)
{
	uint32_t lines = b->profile->frames[frame].line_count;
	int rc = 0;

	lines = lines ? lines : 1;
	for (uint32_t i = 0; !rc && !b->cut && i < lines; i++) {
		struct tree_step step = {.frame = frame, .thread = PROFILE_NONE};

		step.line = b->options->order == TREE_ROOT_FIRST ? lines - 1 - i : i;
		if (*node == NOWHERE && b->options->focus(b->options->ctx, b->profile, &step))
			*node = top;
		if (*node != NOWHERE)
			rc = step_down(b, &step, node);
	}
	return rc;
}

static const struct memo *memo_find(const struct builder *b, uint32_t top, uint32_t stack)
{
	struct hash_probe probe = hash_probe(&b->by_memo, hash_pair(top, stack));
	uint32_t id;

	while (hash_next(&b->by_memo, &probe, &id)) {
		if (b->memos[id].top == top && b->memos[id].stack == stack)
			return &b->memos[id];
	}
	return NULL;
}

static int memo_add(struct builder *b, const struct memo *memo)
{
	int rc = array_reserve(&b->memos, &b->memo_cap, (uint64_t)b->memo_count + 1,
		sizeof(*memo), MEMO_LIMIT);

	if (!rc)
		rc = hash_add(&b->by_memo, hash_pair(memo->top, memo->stack), b->memo_count);
	if (!rc)
		b->memos[b->memo_count++] = *memo;
	return rc;
}

static int walk_root_first(struct builder *b, uint32_t top, uint32_t stack, uint32_t *node)
{
	const struct memo *known = NULL;
	uint32_t n = 0, at = stack;
	int rc = 0;

	*node = b->options->focus ? NOWHERE : top;
	for (; at != PROFILE_NONE; at = b->profile->stacks[at].parent) {
		known = memo_find(b, top, at);
		if (known)
			break;
		rc = array_reserve(
			&b->path, &b->path_cap, (uint64_t)n + 1, sizeof(*b->path), UINT32_MAX);
		if (rc < 0)
			return rc;
		b->path[n++] = at;
	}
	if (known) {
		*node = known->node;
		b->cut = known->cut;
	}
	while (!rc && n) {
		at = b->path[--n];
		if (!b->cut)
			rc = frame_down(b, b->profile->stacks[at].frame, top, node);
		if (!rc)
			rc = memo_add(b, &(struct memo){top, at, *node, b->cut});
	}
	return rc;
}

static int walk_leaf_first(struct builder *b, uint32_t top, uint32_t stack, uint32_t *node)
{
	const struct memo *known = memo_find(b, top, stack);
	int rc = 0;

	if (known) {
		*node = known->node;
		b->cut = known->cut;
		return 0;
	}
	*node = b->options->focus ? NOWHERE : top;
	for (uint32_t at = stack; !rc && !b->cut && at != PROFILE_NONE;
		at = b->profile->stacks[at].parent)
		rc = frame_down(b, b->profile->stacks[at].frame, top, node);
	return rc ? rc : memo_add(b, &(struct memo){top, stack, *node, b->cut});
}

static int add_sample(struct builder *b, const struct sample *sample)
{
	const struct tree_options *options = b->options;
	struct tree_step thread = {PROFILE_NONE, 0, sample->thread};
	uint32_t top = 0, node;
	int rc = 0;

	b->cut = false;
	if (options->keep && !options->keep(options->ctx, b->profile, sample)) {
		b->tree->left_out++;
		return 0;
	}
	if (options->comm && !options->focus)
		rc = step_down(b, &thread, &top);
	node = options->focus ? NOWHERE : top;
	if (!rc && sample->stack != PROFILE_NONE)
		rc = options->order == TREE_ROOT_FIRST
			     ? walk_root_first(b, top, sample->stack, &node)
			     : walk_leaf_first(b, top, sample->stack, &node);
	if (rc < 0)
		return rc;
	if (node == NOWHERE) {
		b->tree->left_out++;
		return 0;
	}
	b->tree->cut += b->cut;
	b->tree->nodes[node].self_samples++;
	b->tree->nodes[node].self_weight += sample->weight;
	return 0;
}

static void make_totals(struct tree *tree)
{
	for (uint32_t i = tree->node_count; i-- > 0;) {
		struct tree_node *node = &tree->nodes[i];

		node->total_samples += node->self_samples;
		node->total_weight += node->self_weight;
		if (i) {
			tree->nodes[node->parent].total_samples += node->total_samples;
			tree->nodes[node->parent].total_weight += node->total_weight;
		}
	}
}

struct sorter {
	const struct builder *b;
	enum tree_sort by;
};

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_nodes(const void *pa, const void *pb, void *ctx)
{
	const struct sorter *sorter = ctx;
	const struct tree *tree = sorter->b->tree;
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	const struct tree_node *a = &tree->nodes[ia], *b = &tree->nodes[ib];
	const struct profile *profile = sorter->b->profile;
	int order = compare_u64(a->parent, b->parent);

	if (!order && sorter->by == TREE_BY_WEIGHT)
		order = compare_u64(b->total_weight, a->total_weight);
	if (!order && sorter->by == TREE_BY_WEIGHT)
		order = compare_u64(b->total_samples, a->total_samples);
	if (!order && a->name != b->name)
		order = strcmp(tree_name(tree, ia), tree_name(tree, ib));
	if (!order && a->module != b->module && a->module != PROFILE_NONE &&
		b->module != PROFILE_NONE)
		order = strcmp(profile_text(profile, profile->modules[a->module].path),
			profile_text(profile, profile->modules[b->module].path));
	return order ? order : compare_u64(ia, ib);
}

static int sort_children(struct builder *b)
{
	struct tree *tree = b->tree;
	struct sorter sorter = {b, b->options->sort};
	uint32_t n = tree->node_count - 1;

	tree->children = calloc((size_t)n + 1, sizeof(*tree->children));
	if (!tree->children)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		tree->children[i] = i + 1;
	qsort_r(tree->children, n, sizeof(*tree->children), compare_nodes, &sorter);
	for (uint32_t i = 0; i < n; i++) {
		struct tree_node *parent = &tree->nodes[tree->nodes[tree->children[i]].parent];

		if (!parent->child_count++)
			parent->first_child = i;
	}
	return 0;
}

static int grow_tree(struct builder *b)
{
	struct tree_node root = {
		.parent = UINT32_MAX, .module = PROFILE_NONE, .frame = PROFILE_NONE};
	int rc = merge_modules(b);

	if (!rc)
		rc = forget_names(b);
	if (!rc)
		rc = strings_add(&b->tree->names, "", 0, &root.name);
	if (!rc)
		rc = node_add(b, &root, 0);
	for (uint32_t i = 0; !rc && i < b->profile->sample_count; i++)
		rc = add_sample(b, &b->profile->samples[i]);
	if (rc < 0)
		return rc;
	make_totals(b->tree);
	return sort_children(b);
}

int tree_build(const struct profile *profile, const struct tree_options *options,
	struct tree *ret_tree)
{
	struct tree tree = {0};
	struct builder b = {.profile = profile, .options = options, .tree = &tree};
	int rc = grow_tree(&b);

	builder_done(&b);
	if (rc < 0) {
		tree_done(&tree);
		return rc;
	}
	*ret_tree = tree;
	return 0;
}
