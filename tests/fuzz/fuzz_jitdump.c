/*
 * jitdumps and perf maps over any bytes.
 *
 * Checked: names and files of a dump lie inside it; a function has bytes of its own, lives no
 * shorter than nothing, and its rows are in order and inside it; at no time do two functions
 * have the same address; a perf map's functions do not overlap.
 */
#include "object/jitdump.h"
#include "object/perf_map.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void text_inside(const uint8_t *data, size_t size, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	if (*text)
		must(at >= data && at + strlen(text) < data + size);
}

static bool overlap(const struct jit_code *a, const struct jit_code *b)
{
	return a->addr < b->addr + b->size && b->addr < a->addr + a->size;
}

static void check_dump(const uint8_t *data, size_t size, const struct jitdump *dump)
{
	for (uint32_t i = 0; i < dump->code_count; i++) {
		const struct jit_code *code = &dump->codes[i];
		uint64_t last = 0;

		text_inside(data, size, code->name);
		must(code->size && code->addr + code->size > code->addr);
		must(code->end_ns >= code->start_ns);
		must(code->key >= size || code->size <= size - code->key);
		must((uint64_t)code->first_row + code->row_count <= dump->row_count);
		for (uint32_t k = 0; k < code->row_count; k++) {
			const struct jit_row *row = &dump->rows[code->first_row + k];

			must(row->offset >= last && row->offset < code->size);
			last = row->offset;
			text_inside(data, size, row->file);
		}
		for (uint32_t k = 0; k < i && i < 64; k++) {
			const struct jit_code *older = &dump->codes[k];

			must(!overlap(older, code) || older->end_ns != UINT64_MAX ||
				code->start_ns == UINT64_MAX);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* so that ASan sees a read behind the end */
	struct jitdump dump;
	struct perf_map map;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (jitdump_parse(copy, size, &dump) == 0) {
		check_dump(copy, size, &dump);
		jitdump_done(&dump);
	}
	must(perf_map_parse((const char *)copy, size, &map) == 0);
	for (uint32_t i = 1; i < map.table.count; i++)
		must(map.table.symbols[i - 1].addr < map.table.symbols[i].addr);
	perf_map_done(&map);
	free(copy);
	return 0;
}
