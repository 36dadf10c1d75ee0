/* A tally as a table: text fitted to the width, Markdown, or JSON rows. */
#pragma once

#include "base/error.h"
#include "view/json_out.h"
#include "view/label.h"
#include "view/report.h"
#include "view/tally.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum sort_key {
	SORT_COMM,
	SORT_PID,
	SORT_TID,
	SORT_DSO,
	SORT_SYMBOL,
	SORT_SRCLINE,
	SORT_KEYS,
};

struct sort_keys {
	enum sort_key order[SORT_KEYS]; /* as they were named, each once */
	unsigned count;
	unsigned thread_keys; /* TALLY_* */
	unsigned identity;    /* LABEL_BY_*; 0: no labels */
};

/*
 * "comm,dso"; NULL: dso,symbol. With `srcline` its column, too, and that to the column of the
 * source. -EINVAL with the sentence.
 */
int sort_keys_parse(struct sort_keys *keys, const char *text, bool srcline, struct error *err);

struct table_view {
	const struct profile *profile;
	const struct report_options *options;
	const struct sort_keys *keys;
	const struct label_table *labels; /* NULL where the keys need none */
	const struct tally *tally;
	bool is_ns; /* the weights */
};

/* 0, or -ENOMEM: then cells are missing. */
int table_view_text(const struct table_view *view, FILE *out);
int table_view_markdown(const struct table_view *view, FILE *out);
void table_view_json(const struct table_view *view, struct json_out *json);

struct shown_name {
	const char *name;	     /* as it is in the profile */
	const char *prefix, *suffix; /* "[k] ", " (inlined)" or "" */
};

/* Appends a name, made safe, in at most `columns` (0: whole); the suffix goes first. */
void name_show(struct strbuf *out, const struct shown_name *name, size_t columns, bool utf8);
void label_show(struct strbuf *out, const struct label_table *labels, uint32_t label,
	size_t columns, bool utf8);
