/* A call tree as indented lines, or as a flat list of nodes in JSON. */
#pragma once

#include "formats/tree.h"
#include "view/json_out.h"
#include "view/report.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tree_view {
	const struct profile *profile;
	const struct report_options *options;
	const struct tree *tree;
	uint64_t all; /* the weight that is 100 % */
	bool is_ns;
	bool upwards; /* callers: from a function towards the root */
};

/* 0 or -ENOMEM. */
int tree_view_text(const struct tree_view *view, FILE *out);

/* Into the array that is open; a node's parent is before it. Without depth: stacks are deep. */
void tree_view_json(const struct tree_view *view, struct json_out *json);
