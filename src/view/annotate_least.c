/* The limit becomes a weight: what weighs as much as the last one that fits is shown, too. */
#include "view/annotate_view.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

static int falling(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? 1 : *x > *y ? -1 : 0;
}

static uint64_t least_of(uint64_t *weights, uint32_t count, uint32_t limit)
{
	uint64_t least = 0;

	if (!limit || count <= limit)
		return 0;
	qsort(weights, count, sizeof(*weights), falling);
	least = weights[limit - 1];
	return least ? least : 1;
}

int annotate_least(struct annotate_least *ret_least, const struct annotate_view *view,
	const struct annotation *it)
{
	cleanup_free uint64_t *weights =
		calloc((size_t)it->instruction_count + it->line_count + 1, sizeof(*weights));

	if (!weights)
		return -ENOMEM;
	for (uint32_t i = 0; i < it->line_count; i++)
		weights[i] = it->lines[i].weight;
	ret_least->line = least_of(weights, it->line_count, view->limit);
	for (uint32_t i = 0; i < it->instruction_count; i++)
		weights[i] = it->instructions[i].weight;
	ret_least->instruction = least_of(weights, it->instruction_count, view->limit);
	return 0;
}
