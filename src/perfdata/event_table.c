/* The events of a file: attrs, ids and names, and an index from an id to its event. */
#include "base/array.h"
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_id(struct event_table *table, uint64_t id)
{
	int rc = array_reserve(&table->ids, &table->id_cap, (uint64_t)table->id_count + 1,
		sizeof(*table->ids), LIMIT_IDS);

	if (rc < 0)
		return rc;
	rc = hash_add(&table->index, hash_u64(id), table->id_count);
	if (rc < 0)
		return rc;
	table->ids[table->id_count++] = (struct event_id){.id = id, .event = table->count};
	return 0;
}

static int read_ids(struct event_table *table, struct bytes ids, struct perfdata_event *event)
{
	size_t count = bytes_left(&ids) / sizeof(uint64_t);

	if (count > LIMIT_IDS - table->id_count)
		return -ENOSPC;
	if (!count)
		return 0;
	event->ids = calloc(count, sizeof(*event->ids));
	if (!event->ids)
		return -ENOMEM;
	for (; event->id_count < count; event->id_count++) {
		uint64_t id = bytes_u64(&ids);
		/* The first event that claims an id has it. */
		int rc = event_table_find(table, id) ? 0 : add_id(table, id);

		if (rc < 0)
			return rc;
		event->ids[event->id_count] = id;
	}
	return 0;
}

int event_table_add(struct event_table *table, struct bytes attr, struct bytes ids)
{
	size_t len = bytes_left(&attr);
	const uint8_t *bytes = bytes_take(&attr, len);
	struct perfdata_event event = {.name = strdup("")};
	int rc;

	if (!event.name)
		return -ENOMEM;
	rc = len < PERF_ATTR_SIZE_VER0
		     ? -EBADMSG
		     : array_reserve(&table->events, &table->cap, (uint64_t)table->count + 1,
			       sizeof(*table->events), LIMIT_EVENTS);
	if (rc == 0) {
		memcpy(&event.attr, bytes, len < sizeof(event.attr) ? len : sizeof(event.attr));
		event.attr.size = sizeof(event.attr);
		rc = read_ids(table, ids, &event);
	}
	if (rc < 0) {
		/* Ids that were indexed for an event that is not there would point behind the
		 * end. */
		while (table->id_count &&
			table->ids[table->id_count - 1].event == table->count) {
			table->id_count--;
			hash_remove(&table->index, hash_u64(table->ids[table->id_count].id),
				table->id_count);
		}
		free(event.ids);
		free(event.name);
		return rc;
	}
	table->events[table->count++] = event;
	return 0;
}

struct perfdata_event *event_table_find(struct event_table *table, uint64_t id)
{
	struct hash_probe probe = hash_probe(&table->index, hash_u64(id));
	uint32_t at;

	/* While an event is being read its own ids are indexed already, but it is not there
	 * yet. */
	while (hash_next(&table->index, &probe, &at))
		if (table->ids[at].id == id)
			return &table->events[table->ids[at].event];
	return NULL;
}

int event_set_name(struct perfdata_event *event, const void *name, size_t len)
{
	char *copy = strndup(name, len);

	if (!copy)
		return -ENOMEM;
	free(event->name);
	event->name = copy;
	return 0;
}

void events_free(struct perfdata_event *events, uint32_t count)
{
	for (uint32_t i = 0; events && i < count; i++) {
		free(events[i].ids);
		free(events[i].name);
	}
	free(events);
}

void event_table_done(struct event_table *table)
{
	events_free(table->events, table->count);
	free(table->ids);
	hash_done(&table->index);
	*table = (struct event_table){0};
}
