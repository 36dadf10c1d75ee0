/*
 * Where the id stands depends on the event's layout, which the id tells: the kernel solves that
 * with PERF_SAMPLE_IDENTIFIER, which stands first in a SAMPLE and last in every other record,
 * or by all events having one sample_type. So the first event's layout finds the id of every
 * record.
 */
#include "session/layouts.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

enum { LAYOUTS_LIMIT = 65535, IDS_LIMIT = 1 << 24 };

static int id_add(struct layouts *layouts, uint64_t id, uint32_t event)
{
	int rc = array_reserve(&layouts->ids, &layouts->ids_cap,
		(uint64_t)layouts->id_count + 1, sizeof(*layouts->ids), IDS_LIMIT);

	if (rc == 0)
		rc = array_reserve(&layouts->id_events, &layouts->id_events_cap,
			(uint64_t)layouts->id_count + 1, sizeof(*layouts->id_events),
			IDS_LIMIT);
	if (rc == 0)
		rc = hash_add(&layouts->by_id, hash_u64(id), layouts->id_count);
	if (rc < 0)
		return rc;
	layouts->ids[layouts->id_count] = id;
	layouts->id_events[layouts->id_count++] = event;
	return 0;
}

static int layout_add(
	struct layouts *layouts, const struct perfdata_event *event, struct error *err)
{
	uint32_t index = layouts->count;
	int rc = array_reserve(&layouts->layouts, &layouts->cap, (uint64_t)index + 1,
		sizeof(*layouts->layouts), LAYOUTS_LIMIT);

	if (rc < 0)
		return error_set(err, rc, "more events in the file than %d", LAYOUTS_LIMIT);
	rc = wick_layout_init(&layouts->layouts[index], &event->attr);
	if (rc < 0)
		return error_set(err, rc,
			"event %u of the file has sample fields that are newer than this "
			"program "
			"(sample_type 0x%llx); its records cannot be read",
			index, (unsigned long long)event->attr.sample_type);
	for (uint32_t i = 0; i < event->id_count; i++) {
		rc = id_add(layouts, event->ids[i], index);
		if (rc < 0)
			return error_set(err, rc, "too many event ids in the file");
	}
	layouts->count++;
	return 0;
}

int layouts_update(struct layouts *layouts, const struct perfdata_info *info, struct error *err)
{
	while (layouts->count < info->event_count) {
		int rc = layout_add(layouts, &info->events[layouts->count], err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

void layouts_done(struct layouts *layouts)
{
	free(layouts->layouts);
	free(layouts->ids);
	free(layouts->id_events);
	hash_done(&layouts->by_id);
	*layouts = (struct layouts){0};
}

uint32_t layouts_find(const struct layouts *layouts, const void *record)
{
	struct hash_probe probe;
	uint64_t id;
	uint32_t at;

	if (layouts->count < 2)
		return 0;
	id = wick_record_id(&layouts->layouts[0], record);
	probe = hash_probe(&layouts->by_id, hash_u64(id));
	while (hash_next(&layouts->by_id, &probe, &at))
		if (layouts->ids[at] == id)
			return layouts->id_events[at];
	return 0;
}
