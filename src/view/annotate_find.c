/* The word goes to the labels of reports; functions are those that have such a label. */
#include "view/annotate.h"

#include "base/cleanup.h"
#include "view/label.h"
#include "view/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The called functions of frames whose labels are among those that were found. */
struct found {
	const struct profile *profile;
	const struct label_table *labels;
	const bool *is_label; /* by label: it is meant */
	const char *module;   /* only of this one; NULL: of all */
};

static bool frame_means(
	const struct found *found, uint32_t frame, bool inlined_too, uint32_t *ret_label)
{
	const struct frame *at = &found->profile->frames[frame];
	uint32_t first = found->labels->first[frame], end = found->labels->first[frame + 1];

	if (!at->line_count || first == end)
		return false;
	for (uint32_t i = inlined_too ? first : end - 1; i < end; i++) {
		uint32_t label = found->labels->ids[i];

		if (!found->is_label[label] ||
			(found->module &&
				strcmp(label_module(found->labels, label), found->module) != 0))
			continue;
		*ret_label = label;
		return true;
	}
	return false;
}

static uint32_t mark(const struct found *found, bool inlined_too, bool *wanted)
{
	const struct profile *profile = found->profile;
	uint32_t n = 0, label;

	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct frame *at = &profile->frames[i];
		uint32_t function;

		if (!frame_means(found, i, inlined_too, &label))
			continue;
		function = profile->lines[at->first_line + at->line_count - 1].function;
		n += !wanted[function];
		wanted[function] = true;
	}
	return n;
}

static int say_where(
	const struct profile *profile, uint32_t function, const char *word, struct error *err)
{
	cleanup_with(strbuf_done) struct strbuf name = {0};

	printable_add(&name, profile_text(profile, profile->functions[function].name), true);
	return error_set(err, -ENOENT,
		"%.100s is inlined everywhere: its instructions are in %.200s; annotate that",
		word, strbuf_text(&name));
}

/* Has no code of its own: the sentence says where it is. */
static int only_inlined(
	const struct found *found, const char *word, bool *wanted, struct error *err)
{
	const struct profile *profile = found->profile;

	if (mark(found, true, wanted))
		for (uint32_t i = 0; i < profile->function_count; i++)
			if (wanted[i])
				return say_where(profile, i, word, err);
	return error_set(err, -ENOENT, "no function of the recording is called %.200s", word);
}

static int find(const struct label_table *labels, const char *word, const char *module,
	bool *wanted, struct error *err)
{
	cleanup_free bool *is_label = calloc((size_t)labels->count + 1, sizeof(*is_label));
	cleanup_free uint32_t *ids = NULL;
	struct found found = {labels->profile, labels, is_label, module};
	uint32_t count = 0;
	int rc;

	if (!is_label)
		return -ENOMEM;
	rc = label_find(labels, word, &ids, &count, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < count; i++)
		is_label[ids[i]] = true;
	return mark(&found, false, wanted) ? 0 : only_inlined(&found, word, wanted, err);
}

/* The ':' behind a module's name; no part of "::". */
static const char *module_end(const char *word)
{
	const char *colon = strchr(word, ':');

	return colon && colon > word && colon[1] && colon[1] != ':' ? colon : NULL;
}

int annotate_find(
	const struct profile *profile, const char *word, bool **ret_wanted, struct error *err)
{
	cleanup_with(label_table_done) struct label_table labels = {0};
	cleanup_free bool *wanted = calloc((size_t)profile->function_count + 1, 1);
	cleanup_free char *module = NULL;
	const char *colon = module_end(word);
	int rc = wanted ? label_table_init(&labels, profile, LABEL_BY_NAME | LABEL_BY_MODULE)
			: -ENOMEM;

	if (rc == 0)
		rc = find(&labels, word, NULL, wanted, err);
	if (rc == -ENOENT && colon) {
		module = strndup(word, (size_t)(colon - word));
		memset(wanted, 0, profile->function_count);
		rc = module ? find(&labels, colon + 1, module, wanted, err) : -ENOMEM;
	}
	if (rc == -ENOMEM)
		return error_set(err, rc, "out of memory while looking for %.200s", word);
	if (rc == 0)
		*ret_wanted = take_ptr(&wanted);
	return rc;
}
