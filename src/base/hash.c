#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { REMOVED = UINT32_MAX };

uint32_t hash_bytes(const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	uint64_t hash = len * 0x9e3779b97f4a7c15u, word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
		hash ^= hash >> 29;
	}
	word = 0;
	memcpy(&word, p, len);
	return hash_u64(hash ^ word);
}

static void slot_put(struct hash_index *index, uint32_t hash, uint32_t id_plus_1)
{
	uint32_t at = hash & (index->cap - 1);

	while (index->slots[at].id_plus_1)
		at = (at + 1) & (index->cap - 1);
	index->slots[at] = (struct hash_slot){hash, id_plus_1};
	index->used++;
	index->live++;
}

/* Grows when more than half is live; else only sweeps the removed slots out. */
static int index_rebuild(struct hash_index *index)
{
	uint32_t cap = index->cap ? index->cap : 32;
	struct hash_index grown = {0};

	while (index->live >= cap / 2) {
		if (cap > UINT32_MAX / 2)
			return -ENOMEM;
		cap *= 2;
	}
	grown.slots = calloc(cap, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	grown.cap = cap;
	for (uint32_t i = 0; i < index->cap; i++) {
		const struct hash_slot *slot = &index->slots[i];

		if (slot->id_plus_1 && slot->id_plus_1 != REMOVED)
			slot_put(&grown, slot->hash, slot->id_plus_1);
	}
	free(index->slots);
	*index = grown;
	return 0;
}

int hash_add(struct hash_index *index, uint32_t hash, uint32_t id)
{
	if (index->used >= index->cap / 4 * 3) {
		int rc = index_rebuild(index);

		if (rc < 0)
			return rc;
	}
	slot_put(index, hash, id + 1);
	return 0;
}

void hash_remove(struct hash_index *index, uint32_t hash, uint32_t id)
{
	uint32_t at = hash & (index->cap ? index->cap - 1 : 0);

	for (uint32_t steps = 0; steps < index->cap && index->slots[at].id_plus_1; steps++) {
		if (index->slots[at].id_plus_1 == id + 1) {
			index->slots[at].id_plus_1 = REMOVED;
			index->live--;
			return;
		}
		at = (at + 1) & (index->cap - 1);
	}
}

void hash_done(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){0};
}
