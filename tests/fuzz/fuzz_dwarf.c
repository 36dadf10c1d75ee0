/*
 * Debug information over any bytes: an ELF file, its sections, every unit that covers one of
 * some addresses. And packages of split units, the file taken for its own.
 *
 * Checked: steps have ends, texts are texts, and asking twice gives the same.
 */
#include "object/debug_info.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static uint64_t text_hash(const char *text)
{
	uint64_t hash = 5381;

	for (; text && *text; text++)
		hash = hash * 33 + (unsigned char)*text;
	return hash;
}

/* What an address comes to, as a number. */
static uint64_t steps_hash(struct debug_info *info, uint64_t vaddr)
{
	const struct debug_step *steps;
	int n = debug_info_find(info, vaddr, &steps);
	uint64_t hash = (uint64_t)n;

	must(n >= 0 && n <= DEBUG_STEPS_MAX);
	for (int i = 0; i < n; i++)
		hash = hash * 31 + text_hash(steps[i].name) + text_hash(steps[i].linkage_name) +
		       text_hash(steps[i].file) + steps[i].line;
	return hash;
}

static int unit_open(void *ctx, const char *comp_dir, const char *name)
{
	(void)ctx;
	must(comp_dir && name && strlen(name) < SIZE_MAX);
	return -1;
}

static void check(const struct elf *elf)
{
	struct debug_finder finder = {unit_open, NULL};
	struct debug_files files = {.elf = elf, .alt = elf, .dwp = elf, .finder = &finder};
	struct debug_info *info;

	if (debug_info_open(&files, &info) < 0)
		return;
	for (uint32_t i = 0; i < elf->segment_count && i < 4; i++) {
		const struct elf_segment *s = &elf->segments[i];
		uint64_t step = s->mem_bytes / 64 + 1;

		for (uint64_t at = 0; at < s->mem_bytes && at < 64 * step; at += step)
			must(steps_hash(info, s->vaddr + at) ==
				steps_hash(info, s->vaddr + at));
	}
	for (uint64_t at = 0; at < 256; at++)
		steps_hash(info, at);
	must(debug_info_bytes(info) > 0);
	debug_info_close(info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf elf = {0};

	if (elf_open_bytes(data, size, &elf, NULL) >= 0)
		check(&elf);
	elf_close(&elf);
	return 0;
}
