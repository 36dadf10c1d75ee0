/*
 * jitdumps and perf maps over any bytes.
 *
 * Checked: names and files of a dump lie inside it; a function has bytes of its own, lives no
 * shorter than nothing, and its rows are in order and inside it; at no time do two functions
 * have the same address; a perf map's functions do not overlap; the call frame information of a
 * dump that is read in two pieces is that of the whole.
 */
#include "base/fileio.h"
#include "object/jitcfi.h"
#include "object/jitdump.h"
#include "object/perf_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

static void check_frames(const uint8_t *data, size_t size)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);
	struct jitcfi *pieces, *whole;
	struct cfi_row a, b;
	uint64_t addr = 0x1000;

	must(fd >= 0 && jitcfi_new(fd, &pieces) == 0 && jitcfi_new(fd, &whole) == 0);
	must(fd_write_all(fd, data, size / 2) == 0 && jitcfi_update(pieces) == 0);
	must(fd_write_all(fd, data + size / 2, size - size / 2) == 0);
	must(jitcfi_update(pieces) == 0 && jitcfi_update(whole) == 0);
	must(jitcfi_count(pieces) == jitcfi_count(whole));
	for (size_t i = 40; i + 8 <= size && i < 4096; i += 4) {
		memcpy(&addr, data + i, sizeof(addr));
		must(jitcfi_find(pieces, addr, UINT64_MAX, &a) ==
			jitcfi_find(whole, addr, UINT64_MAX, &b));
	}
	jitcfi_free(pieces);
	jitcfi_free(whole);
	close(fd);
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
	check_frames(copy, size);
	must(perf_map_parse((const char *)copy, size, &map) == 0);
	for (uint32_t i = 1; i < map.table.count; i++)
		must(map.table.symbols[i - 1].addr < map.table.symbols[i].addr);
	perf_map_done(&map);
	free(copy);
	return 0;
}
