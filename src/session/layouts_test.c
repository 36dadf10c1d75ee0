#include "session/layouts.h"

#include "record/encode.h"
#include "tests/unit_test.h"

static void the_id_of_a_record_finds_its_event(void **state)
{
	uint64_t first[] = {11, 12}, second[] = {21};
	struct perfdata_event events[2] = {
		{.ids = first, .id_count = 2}, {.ids = second, .id_count = 1}};
	struct perfdata_info info = {.events = events, .event_count = 2};
	struct wick_record record = {.type = PERF_RECORD_COMM};
	struct layouts layouts = {.count = 0};
	_Alignas(8) uint8_t buf[256];

	(void)state;
	for (int i = 0; i < 2; i++)
		events[i].attr = (struct perf_event_attr){.size = sizeof(events[i].attr),
			.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
				       PERF_SAMPLE_TIME | (i ? PERF_SAMPLE_CPU : 0),
			.flags = ATTR_SAMPLE_ID_ALL};
	assert_int_equal(layouts_update(&layouts, &info, NULL), 0);
	assert_int_equal(layouts_update(&layouts, &info, NULL), 0);
	assert_int_equal(layouts.id_count, 3);
	record.comm.name = (struct wick_name){"x", 1};
	for (int i = 0; i < 3; i++) {
		const uint64_t ids[] = {12, 21, 99};
		const uint32_t expected[] = {0, 1, 0};

		record.id.id = ids[i];
		assert_true(record_encode(&layouts.layouts[expected[i]], &record, buf,
				    sizeof(buf)) > 0);
		assert_int_equal(layouts_find(&layouts, buf), expected[i]);
	}
	layouts_done(&layouts);
}

static void sample_bits_of_the_future_are_refused(void **state)
{
	struct perfdata_event event = {.attr = {.sample_type = 1ull << 60}};
	struct perfdata_info info = {.events = &event, .event_count = 1};
	struct layouts layouts = {.count = 0};
	struct error err = {.text = ""};

	(void)state;
	assert_true(layouts_update(&layouts, &info, &err) < 0);
	assert_true(err.text[0]);
	layouts_done(&layouts);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_id_of_a_record_finds_its_event),
	cmocka_unit_test(sample_bits_of_the_future_are_refused),
};
UNIT_TESTS("layouts", tests)
