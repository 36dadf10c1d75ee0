/*
 * How: a slot for each module; few are open at a time, so the oldest is found by looking.
 * Within a limit nothing is closed: what is opened is asked again, and what does not fit is
 * left.
 */
#include "symbolize/debug_pool.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS_MAX = 10 * 1000 * 1000 };

/* How fast sections are read (and inflated) and their units listed, at the least. */
#define OPEN_BYTES_PER_US 400

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

static uint64_t cpu_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void debug_pool_limit(struct debug_pool *pool, uint64_t cpu_ns, uint64_t bytes)
{
	pool->limited = true;
	pool->walk_end_ns = cpu_now_ns() + cpu_ns / 4 * 3;
	pool->cpu_end_ns = pool->walk_end_ns + cpu_ns / 4;
	pool->bytes_max = bytes;
}

static uint64_t pool_bytes(const struct debug_pool *pool)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < pool->count; i++)
		if (pool->slots[i].debug)
			bytes += debug_info_bytes(pool->slots[i].debug->info);
	return bytes;
}

/* How large what is opened or walked may be; 0: nothing is. */
static uint64_t room_left(const struct debug_pool *pool)
{
	uint64_t now = cpu_now_ns(), held = pool_bytes(pool), by_time, by_bytes;

	if (now >= pool->walk_end_ns || held >= pool->bytes_max)
		return 0;
	by_time = (pool->walk_end_ns - now) / 1000 * OPEN_BYTES_PER_US;
	by_bytes = pool->bytes_max - held;
	return by_time < by_bytes ? by_time : by_bytes;
}

/* Makes room; the slot that was asked for stays. */
static void pool_shrink(struct debug_pool *pool, uint32_t keep)
{
	while (pool_bytes(pool) > DEBUG_POOL_BYTES) {
		struct debug_slot *oldest = NULL;

		for (uint32_t i = 0; i < pool->count; i++) {
			struct debug_slot *slot = &pool->slots[i];

			if (slot->debug && i != keep && (!oldest || slot->used < oldest->used))
				oldest = slot;
		}
		if (!oldest)
			return;
		slot_close(oldest);
	}
}

static int slot_open(struct debug_pool *pool, const struct symbolizer_options *options,
	const struct profile *profile, uint32_t module, uint64_t bytes_max)
{
	struct debug_slot *slot = &pool->slots[module];
	int r;

	slot->debug = calloc(1, sizeof(*slot->debug));
	if (!slot->debug)
		return -ENOMEM;
	r = module_debug_open(options, profile, module, bytes_max, slot->debug);
	if (r < 0) {
		slot_close(slot);
		if (r == -EFBIG && bytes_max) {
			slot->too_large = slot->left = true;
			return -EAGAIN;
		}
		slot->missing = true;
		return r == -ENOMEM ? r : 0;
	}
	if (!slot->from)
		slot->from = strdup(slot->debug->from);
	slot->used = ++pool->tick;
	pool_shrink(pool, module);
	return slot->from ? 1 : -ENOMEM;
}

static bool is_quick(
	const struct debug_pool *pool, const struct debug_slot *slot, uint64_t vaddr)
{
	return slot->debug && debug_info_is_walked(slot->debug->info, vaddr) &&
	       cpu_now_ns() < pool->cpu_end_ns;
}

/* Beyond the limit: left, if there is anything. */
static int slot_leave(struct debug_slot *slot, const struct symbolizer_options *options,
	const struct profile *profile, uint32_t module)
{
	if (!slot->left && !slot->debug && !module_debug_exists(options, profile, module)) {
		slot->missing = true;
		return 0;
	}
	slot->left = true;
	return -EAGAIN;
}

int debug_pool_get(struct debug_pool *pool, const struct symbolizer_options *options,
	const struct profile *profile, uint32_t module, uint64_t vaddr,
	struct debug_info **ret_info)
{
	struct debug_slot *slot;
	uint64_t room = 0;
	int r = array_reserve(&pool->slots, &pool->cap, (uint64_t)module + 1,
		sizeof(*pool->slots), SLOTS_MAX);

	if (r < 0)
		return r;
	while (pool->count <= module)
		pool->slots[pool->count++] = (struct debug_slot){0};
	slot = &pool->slots[module];
	if (slot->missing)
		return 0;
	if (pool->limited && !is_quick(pool, slot, vaddr)) {
		room = slot->too_large ? 0 : room_left(pool);
		if (!room)
			return slot_leave(slot, options, profile, module);
	}
	if (slot->debug)
		slot->used = ++pool->tick;
	else
		r = slot_open(pool, options, profile, module, room);
	if (r < 0 || slot->missing)
		return r;
	*ret_info = slot->debug->info;
	return 1;
}

bool debug_pool_left(const struct debug_pool *pool, uint32_t module)
{
	return module < pool->count && pool->slots[module].left;
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
