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
bool resolve_is_root_name(const char *linkage_name)
{
	return symbol_is_root(linkage_name) || symbol_is_start(linkage_name) ||
	       !strcmp(linkage_name, "main");
}

bool resolve_is_root(void *symbolizer, struct profile *profile, uint32_t frame)
{
	const struct frame *at = &profile->frames[frame];
	const struct line *called;
	const char *name;

	/* No thread starts in code that was compiled while it ran, and its names come late. */
	if (profile->modules[at->module].kind == MODULE_ANON)
		return false;
	if (at->resolved && at->line_count) { /* the file brought its names */
		called = &profile->lines[at->first_line + at->line_count - 1];
		name = profile_text(profile, profile->functions[called->function].linkage_name);
	} else {
		name = symbolizer_symbol(symbolizer, profile, frame);
	}
	return name && resolve_is_root_name(name);
}

/* How many samples ended (leafwards) in each stack; calloc'ed, by stack id. */
static uint64_t *count_stacks(const struct profile *profile)
{
	uint64_t *stacks = calloc(profile->stack_count + 1u, sizeof(*stacks));

	for (uint32_t i = 0; stacks && i < profile->sample_count; i++)
		if (profile->samples[i].stack < profile->stack_count)
			stacks[profile->samples[i].stack]++;
	return stacks;
}

/* Adds each stack's count to its parents'. */
static void sum_rootwards(const struct profile *profile, uint64_t *stacks)
{
	for (uint32_t i = profile->stack_count; i-- > 0;)
		if (profile->stacks[i].parent < i)
			stacks[profile->stacks[i].parent] += stacks[i];
}

/* How many samples each frame stands in; calloc'ed, by frame id. */
static uint64_t *count_frames(const struct profile *profile)
{
	uint64_t *frames = calloc(profile->frame_count + 1u, sizeof(*frames));
	cleanup_free uint64_t *stacks = count_stacks(profile);

	if (!frames || !stacks) {
		free(frames);
		return NULL;
	}
	sum_rootwards(profile, stacks);
	for (uint32_t i = 0; i < profile->stack_count; i++)
		frames[profile->stacks[i].frame] += stacks[i];
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
		if (!frame_is_named(profile, i))
			profile->quality.unnamed_frames += counts[i];
	}
	return 0;
}

static int by_trouble(const void *a, const void *b)
{
	const struct module_note *x = a, *y = b;

	if (x->unnamed != y->unnamed)
		return x->unnamed < y->unnamed ? 1 : -1;
	return x->stopped < y->stopped ? 1 : x->stopped > y->stopped ? -1 : 0;
}

static const char *why_unnamed(
	const struct symbolizer *symbolizer, const struct profile *profile, uint32_t module)
{
	if (!strcmp(profile_text(profile, profile->modules[module].path), MODULE_UNMAPPED))
		return "addresses that lie in no mapping: broken stacks, not code";
	return module_outcome_text(symbolizer_outcome(symbolizer, module));
}

static void note_names(
	const struct profile *profile, const uint64_t *counts, struct module_note *notes)
{
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct frame *frame = &profile->frames[i];

		if (!is_code(profile, frame))
			continue;
		notes[frame->module].frames += counts[i];
		if (!frame_is_named(profile, i))
			notes[frame->module].unnamed += counts[i];
	}
}

/*
 * A stack that ended early has a marker at its root; the frame above it is where it ended. The
 * reason that is quoted is that of the marker with the most samples above such a frame.
 */
static int note_stops(const struct profile *profile, struct module_note *notes)
{
	cleanup_free uint64_t *stacks = count_stacks(profile);
	cleanup_free uint64_t *most = calloc(profile->module_count + 1u, sizeof(*most));

	if (!stacks || !most)
		return -ENOMEM;
	sum_rootwards(profile, stacks);
	for (uint32_t i = 0; i < profile->stack_count; i++) {
		uint32_t root = profile->stacks[i].parent, module;
		const struct frame *marker;

		if (root >= profile->stack_count ||
			profile->stacks[root].parent != PROFILE_NONE)
			continue;
		marker = &profile->frames[profile->stacks[root].frame];
		module = profile->frames[profile->stacks[i].frame].module;
		if (is_code(profile, marker) ||
			profile->modules[module].kind == MODULE_MARKER ||
			!strcmp(profile_text(profile, marker->marker), GOROUTINE_MARKER))
			continue;
		notes[module].stopped += stacks[i];
		if (stacks[i] > most[module]) {
			most[module] = stacks[i];
			notes[module].stopped_why = profile_text(profile, marker->marker);
		}
	}
	return 0;
}

int resolve_notes(const struct symbolizer *symbolizer, const struct profile *profile,
	struct module_note **ret_notes)
{
	cleanup_free uint64_t *counts = count_frames(profile);
	cleanup_free struct module_note *notes =
		calloc(profile->module_count + 1u, sizeof(*notes));
	int n = 0;

	if (!counts || !notes || note_stops(profile, notes) < 0)
		return -ENOMEM;
	note_names(profile, counts, notes);
	for (uint32_t i = 0; i < profile->module_count; i++) {
		if (!notes[i].unnamed && !notes[i].stopped)
			continue;
		notes[n] = notes[i];
		notes[n].module = i;
		notes[n].why = notes[n].unnamed ? why_unnamed(symbolizer, profile, i) : NULL;
		n++;
	}
	qsort(notes, (size_t)n, sizeof(*notes), by_trouble);
	*ret_notes = take_ptr(&notes);
	return n;
}

static int by_frames(const void *a, const void *b)
{
	const struct module_naming *x = a, *y = b;

	if (x->frames != y->frames)
		return x->frames < y->frames ? 1 : -1;
	return (x->module > y->module) - (x->module < y->module);
}

static bool stands_below(const struct profile *profile, uint32_t stack, uint32_t module)
{
	for (; stack < profile->stack_count; stack = profile->stacks[stack].parent)
		if (profile->frames[profile->stacks[stack].frame].module == module)
			return true;
	return false;
}

/*
 * In how many samples' stacks each module stands: those above its outermost frame. Which
 * modules stand below a frame is kept as bits, for the first BITS of them; the others are
 * looked for.
 */
static int count_module_samples(const struct profile *profile, struct module_naming *namings)
{
	enum { BITS = 64 };
	cleanup_free uint64_t *stacks = count_stacks(profile);
	cleanup_free uint64_t *below = calloc(profile->stack_count + 1u, sizeof(*below));

	if (!stacks || !below)
		return -ENOMEM;
	sum_rootwards(profile, stacks);
	for (uint32_t i = 0; i < profile->stack_count; i++) {
		uint32_t module = profile->frames[profile->stacks[i].frame].module;
		uint32_t parent = profile->stacks[i].parent;
		uint64_t bit = module < BITS ? 1ull << module : 0;
		uint64_t had = parent < i ? below[parent] : 0;

		below[i] = had | bit;
		if (bit ? !(had & bit) : !stands_below(profile, parent, module))
			namings[module].samples += stacks[i];
	}
	return 0;
}

int resolve_namings(const struct symbolizer *symbolizer, struct profile *profile,
	struct module_naming **ret_namings)
{
	cleanup_free uint64_t *counts = count_frames(profile);
	cleanup_free struct module_naming *all =
		calloc(profile->module_count + 1u, sizeof(*all));
	int n = 0, rc;

	if (!counts || !all || count_module_samples(profile, all) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct frame *frame = &profile->frames[i];
		struct module_naming *it = &all[frame->module];

		if (!is_code(profile, frame))
			continue;
		it->frames += counts[i];
		it->named += frame_is_named(profile, i) ? counts[i] : 0;
		if (frame->line_count && profile->lines[frame->first_line].line)
			it->lined += counts[i];
	}
	for (uint32_t i = 0; i < profile->module_count; i++) {
		if (!all[i].frames)
			continue;
		all[n] = all[i];
		all[n].module = i;
		all[n].why = why_unnamed(symbolizer, profile, i);
		rc = profile_string(
			profile, symbolizer_debug_file(symbolizer, i), &all[n].debug_file);
		if (rc < 0)
			return rc;
		n++;
	}
	qsort(all, (size_t)n, sizeof(*all), by_frames);
	*ret_namings = take_ptr(&all);
	return n;
}
