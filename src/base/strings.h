/*
 * Interned strings: equal text has one id, ids are dense from 0, and id 0 is "".
 * The text of an id stays where it is until strings_done().
 */
#pragma once

#include "base/arena.h"
#include "base/hash.h"

struct strings {
	struct arena arena;
	struct hash_index index;
	const char **texts;
	uint32_t *lens;
	uint32_t count, cap, lens_cap;
};

/* Zeroed memory is a valid empty table. */
void strings_done(struct strings *strings);

/* The id of `len` bytes of text (NULs inside cut it). 0 and *ret_id, or -ENOMEM or -ENOSPC. */
int strings_add(struct strings *strings, const char *text, size_t len, uint32_t *ret_id);

/* Never NULL; "" for an id that is not there. */
const char *strings_get(const struct strings *strings, uint32_t id);
