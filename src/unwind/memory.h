/* What was read through the callback during one run. */
#pragma once

#include "unwind/walk.h"

enum { MEMORY_PAGE = 4096, MEMORY_CHUNKS = 16 };

struct memory_chunk {
	uint64_t serial, start;
	size_t len; /* MEMORY_PAGE, or 0: cannot be read */
	uint8_t bytes[MEMORY_PAGE];
};

struct memory {
	uint64_t serial; /* of the run; chunks of others are stale */
	struct memory_chunk chunks[MEMORY_CHUNKS];
};

struct memory *walk_memory(const struct walk *walk);
void memory_begin(struct memory *memory);
