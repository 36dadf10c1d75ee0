/*
 * Records on their way into a ring: prepare, reserve, copy, commit.
 *
 * An inherited event writes into its parent's ring, under its parent's id; STREAM_ID is its
 * own.
 */
#include "softperf/core.h"

#include "record/encode.h"

#include <string.h>

/* Where an idle CPU or a fault in the kernel is: the start of the kernel's text. */
#define KERNEL_IP 0xffffffff81000000ull

/* PERF_MEM_NA */
#define DATA_SRC_NA 0x1e05080021ull

static const uint64_t zeros[1];

static struct core_event *root_of(struct core_event *event)
{
	return event->parent ? event->parent : event;
}

/* Copying takes time, in which a PMU may interrupt and write a record of its own. */
static void copy(struct core_event *event, const uint8_t *bytes, size_t size,
	struct ringwriter_record *reserved)
{
	struct core *core = event->core;

	if (core->options.copy_ns && !core->in_interrupt && !core->copying) {
		core->copying = root_of(event)->ring;
		core_advance(core, core->options.copy_ns);
		core->copying = NULL;
	}
	ringwriter_put(reserved, bytes, size);
	ringwriter_commit(reserved);
}

void core_wakeups(struct core *core)
{
	while (core->wakeups) {
		struct core_ring *ring = core->wakeups;

		core->wakeups = ring->next_wakeup;
		ring->waits = false;
		if (ringwriter_deferred(ring->writer))
			core_trace(core, "wakeup",
				"irq_work, behind the interrupt: poll() will return");
	}
}

/* An interrupt must not wake anybody: it is left to an irq_work, which runs behind it. */
static void leave_wakeup(struct core *core, struct core_ring *ring)
{
	if (!ring->waits) {
		ring->waits = true;
		ring->next_wakeup = core->wakeups;
		core->wakeups = ring;
	}
	if (!core->in_interrupt && !core->copying)
		core_wakeups(core);
}

static void trace_ring(
	struct core *core, const char *who, const char *what, const struct ringwriter *writer)
{
	uint64_t head, tail;

	ringwriter_head_tail(writer, &head, &tail);
	core_trace(core, who, "%s: data_head %lld, data_tail %llu", what, (long long)head,
		(unsigned long long)tail);
}

static void emit(struct core_event *event, struct wick_record *record)
{
	struct core_event *root = root_of(event);
	struct core *core = event->core;
	struct ringwriter_speaker speaker = {.id = root->id,
		.layout = &event->layout,
		.wakeup_events =
			root->attr.flags & ATTR_WATERMARK ? 0 : root->attr.wakeup_events};
	const char *name = wick_record_type_name(record->type);
	uint8_t *bytes = core->records[core->copying != NULL];
	struct ringwriter_record reserved;
	struct ringwriter *writer;
	int size;

	if (!root->ring)
		return;
	writer = root->ring->writer;
	size = record_encode(&event->layout, record, bytes, PERF_RECORD_SIZE_MAX + 1);
	if (size < 0)
		return;
	core_trace(core, "prepare", "%s: the attr makes it %d bytes", name, size);
	if (ringwriter_reserve(writer, &speaker, (size_t)size, &record->id, &reserved) < 0) {
		root->lost++;
		trace_ring(core, "reserve", "no room for it, it is lost and counted", writer);
		leave_wakeup(core, root->ring);
		return;
	}
	trace_ring(core, "reserve", "there is room", writer);
	copy(event, bytes, (size_t)size, &reserved);
	trace_ring(core, "write",
		core->copying == root->ring
			? "copied, but the record that was interrupted lies in front of it"
			: "copied, and stored with release",
		writer);
	leave_wakeup(core, root->ring);
	if (record->type == PERF_RECORD_SAMPLE)
		core->samples++;
}

static void fill_id(struct core_event *event, const struct core_task *task, int cpu,
	struct wick_sample_id *ret_id)
{
	*ret_id = (struct wick_sample_id){.time = event->core->now_ns,
		.id = root_of(event)->id,
		.stream_id = event->id,
		.pid = task ? (uint32_t)task->pid : 0,
		.tid = task ? (uint32_t)task->tid : 0,
		.cpu = cpu < 0 ? 0 : (uint32_t)cpu};
}

static uint64_t frame_ip(const struct core_frame *frame)
{
	if (frame->kernel)
		return frame->kernel_depth ? frame->kernel_chain[0] : KERNEL_IP;
	return frame->user_depth ? frame->user_chain[0] : 0;
}

/* Markers and both halves, no longer than sample_max_stack. */
static uint64_t fill_chain(
	const struct core_event *event, const struct core_frame *frame, uint64_t *chain)
{
	uint32_t most =
		event->attr.sample_max_stack ? event->attr.sample_max_stack : CORE_CHAIN_MAX;
	uint32_t used = 0;
	uint64_t n = 0;

	if (frame->kernel && !(event->attr.flags & ATTR_EXCLUDE_CALLCHAIN_KERNEL)) {
		chain[n++] = PERF_CONTEXT_KERNEL;
		if (!frame->kernel_depth)
			chain[n++] = KERNEL_IP;
		for (uint32_t i = 0; i < frame->kernel_depth && used < most; i++, used++)
			chain[n++] = frame->kernel_chain[i];
	}
	if (frame->user_depth && !(event->attr.flags & ATTR_EXCLUDE_CALLCHAIN_USER)) {
		chain[n++] = PERF_CONTEXT_USER;
		for (uint32_t i = 0; i < frame->user_depth && used < most; i++, used++)
			chain[n++] = frame->user_chain[i];
	}
	return n;
}

/* `values` has room for 64. */
static void fill_regs(const struct core_event *event, uint64_t mask, bool have,
	uint64_t *values, struct wick_regs *ret_regs)
{
	const struct core_memory *memory = &event->core->options.memory;
	uint64_t n = 0;

	for (unsigned reg = 0; reg < 64; reg++)
		if (mask >> reg & 1)
			values[n++] = memory->reg && have
					      ? memory->reg(memory->ctx, event->on_cpu, reg)
					      : 0;
	ret_regs->mask = mask;
	ret_regs->abi = have ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE;
	ret_regs->values = (struct wick_words){values, n};
}

/* perf_output_sample_ustack(): what cannot be read is left out of dyn_size. */
static void fill_stack(const struct core_event *event, struct wick_sample *sample)
{
	struct core *core = event->core;
	const struct core_memory *memory = &core->options.memory;

	sample->stack = core->stack;
	sample->stack_asked = event->attr.sample_stack_user;
	sample->stack_bytes = sample->stack_asked;
	if (memory->stack)
		sample->stack_bytes = memory->stack(
			memory->ctx, event->on_cpu, core->stack, sample->stack_asked);
}

void core_write_sample(
	struct core_event *event, uint64_t period, const struct core_frame *frame)
{
	struct core_task *task = event->core->cpus[event->on_cpu].current;
	uint64_t chain[2 * CORE_CHAIN_MAX + 4], words[3 * CORE_GROUP_MAX], user[64], own[64];
	struct wick_record record = {.type = PERF_RECORD_SAMPLE};
	struct wick_sample *sample = &record.sample;

	fill_id(event, task, event->on_cpu, &record.id);
	record.misc = frame->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	sample->ip = frame_ip(frame);
	sample->addr = frame->addr;
	sample->period = period;
	if (event->attr.sample_type & PERF_SAMPLE_READ)
		core_read_values(event, false, words, &sample->read);
	sample->callchain = (struct wick_words){chain, fill_chain(event, frame, chain)};
	sample->raw = zeros; /* an empty one is a word of nothing */
	sample->raw_bytes = 4;
	fill_regs(event, event->attr.sample_regs_user, task != NULL, user, &sample->regs_user);
	fill_regs(event, event->attr.sample_regs_intr, true, own, &sample->regs_intr);
	if (task)
		fill_stack(event, sample);
	sample->data_src = DATA_SRC_NA;
	sample->aux = zeros;
	emit(event, &record);
}

void core_write_throttle(struct core_event *event, bool unthrottle)
{
	struct wick_record record = {
		.type = unthrottle ? PERF_RECORD_UNTHROTTLE : PERF_RECORD_THROTTLE};

	fill_id(event, event->core->cpus[event->on_cpu].current, event->on_cpu, &record.id);
	record.throttle.time = event->core->now_ns;
	record.throttle.id = record.id.id;
	record.throttle.stream_id = event->id;
	emit(event, &record);
}

static void sideband_event(struct core_event *event, const struct core_task *task, int cpu,
	const struct wick_record *record)
{
	struct wick_record own = *record;

	if (event->state < CORE_INACTIVE || (event->cpu != -1 && event->cpu != cpu))
		return;
	if (own.type == PERF_RECORD_MMAP2 && !(event->attr.flags & ATTR_MMAP2))
		own.type = PERF_RECORD_MMAP;
	if (own.type == PERF_RECORD_MMAP2 && !(event->attr.flags & ATTR_BUILD_ID))
		own.mmap.build_id_bytes = 0;
	fill_id(event, task, cpu, &own.id);
	emit(event, &own);
}

void core_sideband(struct core *core, struct core_task *task, int cpu, uint64_t flags,
	struct wick_record *record)
{
	struct core_context *contexts[] = {
		cpu >= 0 ? &core->cpus[cpu].ctx : NULL, task ? task->ctx : NULL};

	for (size_t i = 0; i < 2; i++)
		for (struct core_event *event = contexts[i] ? contexts[i]->first : NULL; event;
			event = event->next_in_context)
			if (event->attr.flags & flags)
				sideband_event(event, task, cpu, record);
}
