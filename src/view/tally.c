/*
 * Samples are grouped by their thread keys (a counting sort), and one group at a time is spread
 * over the stack table, which is a forest (a stack's parent is nearer to the root):
 *
 *     mark     from each sample's stack up to the first marked one; weights stay at the stack
 *     link     the marked stacks to their parents as lists of children
 *     walk     depth first; on the way down count each label on the path, on the way back add a
 *              stack's weight to its parent's, and to every label whose count falls to zero
 *
 * A label's count falls to zero at its outermost frame only, so recursion counts once. The walk
 * needs no stack of its own: the links say where to go next, however deep it is.
 */
#include "view/tally.h"

#include "base/array.h"
#include "view/figure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROW_MAX (1u << 28)

struct stack_work { /* of a stack, valid when mark is the group's number */
	uint32_t mark;
	uint32_t child, sibling;
	uint64_t weight, samples;
};

struct label_work { /* of a label, valid when mark is the group's number */
	uint32_t mark;
	uint32_t row;
	uint32_t on_path;
};

struct work {
	struct tally *tally;
	const struct profile *profile;
	const struct label_table *labels;
	struct stack_work *nodes;
	struct label_work *by_label;
	uint32_t *touched;
	uint32_t touched_count;
	uint32_t mark;	 /* the group's number, from 1 */
	uint32_t thread; /* the group's */
};

struct groups {
	uint32_t *of_thread;	/* group by thread id */
	uint32_t *first_thread; /* of a group */
	uint32_t *order;	/* sample ids, group by group */
	uint32_t *start;	/* in `order`; count + 1 entries */
	uint32_t count;
};

static void groups_done(struct groups *groups)
{
	free(groups->of_thread);
	free(groups->first_thread);
	free(groups->order);
	free(groups->start);
}

static bool same_group(
	const struct profile_thread *a, const struct profile_thread *b, unsigned keys)
{
	return (!(keys & TALLY_COMM) || a->comm == b->comm) &&
	       (!(keys & TALLY_PID) || a->pid == b->pid) &&
	       (!(keys & TALLY_TID) || a->tid == b->tid);
}

static int groups_of_threads(
	struct groups *groups, const struct profile *profile, unsigned keys)
{
	struct hash_index index = {0};
	int rc = 0;

	for (uint32_t i = 0; i < profile->thread_count && rc == 0; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		uint32_t hash = hash_pair(keys & TALLY_COMM ? thread->comm : 0,
			(uint64_t)(uint32_t)(keys & TALLY_PID ? thread->pid : 0) << 32 |
				(uint32_t)(keys & TALLY_TID ? thread->tid : 0));
		struct hash_probe probe = hash_probe(&index, hash);
		uint32_t group, found = groups->count;

		while (found == groups->count && hash_next(&index, &probe, &group))
			if (same_group(thread, &profile->threads[groups->first_thread[group]],
				    keys))
				found = group;
		if (found == groups->count) {
			rc = hash_add(&index, hash, found);
			groups->first_thread[groups->count++] = i;
		}
		groups->of_thread[i] = found;
	}
	hash_done(&index);
	return rc;
}

static bool wanted(
	const struct selection *selection, const struct sample *sample, uint16_t event)
{
	return sample->event == event && selection_has(selection, sample);
}

static int groups_make(struct groups *groups, const struct profile *profile,
	const struct selection *selection, unsigned keys, uint16_t event)
{
	uint32_t *at;

	*groups = (struct groups){0};
	groups->of_thread = calloc((size_t)profile->thread_count + 1, sizeof(uint32_t));
	groups->first_thread = calloc((size_t)profile->thread_count + 1, sizeof(uint32_t));
	groups->order = calloc((size_t)profile->sample_count + 1, sizeof(uint32_t));
	groups->start = calloc((size_t)profile->thread_count + 2, sizeof(uint32_t));
	if (!groups->of_thread || !groups->first_thread || !groups->order || !groups->start ||
		groups_of_threads(groups, profile, keys) < 0)
		return -ENOMEM;
	/* start[g + 1] counts, then start[g] is where group g goes to, then it has moved on by
	 * one */
	for (uint32_t i = 0; i < profile->sample_count; i++)
		if (wanted(selection, &profile->samples[i], event))
			groups->start[groups->of_thread[profile->samples[i].thread] + 1]++;
	for (uint32_t g = 0; g < groups->count; g++)
		groups->start[g + 1] += groups->start[g];
	at = calloc((size_t)groups->count + 1, sizeof(*at));
	if (!at)
		return -ENOMEM;
	memcpy(at, groups->start, groups->count * sizeof(*at));
	for (uint32_t i = 0; i < profile->sample_count; i++)
		if (wanted(selection, &profile->samples[i], event))
			groups->order[at[groups->of_thread[profile->samples[i].thread]]++] = i;
	free(at);
	return 0;
}

static int row_new(struct work *work, uint32_t label, uint32_t *ret_row)
{
	struct tally *tally = work->tally;
	int rc = array_reserve(&tally->rows, &tally->cap, (uint64_t)tally->count + 1,
		sizeof(*tally->rows), ROW_MAX);

	if (rc < 0)
		return rc;
	tally->rows[tally->count] = (struct tally_row){.thread = work->thread, .label = label};
	*ret_row = tally->count++;
	return 0;
}

/* The group's row of a label, made when it is first seen. */
static int label_row(struct work *work, uint32_t label, struct label_work **ret_work)
{
	struct label_work *it = &work->by_label[label];
	int rc = 0;

	if (it->mark != work->mark) {
		rc = row_new(work, label, &it->row);
		if (rc == 0) {
			it->mark = work->mark;
			it->on_path = 0;
		}
	}
	*ret_work = it;
	return rc;
}

static void row_add(struct tally_row *row, bool self, uint64_t weight, uint64_t samples)
{
	uint64_t *to = self ? &row->self : &row->total;

	*to = add_saturating(*to, weight);
	if (self)
		row->self_samples += samples;
	else
		row->total_samples += samples;
}

static uint32_t parent_of(const struct work *work, uint32_t stack)
{
	uint32_t parent = work->profile->stacks[stack].parent;

	return parent < stack ? parent : PROFILE_NONE;
}

static void mark_path(struct work *work, uint32_t stack)
{
	for (; stack != PROFILE_NONE && work->nodes[stack].mark != work->mark;
		stack = parent_of(work, stack)) {
		work->nodes[stack] =
			(struct stack_work){work->mark, PROFILE_NONE, PROFILE_NONE, 0, 0};
		work->touched[work->touched_count++] = stack;
	}
}

/* One sample: its self, and its weight at its stack for the totals. */
static int count_sample(struct work *work, const struct sample *sample)
{
	const struct label_table *labels = work->labels;
	struct label_work *label;
	uint32_t id = labels->no_stack;
	int rc;

	if (sample->stack != PROFILE_NONE)
		id = labels->ids[labels->first[work->profile->stacks[sample->stack].frame]];
	rc = label_row(work, id, &label);
	if (rc < 0)
		return rc;
	row_add(&work->tally->rows[label->row], true, sample->weight, 1);
	if (sample->stack == PROFILE_NONE) {
		row_add(&work->tally->rows[label->row], false, sample->weight, 1);
		return 0;
	}
	mark_path(work, sample->stack);
	work->nodes[sample->stack].weight =
		add_saturating(work->nodes[sample->stack].weight, sample->weight);
	work->nodes[sample->stack].samples++;
	return 0;
}

static uint32_t link_nodes(struct work *work)
{
	uint32_t roots = PROFILE_NONE;

	for (uint32_t i = 0; i < work->touched_count; i++) {
		uint32_t stack = work->touched[i], parent = parent_of(work, stack);
		uint32_t *list = parent == PROFILE_NONE ? &roots : &work->nodes[parent].child;

		work->nodes[stack].sibling = *list;
		*list = stack;
	}
	return roots;
}

static int enter(struct work *work, uint32_t stack)
{
	uint32_t frame = work->profile->stacks[stack].frame;
	struct label_work *label;

	for (uint32_t i = work->labels->first[frame]; i < work->labels->first[frame + 1]; i++) {
		int rc = label_row(work, work->labels->ids[i], &label);

		if (rc < 0)
			return rc;
		label->on_path++;
	}
	return 0;
}

static void leave(struct work *work, uint32_t stack)
{
	const struct stack_work *node = &work->nodes[stack];
	uint32_t frame = work->profile->stacks[stack].frame, parent = parent_of(work, stack);

	for (uint32_t i = work->labels->first[frame]; i < work->labels->first[frame + 1]; i++) {
		struct label_work *label = &work->by_label[work->labels->ids[i]];

		if (--label->on_path == 0)
			row_add(&work->tally->rows[label->row], false, node->weight,
				node->samples);
	}
	if (parent == PROFILE_NONE)
		return;
	work->nodes[parent].weight = add_saturating(work->nodes[parent].weight, node->weight);
	work->nodes[parent].samples += node->samples;
}

static int walk(struct work *work, uint32_t roots)
{
	uint32_t at = roots;

	while (at != PROFILE_NONE) {
		int rc = enter(work, at);

		if (rc < 0)
			return rc;
		if (work->nodes[at].child != PROFILE_NONE) {
			at = work->nodes[at].child;
			continue;
		}
		for (;;) {
			leave(work, at);
			if (work->nodes[at].sibling != PROFILE_NONE) {
				at = work->nodes[at].sibling;
				break;
			}
			at = parent_of(work, at);
			if (at == PROFILE_NONE)
				return 0;
		}
	}
	return 0;
}

static int count_group(struct work *work, const struct groups *groups, uint32_t group)
{
	const struct sample *samples = work->profile->samples;
	uint32_t row = 0;
	int rc = 0;

	work->mark++;
	work->touched_count = 0;
	if (!work->labels)
		rc = row_new(work, PROFILE_NONE, &row);
	for (uint32_t i = groups->start[group]; i < groups->start[group + 1] && rc == 0; i++) {
		const struct sample *sample = &samples[groups->order[i]];

		work->tally->weight = add_saturating(work->tally->weight, sample->weight);
		work->tally->samples++;
		if (work->labels) {
			rc = count_sample(work, sample);
			continue;
		}
		row_add(&work->tally->rows[row], true, sample->weight, 1);
		row_add(&work->tally->rows[row], false, sample->weight, 1);
	}
	if (rc == 0 && work->labels)
		rc = walk(work, link_nodes(work));
	return rc;
}

static int by_self_then_total(const void *a, const void *b)
{
	const struct tally_row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	if (x->total_samples != y->total_samples)
		return x->total_samples < y->total_samples ? 1 : -1;
	if (x->label != y->label) /* ids grow in the order of first sight: a stable last word */
		return x->label > y->label ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

int tally_make(struct tally *tally, const struct profile *profile,
	const struct selection *selection, const struct label_table *labels, unsigned keys,
	uint16_t event)
{
	struct work work = {.tally = tally, .profile = profile, .labels = labels};
	struct groups groups;
	int rc;

	*tally = (struct tally){0};
	rc = groups_make(&groups, profile, selection, keys, event);
	if (rc == 0 && labels) {
		work.nodes = calloc((size_t)profile->stack_count + 1, sizeof(*work.nodes));
		work.touched = calloc((size_t)profile->stack_count + 1, sizeof(*work.touched));
		work.by_label = calloc((size_t)labels->count + 1, sizeof(*work.by_label));
		if (!work.nodes || !work.touched || !work.by_label)
			rc = -ENOMEM;
	}
	for (uint32_t group = 0; group < groups.count && rc == 0; group++) {
		if (groups.start[group] == groups.start[group + 1])
			continue;
		work.thread = keys ? groups.first_thread[group] : PROFILE_NONE;
		rc = count_group(&work, &groups, group);
	}
	groups_done(&groups);
	free(work.nodes);
	free(work.touched);
	free(work.by_label);
	if (rc < 0)
		tally_done(tally);
	else if (tally->count > 0)
		qsort(tally->rows, tally->count, sizeof(*tally->rows), by_self_then_total);
	return rc;
}

void tally_done(struct tally *tally)
{
	free(tally->rows);
	*tally = (struct tally){0};
}
