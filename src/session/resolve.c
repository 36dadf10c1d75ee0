/*
 * Frames are counted once for each sample whose stack holds them. Stacks share their rootward
 * parts, so the samples are first counted per stack and then pushed from leaf to root in one
 * pass over the stacks: a parent's id is always smaller than its child's.
 */
#include "session/resolve.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Frame-pointer chains end a little early, since the libc's first functions keep no frame
 * pointer: a chain that got as far as the functions they call (symbol_is_start) misses nothing.
 */
bool resolve_is_root(void *symbolizer, struct profile *profile, uint32_t frame)
{
	const char *name;
	const struct frame *at;
	const struct function *function;

	if (symbolize_frame(symbolizer, profile, frame) < 0)
		return false;
	at = &profile->frames[frame];
	if (at->first_line == PROFILE_NONE || !at->line_count)
		return false;
	function = &profile->functions[profile->lines[at->first_line + at->line_count - 1]
					       .function];
	name = profile_text(profile, function->linkage_name);
	return symbol_is_root(name) || symbol_is_start(name) || !strcmp(name, "main");
}

/* How many samples each frame stands in (calloc'ed, by frame id). */
static uint64_t *count_frames(const struct profile *profile)
{
	uint64_t *frames = calloc(profile->frame_count + 1, sizeof(*frames));
	cleanup_free uint64_t *stacks = calloc(profile->stack_count + 1, sizeof(*stacks));

	if (!frames || !stacks) {
		free(frames);
		return NULL;
	}
	for (uint32_t i = 0; i < profile->sample_count; i++)
		if (profile->samples[i].stack < profile->stack_count)
			stacks[profile->samples[i].stack]++;
	for (uint32_t i = profile->stack_count; i-- > 0;) {
		const struct stack *stack = &profile->stacks[i];

		frames[stack->frame] += stacks[i];
		if (stack->parent < i)
			stacks[stack->parent] += stacks[i];
	}
	return frames;
}

static bool is_code(const struct profile *profile, const struct frame *frame)
{
	return profile->modules[frame->module].kind != MODULE_MARKER;
}

static bool is_kernel(const struct profile *profile, const struct frame *frame)
{
	enum module_kind kind = profile->modules[frame->module].kind;

	return kind == MODULE_KERNEL || kind == MODULE_KMODULE;
}

int resolve_all(struct symbolizer *symbolizer, struct profile *profile,
	void (*progress)(void *ctx, uint32_t done, uint32_t total), void *ctx)
{
	int rc = symbolize_all(symbolizer, profile, progress, ctx);
	cleanup_free uint64_t *counts = NULL;

	if (rc < 0)
		return rc;
	counts = count_frames(profile);
	if (!counts)
		return -ENOMEM;
	profile->quality.user_frames = profile->quality.unnamed_frames = 0;
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct frame *frame = &profile->frames[i];

		if (!is_code(profile, frame) || is_kernel(profile, frame))
			continue;
		profile->quality.user_frames += counts[i];
		if (!frame->line_count)
			profile->quality.unnamed_frames += counts[i];
	}
	return 0;
}

static int by_unnamed(const void *a, const void *b)
{
	const struct unnamed_module *x = a, *y = b;

	return x->unnamed < y->unnamed ? 1 : x->unnamed > y->unnamed ? -1 : 0;
}

static const char *why_unnamed(
	const struct symbolizer *symbolizer, const struct profile *profile, uint32_t module)
{
	if (!strcmp(profile_text(profile, profile->modules[module].path), MODULE_UNMAPPED))
		return "addresses that lie in no mapping: broken stacks, not code";
	return module_outcome_text(symbolizer_outcome(symbolizer, module));
}

int resolve_unnamed(const struct symbolizer *symbolizer, const struct profile *profile,
	struct unnamed_module **ret_modules)
{
	cleanup_free uint64_t *counts = count_frames(profile);
	struct unnamed_module *modules = calloc(profile->module_count + 1, sizeof(*modules));
	int n = 0;

	if (!counts || !modules) {
		free(modules);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct frame *frame = &profile->frames[i];

		if (!is_code(profile, frame))
			continue;
		modules[frame->module].frames += counts[i];
		if (!frame->line_count)
			modules[frame->module].unnamed += counts[i];
	}
	for (uint32_t i = 0; i < profile->module_count; i++) {
		if (!modules[i].unnamed)
			continue;
		modules[n] = modules[i];
		modules[n].module = i;
		modules[n].why = why_unnamed(symbolizer, profile, i);
		n++;
	}
	qsort(modules, (size_t)n, sizeof(*modules), by_unnamed);
	*ret_modules = modules;
	return n;
}
