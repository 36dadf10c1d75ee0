/* Every sample bit: built, decoded and compared; and samples that were written by hand. */
#include "record/encode.h"
#include "record/fields.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdlib.h>

struct random {
	uint64_t state;
};

static uint64_t next_random(struct random *random)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return random->state;
}

/* A sample whose every field has something in it, and the memory that it points to. */
struct built {
	struct wick_record record;
	uint64_t words[8][64];
	uint8_t raw[20], aux[16], stack[64];
};

static struct wick_words fill_words(struct random *random, uint64_t *words, uint64_t n)
{
	for (uint64_t i = 0; i < 64; i++)
		words[i] = next_random(random);
	return (struct wick_words){words, n};
}

static void fill_regs(
	struct random *random, struct wick_regs *regs, uint64_t mask, uint64_t *words)
{
	regs->abi = next_random(random) % 3;
	if (regs->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	regs->mask = mask;
	regs->values = fill_words(random, words, (uint64_t)__builtin_popcountll(mask));
}

static void fill_read(
	struct random *random, struct wick_read *read, uint64_t format, uint64_t *words)
{
	bool group = format & PERF_FORMAT_GROUP;

	read->n = group ? 1 + next_random(random) % 4 : 1;
	read->values = fill_words(random, words, 0).bytes;
	read->has_id = format & PERF_FORMAT_ID;
	read->has_lost = format & PERF_FORMAT_LOST;
	read->entry_words = 3;
	read->id_word = 1;
	read->lost_word = 2;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		read->time_enabled = next_random(random);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		read->time_running = next_random(random);
}

static void fill_bytes(struct random *random, uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)next_random(random);
}

static void build(struct random *random, const struct wick_layout *layout, struct built *built)
{
	struct wick_record *record = &built->record;
	struct wick_sample *sample = &record->sample;

	memset(built, 0, sizeof(*built));
	*record = (struct wick_record){
		.type = PERF_RECORD_SAMPLE,
		.misc = PERF_RECORD_MISC_USER,
		.id = {0, next_random(random), next_random(random), next_random(random),
			(uint32_t)next_random(random), (uint32_t)next_random(random),
			(uint32_t)next_random(random)},
	};
	sample->ip = next_random(random);
	sample->addr = next_random(random);
	sample->period = next_random(random);
	fill_read(random, &sample->read, layout->read_format, built->words[0]);
	sample->callchain = fill_words(random, built->words[1], next_random(random) % 64);
	fill_bytes(random, built->raw, sizeof(built->raw));
	sample->raw = built->raw;
	sample->raw_bytes = next_random(random) % 2 ? 20 : 4;
	sample->branches = fill_words(random, built->words[2], next_random(random) % 16);
	sample->branch_hw_index = next_random(random);
	sample->branch_counters = fill_words(random, built->words[3], sample->branches.n);
	fill_regs(random, &sample->regs_user, layout->regs_user, built->words[4]);
	fill_regs(random, &sample->regs_intr, layout->regs_intr, built->words[5]);
	fill_bytes(random, built->stack, sizeof(built->stack));
	sample->stack = built->stack;
	sample->stack_asked = next_random(random) % 9 * 8;
	sample->stack_bytes = sample->stack_asked / 2;
	sample->weight = next_random(random);
	sample->data_src = next_random(random);
	sample->transaction = next_random(random);
	sample->phys_addr = next_random(random);
	sample->cgroup = next_random(random);
	sample->data_page_size = next_random(random);
	sample->code_page_size = next_random(random);
	fill_bytes(random, built->aux, sizeof(built->aux));
	sample->aux = built->aux;
	sample->aux_bytes = next_random(random) % 3 * 8;
}

static void same_words(struct wick_words want, struct wick_words got)
{
	assert_int_equal(want.n, got.n);
	for (uint64_t i = 0; i < want.n; i++)
		assert_int_equal(wick_word(want, i), wick_word(got, i));
}

static void same_read(const struct wick_read *want, const struct wick_read *got)
{
	assert_int_equal(want->n, got->n);
	assert_int_equal(want->time_enabled, got->time_enabled);
	assert_int_equal(want->time_running, got->time_running);
	for (uint64_t i = 0; i < want->n; i++) {
		assert_int_equal(wick_read_value(want, i), wick_read_value(got, i));
		assert_int_equal(wick_read_id(want, i), wick_read_id(got, i));
		assert_int_equal(wick_read_lost(want, i), wick_read_lost(got, i));
	}
}

static void same_regs(const struct wick_regs *want, const struct wick_regs *got)
{
	assert_int_equal(want->abi, got->abi);
	assert_int_equal(want->mask, got->mask);
	same_words(want->values, got->values);
}

static void same_branches(const struct wick_layout *layout, const struct wick_sample *want,
	const struct wick_sample *got)
{
	assert_int_equal(want->branches.n, got->branches.n);
	for (uint64_t i = 0; i < want->branches.n * 3; i++)
		assert_int_equal(wick_word(want->branches, i), wick_word(got->branches, i));
	if (layout->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		assert_int_equal(want->branch_hw_index, got->branch_hw_index);
	if (layout->branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS)
		same_words(want->branch_counters, got->branch_counters);
	else
		assert_int_equal(got->branch_counters.n, 0);
}

static void same_blocks(
	uint64_t bit, const struct wick_sample *want, const struct wick_sample *got)
{
	if (bit == PERF_SAMPLE_RAW) {
		assert_int_equal(want->raw_bytes, got->raw_bytes);
		assert_memory_equal(want->raw, got->raw, got->raw_bytes);
	} else if (bit == PERF_SAMPLE_STACK_USER) {
		assert_int_equal(want->stack_asked, got->stack_asked);
		assert_int_equal(want->stack_bytes, got->stack_bytes);
		if (got->stack_asked)
			assert_memory_equal(want->stack, got->stack, got->stack_asked);
	} else {
		assert_int_equal(want->aux_bytes, got->aux_bytes);
		assert_memory_equal(want->aux, got->aux, got->aux_bytes);
	}
}

/* Compares the field of one bit. A bit that is not known here fails. */
static void same_field(const struct wick_layout *layout, uint64_t bit,
	const struct wick_record *want, const struct wick_record *got)
{
	const struct wick_sample *a = &want->sample, *b = &got->sample;

	switch (bit) {
	case PERF_SAMPLE_IP:
		assert_int_equal(a->ip, b->ip);
		break;
	case PERF_SAMPLE_TID:
		assert_int_equal(want->id.pid, got->id.pid);
		assert_int_equal(want->id.tid, got->id.tid);
		break;
	case PERF_SAMPLE_TIME:
		assert_int_equal(want->id.time, got->id.time);
		break;
	case PERF_SAMPLE_ADDR:
		assert_int_equal(a->addr, b->addr);
		break;
	case PERF_SAMPLE_READ:
		same_read(&a->read, &b->read);
		break;
	case PERF_SAMPLE_CALLCHAIN:
		same_words(a->callchain, b->callchain);
		break;
	case PERF_SAMPLE_ID:
	case PERF_SAMPLE_IDENTIFIER:
		assert_int_equal(want->id.id, got->id.id);
		break;
	case PERF_SAMPLE_CPU:
		assert_int_equal(want->id.cpu, got->id.cpu);
		assert_int_equal(want->id.cpu_reserved, got->id.cpu_reserved);
		break;
	case PERF_SAMPLE_PERIOD:
		assert_int_equal(a->period, b->period);
		break;
	case PERF_SAMPLE_STREAM_ID:
		assert_int_equal(want->id.stream_id, got->id.stream_id);
		break;
	case PERF_SAMPLE_RAW:
	case PERF_SAMPLE_STACK_USER:
	case PERF_SAMPLE_AUX:
		same_blocks(bit, a, b);
		break;
	case PERF_SAMPLE_BRANCH_STACK:
		same_branches(layout, a, b);
		break;
	case PERF_SAMPLE_REGS_USER:
		same_regs(&a->regs_user, &b->regs_user);
		break;
	case PERF_SAMPLE_REGS_INTR:
		same_regs(&a->regs_intr, &b->regs_intr);
		break;
	case PERF_SAMPLE_WEIGHT:
	case PERF_SAMPLE_WEIGHT_STRUCT:
		assert_int_equal(a->weight, b->weight);
		break;
	case PERF_SAMPLE_DATA_SRC:
		assert_int_equal(a->data_src, b->data_src);
		break;
	case PERF_SAMPLE_TRANSACTION:
		assert_int_equal(a->transaction, b->transaction);
		break;
	case PERF_SAMPLE_PHYS_ADDR:
		assert_int_equal(a->phys_addr, b->phys_addr);
		break;
	case PERF_SAMPLE_CGROUP:
		assert_int_equal(a->cgroup, b->cgroup);
		break;
	case PERF_SAMPLE_DATA_PAGE_SIZE:
		assert_int_equal(a->data_page_size, b->data_page_size);
		break;
	case PERF_SAMPLE_CODE_PAGE_SIZE:
		assert_int_equal(a->code_page_size, b->code_page_size);
		break;
	default:
		fail_msg("sample bit %#llx is not compared", (unsigned long long)bit);
	}
}

/* Encodes a random sample, decodes it from an odd address, compares, and cuts it everywhere. */
static void roundtrip(struct random *random, const struct perf_event_attr *attr)
{
	static uint8_t buf[65536], cut_buf[65536];
	struct wick_layout layout;
	struct wick_record got;
	struct built built;
	int size;

	assert_int_equal(wick_layout_init(&layout, attr), 0);
	build(random, &layout, &built);
	size = record_encode(&layout, &built.record, buf + 1, sizeof(buf) - 1);
	assert_true(size >= 8 + 8 * (attr->sample_type != 0));
	assert_int_equal(size % 8, 0);
	assert_int_equal(
		record_encode(&layout, &built.record, cut_buf, (size_t)size - 1), -ENOSPC);
	assert_int_equal(wick_record_decode(&layout, buf + 1, (size_t)size, &got), size);
	for (uint64_t bit = 1; bit < PERF_SAMPLE_MAX; bit <<= 1)
		if (attr->sample_type & bit)
			same_field(&layout, bit, &built.record, &got);
	assert_int_equal(wick_record_time(&layout, buf + 1),
		attr->sample_type & PERF_SAMPLE_TIME ? built.record.id.time : 0);
	for (uint16_t cut = (uint16_t)(size - 8); cut >= 8; cut -= 8) {
		memcpy(buf + 1 + 6, &cut, sizeof(cut));
		assert_int_equal(wick_record_decode(&layout, buf + 1, cut, &got), -EBADMSG);
	}
}

static struct perf_event_attr attr_of(struct random *random, uint64_t sample_type)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.sample_type = sample_type,
		.read_format = next_random(random) % 32,
		.branch_sample_type =
			next_random(random) &
			(PERF_SAMPLE_BRANCH_HW_INDEX | PERF_SAMPLE_BRANCH_COUNTERS),
		.sample_regs_user = next_random(random) & 0xff0fff,
		.sample_regs_intr = next_random(random) & 0xff0fff,
		.flags = next_random(random) & ATTR_SAMPLE_ID_ALL,
	};
}

static void every_bit_alone(void **state)
{
	struct random random = {0x1234567};

	(void)state;
	for (uint64_t bit = 1; bit < PERF_SAMPLE_MAX; bit <<= 1)
		for (int i = 0; i < 200; i++) {
			struct perf_event_attr attr = attr_of(&random, bit);

			roundtrip(&random, &attr);
		}
}

static void all_bits_and_random_sets(void **state)
{
	struct random random = {0x7654321};

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t set = i < 200 ? ~0ull : next_random(&random);
		struct perf_event_attr attr = attr_of(&random, set & (PERF_SAMPLE_MAX - 1));

		roundtrip(&random, &attr);
	}
}

static void unknown_bits_are_refused(void **state)
{
	struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_MAX};
	struct wick_layout layout;

	(void)state;
	assert_int_equal(wick_layout_init(&layout, &attr), -EINVAL);
	attr = (struct perf_event_attr){.read_format = 1 << 5};
	assert_int_equal(wick_layout_init(&layout, &attr), -EINVAL);
}

/* The classic set, word by word as the kernel's header says. */
static void a_sample_written_by_hand(void **state)
{
	static const uint64_t words[] = {
		9 | 2ull << 32 | 112ull << 48, /* SAMPLE, user, 112 bytes */
		0x1d,			       /* identifier */
		0x401136,		       /* ip */
		100 | 101ull << 32,	       /* pid, tid */
		5000,			       /* time */
		0x1d,			       /* id */
		0x1e,			       /* stream id */
		3,			       /* cpu, res */
		250000,			       /* period */
		4,			       /* callchain */
		PERF_CONTEXT_USER,
		0x401136,
		0x401200,
		0x7f0000001234,
	};
	const struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
	};
	struct wick_layout layout;
	struct wick_record got;

	(void)state;
	assert_int_equal(wick_layout_init(&layout, &attr), 0);
	assert_int_equal(wick_record_decode(&layout, words, sizeof(words), &got), 112);
	assert_int_equal(got.type, PERF_RECORD_SAMPLE);
	assert_int_equal(got.misc, PERF_RECORD_MISC_USER);
	assert_int_equal(got.sample.ip, 0x401136);
	assert_int_equal(got.id.pid, 100);
	assert_int_equal(got.id.tid, 101);
	assert_int_equal(got.id.time, 5000);
	assert_int_equal(got.id.id, 0x1d);
	assert_int_equal(got.id.stream_id, 0x1e);
	assert_int_equal(got.id.cpu, 3);
	assert_int_equal(got.sample.period, 250000);
	assert_int_equal(got.sample.callchain.n, 4);
	assert_int_equal(wick_word(got.sample.callchain, 3), 0x7f0000001234);
	assert_int_equal(wick_record_id(&layout, words), 0x1d);
	assert_int_equal(wick_record_time(&layout, words), 5000);
}

/* READ with the times between value and id, RAW, HW_INDEX, registers, an absent stack, weight.
 */
static void a_rare_sample_written_by_hand(void **state)
{
	static const uint64_t words[] = {
		9 | 2ull << 32 | 168ull << 48, 77, 1000, 900, 0x1d,
		2,				       /* value, enabled, running, id, lost */
		4 | 0xabcdef01ull << 32,	       /* raw: size 4 and its bytes */
		1, 42, 0xa, 0xb, 0xc,		       /* nr, hw_idx, from, to, flags */
		0x55,				       /* counters */
		PERF_SAMPLE_REGS_ABI_64, 0x111, 0x222, /* user registers */
		0,				       /* stack size: and no dyn_size */
		7 | 8ull << 32 | 9ull << 48,	       /* weight struct */
		0,		    /* abi of the interrupt's registers: none follow */
		0xffff800000001000, /* phys_addr */
		0,		    /* aux size */
	};
	const struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
			       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
			       PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_REGS_INTR |
			       PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_AUX,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			       PERF_FORMAT_ID | PERF_FORMAT_LOST,
		.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX | PERF_SAMPLE_BRANCH_COUNTERS,
		.sample_regs_user = 0x81,
		.sample_regs_intr = 0xff,
	};
	const struct wick_sample *sample;
	struct wick_layout layout;
	struct wick_record got;

	(void)state;
	assert_int_equal(wick_layout_init(&layout, &attr), 0);
	assert_int_equal(wick_record_decode(&layout, words, sizeof(words), &got), 168);
	sample = &got.sample;
	assert_int_equal(wick_read_value(&sample->read, 0), 77);
	assert_int_equal(sample->read.time_enabled, 1000);
	assert_int_equal(sample->read.time_running, 900);
	assert_int_equal(wick_read_id(&sample->read, 0), 0x1d);
	assert_int_equal(wick_read_lost(&sample->read, 0), 2);
	assert_int_equal(sample->raw_bytes, 4);
	assert_memory_equal(sample->raw, "\x01\xef\xcd\xab", 4);
	assert_int_equal(sample->branch_hw_index, 42);
	assert_int_equal(wick_word(sample->branches, 2), 0xc);
	assert_int_equal(wick_word(sample->branch_counters, 0), 0x55);
	assert_int_equal(wick_word(sample->regs_user.values, 1), 0x222);
	assert_int_equal(sample->stack_asked, 0);
	assert_int_equal(sample->weight, 7 | 8ull << 32 | 9ull << 48);
	assert_int_equal(sample->regs_intr.values.n, 0);
	assert_int_equal(sample->phys_addr, 0xffff800000001000);
	assert_int_equal(sample->aux_bytes, 0);
}

static void lies_about_lengths(void **state)
{
	static const struct {
		uint64_t bit, word;
	} lies[] = {
		{PERF_SAMPLE_CALLCHAIN, 2},
		{PERF_SAMPLE_CALLCHAIN, UINT64_MAX},
		{PERF_SAMPLE_CALLCHAIN, 0x2000000000000001}, /* 8 bytes, once multiplied */
		{PERF_SAMPLE_RAW, 13},
		{PERF_SAMPLE_RAW, 5},
		{PERF_SAMPLE_RAW, UINT32_MAX - 3},
		{PERF_SAMPLE_BRANCH_STACK, 1},
		{PERF_SAMPLE_BRANCH_STACK, 0x5555555555555556},
		{PERF_SAMPLE_STACK_USER, 8}, /* no room for dyn_size */
		{PERF_SAMPLE_STACK_USER, UINT64_MAX - 7},
		{PERF_SAMPLE_AUX, 16},
		{PERF_SAMPLE_AUX, 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		const uint64_t words[] = {9 | 24ull << 48, lies[i].word, 1};
		const struct perf_event_attr attr = {.sample_type = lies[i].bit};
		struct wick_layout layout;
		struct wick_record got;

		assert_int_equal(wick_layout_init(&layout, &attr), 0);
		assert_int_equal(
			wick_record_decode(&layout, words, sizeof(words), &got), -EBADMSG);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_bit_alone),
	cmocka_unit_test(all_bits_and_random_sets),
	cmocka_unit_test(unknown_bits_are_refused),
	cmocka_unit_test(a_sample_written_by_hand),
	cmocka_unit_test(a_rare_sample_written_by_hand),
	cmocka_unit_test(lies_about_lengths),
};
UNIT_TESTS("sample", tests)
