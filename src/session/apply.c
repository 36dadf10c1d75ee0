/*
 * A sample's way: thread -> process -> for each chain entry its mapping -> frame -> stack.
 *
 * Chain entries repeat from sample to sample, so a direct-mapped cache remembers the frame of
 * (address, process, generation of its maps): a hit is a comparison, a miss is a binary search
 * in the maps and a hash lookup in the frames.
 */
#include "session/apply.h"

#include "abi/perf_abi.h"
#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CACHE_SLOTS = 8192, THROTTLE_CPUS = 4096, MODULES_LIMIT = 1 << 24 };

struct cache_slot {
	uint64_t ip_and_caller; /* ip rotated by one, the caller bit below */
	uint32_t process, generation;
	uint32_t frame_plus_1;
};

struct throttle {
	uint64_t since; /* 0: not throttled */
};

struct apply {
	struct apply_options options;
	struct target *target;
	struct profile *profile;
	uint32_t *modules; /* of the profile, by the target's dso id; PROFILE_NONE: not made */
	uint32_t module_cap, module_count;
	uint32_t unknown_module, kernel_module;
	uint8_t *roots; /* by frame: 0 not asked, 1 no, 2 yes */
	uint32_t roots_cap;
	uint64_t first_ns, newest_ns;
	struct throttle throttles[THROTTLE_CPUS];
	struct cache_slot cache[CACHE_SLOTS];
	uint32_t frames[APPLY_DEPTH_MAX]; /* of the sample at hand, leaf first */
	uint32_t frame_count;
};

int apply_new(const struct apply_options *options, struct apply **ret_apply)
{
	struct apply *apply = calloc(1, sizeof(*apply));

	if (!apply)
		return -ENOMEM;
	apply->options = *options;
	if (!apply->options.kernel_depth_limit)
		apply->options.kernel_depth_limit = 127;
	apply->target = options->target;
	apply->profile = options->profile;
	apply->unknown_module = apply->kernel_module = PROFILE_NONE;
	*ret_apply = apply;
	return 0;
}

void apply_free(struct apply *apply)
{
	if (!apply)
		return;
	free(apply->modules);
	free(apply->roots);
	free(apply);
}

/* ---- modules and frames */

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

static int named_module(
	struct apply *apply, enum module_kind kind, const char *name, uint32_t *cached)
{
	struct module module = {.kind = kind};
	int rc;

	if (*cached != PROFILE_NONE)
		return 0;
	rc = profile_string(apply->profile, name, &module.path);
	return rc < 0 ? rc : profile_module(apply->profile, &module, cached);
}

static int dso_module(struct apply *apply, uint32_t dso_id, uint32_t *ret_module)
{
	const struct dso *dso = &apply->target->dsos[dso_id];
	struct module module = {
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

	if (dso_id < apply->module_count && apply->modules[dso_id] != PROFILE_NONE) {
		*ret_module = apply->modules[dso_id];
		return 0;
	}
	rc = array_reserve(&apply->modules, &apply->module_cap, (uint64_t)dso_id + 1,
		sizeof(*apply->modules), MODULES_LIMIT);
	if (rc < 0)
		return rc;
	while (apply->module_count <= dso_id)
		apply->modules[apply->module_count++] = PROFILE_NONE;
	memcpy(module.build_id, dso->key.build_id, sizeof(module.build_id));
	rc = profile_string(apply->profile, strings_get(&apply->target->strings, dso->key.path),
		&module.path);
	if (rc == 0)
		rc = profile_module(apply->profile, &module, &apply->modules[dso_id]);
	*ret_module = rc < 0 ? PROFILE_NONE : apply->modules[dso_id];
	return rc;
}

/* The frame of an address that the cache does not know. */
static int frame_of(struct apply *apply, uint32_t process, uint64_t ip, bool caller,
	bool in_kernel, uint32_t *ret_frame)
{
	uint64_t probe = ip - (caller && ip), addr = ip;
	const struct mapping *mapping = in_kernel ? target_find_kernel(apply->target, probe)
						  : target_find(apply->target, process, probe);
	uint32_t module;
	int rc;

	if (mapping) {
		enum dso_kind kind = apply->target->dsos[mapping->dso].key.kind;

		rc = dso_module(apply, mapping->dso, &module);
		if (kind == DSO_FILE || kind == DSO_VDSO)
			addr = ip - mapping->start + mapping->pgoff;
	} else if (in_kernel) {
		rc = named_module(
			apply, MODULE_KERNEL, "[kernel.kallsyms]", &apply->kernel_module);
		module = apply->kernel_module;
	} else {
		rc = named_module(apply, MODULE_ANON, "[unknown]", &apply->unknown_module);
		module = apply->unknown_module;
	}
	if (rc < 0)
		return rc;
	return profile_frame(apply->profile, module, addr, caller, ip, ret_frame);
}

static int frame_push(
	struct apply *apply, uint32_t process, uint64_t ip, bool caller, bool in_kernel)
{
	uint64_t key = (ip << 1 | ip >> 63) ^ caller;
	uint32_t owner = in_kernel ? TARGET_NONE : process;
	uint32_t generation = in_kernel ? 0 : apply->target->processes[process].generation;
	struct cache_slot *slot = &apply->cache[hash_pair(key, owner) & (CACHE_SLOTS - 1)];
	uint32_t frame;
	int rc;

	if (apply->frame_count == APPLY_DEPTH_MAX)
		return 0;
	if (slot->frame_plus_1 && slot->ip_and_caller == key && slot->process == owner &&
		slot->generation == generation) {
		apply->frames[apply->frame_count++] = slot->frame_plus_1 - 1;
		return 0;
	}
	rc = frame_of(apply, process, ip, caller, in_kernel, &frame);
	if (rc == -ENOSPC) /* counted in profile.refused */
		return 0;
	if (rc < 0)
		return rc;
	*slot = (struct cache_slot){key, owner, generation, frame + 1};
	apply->frames[apply->frame_count++] = frame;
	return 0;
}

static bool frame_is_root(struct apply *apply, uint32_t frame)
{
	uint32_t had = apply->roots_cap;

	if (!apply->options.is_root)
		return false;
	if (array_reserve(
		    &apply->roots, &apply->roots_cap, (uint64_t)frame + 1, 1, UINT32_MAX) < 0)
		return false;
	if (apply->roots_cap > had)
		memset(apply->roots + had, 0, apply->roots_cap - had);
	if (!apply->roots[frame])
		apply->roots[frame] =
			1 + apply->options.is_root(apply->options.ctx, apply->profile, frame);
	return apply->roots[frame] == 2;
}

/* ---- stacks */

struct chain_shape {
	uint32_t user_frames; /* behind the last PERF_CONTEXT_USER */
	bool has_chain;
};

static int chain_push(struct apply *apply, uint32_t process, const struct wick_record *record,
	struct chain_shape *ret_shape)
{
	const struct wick_words chain = record->sample.callchain;
	unsigned mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	bool in_kernel =
		mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL;
	bool leaf = true;

	apply->frame_count = 0;
	*ret_shape = (struct chain_shape){.has_chain = chain.n != 0};
	if (!chain.n) {
		ret_shape->user_frames = !in_kernel;
		return record->sample.ip
			       ? frame_push(apply, process, record->sample.ip, false, in_kernel)
			       : 0;
	}
	for (uint64_t i = 0; i < chain.n; i++) {
		uint64_t ip = wick_word(chain, i);
		int rc;

		if (ip >= PERF_CONTEXT_MAX) { /* a marker: who runs from here on, a new leaf */
			in_kernel = ip == PERF_CONTEXT_KERNEL ||
				    ip == PERF_CONTEXT_GUEST_KERNEL || ip == PERF_CONTEXT_HV;
			leaf = true;
			continue;
		}
		if (!ip) /* the unwinder's end mark of some architectures */
			continue;
		rc = frame_push(apply, process, ip, !leaf, in_kernel);
		if (rc < 0)
			return rc;
		ret_shape->user_frames += !in_kernel;
		leaf = false;
	}
	return 0;
}

static enum stack_stop stack_stop_of(
	struct apply *apply, const struct chain_shape *shape, const struct wick_record *record)
{
	const struct wick_words chain = record->sample.callchain;

	if (!shape->has_chain)
		return STOP_NO_CHAIN;
	if (!shape->user_frames) {
		/* Kernel threads, exec and exit have no user part; else the chain was cut above
		 * it. */
		return chain.n >= apply->options.kernel_depth_limit ? STOP_TRUNCATED_KERNEL
								    : STOP_NO_USER;
	}
	if (frame_is_root(apply, apply->frames[apply->frame_count - 1]))
		return STOP_ROOT;
	/* Without CFI the libc's first frames below main are out of reach, but main says
	 * enough. */
	if (apply->frame_count >= 2 && shape->user_frames >= 2 &&
		frame_is_root(apply, apply->frames[apply->frame_count - 2]))
		return STOP_ROOT;
	if (chain.n >= apply->options.kernel_depth_limit)
		return STOP_TRUNCATED_KERNEL;
	return STOP_NOT_ROOT;
}

static int stack_add(struct apply *apply, enum stack_stop stop, uint32_t *ret_stack)
{
	uint32_t stack = PROFILE_NONE, marker;
	char text[96];
	int rc = 0;

	if (stop != STOP_ROOT && stop != STOP_NO_USER && stop != STOP_NO_CHAIN &&
		stop != STOP_LATE) {
		snprintf(text, sizeof(text), "[truncated: %s]", quality_stop_name(stop));
		rc = profile_marker(apply->profile, text, &marker);
		if (rc == 0)
			rc = profile_stack(apply->profile, stack, marker, &stack);
	}
	for (uint32_t i = apply->frame_count; rc == 0 && i-- > 0;)
		rc = profile_stack(apply->profile, stack, apply->frames[i], &stack);
	*ret_stack = stack;
	return rc;
}

/* ---- records */

/* Coverage is about the first events of a recording, which share a unit. */
static bool event_counts(const struct quality *quality, uint32_t event)
{
	return event == 0 || (quality->coverage_events != QUALITY_UNKNOWN &&
				     event < quality->coverage_events);
}

static void sample_count(
	struct quality *quality, uint32_t event, const struct wick_record *record)
{
	uint64_t time = record->id.time;

	quality->samples++;
	if (event_counts(quality, event))
		quality->period_sum += record->sample.period ? record->sample.period : 1;
	if (!time)
		return;
	if (!quality->first_ns || time < quality->first_ns)
		quality->first_ns = time;
	if (time > quality->last_ns)
		quality->last_ns = time;
}

static int apply_sample(struct apply *apply, uint32_t event, const struct wick_record *record)
{
	int32_t pid = (int32_t)record->id.pid, tid = (int32_t)record->id.tid;
	uint32_t thread = target_thread(apply->target, pid, tid), process;
	struct chain_shape shape;
	enum stack_stop stop;
	struct sample sample;
	int rc;

	if (thread == TARGET_NONE)
		return -ENOMEM;
	process = apply->target->threads[thread].process;
	if (!apply->target->processes[process].known && apply->options.need_process) {
		apply->options.need_process(apply->options.ctx, pid, tid, record->id.time);
		thread = target_thread(apply->target, pid, tid);
		if (thread == TARGET_NONE)
			return -ENOMEM;
		process = apply->target->threads[thread].process;
	}
	sample_count(&apply->profile->quality, event, record);
	rc = chain_push(apply, process, record, &shape);
	if (rc < 0)
		return rc;
	stop = stack_stop_of(apply, &shape, record);
	apply->profile->quality.stops[stop]++;
	if (apply->options.count_only)
		return 0;
	sample = (struct sample){
		.time_ns = record->id.time,
		.weight = record->sample.period ? record->sample.period : 1,
		.cpu = record->id.have & PERF_SAMPLE_CPU ? (uint16_t)record->id.cpu
							 : PROFILE_NO_CPU,
		.event = (uint16_t)event,
	};
	rc = stack_add(apply, stop, &sample.stack);
	if (rc == 0)
		rc = profile_thread(apply->profile, pid, tid,
			strings_get(
				&apply->target->strings, apply->target->threads[thread].comm),
			&sample.thread);
	if (rc < 0)
		return rc;
	return apply->options.on_sample ? apply->options.on_sample(apply->options.ctx, &sample)
					: profile_add(apply->profile, &sample);
}

/* "[kernel.kallsyms]_stext": the name of the symbol whose address pgoff is, behind the bracket.
 */
static size_t kernel_name_len(const char *name)
{
	const char *bracket = strchr(name, ']');

	return bracket ? (size_t)(bracket + 1 - name) : strlen(name);
}

static int mmap_dso(struct apply *apply, const struct wick_record_mmap *mmap, bool in_kernel,
	uint32_t *ret_dso)
{
	enum dso_kind kind = dso_kind_of(mmap->filename.text, in_kernel);
	size_t name_len = mmap->filename.len;
	struct dso_key key = {
		.maj = mmap->maj,
		.min = mmap->min,
		.ino = mmap->ino,
		.ino_generation = mmap->ino_generation,
		.build_id_bytes = mmap->build_id_bytes,
	};
	int rc;

	if (kind == DSO_ANON && mmap->build_id_bytes) /* an ELF file in a memfd */
		kind = DSO_FILE;
	if (kind == DSO_KERNEL)
		name_len = kernel_name_len(mmap->filename.text);
	key.kind = kind;
	key.anon_pid = kind == DSO_ANON ? mmap->pid : 0;
	memcpy(key.build_id, mmap->build_id, sizeof(key.build_id));
	rc = strings_add(&apply->target->strings, mmap->filename.text, name_len, &key.path);
	return rc < 0 ? rc : target_dso(apply->target, &key, ret_dso);
}

static int apply_mmap(struct apply *apply, const struct wick_record *record)
{
	const struct wick_record_mmap *mmap = &record->mmap;
	unsigned mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	bool in_kernel =
		mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL;
	struct mapping mapping = {
		.start = mmap->addr, .pgoff = mmap->pgoff, .prot = mmap->prot};
	int rc;

	if ((record->misc & PERF_RECORD_MISC_MMAP_DATA) || !mmap->len ||
		__builtin_add_overflow(mmap->addr, mmap->len, &mapping.end))
		return 0; /* data, or nonsense: no code lies there */
	if (!in_kernel && (int32_t)mmap->pid < 0)
		return 0; /* nobody's: only the kernel's mappings have no process */
	rc = mmap_dso(apply, mmap, in_kernel, &mapping.dso);
	if (rc < 0)
		return rc == -ENOSPC ? 0 : rc;
	if (apply->target->dsos[mapping.dso].key.kind == DSO_KERNEL) {
		apply->target->dsos[mapping.dso].reloc = mmap->pgoff;
		mapping.pgoff = 0;
	}
	rc = target_map(apply->target, in_kernel ? -1 : (int32_t)mmap->pid, &mapping);
	return rc == -ENOSPC ? 0 : rc;
}

static int apply_task(struct apply *apply, const struct wick_record *record)
{
	const struct wick_record_task *task = &record->task;
	int rc;

	if (record->type == PERF_RECORD_EXIT)
		rc = target_exit(apply->target, (int32_t)task->pid, (int32_t)task->tid);
	else
		rc = target_fork(apply->target, (int32_t)task->ppid, (int32_t)task->ptid,
			(int32_t)task->pid, (int32_t)task->tid);
	/* Made up by a recorder for a process that was there before: it shares nothing. */
	if (rc == 0 && record->type == PERF_RECORD_FORK && task->pid != task->ppid &&
		(record->misc & PERF_RECORD_MISC_FORK_EXEC)) {
		uint32_t process = target_process(apply->target, (int32_t)task->pid);

		if (process != TARGET_NONE)
			target_unmap_all(apply->target, process);
	}
	return rc == -ENOSPC ? 0 : rc;
}

static int apply_comm(struct apply *apply, const struct wick_record *record)
{
	int rc = target_comm(apply->target, (int32_t)record->comm.pid,
		(int32_t)record->comm.tid, record->comm.name.text,
		(record->misc & PERF_RECORD_MISC_COMM_EXEC) != 0);

	return rc == -ENOSPC ? 0 : rc;
}

static void apply_lost(struct apply *apply, uint64_t lost, uint64_t time)
{
	struct quality *quality = &apply->profile->quality;

	/* The record is written with the next one that fits: the loss lies before its time. */
	if (!quality->lost_records++)
		quality->first_loss_ns = time > apply->first_ns ? time - apply->first_ns : 0;
	quality->last_loss_ns = time > apply->first_ns ? time - apply->first_ns : 0;
	quality->lost += lost;
}

static void apply_throttle(struct apply *apply, const struct wick_record *record)
{
	struct quality *quality = &apply->profile->quality;
	struct throttle *throttle = &apply->throttles[record->id.cpu % THROTTLE_CPUS];
	uint64_t time = record->throttle.time;

	if (record->type == PERF_RECORD_THROTTLE) {
		quality->throttled++;
		throttle->since = time;
	} else if (throttle->since) {
		if (time > throttle->since)
			quality->throttled_ns += time - throttle->since;
		throttle->since = 0;
	}
}

int apply_record(struct apply *apply, const struct wick_layout *layout, uint32_t event,
	const void *record, size_t size)
{
	struct wick_record decoded;
	int rc = wick_record_decode(layout, record, size, &decoded);

	if (rc < 0) {
		if (rc == -ENOTSUP)
			apply->profile->quality.unknown_records++;
		else
			apply->profile->quality.bad_records++;
		return 0;
	}
	if (decoded.id.time) {
		if (!apply->first_ns)
			apply->first_ns = decoded.id.time;
		if (decoded.id.time > apply->newest_ns)
			apply->newest_ns = decoded.id.time;
	}
	switch (decoded.type) {
	case PERF_RECORD_SAMPLE:
		return apply_sample(apply, event, &decoded);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return apply_mmap(apply, &decoded);
	case PERF_RECORD_COMM:
		return apply_comm(apply, &decoded);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return apply_task(apply, &decoded);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		apply_lost(apply, decoded.lost.lost, decoded.id.time);
		return 0;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		apply_throttle(apply, &decoded);
		return 0;
	default:
		return 0; /* known, and without a meaning for a profile */
	}
}
