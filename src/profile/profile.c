/*
 * Each table is a plain array with an index of hashes beside it (base/hash.h): adding hashes
 * the key, walks the few entries with that hash and compares them in the array; what is not
 * there is appended. Nothing is ever taken out, so an id is the position, and a hit touches one
 * slot of the index and one entry.
 *
 *     profile_stack(parent, frame):   by_stack: hash(parent, frame) --> 17      stacks[17]
 *     profile_frame(module, addr):    by_frame: hash(module, addr)  --> 4       frames[4]
 *
 * An addition makes room in the array first, then in the index, and counts the entry last: a
 * failure on the way leaves the table as it was.
 *
 * Markers are frames of one module of their own, made when the first one comes; they are found
 * by their text instead of an address.
 */
#include "profile/profile.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What one recording may hold. At 32 bytes the samples would fill 2 GiB. */
enum {
	SAMPLE_LIMIT = 64 << 20,
	STACK_LIMIT = 16 << 20,
	FRAME_LIMIT = 16 << 20,
	LINE_LIMIT = 64 << 20,
	FUNCTION_LIMIT = 16 << 20,
	MODULE_LIMIT = 1 << 20,
	THREAD_LIMIT = 4 << 20,
	EVENT_LIMIT = 4096, /* sample.event has 16 bits */
};

#define ROOM(profile, table, limit)                                                            \
	count_refusal(profile, array_reserve(&(profile)->table##s, &(profile)->table##_cap,    \
				       (uint64_t)(profile)->table##_count + 1,                 \
				       sizeof(*(profile)->table##s), limit))

static int count_refusal(struct profile *profile, int rc)
{
	if (rc == -ENOSPC)
		profile->refused++;
	return rc;
}

void profile_done(struct profile *profile)
{
	strings_done(&profile->strings);
	free(profile->modules);
	free(profile->frames);
	free(profile->lines);
	free(profile->functions);
	free(profile->stacks);
	free(profile->threads);
	free(profile->events);
	free(profile->samples);
	free(profile->spans);
	hash_done(&profile->by_module);
	hash_done(&profile->by_frame);
	hash_done(&profile->by_function);
	hash_done(&profile->by_stack);
	hash_done(&profile->by_thread);
	*profile = (struct profile){0};
}

int profile_string(struct profile *profile, const char *text, uint32_t *ret_id)
{
	return count_refusal(
		profile, strings_add(&profile->strings, text, strlen(text), ret_id));
}

const char *profile_text(const struct profile *profile, uint32_t string_id)
{
	return strings_get(&profile->strings, string_id);
}

static bool module_equal(const struct module *a, const struct module *b)
{
	return a->kind == b->kind && a->path == b->path && a->ino == b->ino &&
	       a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes) &&
	       (a->kind != MODULE_ANON || a->pid == b->pid);
}

int profile_module(struct profile *profile, const struct module *key, uint32_t *ret_id)
{
	uint32_t hash = hash_pair((uint64_t)key->kind << 32 | key->path, key->ino), id;
	struct hash_probe probe = hash_probe(&profile->by_module, hash);
	int rc;

	if (key->build_id_bytes > sizeof(key->build_id))
		return -EINVAL;
	while (hash_next(&profile->by_module, &probe, &id)) {
		if (module_equal(&profile->modules[id], key)) {
			*ret_id = id;
			return 0;
		}
	}
	rc = ROOM(profile, module, MODULE_LIMIT);
	if (rc < 0)
		return rc;
	id = profile->module_count;
	rc = hash_add(&profile->by_module, hash, id);
	if (rc < 0)
		return rc;
	profile->modules[id] = *key;
	profile->module_count++;
	*ret_id = id;
	return 0;
}

/* The frame is not there yet: appends it. */
static int frame_append(
	struct profile *profile, uint32_t hash, const struct frame *frame, uint32_t *ret_id)
{
	uint32_t id = profile->frame_count;
	int rc = ROOM(profile, frame, FRAME_LIMIT);

	if (rc < 0)
		return rc;
	rc = hash_add(&profile->by_frame, hash, id);
	if (rc < 0)
		return rc;
	profile->frames[id] = *frame;
	profile->frame_count++;
	*ret_id = id;
	return 0;
}

int profile_frame(struct profile *profile, uint32_t module, uint64_t addr, bool caller,
	uint64_t shown_addr, uint32_t *ret_id)
{
	uint32_t hash = hash_pair((uint64_t)module << 1 | caller, addr), id;
	struct hash_probe probe = hash_probe(&profile->by_frame, hash);

	while (hash_next(&profile->by_frame, &probe, &id)) {
		const struct frame *frame = &profile->frames[id];

		if (frame->addr == addr && frame->module == module && frame->caller == caller) {
			*ret_id = id;
			return 0;
		}
	}
	if (module >= profile->module_count || profile->modules[module].kind == MODULE_MARKER)
		return -EINVAL;
	return frame_append(profile, hash,
		&(struct frame){.addr = addr,
			.shown_addr = shown_addr,
			.module = module,
			.first_line = PROFILE_NONE,
			.caller = caller},
		ret_id);
}

static int need_marker_module(struct profile *profile)
{
	struct module module = {.kind = MODULE_MARKER};
	int rc;

	if (profile->has_marker_module)
		return 0;
	rc = profile_string(profile, "[marker]", &module.path);
	if (rc < 0)
		return rc;
	rc = profile_module(profile, &module, &profile->marker_module);
	if (rc < 0)
		return rc;
	profile->has_marker_module = true;
	return 0;
}

int profile_marker(struct profile *profile, const char *text, uint32_t *ret_frame)
{
	struct hash_probe probe;
	uint32_t string, hash, id;
	int rc = need_marker_module(profile);

	if (rc < 0)
		return rc;
	rc = profile_string(profile, text, &string);
	if (rc < 0)
		return rc;
	hash = hash_pair(profile->marker_module, ~(uint64_t)string);
	probe = hash_probe(&profile->by_frame, hash);
	while (hash_next(&profile->by_frame, &probe, &id)) {
		if (profile->frames[id].module == profile->marker_module &&
			profile->frames[id].marker == string) {
			*ret_frame = id;
			return 0;
		}
	}
	return frame_append(profile, hash,
		&(struct frame){.module = profile->marker_module,
			.first_line = PROFILE_NONE,
			.resolved = true,
			.marker = string},
		ret_frame);
}

int profile_stack(struct profile *profile, uint32_t parent, uint32_t frame, uint32_t *ret_id)
{
	uint32_t hash = hash_u64((uint64_t)parent << 32 | frame), id;
	struct hash_probe probe = hash_probe(&profile->by_stack, hash);
	int rc;

	while (hash_next(&profile->by_stack, &probe, &id)) {
		if (profile->stacks[id].frame == frame &&
			profile->stacks[id].parent == parent) {
			*ret_id = id;
			return 0;
		}
	}
	if (frame >= profile->frame_count ||
		(parent != PROFILE_NONE && parent >= profile->stack_count))
		return -EINVAL;
	rc = ROOM(profile, stack, STACK_LIMIT);
	if (rc < 0)
		return rc;
	id = profile->stack_count;
	rc = hash_add(&profile->by_stack, hash, id);
	if (rc < 0)
		return rc;
	profile->stacks[id] = (struct stack){
		.parent = parent,
		.frame = frame,
		.depth = parent == PROFILE_NONE ? 1 : profile->stacks[parent].depth + 1,
	};
	profile->stack_count++;
	*ret_id = id;
	return 0;
}

int profile_thread(
	struct profile *profile, int32_t pid, int32_t tid, const char *comm, uint32_t *ret_id)
{
	struct profile_thread key = {.pid = pid, .tid = tid};
	struct hash_probe probe;
	uint32_t hash, id;
	int rc = profile_string(profile, comm, &key.comm);

	if (rc < 0)
		return rc;
	hash = hash_pair((uint64_t)(uint32_t)pid << 32 | (uint32_t)tid, key.comm);
	probe = hash_probe(&profile->by_thread, hash);
	while (hash_next(&profile->by_thread, &probe, &id)) {
		const struct profile_thread *thread = &profile->threads[id];

		if (thread->pid == pid && thread->tid == tid && thread->comm == key.comm) {
			*ret_id = id;
			return 0;
		}
	}
	rc = ROOM(profile, thread, THREAD_LIMIT);
	if (rc < 0)
		return rc;
	id = profile->thread_count;
	rc = hash_add(&profile->by_thread, hash, id);
	if (rc < 0)
		return rc;
	profile->threads[id] = key;
	profile->thread_count++;
	*ret_id = id;
	return 0;
}

/* A recording has a handful of events: they are compared one by one. */
int profile_event(
	struct profile *profile, const char *name, bool weight_is_ns, uint32_t *ret_id)
{
	struct profile_event key = {.weight_is_ns = weight_is_ns};
	int rc = profile_string(profile, name, &key.name);

	if (rc < 0)
		return rc;
	for (uint32_t id = 0; id < profile->event_count; id++) {
		if (profile->events[id].name == key.name &&
			profile->events[id].weight_is_ns == weight_is_ns) {
			*ret_id = id;
			return 0;
		}
	}
	rc = ROOM(profile, event, EVENT_LIMIT);
	if (rc < 0)
		return rc;
	*ret_id = profile->event_count++;
	profile->events[*ret_id] = key;
	return 0;
}

int profile_span(struct profile *profile, const struct profile_span *span)
{
	struct profile_span *last =
		profile->span_count ? &profile->spans[profile->span_count - 1] : NULL;
	int rc;

	if (profile->span_count == PROFILE_SPANS_MAX) {
		last->end_ns = span->end_ns > last->end_ns ? span->end_ns : last->end_ns;
		last->thread = PROFILE_NONE;
		return 0;
	}
	rc = array_reserve(&profile->spans, &profile->span_cap,
		(uint64_t)profile->span_count + 1, sizeof(*profile->spans), PROFILE_SPANS_MAX);
	if (rc == 0)
		profile->spans[profile->span_count++] = *span;
	return rc;
}

int profile_add(struct profile *profile, const struct sample *sample)
{
	int rc;

	if ((sample->stack != PROFILE_NONE && sample->stack >= profile->stack_count) ||
		sample->thread >= profile->thread_count ||
		sample->event >= profile->event_count)
		return -EINVAL;
	rc = ROOM(profile, sample, SAMPLE_LIMIT);
	if (rc < 0)
		return rc;
	profile->samples[profile->sample_count++] = *sample;
	return 0;
}

int profile_function(struct profile *profile, const struct function *key, uint32_t *ret_id)
{
	uint32_t hash = hash_pair((uint64_t)key->module << 32 | key->linkage_name, key->addr),
		 id;
	struct hash_probe probe = hash_probe(&profile->by_function, hash);
	int rc;

	while (hash_next(&profile->by_function, &probe, &id)) {
		const struct function *function = &profile->functions[id];

		if (function->addr == key->addr && function->module == key->module &&
			function->linkage_name == key->linkage_name) {
			*ret_id = id;
			return 0;
		}
	}
	if (key->module >= profile->module_count)
		return -EINVAL;
	rc = ROOM(profile, function, FUNCTION_LIMIT);
	if (rc < 0)
		return rc;
	id = profile->function_count;
	rc = hash_add(&profile->by_function, hash, id);
	if (rc < 0)
		return rc;
	profile->functions[id] = *key;
	profile->function_count++;
	*ret_id = id;
	return 0;
}

/* A frame's lines stand together; a second set for the same frame goes to the end of the table.
 */
int profile_resolve(
	struct profile *profile, uint32_t frame, const struct line *lines, uint32_t n)
{
	int rc;

	if (frame >= profile->frame_count)
		return -EINVAL;
	if (n > UINT16_MAX)
		return count_refusal(profile, -ENOSPC);
	for (uint32_t i = 0; i < n; i++) {
		if (lines[i].function >= profile->function_count)
			return -EINVAL;
	}
	rc = count_refusal(profile,
		array_reserve(&profile->lines, &profile->line_cap,
			(uint64_t)profile->line_count + n, sizeof(*lines), LINE_LIMIT));
	if (rc < 0)
		return rc;
	if (n)
		memcpy(profile->lines + profile->line_count, lines, n * sizeof(*lines));
	profile->frames[frame].first_line = n ? profile->line_count : PROFILE_NONE;
	profile->frames[frame].line_count = (uint16_t)n;
	profile->frames[frame].resolved = true;
	profile->line_count += n;
	return 0;
}

const char *frame_name(const struct profile *profile, uint32_t frame, uint32_t inline_index)
{
	const struct frame *f;
	const char *name = "";

	if (frame >= profile->frame_count)
		return "[unknown]";
	f = &profile->frames[frame];
	if (f->marker) {
		name = profile_text(profile, f->marker);
	} else if (inline_index < f->line_count) {
		uint32_t function = profile->lines[f->first_line + inline_index].function;

		name = profile_text(profile, profile->functions[function].name);
	}
	return *name ? name : "[unknown]";
}

bool frame_is_named(const struct profile *profile, uint32_t frame)
{
	const struct frame *f = &profile->frames[frame];
	uint32_t function;

	if (!f->line_count)
		return false;
	function = profile->lines[f->first_line + f->line_count - 1u].function;
	return *profile_text(profile, profile->functions[function].linkage_name) != '\0';
}

const char *module_short_name(const struct profile *profile, uint32_t module)
{
	const char *path, *slash;

	if (module >= profile->module_count)
		return "[unknown]";
	path = profile_text(profile, profile->modules[module].path);
	if (!*path)
		return "[unknown]";
	/* "//anon" is a name that the kernel makes up, no path */
	if (*path == '[' || !strncmp(path, "//", 2))
		return path;
	slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}
