#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024, ALIGN = 16 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, cap;
	_Alignas(ALIGN) unsigned char bytes[];
};

void arena_done(struct arena *arena)
{
	while (arena->head) {
		struct arena_chunk *next = arena->head->next;

		free(arena->head);
		arena->head = next;
	}
	arena->total_bytes = 0;
}

static struct arena_chunk *chunk_new(size_t bytes)
{
	size_t cap = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	struct arena_chunk *chunk = calloc(1, sizeof(*chunk) + cap);

	if (chunk)
		chunk->cap = cap;
	return chunk;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	struct arena_chunk *chunk = arena->head;
	void *out;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!chunk || chunk->cap - chunk->used < bytes) {
		chunk = chunk_new(bytes);
		if (!chunk)
			return NULL;
		if (arena->head && bytes > CHUNK_BYTES / 4) {
			/* A big one goes behind, so that the open chunk stays in use. */
			chunk->next = arena->head->next;
			arena->head->next = chunk;
		} else {
			chunk->next = arena->head;
			arena->head = chunk;
		}
	}
	out = chunk->bytes + chunk->used;
	chunk->used += bytes;
	arena->total_bytes += bytes;
	return out;
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
	char *out = arena_alloc(arena, len + 1);

	if (out)
		memcpy(out, text, len);
	return out;
}
