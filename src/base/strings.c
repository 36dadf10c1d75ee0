#include "base/strings.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STRINGS_LIMIT = 64 * 1024 * 1024 };

void strings_done(struct strings *strings)
{
	arena_done(&strings->arena);
	hash_done(&strings->index);
	free(strings->texts);
	free(strings->lens);
	*strings = (struct strings){0};
}

static int strings_append(struct strings *strings, const char *text, size_t len, uint32_t hash)
{
	const char *copy;
	int rc;

	rc = array_reserve(&strings->texts, &strings->cap, (uint64_t)strings->count + 1,
		sizeof(*strings->texts), STRINGS_LIMIT);
	if (rc < 0)
		return rc;
	rc = array_reserve(&strings->lens, &strings->lens_cap, (uint64_t)strings->count + 1,
		sizeof(*strings->lens), STRINGS_LIMIT);
	if (rc < 0)
		return rc;
	copy = arena_strndup(&strings->arena, text, len);
	if (!copy)
		return -ENOMEM;
	rc = hash_add(&strings->index, hash, strings->count);
	if (rc < 0)
		return rc;
	strings->texts[strings->count] = copy;
	strings->lens[strings->count++] = (uint32_t)len;
	return 0;
}

int strings_add(struct strings *strings, const char *text, size_t len, uint32_t *ret_id)
{
	struct hash_probe probe;
	uint32_t hash, id;
	int rc;

	if (!strings->count) {
		rc = strings_append(strings, "", 0, hash_bytes("", 0));
		if (rc < 0)
			return rc;
	}
	len = strnlen(text, len < UINT32_MAX ? len : UINT32_MAX - 1);
	hash = hash_bytes(text, len);
	probe = hash_probe(&strings->index, hash);
	while (hash_next(&strings->index, &probe, &id)) {
		if (strings->lens[id] == len && !memcmp(strings->texts[id], text, len)) {
			*ret_id = id;
			return 0;
		}
	}
	id = strings->count;
	rc = strings_append(strings, text, len, hash);
	if (rc < 0)
		return rc;
	*ret_id = id;
	return 0;
}

const char *strings_get(const struct strings *strings, uint32_t id)
{
	return id < strings->count ? strings->texts[id] : "";
}
