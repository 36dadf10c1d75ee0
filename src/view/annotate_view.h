/* Annotated functions for people and for programs. */
#pragma once

#include "view/annotate.h"
#include "view/source_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct annotate_view {
	const struct profile *profile;
	const struct excerpts *excerpts;
	const struct annotate_hits *hits;
	const struct annotation *at; /* hottest first */
	uint32_t count;
	struct source_files *sources; /* NULL: sources are not to be shown */
	uint32_t limit; /* only so many of the hottest instructions and lines; 0: all */
	bool colour, utf8;
};

/*
 * For each function a head, its source lines and its instructions; percent are shares of the
 * function's own samples. 0 or -ENOMEM.
 */
int annotate_view_text(const struct annotate_view *view, FILE *out);

/*
 * {"schema": "wick-annotate/1", "event", "unit": "ns" or "events", "samples", "weight" (of
 * all), "functions": [{"function", "linkage_name", "module", "path", "address", "size", "code":
 * "recording", "file" or null, "why" (there is none), "cut": whether it has more instructions
 * than are here, "samples", "weight", "share_pct", "lines": [{"file", "line", "samples",
 * "weight", "self_pct", "source" or null}], "instructions": [{"address", "bytes", "text",
 * "file", "line", "samples", "weight", "self_pct"}]}]}; addresses are hexadecimal strings, as
 * the file's symbols count.
 */
int annotate_view_json(const struct annotate_view *view, FILE *out);

/* The weights that lines and instructions of a function must have to be shown under the limit.
 */
struct annotate_least {
	uint64_t line, instruction;
};

int annotate_least(struct annotate_least *ret_least, const struct annotate_view *view,
	const struct annotation *it);
