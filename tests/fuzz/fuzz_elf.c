/*
 * ELF files, kernel symbol lists and demangling over any bytes.
 *
 * Checked: what opens has names and parts inside the file; a symbol table is sorted, each
 * symbol is found at its first byte, lookups agree with the table; translations between offset
 * and address are inverse.
 */
#include "object/demangle.h"
#include "object/elf_symbols.h"
#include "object/kallsyms.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_table(struct symtab *table)
{
	struct strbuf readable = {0};

	for (uint32_t i = 0; i < table->count; i++) {
		const struct symbol *s = &table->symbols[i], *found;

		must(!i || s[-1].addr < s->addr);
		must(s->name < table->names_bytes);
		if (!s->size)
			continue;
		must(symtab_find(table, s->addr) == s);
		found = symtab_find(table, s->addr + s->size - 1);
		must(found && s->addr + s->size - 1 - found->addr < found->size);
		if (i > 100)
			continue;
		strbuf_reset(&readable);
		demangle(symbol_name(table, s), &readable);
		must(readable.len <= DEMANGLE_OUT_MAX ||
			readable.len == strlen(symbol_name(table, s)));
	}
	strbuf_done(&readable);
}

static void check_segments(const struct elf *elf, uint64_t file_bytes)
{
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *s = &elf->segments[i];
		uint64_t vaddr, foff;

		if (!s->file_bytes || s->foff >= file_bytes)
			continue;
		must(elf_foff_to_vaddr(elf->segments, elf->segment_count, s->foff, &vaddr));
		elf_vaddr_to_foff(elf->segments, elf->segment_count, vaddr, &foff);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_symbols symbols;
	struct kallsyms kallsyms;
	struct elf elf;

	must(!kallsyms_parse((const char *)data, size, &kallsyms));
	check_table(&kallsyms.kernel);
	for (uint32_t i = 0; i < kallsyms.module_count; i++)
		check_table(&kallsyms.modules[i].table);
	kallsyms_done(&kallsyms);
	if (elf_open_bytes(data, size, &elf, NULL) < 0)
		return 0;
	check_segments(&elf, size);
	for (uint32_t i = 0; i < elf.section_count; i++) {
		struct elf_blob blob = {0};

		must(strlen(elf.sections[i].name) < size);
		if (!elf_load_section(&elf, &elf.sections[i], 1 << 20, &blob))
			elf_blob_done(&blob);
	}
	must(!elf_symbols_load(&elf, NULL, &symbols));
	check_table(&symbols.table);
	elf_symbols_done(&symbols);
	elf_close(&elf);
	return 0;
}
