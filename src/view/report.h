/*
 * A profile as text for people, JSON for programs or Markdown for an issue: the honest block
 * first, then a table of functions or other keys, or a tree.
 *
 * Everything goes into the caller's FILE; nothing is decided by what that FILE is (term.h helps
 * the caller to decide). Percentages are shares of what was selected by `thread` and `time`.
 */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "view/quality_view.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum report_format {
	REPORT_TEXT,
	REPORT_JSON,
	REPORT_MARKDOWN,
};

#define REPORT_LIMIT_DEFAULT UINT32_MAX

struct report_options {
	enum report_format format;
	/*
	 * Rows by these keys, comma separated: comm, pid, tid, thread (= comm,tid), dso
	 * (module), symbol (function), srcline (file:line). NULL: dso,symbol. Rows are sorted
	 * by self, then total.
	 */
	const char *sort;
	/*
	 * Each call and each place of execution for itself: file:line:column behind the names
	 * of a tree, a column of its own in a table.
	 */
	bool srcline;
	bool tree;    /* the call tree from the root, instead of the table */
	bool modules; /* how well each module is named, instead of the table */
	/*
	 * The functions named so, and who called them / what they called, instead of the table.
	 * The whole name, or the name without its arguments, or else a part of it; /.../ is an
	 * extended regular expression. Where it recurses a sample still counts once: callees
	 * start at the outermost call, callers at the innermost.
	 */
	const char *callers, *callees;
	const char *thread; /* tids, pids or comms (with * and ?), comma separated; NULL: all */
	const char *time; /* "a..b", seconds after the first sample or "10%..20%"; NULL: all */
	uint32_t limit;	  /* rows of a table, trees of callers/callees; 0: all */
	/* Branches below this share of their tree are not shown; negative: 1 (json: 0). */
	double min_percent;
	unsigned width; /* columns; 0: nothing is cut */
	bool colour;
	bool utf8;			 /* else nothing but ASCII, names escaped */
	const struct module_note *notes; /* why modules have frames without names */
	uint32_t note_count;
	const struct module_naming *namings; /* for `modules`; most frames first */
	uint32_t naming_count;
};

/* Everything at its default: all of it, as text, not cut, plain. */
void report_options_init(struct report_options *options);

/*
 * 0; -EINVAL: an option that cannot be understood; -ENOENT: no such thread or function;
 * -ENOMEM; or what writing to `out` failed with. Options are checked before anything is
 * written. A profile without samples is no error: it is said. A function that callers/callees
 * does not find is found out first, too.
 *
 * JSON: {"schema": "wick-report/1", "quality": {...}, "selected_samples", "events": [{"event",
 * "unit": "ns" or "events", "weight", "samples", and one of
 *   "functions" or "rows" (--sort): [{name, kind, module, self, total, self_pct, ...}],
 *   "tree": [{id, parent, name, module, self, total, ...}], parents first; with `srcline`
 *   each has {srcline: "file:line:column"},
 *   "callers" or "callees": [{function, module, total, "nodes": as in tree}]}]}; with `modules`
 * "modules" in place of "events": [{module, samples, frames, named, lined, debug_file, from}]
 */
int report_write(const struct profile *profile, const struct report_options *options, FILE *out,
	struct error *err);
