/*
 * A sample's way: thread -> process -> its chain (unwound, where it brings registers and a
 * piece of the stack) -> a frame for each entry -> stack.
 */
#include "session/apply.h"

#include "abi/perf_abi.h"
#include "session/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { THROTTLE_CPUS = 4096 };

struct throttle {
	uint64_t since; /* 0: not throttled */
	uint32_t span;	/* of the profile; it is as long as is known */
};

struct apply {
	struct apply_options options;
	struct target *target;
	struct profile *profile;
	struct frames *frames;
	uint64_t first_ns, newest_ns;
	struct throttle throttles[THROTTLE_CPUS];
	uint64_t last_ns[THROTTLE_CPUS]; /* of a record, by CPU */
	uint32_t chain[APPLY_DEPTH_MAX]; /* frames of the sample at hand, leaf first */
	uint32_t frame_count;
};

int apply_new(const struct apply_options *options, struct apply **ret_apply)
{
	struct apply *apply = calloc(1, sizeof(*apply));
	int rc;

	if (!apply)
		return -ENOMEM;
	apply->options = *options;
	if (!apply->options.kernel_depth_limit)
		apply->options.kernel_depth_limit = 127;
	apply->target = options->target;
	apply->profile = options->profile;
	rc = frames_new(options->target, options->profile, options->is_root, options->ctx,
		&apply->frames);
	if (rc < 0) {
		free(apply);
		return rc;
	}
	frames_on_module(apply->frames, options->module_seen);
	frames_on_code(apply->frames, options->code_at);
	*ret_apply = apply;
	return 0;
}

void apply_free(struct apply *apply)
{
	if (!apply)
		return;
	frames_free(apply->frames);
	free(apply);
}

/* ---- stacks */

/* What a chain looked like. */
struct chain_shape {
	uint32_t user_frames;
	bool has_chain;
};

static int chain_entry(
	struct apply *apply, uint32_t process, uint64_t ip, bool caller, bool in_kernel)
{
	uint32_t frame;
	int rc;

	if (apply->frame_count == APPLY_DEPTH_MAX)
		return 0;
	rc = in_kernel ? frames_kernel(apply->frames, ip, caller, &frame)
		       : frames_user(apply->frames, process, ip, caller, &frame);
	if (rc == 0)
		apply->chain[apply->frame_count++] = frame;
	return rc == -ENOSPC ? 0 : rc; /* counted in profile.refused */
}

/* Who only counts needs the outermost frames in any case, to know whether they are roots. */
static uint64_t chain_first(const struct apply *apply, uint64_t entries)
{
	if (!apply->options.count_only || entries <= 2 ||
		apply->profile->frame_count < apply->options.counted_frames_most)
		return 0;
	return entries - 2;
}

static int chain_push(struct apply *apply, uint32_t process, const struct wick_record *record,
	struct chain_shape *ret_shape)
{
	const struct wick_words chain = record->sample.callchain;
	unsigned mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	bool in_kernel =
		mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL;
	uint64_t first = chain_first(apply, chain.n);
	bool leaf = true;

	apply->frame_count = 0;
	*ret_shape = (struct chain_shape){.has_chain = chain.n != 0};
	if (!chain.n) {
		ret_shape->user_frames = !in_kernel;
		return record->sample.ip ? chain_entry(apply, process, record->sample.ip, false,
						   in_kernel)
					 : 0;
	}
	for (uint64_t i = 0; i < chain.n; i++) {
		uint64_t ip = wick_word(chain, i);
		int rc = 0;

		if (ip >= PERF_CONTEXT_MAX) { /* a marker: who runs from here on, a new leaf */
			in_kernel = ip == PERF_CONTEXT_KERNEL ||
				    ip == PERF_CONTEXT_GUEST_KERNEL || ip == PERF_CONTEXT_HV;
			leaf = true;
			continue;
		}
		if (!ip) /* the unwinder's end mark of some architectures */
			continue;
		if (i >= first)
			rc = chain_entry(apply, process, ip, !leaf, in_kernel);
		if (rc < 0)
			return rc;
		ret_shape->user_frames += !in_kernel;
		leaf = false;
	}
	return 0;
}

/* Why the kernel's own frame-pointer chain ended. */
static enum stack_stop chain_stop(
	struct apply *apply, const struct chain_shape *shape, const struct wick_record *record)
{
	uint32_t limit = apply->options.kernel_depth_limit;

	if (!shape->has_chain)
		return STOP_NO_CHAIN;
	/* Kernel threads, exec and exit have no user part; else the chain was cut above it. */
	if (!shape->user_frames)
		return record->sample.callchain.n >= limit ? STOP_TRUNCATED_KERNEL
							   : STOP_NO_USER;
	/* What stands behind the libc's start functions is no frame, but what lay on the stack.
	 */
	for (uint32_t back = 1; back <= 2 && back <= apply->frame_count; back++)
		if (back <= shape->user_frames &&
			frames_is_root(apply->frames, apply->chain[apply->frame_count - back]))
			return STOP_ROOT;
	return record->sample.callchain.n >= limit ? STOP_TRUNCATED_KERNEL : STOP_NOT_ROOT;
}

/* A chain that was unwound says itself why it ended; a root may be known by its name alone. */
static enum stack_stop unwound_stop(
	struct apply *apply, const struct chain_shape *shape, enum stack_stop stop)
{
	if (stop != STOP_ROOT && stop != STOP_LATE && stop != STOP_BEHIND &&
		shape->user_frames && apply->frame_count &&
		frames_is_root(apply->frames, apply->chain[apply->frame_count - 1]))
		return STOP_ROOT;
	return stop;
}

static int stack_add(struct apply *apply, enum stack_stop stop, uint32_t *ret_stack)
{
	uint32_t stack = PROFILE_NONE, marker;
	char text[96];
	int rc = 0;

	if (stop != STOP_ROOT && stop != STOP_NO_USER && stop != STOP_NO_CHAIN &&
		stop != STOP_LATE) {
		if (stop == STOP_SWITCHED)
			snprintf(text, sizeof(text), GOROUTINE_MARKER);
		else
			snprintf(
				text, sizeof(text), "[truncated: %s]", quality_stop_name(stop));
		rc = profile_marker(apply->profile, text, &marker);
		if (rc == 0)
			rc = profile_stack(apply->profile, stack, marker, &stack);
	}
	for (uint32_t i = apply->frame_count; rc == 0 && i-- > 0;)
		rc = profile_stack(apply->profile, stack, apply->chain[i], &stack);
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
	if (quality->first_ns == QUALITY_UNKNOWN || time < quality->first_ns)
		quality->first_ns = time;
	if (quality->last_ns == QUALITY_UNKNOWN || time > quality->last_ns)
		quality->last_ns = time;
}

/* The process of a sample, read from /proc first when nobody has told about it. */
static int sample_process(struct apply *apply, const struct wick_record *record,
	uint32_t *ret_thread, uint32_t *ret_process)
{
	int32_t pid = (int32_t)record->id.pid, tid = (int32_t)record->id.tid;
	uint32_t thread = target_thread(apply->target, pid, tid);

	if (thread != TARGET_NONE && apply->options.need_process &&
		!apply->target->processes[apply->target->threads[thread].process].known) {
		apply->options.need_process(apply->options.ctx, pid, tid, record->id.time);
		thread = target_thread(apply->target, pid, tid);
	}
	if (thread == TARGET_NONE)
		return -ENOMEM;
	*ret_thread = thread;
	*ret_process = apply->target->threads[thread].process;
	return 0;
}

/* Replaces the chain by a complete one, where that can be had. True: *ret_stop says how it
 * ended. */
static bool sample_unwind(struct apply *apply, uint32_t process, struct wick_record *record,
	enum stack_stop *ret_stop)
{
	uint32_t stored = record->id.cpu_reserved;

	if (apply->options.stacks && record->sample.regs_user.mask) {
		*ret_stop = stacks_unwind(
			apply->options.stacks, process, record, &record->sample.callchain);
		return true;
	}
	if (!apply->options.stored_stops || !stored || stored > STOP_COUNT)
		return false;
	*ret_stop = (enum stack_stop)(stored - 1);
	return true;
}

static int sample_store(struct apply *apply, uint32_t event, uint32_t thread,
	enum stack_stop stop, const struct wick_record *record)
{
	struct sample sample = {
		.time_ns = record->id.time,
		.weight = record->sample.period ? record->sample.period : 1,
		.cpu = record->id.have & PERF_SAMPLE_CPU ? (uint16_t)record->id.cpu
							 : PROFILE_NO_CPU,
		.event = (uint16_t)event,
	};
	int rc = stack_add(apply, stop, &sample.stack);

	if (rc == 0)
		rc = profile_thread(apply->profile, (int32_t)record->id.pid,
			(int32_t)record->id.tid,
			strings_get(
				&apply->target->strings, apply->target->threads[thread].comm),
			&sample.thread);
	if (rc < 0)
		return rc == -ENOSPC ? 0 : rc;
	if (apply->options.on_sample)
		return apply->options.on_sample(apply->options.ctx, &sample);
	rc = profile_add(apply->profile, &sample);
	return rc == -ENOSPC ? 0 : rc;
}

static void hits_count(struct apply *apply)
{
	for (uint32_t i = 0; i < apply->frame_count; i++) {
		struct frame *frame = &apply->profile->frames[apply->chain[i]];

		frame->hits += frame->hits < UINT32_MAX;
	}
}

/* Past the limit of frames the first entry is not where the sample stopped. */
static int self_count(struct apply *apply, const struct wick_record *record)
{
	if (!apply->options.self || !apply->frame_count ||
		chain_first(apply, record->sample.callchain.n))
		return 0;
	return self_counts_add(apply->options.self, apply->chain[0]);
}

static int apply_sample(struct apply *apply, uint32_t event, struct wick_record *record)
{
	enum stack_stop stop = STOP_NO_CHAIN;
	struct chain_shape shape;
	uint32_t thread, process;
	bool unwound;
	int rc = sample_process(apply, record, &thread, &process);

	if (rc < 0)
		return rc;
	sample_count(&apply->profile->quality, event, record);
	frames_set_time(apply->frames, record->id.time);
	unwound = sample_unwind(apply, process, record, &stop);
	rc = chain_push(apply, process, record, &shape);
	if (rc < 0)
		return rc;
	hits_count(apply);
	stop = unwound ? unwound_stop(apply, &shape, stop) : chain_stop(apply, &shape, record);
	apply->profile->quality.stops[stop]++;
	if (!apply->options.count_only)
		return sample_store(apply, event, thread, stop, record);
	if (self_count(apply, record) == -ENOMEM)
		return -ENOMEM;
	record->id.cpu_reserved = stop + 1u;
	return apply->options.on_counted ? apply->options.on_counted(apply->options.ctx, record)
					 : 0;
}

/* "[kernel.kallsyms]_stext": the name of the symbol whose address pgoff is, behind the bracket.
 */
static size_t kernel_name_len(const char *name)
{
	const char *bracket = strchr(name, ']');

	return bracket ? (size_t)(bracket + 1 - name) : strlen(name);
}

/* An ELF file in a memfd; a compiler's memory may be one as well. */
static bool is_program(const struct apply *apply, const struct wick_record_mmap *mmap)
{
	if (mmap->build_id_bytes)
		return true;
	return mmap->ino && !strncmp(mmap->filename.text, "/memfd:", 7) &&
	       apply->options.is_program && apply->options.is_program(apply->options.ctx, mmap);
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

	if (kind == DSO_ANON && is_program(apply, mmap))
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
	if (rc == 0 && !in_kernel && apply->options.mapping_seen)
		rc = apply->options.mapping_seen(apply->options.ctx, mmap);
	return rc == -ENOSPC ? 0 : rc;
}

/*
 * A symbol that the kernel made while it runs: a BPF program. It becomes a module of its own,
 * whose path is the function's name; where it lies tells two of the same code apart.
 */
static int apply_ksymbol(struct apply *apply, const struct wick_record *record)
{
	const struct wick_record_ksymbol *ksymbol = &record->ksymbol;
	struct dso_key key = {.kind = DSO_KMODULE, .ino = ksymbol->addr};
	struct mapping mapping = {.start = ksymbol->addr};
	int rc;

	/* What is gone keeps its name until another one lies there. */
	if ((ksymbol->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) || !ksymbol->len ||
		!ksymbol->addr || !module_is_ksymbol(ksymbol->name.text) ||
		__builtin_add_overflow(mapping.start, ksymbol->len, &mapping.end))
		return 0;
	rc = strings_add(
		&apply->target->strings, ksymbol->name.text, ksymbol->name.len, &key.path);
	if (rc == 0)
		rc = target_dso(apply->target, &key, &mapping.dso);
	if (rc == 0)
		rc = target_map(apply->target, -1, &mapping);
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

/* Who ran when a record was written: the profile's thread, or PROFILE_NONE. */
static uint32_t span_thread(struct apply *apply, const struct wick_record *record)
{
	int32_t pid = (int32_t)record->id.pid, tid = (int32_t)record->id.tid;
	uint32_t thread, id;

	if (!(record->id.have & PERF_SAMPLE_TID) || pid < 0 || tid <= 0)
		return PROFILE_NONE;
	thread = target_thread(apply->target, pid, tid);
	if (thread == TARGET_NONE || profile_thread(apply->profile, pid, tid,
					     strings_get(&apply->target->strings,
						     apply->target->threads[thread].comm),
					     &id) < 0)
		return PROFILE_NONE;
	return id;
}

static int span_add(struct apply *apply, enum span_kind kind, uint64_t start_ns,
	uint64_t end_ns, uint32_t thread)
{
	const struct profile_span span = {
		kind, start_ns && start_ns < end_ns ? start_ns : end_ns, end_ns, thread};

	return end_ns ? profile_span(apply->profile, &span) : 0;
}

static int apply_lost(struct apply *apply, const struct wick_record *record)
{
	uint64_t lost = record->lost.lost, time = record->id.time;
	struct quality *quality = &apply->profile->quality;

	/* The record is written with the next one that fits: the loss lies before its time. */
	if (!quality->lost_records++)
		quality->first_loss_ns = time > apply->first_ns ? time - apply->first_ns : 0;
	quality->last_loss_ns = time > apply->first_ns ? time - apply->first_ns : 0;
	quality->lost += lost;
	return span_add(apply, SPAN_LOST, apply->last_ns[record->id.cpu % THROTTLE_CPUS], time,
		span_thread(apply, record));
}

static int apply_throttle(struct apply *apply, const struct wick_record *record)
{
	struct quality *quality = &apply->profile->quality;
	struct throttle *throttle = &apply->throttles[record->id.cpu % THROTTLE_CPUS];
	uint64_t time = record->throttle.time;

	if (record->type == PERF_RECORD_THROTTLE) {
		quality->throttled++;
		throttle->since = time;
		throttle->span = apply->profile->span_count;
		return span_add(apply, SPAN_THROTTLED, time, time, span_thread(apply, record));
	}
	if (throttle->since && time > throttle->since) {
		quality->throttled_ns += time - throttle->since;
		if (throttle->span < apply->profile->span_count)
			apply->profile->spans[throttle->span].end_ns = time;
	}
	throttle->since = 0;
	return 0;
}

/* The meaning of a record. */
static int apply_decoded(struct apply *apply, uint32_t event, struct wick_record *record)
{
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		return apply_sample(apply, event, record);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return apply_mmap(apply, record);
	case PERF_RECORD_KSYMBOL:
		return apply_ksymbol(apply, record);
	case PERF_RECORD_COMM:
		return apply_comm(apply, record);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return apply_task(apply, record);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return apply_lost(apply, record);
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return apply_throttle(apply, record);
	default:
		return 0; /* known, and without a meaning for a profile */
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
	rc = apply_decoded(apply, event, &decoded);
	if (decoded.id.time)
		apply->last_ns[decoded.id.cpu % THROTTLE_CPUS] = decoded.id.time;
	return rc;
}
