/* How: a slot for each module; few are open at a time, so the oldest is found by looking. */
#include "symbolize/debug_pool.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_MAX = 10 * 1000 * 1000 };

static void slot_close(struct debug_slot *slot)
{
	if (slot->debug)
		module_debug_close(slot->debug);
	free(slot->debug);
	slot->debug = NULL;
}

void debug_pool_close(struct debug_pool *pool, uint32_t module)
{
	if (module < pool->count)
		slot_close(&pool->slots[module]);
}

/* Makes room; the slot that was asked for stays. */
static void pool_shrink(struct debug_pool *pool, uint32_t keep)
{
	for (;;) {
		struct debug_slot *oldest = NULL;
		uint64_t bytes = 0;

		for (uint32_t i = 0; i < pool->count; i++) {
			struct debug_slot *slot = &pool->slots[i];

			if (!slot->debug)
				continue;
			bytes += debug_info_bytes(slot->debug->info);
			if (i != keep && (!oldest || slot->used < oldest->used))
				oldest = slot;
		}
		if (!oldest || bytes <= DEBUG_POOL_BYTES)
			return;
		slot_close(oldest);
	}
}

static int slot_open(struct debug_pool *pool, const struct symbolizer_options *options,
	const struct profile *profile, uint32_t module)
{
	struct debug_slot *slot = &pool->slots[module];
	int r;

	slot->debug = calloc(1, sizeof(*slot->debug));
	if (!slot->debug)
		return -ENOMEM;
	r = module_debug_open(options, profile, module, slot->debug);
	if (r < 0) {
		slot_close(slot);
		slot->missing = true;
		return r == -ENOMEM ? r : 0;
	}
	if (!slot->from)
		slot->from = strdup(slot->debug->from);
	slot->used = ++pool->tick;
	pool_shrink(pool, module);
	return slot->from ? 1 : -ENOMEM;
}

int debug_pool_get(struct debug_pool *pool, const struct symbolizer_options *options,
	const struct profile *profile, uint32_t module, struct debug_info **ret_info)
{
	struct debug_slot *slot;
	int r = array_reserve(&pool->slots, &pool->cap, (uint64_t)module + 1,
		sizeof(*pool->slots), SLOTS_MAX);

	if (r < 0)
		return r;
	while (pool->count <= module)
		pool->slots[pool->count++] = (struct debug_slot){0};
	slot = &pool->slots[module];
	if (slot->missing)
		return 0;
	if (slot->debug)
		slot->used = ++pool->tick;
	else
		r = slot_open(pool, options, profile, module);
	if (r < 0 || slot->missing)
		return r;
	*ret_info = slot->debug->info;
	return 1;
}

const char *debug_pool_from(const struct debug_pool *pool, uint32_t module)
{
	const char *from = module < pool->count ? pool->slots[module].from : NULL;

	return from ? from : "";
}

void debug_pool_done(struct debug_pool *pool)
{
	for (uint32_t i = 0; i < pool->count; i++) {
		slot_close(&pool->slots[i]);
		free(pool->slots[i].from);
	}
	free(pool->slots);
	*pool = (struct debug_pool){0};
}
