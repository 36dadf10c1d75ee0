/*
 * The body of a PERF_RECORD_SAMPLE: field after field in the order in which the kernel's
 * perf_output_sample() writes them, each there if its bit of sample_type is set. The order is
 * not that of the bits: IDENTIFIER (bit 16) comes first, READ (bit 4) after PERIOD (bit 8).
 *
 * A field of variable size says its own size; the reader refuses what goes beyond the record,
 * and a size that is no multiple of 8 where the kernel always pads, because the next field's
 * place would be a guess then.
 */
#include "record/fields.h"

const void *words_take(struct bytes *b, uint64_t n, uint32_t entry_words)
{
	/* Checked by division: n is any 64-bit number. */
	if (b->bad || n > bytes_left(b) / (8u * entry_words)) {
		b->bad = true;
		return NULL;
	}
	return bytes_take(b, n * entry_words * 8);
}

void counted_words(struct bytes *b, struct wick_words *words)
{
	uint64_t n = bytes_u64(b);

	words->bytes = words_take(b, n, 1);
	words->n = words->bytes ? n : 0;
}

void read_decode(const struct wick_layout *layout, struct bytes *b, struct wick_read *read)
{
	uint64_t format = layout->read_format;
	bool enabled = format & PERF_FORMAT_TOTAL_TIME_ENABLED;
	bool running = format & PERF_FORMAT_TOTAL_TIME_RUNNING;
	uint8_t times = (uint8_t)(enabled + running);
	struct bytes times_at = *b;

	read->has_id = format & PERF_FORMAT_ID;
	read->has_lost = format & PERF_FORMAT_LOST;
	read->entry_words = 1u + read->has_id + read->has_lost;
	read->id_word = 1;
	if (format & PERF_FORMAT_GROUP) {
		/* n, times, n entries */
		read->n = bytes_u64(b);
		times_at = *b;
		bytes_skip(b, times * 8u);
	} else {
		/* value, times, id, lost: one entry with the times inside */
		read->n = 1;
		bytes_skip(&times_at, 8);
		read->entry_words += times;
		read->id_word = (uint8_t)(1 + times);
	}
	read->lost_word = (uint8_t)(read->id_word + read->has_id);
	read->values = words_take(b, read->n, read->entry_words);
	if (!read->values) {
		read->n = 0;
		return;
	}
	if (enabled)
		read->time_enabled = bytes_u64(&times_at);
	if (running)
		read->time_running = bytes_u64(&times_at);
}

/* The next field of the fixed part, which is there as a whole. */
static uint64_t next_u64(const uint8_t **at)
{
	uint64_t value;

	memcpy(&value, *at, sizeof(value));
	*at += sizeof(value);
	return value;
}

static void next_pair(const uint8_t **at, uint32_t *ret_first, uint32_t *ret_second)
{
	memcpy(ret_first, *at, sizeof(*ret_first));
	memcpy(ret_second, *at + sizeof(*ret_first), sizeof(*ret_second));
	*at += sizeof(uint64_t);
}

static void decode_who(
	const struct wick_layout *layout, struct bytes *b, struct wick_record *record)
{
	const uint8_t *at = bytes_take(b, layout->fixed_bytes);
	struct wick_sample_id *id = &record->id;
	struct wick_sample *sample = &record->sample;
	uint64_t type = layout->sample_type;

	if (!at)
		return;
	id->have = type & TRAILER_BITS;
	if (type & PERF_SAMPLE_IDENTIFIER)
		id->id = next_u64(&at);
	if (type & PERF_SAMPLE_IP)
		sample->ip = next_u64(&at);
	if (type & PERF_SAMPLE_TID)
		next_pair(&at, &id->pid, &id->tid);
	if (type & PERF_SAMPLE_TIME)
		id->time = next_u64(&at);
	if (type & PERF_SAMPLE_ADDR)
		sample->addr = next_u64(&at);
	if (type & PERF_SAMPLE_ID)
		id->id = next_u64(&at);
	if (type & PERF_SAMPLE_STREAM_ID)
		id->stream_id = next_u64(&at);
	if (type & PERF_SAMPLE_CPU)
		next_pair(&at, &id->cpu, &id->cpu_reserved);
	sample->period = type & PERF_SAMPLE_PERIOD ? next_u64(&at) : layout->fixed_period;
}

static void decode_raw(struct bytes *b, struct wick_sample *sample)
{
	uint32_t len = bytes_u32(b);

	if ((len + 4) % 8)
		b->bad = true;
	sample->raw = bytes_take(b, len);
	sample->raw_bytes = sample->raw ? len : 0;
}

static void decode_branches(uint64_t kind, struct bytes *b, struct wick_sample *sample)
{
	uint64_t n = bytes_u64(b);

	if (kind & PERF_SAMPLE_BRANCH_HW_INDEX)
		sample->branch_hw_index = bytes_u64(b);
	sample->branches.bytes = words_take(b, n, 3);
	if (kind & PERF_SAMPLE_BRANCH_COUNTERS)
		sample->branch_counters.bytes = words_take(b, n, 1);
	if (b->bad)
		return;
	sample->branches.n = n;
	sample->branch_counters.n = sample->branch_counters.bytes ? n : 0;
}

static void decode_regs(uint64_t mask, uint8_t count, struct bytes *b, struct wick_regs *regs)
{
	regs->abi = bytes_u64(b);
	if (regs->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	regs->mask = mask;
	regs->values.n = count;
	regs->values.bytes = words_take(b, regs->values.n, 1);
}

static void decode_stack(struct bytes *b, struct wick_sample *sample)
{
	uint64_t asked = bytes_u64(b), copied;

	if (!asked) /* no dyn_size then */
		return;
	if (asked % 8)
		b->bad = true;
	sample->stack = bytes_take(b, asked);
	copied = bytes_u64(b);
	if (copied > asked)
		b->bad = true;
	if (b->bad)
		return;
	sample->stack_asked = asked;
	sample->stack_bytes = copied;
}

static void decode_aux(struct bytes *b, struct wick_sample *sample)
{
	uint64_t len = bytes_u64(b);

	if (len % 8)
		b->bad = true;
	sample->aux = bytes_take(b, len);
	sample->aux_bytes = sample->aux ? len : 0;
}

#define REST_BITS                                                                              \
	(WEIGHT_BITS | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |                        \
		PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |           \
		PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX)

/* Everything behind the callchain and RAW that is rarely asked for. */
static void decode_rest(uint64_t type, const struct wick_layout *layout, struct bytes *b,
	struct wick_sample *sample)
{
	if (type & WEIGHT_BITS)
		sample->weight = bytes_u64(b);
	if (type & PERF_SAMPLE_DATA_SRC)
		sample->data_src = bytes_u64(b);
	if (type & PERF_SAMPLE_TRANSACTION)
		sample->transaction = bytes_u64(b);
	if (type & PERF_SAMPLE_REGS_INTR)
		decode_regs(layout->regs_intr, layout->regs_intr_count, b, &sample->regs_intr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		sample->phys_addr = bytes_u64(b);
	if (type & PERF_SAMPLE_CGROUP)
		sample->cgroup = bytes_u64(b);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		sample->data_page_size = bytes_u64(b);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		sample->code_page_size = bytes_u64(b);
	if (type & PERF_SAMPLE_AUX)
		decode_aux(b, sample);
}

void sample_decode(
	const struct wick_layout *layout, struct bytes *b, struct wick_record *record)
{
	struct wick_sample *sample = &record->sample;
	uint64_t type = layout->sample_type;

	decode_who(layout, b, record);
	if (type & PERF_SAMPLE_READ)
		read_decode(layout, b, &sample->read);
	if (type & PERF_SAMPLE_CALLCHAIN)
		counted_words(b, &sample->callchain);
	if (type & PERF_SAMPLE_RAW)
		decode_raw(b, sample);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		decode_branches(layout->branch_sample_type, b, sample);
	if (type & PERF_SAMPLE_REGS_USER)
		decode_regs(layout->regs_user, layout->regs_user_count, b, &sample->regs_user);
	if (type & PERF_SAMPLE_STACK_USER)
		decode_stack(b, sample);
	if (type & REST_BITS)
		decode_rest(type, layout, b, sample);
}
