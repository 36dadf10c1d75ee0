/*
 * The body of a SAMPLE, and the values of READ: field after field as sample.c reads them. The
 * two files are kept apart from each other's tables on purpose: sample_test.c also holds bytes
 * that were written by hand, against a mistake made twice.
 */
#include "record/out.h"

#include "record/fields.h"

void read_encode(const struct wick_layout *layout, const struct wick_read *read, struct out *o)
{
	uint64_t format = layout->read_format;
	bool group = format & PERF_FORMAT_GROUP;

	if (!group && read->n != 1) {
		o->invalid = true;
		return;
	}
	if (group)
		out_u64(o, read->n);
	else
		out_u64(o, wick_read_value(read, 0));
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		out_u64(o, read->time_enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		out_u64(o, read->time_running);
	for (uint64_t i = 0; i < read->n && !o->full; i++) {
		if (group)
			out_u64(o, wick_read_value(read, i));
		if (format & PERF_FORMAT_ID)
			out_u64(o, wick_read_id(read, i));
		if (format & PERF_FORMAT_LOST)
			out_u64(o, wick_read_lost(read, i));
	}
}

static void encode_who(uint64_t type, const struct wick_record *record, struct out *o)
{
	const struct wick_sample_id *id = &record->id;
	const struct wick_sample *sample = &record->sample;

	if (type & PERF_SAMPLE_IDENTIFIER)
		out_u64(o, id->id);
	if (type & PERF_SAMPLE_IP)
		out_u64(o, sample->ip);
	if (type & PERF_SAMPLE_TID)
		out_pair(o, id->pid, id->tid);
	if (type & PERF_SAMPLE_TIME)
		out_u64(o, id->time);
	if (type & PERF_SAMPLE_ADDR)
		out_u64(o, sample->addr);
	if (type & PERF_SAMPLE_ID)
		out_u64(o, id->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		out_u64(o, id->stream_id);
	if (type & PERF_SAMPLE_CPU)
		out_pair(o, id->cpu, id->cpu_reserved);
	if (type & PERF_SAMPLE_PERIOD)
		out_u64(o, sample->period);
}

static void encode_raw(const struct wick_sample *sample, struct out *o)
{
	uint32_t padding = -(sample->raw_bytes + 4) & 7;

	out_u32(o, sample->raw_bytes + padding);
	out_bytes(o, sample->raw, sample->raw_bytes);
	out_pad(o, 4ull + sample->raw_bytes);
}

static void encode_branches(uint64_t kind, const struct wick_sample *sample, struct out *o)
{
	out_u64(o, sample->branches.n);
	if (kind & PERF_SAMPLE_BRANCH_HW_INDEX)
		out_u64(o, sample->branch_hw_index);
	out_words(o, sample->branches.bytes, sample->branches.n, 3);
	if (!(kind & PERF_SAMPLE_BRANCH_COUNTERS))
		return;
	if (sample->branch_counters.n != sample->branches.n)
		o->invalid = true;
	else
		out_words(o, sample->branch_counters.bytes, sample->branch_counters.n, 1);
}

static void encode_regs(uint64_t mask, const struct wick_regs *regs, struct out *o)
{
	out_u64(o, regs->abi);
	if (regs->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	if (regs->values.n != (uint64_t)__builtin_popcountll(mask))
		o->invalid = true;
	else
		out_words(o, regs->values.bytes, regs->values.n, 1);
}

static void encode_stack(const struct wick_sample *sample, struct out *o)
{
	out_u64(o, sample->stack_asked);
	if (!sample->stack_asked)
		return;
	if (sample->stack_asked % 8 || sample->stack_bytes > sample->stack_asked)
		o->invalid = true;
	out_bytes(o, sample->stack, sample->stack_asked);
	out_u64(o, sample->stack_bytes);
}

static void encode_aux(const struct wick_sample *sample, struct out *o)
{
	out_u64(o, sample->aux_bytes + (-sample->aux_bytes & 7));
	out_bytes(o, sample->aux, sample->aux_bytes);
	out_pad(o, sample->aux_bytes);
}

static void encode_rest(uint64_t type, const struct wick_layout *layout,
	const struct wick_sample *sample, struct out *o)
{
	if (type & WEIGHT_BITS)
		out_u64(o, sample->weight);
	if (type & PERF_SAMPLE_DATA_SRC)
		out_u64(o, sample->data_src);
	if (type & PERF_SAMPLE_TRANSACTION)
		out_u64(o, sample->transaction);
	if (type & PERF_SAMPLE_REGS_INTR)
		encode_regs(layout->regs_intr, &sample->regs_intr, o);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		out_u64(o, sample->phys_addr);
	if (type & PERF_SAMPLE_CGROUP)
		out_u64(o, sample->cgroup);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		out_u64(o, sample->data_page_size);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		out_u64(o, sample->code_page_size);
	if (type & PERF_SAMPLE_AUX)
		encode_aux(sample, o);
}

void sample_encode(
	const struct wick_layout *layout, const struct wick_record *record, struct out *o)
{
	const struct wick_sample *sample = &record->sample;
	uint64_t type = layout->sample_type;

	encode_who(type, record, o);
	if (type & PERF_SAMPLE_READ)
		read_encode(layout, &sample->read, o);
	if (type & PERF_SAMPLE_CALLCHAIN)
		out_counted_words(o, &sample->callchain);
	if (type & PERF_SAMPLE_RAW)
		encode_raw(sample, o);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		encode_branches(layout->branch_sample_type, sample, o);
	if (type & PERF_SAMPLE_REGS_USER)
		encode_regs(layout->regs_user, &sample->regs_user, o);
	if (type & PERF_SAMPLE_STACK_USER)
		encode_stack(sample, o);
	encode_rest(type, layout, sample, o);
}
