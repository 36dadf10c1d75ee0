/* Which event a record of a file belongs to, and how its records look: by the id it carries. */
#pragma once

#include "base/error.h"
#include "base/hash.h"
#include "perfdata/perfdata.h"
#include "wick/record.h"

#include <stdint.h>

struct layouts {
	struct wick_layout *layouts; /* one an event, same index */
	uint32_t count, cap;
	struct hash_index by_id;
	uint64_t *ids;
	uint32_t *id_events;
	uint32_t id_count, ids_cap, id_events_cap;
};

/* Takes in the events that are new since the last call. 0, -ENOMEM; -EINVAL with a sentence. */
int layouts_update(
	struct layouts *layouts, const struct perfdata_info *info, struct error *err);
void layouts_done(struct layouts *layouts);

/* The event of a whole record; 0 when it does not say. */
uint32_t layouts_find(const struct layouts *layouts, const void *record);
