/*
 * How good a recording is, in words: the block that stands before every report and at the end
 * of every recording.
 *
 * One line a measure, with the remedy where something is wrong. What is fine is said shortly,
 * what does not apply or is unknown says so.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "profile/profile.h"
#include "profile/quality.h"
#include "session/resolve.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct quality_view {
	const struct quality *quality;
	const struct profile *profile; /* for the names of the notes' modules; may be NULL */
	const struct module_note *notes;
	uint32_t note_count;
	unsigned width; /* columns at which lines are wrapped; 0: not at all */
	bool colour;
	bool utf8;
};

enum quality_level {
	LEVEL_INFO, /* a fact */
	LEVEL_GOOD,
	LEVEL_WARN, /* trust with care */
	LEVEL_BAD,  /* do not trust */
};

/* One line of the block. */
struct quality_line {
	enum quality_level level;
	const char *about; /* "coverage": a word that stays, for programs too */
	struct strbuf text;
};

struct quality_lines {
	struct quality_line *lines;
	uint32_t count, cap;
	bool failed; /* memory was out */
};

/* Works out the lines; quality_lines_done() frees them. 0 or -ENOMEM. */
int quality_lines_make(struct quality_lines *lines, const struct quality_view *view);
void quality_lines_done(struct quality_lines *lines);

/* The block as text. 0, -ENOMEM; errors of `out` are the caller's to look for (ferror). */
int quality_view_text(const struct quality_view *view, FILE *out);

/* As a Markdown list. */
int quality_view_markdown(const struct quality_view *view, FILE *out);

/* As a JSON object: every number (unknown: null), and the sentences. */
int quality_view_json(const struct quality_view *view, FILE *out);
