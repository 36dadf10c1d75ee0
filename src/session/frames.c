#include "session/frames.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_SLOTS = 8192, MODULES_LIMIT = 1 << 24 };

enum root { ROOT_NOT_ASKED, ROOT_NO, ROOT_YES };

struct cache_slot {
	uint64_t key; /* the address rotated by one, the caller bit below */
	uint32_t process, generation;
	uint32_t frame_plus_1; /* 0: free */
};

struct frames {
	struct target *target;
	struct profile *profile;
	frames_root_fn is_root;
	frames_module_fn module_seen; /* may be NULL */
	frames_code_fn code_at;	      /* may be NULL */
	uint64_t time_ns;
	void *ctx;
	uint32_t *modules; /* of the profile, by the target's dso id; PROFILE_NONE: not made */
	uint32_t module_cap, module_count;
	uint32_t unmapped_module, kernel_module;
	uint8_t *roots; /* by frame */
	uint32_t roots_cap;
	struct cache_slot cache[CACHE_SLOTS];
};

int frames_new(struct target *target, struct profile *profile, frames_root_fn is_root,
	void *ctx, struct frames **ret_frames)
{
	struct frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	frames->target = target;
	frames->profile = profile;
	frames->is_root = is_root;
	frames->ctx = ctx;
	frames->unmapped_module = frames->kernel_module = PROFILE_NONE;
	*ret_frames = frames;
	return 0;
}

void frames_free(struct frames *frames)
{
	if (!frames)
		return;
	free(frames->modules);
	free(frames->roots);
	free(frames);
}

void frames_on_module(struct frames *frames, frames_module_fn seen)
{
	frames->module_seen = seen;
}

void frames_on_code(struct frames *frames, frames_code_fn code_at)
{
	frames->code_at = code_at;
}

void frames_set_time(struct frames *frames, uint64_t time_ns)
{
	frames->time_ns = time_ns;
}

static enum module_kind module_kind_of(enum dso_kind kind)
{
	switch (kind) {
	case DSO_FILE:
		return MODULE_FILE;
	case DSO_KERNEL:
		return MODULE_KERNEL;
	case DSO_KMODULE:
		return MODULE_KMODULE;
	case DSO_VDSO:
		return MODULE_VDSO;
	case DSO_ANON:
		break;
	}
	return MODULE_ANON;
}

/* A module that no record names. */
static int named_module(
	struct frames *frames, enum module_kind kind, const char *name, uint32_t *module)
{
	struct module key = {.kind = kind};
	int rc;

	if (*module != PROFILE_NONE)
		return 0;
	rc = profile_string(frames->profile, name, &key.path);
	return rc < 0 ? rc : profile_module(frames->profile, &key, module);
}

static int modules_grow(struct frames *frames, uint32_t dso)
{
	int rc = array_reserve(&frames->modules, &frames->module_cap, (uint64_t)dso + 1,
		sizeof(*frames->modules), MODULES_LIMIT);

	while (rc == 0 && frames->module_count <= dso)
		frames->modules[frames->module_count++] = PROFILE_NONE;
	return rc;
}

static int dso_module(struct frames *frames, uint32_t dso_id, uint32_t *ret_module)
{
	const struct dso *dso = &frames->target->dsos[dso_id];
	struct module key = {
		.kind = module_kind_of(dso->key.kind),
		.build_id_bytes = dso->key.build_id_bytes,
		.maj = dso->key.maj,
		.min = dso->key.min,
		.ino = dso->key.ino,
		.pid = (int32_t)dso->pid,
		.map_start = dso->map_start,
		.map_end = dso->map_end,
		.reloc = dso->reloc,
	};
	int rc;

	if (dso_id < frames->module_count && frames->modules[dso_id] != PROFILE_NONE) {
		*ret_module = frames->modules[dso_id];
		return 0;
	}
	rc = modules_grow(frames, dso_id);
	if (rc < 0)
		return rc;
	memcpy(key.build_id, dso->key.build_id, sizeof(key.build_id));
	rc = profile_string(frames->profile,
		strings_get(&frames->target->strings, dso->key.path), &key.path);
	if (rc == 0)
		rc = profile_module(frames->profile, &key, &frames->modules[dso_id]);
	*ret_module = rc < 0 ? PROFILE_NONE : frames->modules[dso_id];
	if (rc == 0 && frames->module_seen)
		frames->module_seen(frames->ctx, dso, *ret_module);
	return rc;
}

/* The frame of an address that the cache does not know; `mapping` may be NULL. */
static int frame_make(struct frames *frames, const struct mapping *mapping, bool in_kernel,
	uint64_t ip, bool caller, uint32_t *ret_frame)
{
	uint64_t addr = ip;
	uint32_t module = PROFILE_NONE;
	int rc;

	if (mapping) {
		enum dso_kind kind = frames->target->dsos[mapping->dso].key.kind;

		rc = dso_module(frames, mapping->dso, &module);
		if (kind == DSO_FILE || kind == DSO_VDSO)
			addr = ip - mapping->start + mapping->pgoff;
	} else if (in_kernel) {
		rc = named_module(
			frames, MODULE_KERNEL, "[kernel.kallsyms]", &frames->kernel_module);
		module = frames->kernel_module;
	} else {
		rc = named_module(
			frames, MODULE_ANON, MODULE_UNMAPPED, &frames->unmapped_module);
		module = frames->unmapped_module;
	}
	return rc < 0 ? rc
		      : profile_frame(frames->profile, module, addr, caller, ip, ret_frame);
}

/* As frames_code_fn; -ENODATA for what is no such code. */
static int code_find(struct frames *frames, uint32_t process, const struct mapping *mapping,
	uint64_t ip, bool caller, uint32_t *ret_frame)
{
	if (!frames->code_at || process == TARGET_NONE ||
		(mapping && frames->target->dsos[mapping->dso].key.kind != DSO_ANON))
		return -ENODATA;
	return frames->code_at(frames->ctx, frames->target->processes[process].pid, ip, caller,
		frames->time_ns, ret_frame);
}

static int frame_find(
	struct frames *frames, uint32_t process, uint64_t ip, bool caller, uint32_t *ret_frame)
{
	bool in_kernel = process == TARGET_NONE;
	uint64_t key = (ip << 1 | ip >> 63) ^ caller, probe = ip - (caller && ip);
	uint32_t generation = in_kernel ? frames->target->kernel_generation
					: frames->target->processes[process].generation;
	struct cache_slot *slot = &frames->cache[hash_pair(key, process) & (CACHE_SLOTS - 1)];
	const struct mapping *mapping;
	int rc, known;

	if (slot->frame_plus_1 && slot->key == key && slot->process == process &&
		slot->generation == generation) {
		*ret_frame = slot->frame_plus_1 - 1;
		return 0;
	}
	mapping = in_kernel ? target_find_kernel(frames->target, probe)
			    : target_find(frames->target, process, probe);
	known = code_find(frames, process, mapping, ip, caller, ret_frame);
	if (known > 0)
		return 0;
	if (known < 0 && known != -ENODATA)
		return known;
	rc = frame_make(frames, mapping, in_kernel, ip, caller, ret_frame);
	if (rc == 0 && known)
		*slot = (struct cache_slot){key, process, generation, *ret_frame + 1};
	return rc;
}

int frames_user(
	struct frames *frames, uint32_t process, uint64_t ip, bool caller, uint32_t *ret_frame)
{
	return frame_find(frames, process, ip, caller, ret_frame);
}

int frames_kernel(struct frames *frames, uint64_t ip, bool caller, uint32_t *ret_frame)
{
	return frame_find(frames, TARGET_NONE, ip, caller, ret_frame);
}

bool frames_is_root(struct frames *frames, uint32_t frame)
{
	uint32_t had = frames->roots_cap;

	if (!frames->is_root || array_reserve(&frames->roots, &frames->roots_cap,
					(uint64_t)frame + 1, 1, UINT32_MAX) < 0)
		return false;
	if (frames->roots_cap > had)
		memset(frames->roots + had, ROOT_NOT_ASKED, frames->roots_cap - had);
	if (frames->roots[frame] == ROOT_NOT_ASKED)
		frames->roots[frame] = frames->is_root(frames->ctx, frames->profile, frame)
					       ? ROOT_YES
					       : ROOT_NO;
	return frames->roots[frame] == ROOT_YES;
}
