/* What is left out, of every kind of record; the rest says what it said before. */
#include "record/encode.h"
#include "record/fields.h"
#include "record/narrow.h"
#include "tests/unit_test.h"

#define WIDE                                                                                   \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |        \
		PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static struct wick_layout layout_of(uint64_t sample_type)
{
	const struct perf_event_attr attr = {.sample_type = sample_type,
		.sample_period = 1001001,
		.flags = ATTR_SAMPLE_ID_ALL};
	struct wick_layout layout;

	assert_int_equal(wick_layout_init(&layout, &attr), 0);
	return layout;
}

static const struct wick_sample_id id = {
	.id = 77, .time = 5000, .pid = 100, .tid = 101, .cpu = 3, .cpu_reserved = 1};

static void check_sample(uint64_t gone)
{
	const uint64_t chain[] = {PERF_CONTEXT_USER, 0x1111, 0x2222};
	struct wick_layout wide = layout_of(WIDE), narrow = layout_of(WIDE & ~gone);
	struct wick_record record = {.type = PERF_RECORD_SAMPLE, .misc = 2, .id = id}, back;
	uint8_t bytes[256], cut[256];
	int size;

	record.sample.ip = 0x1111;
	record.sample.period = 1001001;
	record.sample.callchain = (struct wick_words){chain, 3};
	size = record_encode(&wide, &record, bytes, sizeof(bytes));
	assert_true(size > 0);
	assert_int_equal(record_narrow(&wide, &narrow, bytes, cut),
		size - 8 * __builtin_popcountll(gone));
	assert_int_equal(wick_record_decode(&narrow, cut, sizeof(cut), &back),
		size - 8 * __builtin_popcountll(gone));
	assert_int_equal(back.misc, 2);
	assert_int_equal(back.sample.ip, 0x1111);
	assert_int_equal(back.sample.period, 1001001); /* the attr's, or the record's */
	assert_int_equal(back.id.id, gone & PERF_SAMPLE_IDENTIFIER ? 0 : 77);
	assert_int_equal(back.id.time, 5000);
	assert_int_equal(back.id.tid, 101);
	assert_int_equal(back.id.cpu, 3);
	assert_int_equal(back.id.cpu_reserved, 1);
	assert_int_equal(back.sample.callchain.n, 3);
	assert_memory_equal(back.sample.callchain.bytes, chain, sizeof(chain));
}

static void nothing_one_or_both_go(void **state)
{
	(void)state;
	check_sample(0);
	check_sample(PERF_SAMPLE_IDENTIFIER);
	check_sample(PERF_SAMPLE_PERIOD);
	check_sample(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_PERIOD);
}

static void ids_of_other_records_go(void **state)
{
	struct wick_layout wide = layout_of(WIDE);
	struct wick_layout narrow =
		layout_of(WIDE & ~(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_PERIOD));
	struct wick_record record = {.type = PERF_RECORD_COMM, .id = id}, back;
	uint8_t bytes[256], cut[256];
	int size;

	(void)state;
	record.comm.pid = 100;
	record.comm.tid = 101;
	record.comm.name = (struct wick_name){"name", 4};
	size = record_encode(&wide, &record, bytes, sizeof(bytes));
	assert_true(size > 0);
	assert_int_equal(record_narrow(&wide, &narrow, bytes, cut), size - 8);
	assert_int_equal(wick_record_decode(&narrow, cut, sizeof(cut), &back), size - 8);
	assert_string_equal(back.comm.name.text, "name");
	assert_int_equal(back.id.time, 5000);
	assert_int_equal(back.id.cpu, 3);
}

/* perf.data's own have no trailer; what is too short is left alone. */
static void short_and_foreign_ones_stay(void **state)
{
	const struct perf_event_header round = {
		.type = PERF_RECORD_FINISHED_ROUND, .size = sizeof(round)};
	const struct perf_event_header stubs[] = {
		{.type = PERF_RECORD_SAMPLE, .size = sizeof(round)},
		{.type = PERF_RECORD_EXIT, .size = sizeof(round)}};
	struct wick_layout wide = layout_of(WIDE);
	struct wick_layout narrow =
		layout_of(WIDE & ~(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_PERIOD));
	uint8_t cut[8];

	(void)state;
	assert_int_equal(record_narrow(&wide, &narrow, &round, cut), 8);
	assert_memory_equal(cut, &round, 8);
	for (size_t i = 0; i < ARRAY_LEN(stubs); i++) {
		assert_int_equal(record_narrow(&wide, &narrow, &stubs[i], cut), 8);
		assert_memory_equal(cut, &stubs[i], 8);
	}
}

/* Where a frequency was asked nobody knows the period but the record. */
static void a_period_that_is_fixed(void **state)
{
	struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP, .sample_period = 999};
	struct wick_layout layout;

	(void)state;
	assert_int_equal(wick_layout_init(&layout, &attr), 0);
	assert_int_equal(layout.fixed_period, 999);
	attr.flags = ATTR_FREQ;
	assert_int_equal(wick_layout_init(&layout, &attr), 0);
	assert_int_equal(layout.fixed_period, 0);
	attr.sample_type |= PERF_SAMPLE_PERIOD;
	attr.flags = 0;
	assert_int_equal(wick_layout_init(&layout, &attr), 0);
	assert_int_equal(layout.fixed_period, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(nothing_one_or_both_go),
	cmocka_unit_test(ids_of_other_records_go),
	cmocka_unit_test(short_and_foreign_ones_stay),
	cmocka_unit_test(a_period_that_is_fixed),
};
UNIT_TESTS("narrow", tests)
