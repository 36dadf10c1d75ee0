/*
 * A bump allocator: many small things, one free.
 *
 *     +-- chunk --------------+   +-- chunk --------------+
 *     | next | used ####......| <-| next | used ##########|
 *     +-----------------------+   +-----------------------+
 */
#pragma once

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *head;
	size_t total_bytes; /* handed out so far */
};

/* A zeroed struct is a valid empty arena; arena_done() frees everything and may be repeated. */
void arena_done(struct arena *arena);

/* `bytes` zeroed bytes, aligned to 16; NULL when memory is out. */
void *arena_alloc(struct arena *arena, size_t bytes);

/* A NUL-terminated copy of `len` bytes; NULL when memory is out. */
char *arena_strndup(struct arena *arena, const char *text, size_t len);
