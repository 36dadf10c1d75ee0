/*
 * How: every start and end of a function is a border, and two borders next to each other
 * enclose a cell. From the last line to the first each function claims its cells. One that
 * finds a cell claimed has been overwritten; it is gone, but what it overwrote itself stays
 * gone as well. A claimed cell points to the next one that may be free (union-find), so every
 * cell is claimed once.
 */
#include "object/perf_map.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t start, size;
	uint32_t name, name_len; /* name: offset in the text */
};

struct entries {
	struct entry *list;
	uint32_t count, cap;
};

/* Hex digits, with or without 0x; false when there are none or more than 64 bits. */
static bool take_hex(const char **at, const char *end, uint64_t *ret)
{
	uint64_t value = 0;
	int digits = 0;

	if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | 32) == 'x')
		*at += 2;
	for (; *at < end; (*at)++, digits++) {
		char c = **at, lower = (char)(c | 32);

		if (value >> 60)
			return false;
		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (lower >= 'a' && lower <= 'f')
			value = value << 4 | (uint64_t)(lower - 'a' + 10);
		else
			break;
	}
	*ret = value;
	return digits > 0;
}

static bool line_parse(const char *text, const char *at, const char *end, struct entry *ret)
{
	if (end > at && end[-1] == '\r')
		end--;
	if (!take_hex(&at, end, &ret->start) || at == end || *at++ != ' ' ||
		!take_hex(&at, end, &ret->size) || at == end || *at++ != ' ')
		return false;
	if (at == end || !ret->size || ret->size > UINT64_MAX - ret->start)
		return false;
	ret->name = (uint32_t)(at - text);
	ret->name_len = (uint32_t)(end - at);
	return true;
}

static int entries_read(
	const char *text, size_t len, struct entries *entries, struct perf_map *map)
{
	const char *at = text, *end = text + len, *nl;

	for (; at < end && (nl = memchr(at, '\n', (size_t)(end - at))); at = nl + 1) {
		struct entry entry;
		int r;

		if (map->lines == PERF_MAP_LINES_MAX) {
			map->cut = true;
			return 0;
		}
		map->lines++;
		if (!line_parse(text, at, nl, &entry)) {
			map->bad_lines++;
			continue;
		}
		r = array_reserve(&entries->list, &entries->cap, (uint64_t)entries->count + 1,
			sizeof(*entries->list), PERF_MAP_LINES_MAX);
		if (r < 0)
			return r;
		entries->list[entries->count++] = entry;
	}
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct cells {
	uint64_t *borders;
	uint32_t *next_free; /* a cell that is free points to itself */
	uint32_t count;
};

static void cells_done(struct cells *cells)
{
	free(cells->borders);
	free(cells->next_free);
}

static int cells_make(const struct entries *entries, struct cells *cells)
{
	uint32_t n = 0;

	cells->borders = reallocarray(NULL, entries->count, 2 * sizeof(*cells->borders));
	cells->next_free = reallocarray(NULL, entries->count, 2 * sizeof(*cells->next_free));
	if (!cells->borders || !cells->next_free)
		return -ENOMEM;
	for (uint32_t i = 0; i < entries->count; i++) {
		cells->borders[n++] = entries->list[i].start;
		cells->borders[n++] = entries->list[i].start + entries->list[i].size;
	}
	qsort(cells->borders, n, sizeof(*cells->borders), compare_u64);
	for (uint32_t i = 0; i < n; i++)
		if (!i || cells->borders[i] != cells->borders[cells->count - 1])
			cells->borders[cells->count++] = cells->borders[i];
	for (uint32_t i = 0; i < cells->count; i++)
		cells->next_free[i] = i;
	return 0;
}

static uint32_t cell_of(const struct cells *cells, uint64_t border)
{
	const uint64_t *found = bsearch(
		&border, cells->borders, cells->count, sizeof(*cells->borders), compare_u64);

	return (uint32_t)(found - cells->borders);
}

static uint32_t next_free(const struct cells *cells, uint32_t cell)
{
	while (cells->next_free[cell] != cell) {
		cells->next_free[cell] = cells->next_free[cells->next_free[cell]];
		cell = cells->next_free[cell];
	}
	return cell;
}

/* True: all of the function's cells were free. The last border is no cell: it is never claimed.
 */
static bool claim(const struct cells *cells, const struct entry *entry)
{
	uint32_t first = cell_of(cells, entry->start);
	uint32_t end = cell_of(cells, entry->start + entry->size), claimed = 0;

	for (uint32_t c = next_free(cells, first); c < end; c = next_free(cells, c)) {
		cells->next_free[c] = c + 1;
		claimed++;
	}
	return claimed == end - first;
}

/* Leaves those that no later line overlaps. */
static int keep_alive(struct entries *entries, struct perf_map *map)
{
	cleanup_with(cells_done) struct cells cells = {0};
	uint32_t at = entries->count, kept;

	if (cells_make(entries, &cells) < 0)
		return -ENOMEM;
	for (uint32_t i = entries->count; i-- > 0;)
		if (claim(&cells, &entries->list[i]))
			entries->list[--at] = entries->list[i];
	kept = entries->count - at;
	memmove(entries->list, entries->list + at, kept * sizeof(*entries->list));
	map->replaced = entries->count - kept;
	entries->count = kept;
	return 0;
}

static int table_build(const char *text, const struct entries *entries, struct symtab *ret)
{
	struct symtab_builder builder = {0};

	for (uint32_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->list[i];
		struct symbol_in in = {
			.addr = entry->start,
			.size = entry->size,
			.limit = entry->start + entry->size,
			.name = text + entry->name,
			.name_len = entry->name_len,
			.rank = SYMBOL_GLOBAL | SYMBOL_TYPED,
		};

		if (symtab_add(&builder, &in) == -ENOMEM) {
			symtab_builder_done(&builder);
			return -ENOMEM;
		}
	}
	return symtab_build(&builder, ret);
}

int perf_map_parse(const char *text, size_t len, struct perf_map *ret_map)
{
	struct perf_map map = {0};
	struct entries entries = {0};
	int r;

	if (len > PERF_MAP_BYTES_MAX) {
		len = PERF_MAP_BYTES_MAX;
		map.cut = true;
	}
	r = entries_read(text, len, &entries, &map);
	if (r >= 0 && entries.count) {
		r = keep_alive(&entries, &map);
		if (r >= 0)
			r = table_build(text, &entries, &map.table);
	}
	free(entries.list);
	if (r >= 0)
		*ret_map = map;
	return r < 0 ? r : 0;
}

void perf_map_done(struct perf_map *map)
{
	symtab_done(&map->table);
	*map = (struct perf_map){0};
}
