/* The table of exporters, and what they share. */
#include "formats/export.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

static const char *const folded_suffixes[] = {".folded", ".collapsed", NULL};
static const char *const svg_suffixes[] = {".svg", NULL};

static const struct exporter exporters[] = {
	{"folded", folded_suffixes,
		"one line a stack and its samples, for flamegraph.pl and others", folded_write},
	{"svg", svg_suffixes, "a flame graph in one file, with zoom and search", svg_write},
};

const struct exporter *export_at(size_t index)
{
	return index < ARRAY_LEN(exporters) ? &exporters[index] : NULL;
}

const struct exporter *export_find(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < ARRAY_LEN(exporters); i++) {
		for (const char *const *suffix = exporters[i].suffixes; *suffix; suffix++) {
			size_t n = strlen(*suffix);

			if (len > n && !strcmp(path + len - n, *suffix))
				return &exporters[i];
		}
	}
	return NULL;
}

/* "cpu_core/cycles/u" and "cycles:u" both say cycles: what stands before the modifiers. */
static const char *base_name(const char *name, size_t *ret_len)
{
	const char *slash = strchr(name, '/'), *start = slash ? slash + 1 : name;

	*ret_len = strcspn(start, slash ? "/" : ":");
	return start;
}

bool export_keeps_event(const struct profile *profile, uint16_t event)
{
	size_t len, first_len;
	const char *name, *first;

	if (!event || event >= profile->event_count)
		return true;
	first = base_name(profile_text(profile, profile->events[0].name), &first_len);
	name = base_name(profile_text(profile, profile->events[event].name), &len);
	return len == first_len && !memcmp(name, first, len);
}

int export_finish(FILE *out, struct error *err)
{
	int cause = 0;

	errno = 0;
	if (fflush(out) != 0)
		cause = errno;
	if (!cause && !ferror(out))
		return 0;
	cause = cause ? cause : EIO;
	return error_set(err, -cause, "writing the export failed: %s", strerror(cause));
}
