/*
 *     SAMPLE:   header | IDENTIFIER | IP .. CPU | PERIOD | rest       two pieces are left out
 *     others:   header | body | TID .. CPU | IDENTIFIER |             the end is cut off
 */
#include "record/narrow.h"

#include "record/fields.h"

struct copy {
	const uint8_t *from;
	uint8_t *to;
	uint32_t at, put; /* read and written so far */
};

static void copy_up_to(struct copy *copy, uint32_t end)
{
	memcpy(copy->to + copy->put, copy->from + copy->at, end - copy->at);
	copy->put += end - copy->at;
	copy->at = end;
}

static void leave_out(struct copy *copy, uint32_t off)
{
	copy_up_to(copy, off);
	copy->at += 8;
}

uint32_t record_narrow(const struct wick_layout *from, const struct wick_layout *to,
	const void *record, void *buf)
{
	uint64_t gone = from->sample_type & ~to->sample_type;
	struct copy copy = {.from = record, .to = buf};
	struct perf_event_header header;

	memcpy(&header, record, sizeof(header));
	if (header.type == PERF_RECORD_SAMPLE) {
		if ((gone & PERF_SAMPLE_IDENTIFIER) && from->id_off + 8u <= header.size)
			leave_out(&copy, from->id_off);
		if ((gone & PERF_SAMPLE_PERIOD) && from->period_off + 8u <= header.size)
			leave_out(&copy, from->period_off);
		copy_up_to(&copy, header.size);
	} else if (header.type < PERF_RECORD_USER_TYPE_START && from->trailer_bytes &&
		   (gone & PERF_SAMPLE_IDENTIFIER) &&
		   header.size >= sizeof(header) + from->trailer_bytes) {
		copy_up_to(&copy, header.size - 8u);
	} else {
		copy_up_to(&copy, header.size);
	}
	header.size = (uint16_t)copy.put;
	memcpy(buf, &header, sizeof(header));
	return copy.put;
}
