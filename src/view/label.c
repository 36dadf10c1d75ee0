/*
 * Two passes over the frames: count their lines to place them in one array, then intern each
 * line. The key of a label is its name and its module's path (not the module's id: one file
 * that was mapped twice, or replaced while it ran, reads as one).
 */
#include "view/label.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_MAX (1u << 28)

static int label_intern(struct label_table *table, const struct label *wanted,
	unsigned identity, uint32_t *ret_label)
{
	const struct profile *profile = table->profile;
	uint32_t path = wanted->module == PROFILE_NONE ? PROFILE_NONE
						       : profile->modules[wanted->module].path;
	uint32_t hash, id;
	struct hash_probe probe;
	int rc;

	hash = hash_pair(
		(uint64_t)wanted->kind << 32 | (identity & LABEL_BY_NAME ? wanted->name : 0),
		(uint64_t)(identity & LABEL_BY_MODULE ? path : 0) << 32 |
			(wanted->file ^ wanted->line << 8 ^ wanted->column << 24));
	probe = hash_probe(&table->by_key, hash);
	while (hash_next(&table->by_key, &probe, &id)) {
		const struct label *label = &table->labels[id];
		uint32_t have = label->module == PROFILE_NONE
					? PROFILE_NONE
					: profile->modules[label->module].path;

		if (label->kind != wanted->kind ||
			(identity & LABEL_BY_NAME && label->name != wanted->name) ||
			(identity & LABEL_BY_MODULE && have != path) ||
			label->file != wanted->file || label->line != wanted->line ||
			label->column != wanted->column)
			continue;
		table->labels[id].called |= wanted->called;
		table->labels[id].inlined |= wanted->inlined;
		*ret_label = id;
		return 0;
	}
	rc = array_reserve(&table->labels, &table->cap, (uint64_t)table->count + 1,
		sizeof(*table->labels), LABEL_MAX);
	if (rc == 0)
		rc = hash_add(&table->by_key, hash, table->count);
	if (rc < 0)
		return rc;
	table->labels[table->count] = *wanted;
	*ret_label = table->count++;
	return 0;
}

/* Line `i` of a frame; `lines` are at least 1. */
static struct label label_of_line(
	const struct profile *profile, uint32_t frame_id, uint32_t i, unsigned identity)
{
	const struct frame *frame = &profile->frames[frame_id];
	enum module_kind kind = profile->modules[frame->module].kind;
	struct label label = {
		.kind = LABEL_UNKNOWN,
		.module = frame->module,
		.kernel = kind == MODULE_KERNEL || kind == MODULE_KMODULE,
		.called = i + 1u >= frame->line_count,
		.inlined = i + 1u < frame->line_count,
	};

	if (kind == MODULE_MARKER) {
		label.kind = LABEL_MARKER;
		label.name = frame->marker;
	} else if (i < frame->line_count) {
		label.name =
			profile->functions[profile->lines[frame->first_line + i].function].name;
		label.kind = label.name ? LABEL_FUNCTION : LABEL_UNKNOWN;
		if (identity & LABEL_BY_LINE) {
			label.file = profile->lines[frame->first_line + i].file;
			label.line = profile->lines[frame->first_line + i].line;
		}
		if (identity & LABEL_BY_COLUMN)
			label.column = profile->lines[frame->first_line + i].column;
	}
	if (!(identity & LABEL_BY_NAME) && label.kind == LABEL_UNKNOWN)
		label.kind = LABEL_FUNCTION; /* a module is one thing, named or not */
	return label;
}

static int label_frames(struct label_table *table, unsigned identity)
{
	const struct profile *profile = table->profile;

	for (uint32_t frame = 0; frame < profile->frame_count; frame++) {
		for (uint32_t at = table->first[frame]; at < table->first[frame + 1]; at++) {
			struct label label = label_of_line(
				profile, frame, at - table->first[frame], identity);
			int rc = label_intern(table, &label, identity, &table->ids[at]);

			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

int label_table_init(
	struct label_table *table, const struct profile *profile, unsigned identity)
{
	struct label no_stack = {
		.kind = LABEL_NO_STACK, .module = PROFILE_NONE, .called = true};
	uint64_t lines = 0;
	int rc = -ENOMEM;

	*table = (struct label_table){.profile = profile};
	table->first = calloc((size_t)profile->frame_count + 1, sizeof(*table->first));
	if (!table->first)
		goto out;
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		table->first[i] = (uint32_t)lines;
		lines += profile->frames[i].line_count ? profile->frames[i].line_count : 1;
		if (lines > UINT32_MAX)
			goto out;
	}
	table->first[profile->frame_count] = (uint32_t)lines;
	table->ids = calloc((size_t)lines + 1, sizeof(*table->ids));
	if (!table->ids)
		goto out;
	rc = label_intern(table, &no_stack, LABEL_BY_NAME | LABEL_BY_MODULE, &table->no_stack);
	if (rc == 0)
		rc = label_frames(table, identity);
out:
	if (rc < 0)
		label_table_done(table);
	return rc;
}

void label_table_done(struct label_table *table)
{
	free(table->labels);
	free(table->first);
	free(table->ids);
	hash_done(&table->by_key);
	*table = (struct label_table){0};
}

const char *label_name(const struct label_table *table, uint32_t label)
{
	switch (table->labels[label].kind) {
	case LABEL_NO_STACK:
		return "[no stack]";
	case LABEL_UNKNOWN:
		return "[unknown]";
	case LABEL_MARKER:
	case LABEL_FUNCTION:
		break;
	}
	return profile_text(table->profile, table->labels[label].name);
}

const char *label_module(const struct label_table *table, uint32_t label)
{
	const struct label *it = &table->labels[label];

	if (it->module == PROFILE_NONE || it->kind == LABEL_MARKER)
		return "";
	return module_shown(table->profile, it->module);
}

const char *module_shown(const struct profile *profile, uint32_t module)
{
	if (module < profile->module_count && profile->modules[module].kind == MODULE_KERNEL)
		return "[kernel]"; /* records call it [kernel.kallsyms] or
				      [kernel.kallsyms]_text */
	return module_short_name(profile, module);
}

const char *label_prefix(const struct label_table *table, uint32_t label)
{
	return table->labels[label].kernel ? "[k] " : "";
}

const char *label_suffix(const struct label_table *table, uint32_t label)
{
	const struct label *it = &table->labels[label];

	return it->inlined && !it->called ? " (inlined)" : "";
}

/* "f" is f(int), f<int>(int) and ns::f(int)'s "ns::f": the name up to its arguments. */
static bool name_is(const char *name, const char *pattern, bool whole)
{
	size_t len = strlen(pattern);

	if (strncmp(name, pattern, len) != 0)
		return false;
	return name[len] == '\0' || (!whole && (name[len] == '(' || name[len] == '<'));
}

struct matcher {
	const char *pattern;
	regex_t regex;
	int way; /* 0: whole, 1: without arguments, 2: a part, 3: regex */
};

static bool matches(const struct matcher *matcher, const char *name)
{
	switch (matcher->way) {
	case 0:
	case 1:
		return name_is(name, matcher->pattern, matcher->way == 0);
	case 2:
		return strstr(name, matcher->pattern) != NULL;
	default:
		return regexec(&matcher->regex, name, 0, NULL, 0) == 0;
	}
}

static uint32_t find_all(
	const struct label_table *table, const struct matcher *matcher, uint32_t *ids)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < table->count; i++)
		if (table->labels[i].kind != LABEL_NO_STACK &&
			matches(matcher, label_name(table, i)))
			ids[n++] = i;
	return n;
}

int label_find(const struct label_table *table, const char *pattern, uint32_t **ret_ids,
	uint32_t *ret_count, struct error *err)
{
	cleanup_free uint32_t *ids = calloc((size_t)table->count + 1, sizeof(*ids));
	cleanup_free char *expression = NULL;
	struct matcher matcher = {.pattern = pattern};
	size_t len = strlen(pattern);
	uint32_t n = 0;

	if (!ids)
		return error_set(err, -ENOMEM, "out of memory while looking for %s", pattern);
	if (len >= 2 && pattern[0] == '/' && pattern[len - 1] == '/') {
		expression = strndup(pattern + 1, len - 2);
		matcher.way = 3;
		if (!expression ||
			regcomp(&matcher.regex, expression, REG_EXTENDED | REG_NOSUB) != 0)
			return error_set(err, expression ? -EINVAL : -ENOMEM,
				"%s: not an extended regular expression", pattern);
		n = find_all(table, &matcher, ids);
		regfree(&matcher.regex);
	} else {
		for (matcher.way = 0; matcher.way < 3 && n == 0 && len > 0; matcher.way++)
			n = find_all(table, &matcher, ids);
	}
	if (n == 0)
		return error_set(
			err, -ENOENT, "no function of the recording is called %s", pattern);
	*ret_ids = take_ptr(&ids);
	*ret_count = n;
	return 0;
}
