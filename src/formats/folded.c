/*
 * Folded stacks, the input of flamegraph.pl, speedscope, inferno and others:
 *
 *     python3;_start;main;run;[libz.so.1] 12
 *
 * One line a distinct (command, path of names), root first, then the number of *samples*: users
 * of perf's stackcollapse scripts expect counts. Inlined functions are steps of their own. A
 * function without a name is its module in brackets. ';' separates, so in names it becomes ':';
 * a command's spaces become '_', as the perf scripts do it. Kernel functions carry no "_[k]"
 * suffix (the scripts add it only when asked): names stay what other tools call them. Lines are
 * sorted.
 */
#include "formats/export.h"

#include "base/cleanup.h"
#include "formats/escape.h"
#include "formats/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool keep_sample(void *ctx, const struct profile *profile, const struct sample *sample)
{
	(void)ctx;
	return export_keeps_event(profile, sample->event);
}

static void put_label(void *ctx, const struct profile *profile, const struct tree_step *step,
	struct strbuf *out)
{
	const char *name;
	size_t start = out->len;

	(void)ctx;
	if (step->frame == PROFILE_NONE) {
		name = profile_text(profile, profile->threads[step->thread].comm);
		escape_line(out, *name ? name : "[unknown]", ';', ':');
		for (size_t i = start; i < out->len; i++) {
			if (out->text[i] == ' ')
				out->text[i] = '_';
		}
		return;
	}
	name = frame_name(profile, step->frame, step->line);
	if (strcmp(name, "[unknown]") != 0 || profile->frames[step->frame].marker) {
		escape_line(out, name, ';', ':');
		return;
	}
	name = module_short_name(profile, profile->frames[step->frame].module);
	if (*name == '[') {
		escape_line(out, name, ';', ':');
		return;
	}
	strbuf_putc(out, '[');
	escape_line(out, name, ';', ':');
	strbuf_putc(out, ']');
}

/*
 * Depth first without recursion: `line` holds the names down to where we are, `ends` where the
 * line of each depth ends, `next` which child of it comes next.
 */
struct walk {
	struct strbuf line;
	size_t *ends;
	uint32_t *next;
};

static void walk_done(struct walk *walk)
{
	strbuf_done(&walk->line);
	free(walk->ends);
	free(walk->next);
}

static void write_lines(const struct tree *tree, struct walk *walk, FILE *out)
{
	uint32_t at = 0, depth = 0;

	for (;;) {
		const struct tree_node *node = &tree->nodes[at];

		if (walk->next[depth] == node->child_count) {
			if (!depth)
				return;
			at = node->parent;
			depth--;
			continue;
		}
		at = tree->children[node->first_child + walk->next[depth]++];
		node = &tree->nodes[at];
		walk->line.len = walk->ends[depth];
		if (depth)
			strbuf_putc(&walk->line, ';');
		strbuf_puts(&walk->line, tree_name(tree, at));
		walk->ends[++depth] = walk->line.len;
		walk->next[depth] = 0;
		if (node->self_samples) {
			fwrite(strbuf_text(&walk->line), 1, walk->line.len, out);
			fprintf(out, " %" PRIu64 "\n", node->self_samples);
		}
	}
}

static int fold(const struct tree *tree, FILE *out)
{
	struct walk walk = {0};
	int rc = -ENOMEM;

	walk.ends = calloc((size_t)tree->deepest + 1, sizeof(*walk.ends));
	walk.next = calloc((size_t)tree->deepest + 1, sizeof(*walk.next));
	if (walk.ends && walk.next) {
		write_lines(tree, &walk, out);
		rc = walk.line.failed ? -ENOMEM : 0;
	}
	walk_done(&walk);
	return rc;
}

int folded_write(const struct profile *profile, FILE *out, struct error *err)
{
	struct tree_options options = {.comm = true,
		.ignore_modules = true,
		.sort = TREE_BY_NAME,
		.keep = keep_sample,
		.label = put_label};
	cleanup_with(tree_done) struct tree tree = {0};
	int rc = tree_build(profile, &options, &tree);

	if (!rc)
		rc = fold(&tree, out);
	if (rc < 0)
		return error_set(err, rc, "folding the stacks failed: %s", strerror(-rc));
	return export_finish(out, err);
}
