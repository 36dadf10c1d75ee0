/*
 * Hash functions, and an open-addressed index from a hash to u32 ids.
 *
 * The index stores no keys: entries live in the caller's own array, and a slot holds the
 * entry's hash and id. Finding is a loop that the caller writes in two lines:
 *
 *     struct hash_probe probe = hash_probe(&index, hash);
 *     while (hash_next(&index, &probe, &id))
 *             if (entries[id].key == key)
 *                     return id;
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint32_t hash;
	uint32_t id_plus_1; /* 0: free; UINT32_MAX: was removed */
};

struct hash_index {
	struct hash_slot *slots;
	uint32_t cap;  /* a power of two, or 0 */
	uint32_t used; /* live and removed slots */
	uint32_t live;
};

struct hash_probe {
	uint32_t hash, at, steps;
};

static inline uint32_t hash_u64(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15u;
	key ^= key >> 29;
	key *= 0xbf58476d1ce4e5b9u;
	return (uint32_t)(key >> 32);
}

static inline uint32_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(a * 0x9e3779b97f4a7c15u + (b ^ (b >> 31)));
}

uint32_t hash_bytes(const void *bytes, size_t len);

static inline struct hash_probe hash_probe(const struct hash_index *index, uint32_t hash)
{
	return (struct hash_probe){hash, index->cap ? hash & (index->cap - 1) : 0, 0};
}

/* The next id whose hash is equal; false when there is none (left). */
static inline bool hash_next(
	const struct hash_index *index, struct hash_probe *probe, uint32_t *ret_id)
{
	while (probe->steps < index->cap) {
		const struct hash_slot *slot = &index->slots[probe->at];

		probe->at = (probe->at + 1) & (index->cap - 1);
		probe->steps++;
		if (!slot->id_plus_1)
			return false;
		if (slot->hash == probe->hash && slot->id_plus_1 != UINT32_MAX) {
			*ret_id = slot->id_plus_1 - 1;
			return true;
		}
	}
	return false;
}

/* Adds an id (at most UINT32_MAX - 2) that is not there yet. 0 or -ENOMEM. */
int hash_add(struct hash_index *index, uint32_t hash, uint32_t id);

/* Takes an id out; nothing happens when it is not there. */
void hash_remove(struct hash_index *index, uint32_t hash, uint32_t id);

/* Frees; a zeroed struct is a valid empty index. */
void hash_done(struct hash_index *index);
