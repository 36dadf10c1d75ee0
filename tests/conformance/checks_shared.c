/* What the checks share: an event of page faults, and a ring read to its end. */
#include "checks.h"

#include <string.h>

struct perf_event_attr faults(uint64_t period, uint64_t sample_type)
{
	return (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER8,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = period,
		.sample_type = sample_type,
		.flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_SAMPLE_ID_ALL};
}

const char *error_name(int code)
{
	return code >= 0 ? "ok" : strerrorname_np(-code);
}

int open_self(struct side *side, struct perf_event_attr *attr)
{
	return side->open(side, attr, SIDE_SELF, -1, -1, 0);
}

static void drain_one(const struct side *side, const struct wick_layout *layout,
	const void *bytes, int size, struct drained *d)
{
	struct wick_record record;

	if (wick_record_decode(layout, bytes, (size_t)size, &record) != size) {
		d->broken++;
	} else if (record.type == PERF_RECORD_LOST) {
		d->lost_records++;
		d->lost += record.lost.lost;
	} else if (record.type == PERF_RECORD_SAMPLE) {
		d->samples++;
		d->sizes += (uint32_t)size != d->size;
		d->size = (uint32_t)size;
		d->last = record;
		d->in_region += record.sample.addr >= side->region &&
				record.sample.addr < side->region_end;
	} else {
		d->others++;
	}
}

struct drained drain(
	struct side *side, const struct perf_event_attr *attr, struct perf_ringbuf *ring)
{
	struct drained d = {.samples = 0};
	struct wick_layout layout;
	const void *record;
	int size;

	wick_layout_init(&layout, attr);
	perf_ringbuf_fetch(ring);
	while ((size = perf_ringbuf_peek(ring, &record)) > 0) {
		drain_one(side, &layout, record, size, &d);
		perf_ringbuf_next(ring);
	}
	perf_ringbuf_release(ring);
	return d;
}

void fault_counted(struct side *side, int fd, uint32_t n)
{
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->fault(side, n);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
}
