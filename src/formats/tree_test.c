#include "formats/tree.h"

#include "tests/unit_test.h"

#include "formats/test_profile.h"

#include <errno.h>

/* The tree as text: "name:self/total(children...)" in the order of the children. */
static void put_tree(const struct tree *tree, uint32_t node, struct strbuf *out)
{
	const struct tree_node *n = &tree->nodes[node];

	strbuf_printf(out, "%s:%llu/%llu", tree_name(tree, node),
		(unsigned long long)n->self_weight, (unsigned long long)n->total_weight);
	if (n->child_count)
		strbuf_putc(out, '(');
	for (uint32_t i = 0; i < n->child_count; i++) {
		if (i)
			strbuf_putc(out, ' ');
		put_tree(tree, tree->children[n->first_child + i], out);
	}
	if (n->child_count)
		strbuf_putc(out, ')');
}

static void check(
	const struct profile *profile, const struct tree_options *options, const char *want)
{
	struct tree tree;
	struct strbuf text = {0};

	assert_int_equal(tree_build(profile, options, &tree), 0);
	put_tree(&tree, 0, &text);
	assert_string_equal(strbuf_text(&text), want);
	strbuf_done(&text);
	tree_done(&tree);
	tree_done(&tree);
}

static void an_empty_profile_is_a_root(void **state)
{
	struct profile p = {0};

	(void)state;
	check(&p, &(struct tree_options){0}, ":0/0");
	check(&p, &(struct tree_options){.order = TREE_LEAF_FIRST, .comm = true}, ":0/0");
}

static struct profile three_stacks(void)
{
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/bin/a");

	make_sample(&p, "a", make_stack(&p, a, "main work leaf"), 10);
	make_sample(&p, "a", make_stack(&p, a, "main work"), 5);
	make_sample(&p, "b", make_stack(&p, a, "main idle leaf"), 20);
	make_sample(&p, "a", make_stack(&p, a, "main work leaf"), 1);
	return p;
}

static void paths_are_merged_by_name(void **state)
{
	struct profile p = three_stacks();

	(void)state;
	check(&p, &(struct tree_options){0},
		":0/36(main:0/36(idle:0/20(leaf:20/20) work:5/16(leaf:11/11)))");
	check(&p, &(struct tree_options){.order = TREE_LEAF_FIRST},
		":0/36(leaf:0/31(idle:0/20(main:20/20) work:0/11(main:11/11)) "
		"work:0/5(main:5/5))");
	check(&p, &(struct tree_options){.comm = true, .sort = TREE_BY_NAME},
		":0/36(a:0/16(main:0/16(work:5/16(leaf:11/11))) "
		"b:0/20(main:0/20(idle:0/20(leaf:20/20))))");
	check(&p, &(struct tree_options){.max_depth = 2},
		":0/36(main:0/36(idle:20/20 work:16/16))");
	profile_done(&p);
}

/* Other addresses and inodes are the same function; another module is not. */
static void modules_tell_functions_apart(void **state)
{
	struct profile p = {0};
	struct module again = {.kind = MODULE_FILE, .ino = 9};
	uint32_t a = make_module(&p, MODULE_FILE, "/bin/a"),
		 b = make_module(&p, MODULE_FILE, "/b"), c;

	(void)state;
	assert_int_equal(profile_string(&p, "/bin/a", &again.path), 0);
	assert_int_equal(profile_module(&p, &again, &c), 0);
	assert_int_not_equal(a, c);
	make_sample(&p, "x", make_stack(&p, a, "main"), 1);
	make_sample(&p, "x", make_stack(&p, b, "main"), 2);
	make_sample(&p, "x", make_stack(&p, c, "main"), 4);
	check(&p, &(struct tree_options){0}, ":0/7(main:5/5 main:2/2)");
	check(&p, &(struct tree_options){.ignore_modules = true}, ":0/7(main:7/7)");
	make_sample(&p, "x", PROFILE_NONE, 8);
	check(&p, &(struct tree_options){.comm = true, .ignore_modules = true},
		":0/15(x:8/15(main:7/7))");
	profile_done(&p);
}

static void inlined_functions_are_steps(void **state)
{
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/a"), frame = make_frame(&p, a, ""), stack;
	struct line lines[3] = {{.function = make_function(&p, a, "inner", 1)},
		{.function = make_function(&p, a, "middle", 1)},
		{.function = make_function(&p, a, "outer", 1)}};

	(void)state;
	assert_int_equal(profile_resolve(&p, frame, lines, 3), 0);
	assert_int_equal(profile_stack(&p, make_stack(&p, a, "main"), frame, &stack), 0);
	make_sample(&p, "a", stack, 3);
	check(&p, &(struct tree_options){0},
		":0/3(main:0/3(outer:0/3(middle:0/3(inner:3/3))))");
	check(&p, &(struct tree_options){.order = TREE_LEAF_FIRST},
		":0/3(inner:0/3(middle:0/3(outer:0/3(main:3/3))))");
	profile_done(&p);
}

static bool is_f(void *ctx, const struct profile *profile, const struct tree_step *step)
{
	(void)ctx;
	return !strcmp(frame_name(profile, step->frame, step->line), "f");
}

static bool is_heavy(void *ctx, const struct profile *profile, const struct sample *sample)
{
	(void)profile;
	return sample->weight >= *(const uint64_t *)ctx;
}

/* A recursive function counts once a sample, whichever way one looks from it. */
static void focus_starts_at_a_function(void **state)
{
	struct profile p = {0};
	uint32_t a = make_module(&p, MODULE_FILE, "/a");
	uint64_t least = 2;

	(void)state;
	make_sample(&p, "a", make_stack(&p, a, "main f g f h"), 1);
	make_sample(&p, "a", make_stack(&p, a, "main f g"), 2);
	make_sample(&p, "a", make_stack(&p, a, "main k"), 4);
	check(&p, &(struct tree_options){.focus = is_f}, ":0/3(f:0/3(g:2/3(f:0/1(h:1/1))))");
	check(&p, &(struct tree_options){.focus = is_f, .order = TREE_LEAF_FIRST},
		":0/3(f:0/3(main:2/2 g:0/1(f:0/1(main:1/1))))");
	check(&p, &(struct tree_options){.keep = is_heavy, .ctx = &least},
		":0/6(main:0/6(k:4/4 f:0/2(g:2/2)))");
	profile_done(&p);
}

/* The node limit cuts paths but loses no weight, and says how many samples it touched. */
static void the_limit_keeps_the_sums(void **state)
{
	struct profile p = three_stacks();
	struct tree tree;

	(void)state;
	assert_int_equal(tree_build(&p, &(struct tree_options){.max_nodes = 3}, &tree), 0);
	assert_int_equal(tree.node_count, 3);
	assert_int_equal(tree.nodes[0].total_weight, 36);
	assert_int_equal(tree.nodes[0].total_samples, 4);
	assert_int_equal(tree.cut, 3);
	tree_done(&tree);
	profile_done(&p);
}

/* 3,000 samples in one recursion of 8,000 frames: each frame is stepped over once. */
static void deep_recursion_is_linear(void **state)
{
	enum { DEPTH = 8000, SAMPLES = 3000 };
	struct profile p = {0};
	struct tree tree;
	uint32_t a = make_module(&p, MODULE_FILE, "/a"), stack = PROFILE_NONE;

	(void)state;
	for (uint32_t i = 0; i < DEPTH; i++) {
		assert_int_equal(profile_stack(&p, stack, make_frame(&p, a, "r"), &stack), 0);
		if (i >= DEPTH - SAMPLES)
			make_sample(&p, "a", stack, 1);
	}
	assert_int_equal(tree_build(&p, &(struct tree_options){0}, &tree), 0);
	assert_int_equal(tree.node_count, DEPTH + 1);
	assert_int_equal(tree.deepest, DEPTH);
	assert_int_equal(tree.nodes[1].total_weight, SAMPLES);
	assert_int_equal(tree.nodes[DEPTH].self_weight, 1);
	tree_done(&tree);
	assert_int_equal(
		tree_build(&p,
			&(struct tree_options){.order = TREE_LEAF_FIRST, .max_depth = 10},
			&tree),
		0);
	assert_int_equal(tree.node_count, 11);
	assert_int_equal(tree.nodes[10].self_weight, SAMPLES);
	tree_done(&tree);
	profile_done(&p);
}

/* 100,000 distinct stacks: as many nodes as there are distinct prefixes, not one more. */
static void many_stacks_are_shared(void **state)
{
	enum { FAN = 316 };
	struct profile p = {0};
	struct tree tree;
	uint32_t a = make_module(&p, MODULE_FILE, "/a"), root, mid, leaf, frames[FAN];

	(void)state;
	for (uint32_t i = 0; i < FAN; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		frames[i] = make_frame(&p, a, name);
	}
	root = make_stack(&p, a, "main");
	for (uint32_t i = 0; i < FAN * FAN; i++) {
		assert_int_equal(profile_stack(&p, root, frames[i / FAN], &mid), 0);
		assert_int_equal(profile_stack(&p, mid, frames[i % FAN], &leaf), 0);
		make_sample(&p, "a", leaf, 1);
	}
	assert_int_equal(tree_build(&p, &(struct tree_options){0}, &tree), 0);
	assert_int_equal(tree.node_count, 2 + FAN + FAN * FAN);
	assert_int_equal(tree.nodes[0].total_samples, FAN * FAN);
	assert_int_equal(tree.nodes[1].child_count, FAN);
	tree_done(&tree);
	profile_done(&p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_empty_profile_is_a_root),
	cmocka_unit_test(paths_are_merged_by_name),
	cmocka_unit_test(modules_tell_functions_apart),
	cmocka_unit_test(inlined_functions_are_steps),
	cmocka_unit_test(focus_starts_at_a_function),
	cmocka_unit_test(the_limit_keeps_the_sums),
	cmocka_unit_test(deep_recursion_is_linear),
	cmocka_unit_test(many_stacks_are_shared),
};
UNIT_TESTS("tree", tests)
