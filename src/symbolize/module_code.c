/* The vdso is an ELF file in memory; for the rest both are read alike. */
#include "symbolize/module_code.h"

#include <stdlib.h>
#include <string.h>

void module_code_done(struct module_code *code)
{
	elf_blob_done(&code->bytes);
}

void code_reader_init(struct code_reader *reader, const struct symbolizer_options *options)
{
	*reader = (struct code_reader){.options = options, .file = {.fd = -1, .elf.fd = -1}};
}

static void reader_close(struct code_reader *reader)
{
	module_file_close(&reader->file);
	free(reader->vdso.bytes);
	code_reader_init(reader, reader->options);
}

void code_reader_done(struct code_reader *reader)
{
	reader_close(reader);
}

static enum module_outcome open_vdso(struct code_reader *reader, const struct module *module)
{
	struct elf *elf = &reader->file.elf;

	if (!vdso_image_read(module, reader->options->live, &reader->vdso))
		return MODULE_FILE_MISSING;
	if (elf_open_bytes(reader->vdso.bytes, reader->vdso.len, elf, NULL) < 0)
		return MODULE_FILE_BROKEN;
	/* Later, nothing but its build id proves that it is the recorded one. */
	if (module->build_id_bytes
			? memcmp(module->build_id, elf->build_id, module->build_id_bytes) != 0
			: !reader->options->live)
		return MODULE_FILE_CHANGED;
	return MODULE_NAMED;
}

static enum module_outcome reader_open(
	struct code_reader *reader, const struct profile *profile, uint32_t id)
{
	const struct module *module = &profile->modules[id];

	switch (module->kind) {
	case MODULE_FILE:
		return module_file_open(reader->options, profile, id, &reader->file);
	case MODULE_VDSO:
		return open_vdso(reader, module);
	case MODULE_KERNEL:
	case MODULE_KMODULE:
		return MODULE_HIDDEN;
	default:
		return MODULE_NO_FILE;
	}
}

enum module_outcome code_reader_get(struct code_reader *reader, const struct profile *profile,
	uint32_t module, uint64_t addr, uint32_t size, struct module_code *ret_code)
{
	const struct elf *elf = &reader->file.elf;

	if (reader->module != module + 1) {
		reader_close(reader);
		reader->module = module + 1;
		reader->outcome = reader_open(reader, profile, module);
	}
	if (reader->outcome != MODULE_NAMED)
		return reader->outcome;
	if (!elf_foff_to_vaddr(elf->segments, elf->segment_count, addr, &ret_code->vaddr) ||
		elf_load(elf, addr, size, size, &ret_code->bytes) < 0)
		return MODULE_FILE_BROKEN;
	ret_code->machine = elf->machine;
	return MODULE_NAMED;
}
