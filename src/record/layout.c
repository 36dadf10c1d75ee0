/*
 * The attr's bits, with the fixed places worked out.
 *
 *     SAMPLE:   header | IDENTIFIER IP TID TIME ADDR ID STREAM_ID CPU PERIOD | variable part
 *     others:   header | body | trailer: TID TIME ID STREAM_ID CPU IDENTIFIER |
 *
 * Every field above is 8 bytes, so a place is a count of the bits in front of it. The trailer
 * is counted back from the record's end: the body may have any length. IDENTIFIER is first in a
 * SAMPLE and last in a trailer, for the one purpose that a reader who does not know the event
 * yet can find it (include/uapi/linux/perf_event.h, PERF_SAMPLE_IDENTIFIER).
 */
#include "record/fields.h"

#include <errno.h>

/* The bits whose fields sample.c reads and encode_sample.c writes. */
#define KNOWN_SAMPLE_BITS ((1ull << 25) - 1)

#define KNOWN_READ_BITS ((1ull << 5) - 1)

static const uint64_t sample_order[] = {
	PERF_SAMPLE_IDENTIFIER,
	PERF_SAMPLE_IP,
	PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR,
	PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_CPU,
	PERF_SAMPLE_PERIOD,
};

static const uint64_t trailer_order[] = {
	PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME,
	PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_CPU,
	PERF_SAMPLE_IDENTIFIER,
};

/* Where the field of `bit` starts in a SAMPLE; 0: not there. */
static uint16_t sample_place(uint64_t sample_type, uint64_t bit)
{
	uint16_t off = sizeof(struct perf_event_header);

	if (!(sample_type & bit))
		return 0;
	for (size_t i = 0; sample_order[i] != bit; i++)
		if (sample_type & sample_order[i])
			off += 8;
	return off;
}

/* How far before the record's end the trailer's field of `bit` starts; 0: not there. */
static uint16_t trailer_place(uint64_t sample_type, uint64_t bit)
{
	uint16_t back = 0;

	if (!(sample_type & bit))
		return 0;
	for (size_t i = ARRAY_LEN(trailer_order); i-- > 0;) {
		if (sample_type & trailer_order[i])
			back += 8;
		if (trailer_order[i] == bit)
			break;
	}
	return back;
}

static uint16_t fixed_bytes(uint64_t sample_type)
{
	uint16_t bytes = 0;

	for (size_t i = 0; i < ARRAY_LEN(sample_order); i++)
		if (sample_type & sample_order[i])
			bytes += 8;
	return bytes;
}

int wick_layout_init(struct wick_layout *layout, const struct perf_event_attr *attr)
{
	uint64_t type = attr->sample_type;

	if ((type & ~KNOWN_SAMPLE_BITS) || (attr->read_format & ~KNOWN_READ_BITS))
		return -EINVAL;
	*layout = (struct wick_layout){
		.sample_type = type,
		.read_format = attr->read_format,
		.branch_sample_type = attr->branch_sample_type,
		.regs_user = attr->sample_regs_user,
		.regs_intr = attr->sample_regs_intr,
		.fixed_bytes = fixed_bytes(type),
		.regs_user_count = (uint8_t)__builtin_popcountll(attr->sample_regs_user),
		.regs_intr_count = (uint8_t)__builtin_popcountll(attr->sample_regs_intr),
		.fixed_period = (type & PERF_SAMPLE_PERIOD) || (attr->flags & ATTR_FREQ)
					? 0
					: attr->sample_period,
		.sample_id_all = attr->flags & ATTR_SAMPLE_ID_ALL,
		.build_ids = attr->flags & ATTR_BUILD_ID,
		.ip_off = sample_place(type, PERF_SAMPLE_IP),
		.tid_off = sample_place(type, PERF_SAMPLE_TID),
		.time_off = sample_place(type, PERF_SAMPLE_TIME),
		.id_off = sample_place(type, PERF_SAMPLE_ID),
		.cpu_off = sample_place(type, PERF_SAMPLE_CPU),
		.period_off = sample_place(type, PERF_SAMPLE_PERIOD),
	};
	if (type & PERF_SAMPLE_IDENTIFIER)
		layout->id_off = sample_place(type, PERF_SAMPLE_IDENTIFIER);
	if (!layout->sample_id_all)
		return 0;
	layout->trailer_bytes = (uint16_t)(8 * __builtin_popcountll(type & TRAILER_BITS));
	layout->back_tid = trailer_place(type, PERF_SAMPLE_TID);
	layout->back_time = trailer_place(type, PERF_SAMPLE_TIME);
	layout->back_cpu = trailer_place(type, PERF_SAMPLE_CPU);
	layout->back_id = trailer_place(type, PERF_SAMPLE_IDENTIFIER);
	if (!layout->back_id)
		layout->back_id = trailer_place(type, PERF_SAMPLE_ID);
	return 0;
}

/* One 64-bit field of a whole record, from its start (a SAMPLE) or its end (the others). */
static uint64_t record_field(const void *record, uint16_t off, uint16_t back)
{
	const uint8_t *bytes = record;
	struct perf_event_header header;
	uint64_t value;

	memcpy(&header, bytes, sizeof(header));
	if (header.type != PERF_RECORD_SAMPLE) {
		/* A perf.data's own records have no trailer. */
		if (header.type >= PERF_RECORD_USER_TYPE_START || !back)
			return 0;
		off = header.size >= sizeof(header) + back ? (uint16_t)(header.size - back) : 0;
	}
	if (!off || off + 8u > header.size)
		return 0;
	memcpy(&value, bytes + off, sizeof(value));
	return value;
}

uint64_t wick_record_time(const struct wick_layout *layout, const void *record)
{
	return record_field(record, layout->time_off, layout->back_time);
}

uint64_t wick_record_id(const struct wick_layout *layout, const void *record)
{
	return record_field(record, layout->id_off, layout->back_id);
}
