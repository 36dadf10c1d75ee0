/*
 * The bytes of a module's functions, out of the file that is proved to be the one that was
 * mapped, or out of the vdso.
 */
#pragma once

#include "symbolize/module_file.h"
#include "symbolize/symbolize.h"
#include "symbolize/vdso_image.h"

/* Keeps the last module open: ask for one module's functions after another. */
struct code_reader {
	const struct symbolizer_options *options;
	struct module_file file;
	struct vdso_image vdso;
	uint32_t module; /* the open one, + 1; 0: none */
	enum module_outcome outcome;
};

struct module_code {
	struct elf_blob bytes;
	uint64_t vaddr;
	uint16_t machine; /* EM_* */
};

void module_code_done(struct module_code *code); /* takes a zeroed struct, too */

void code_reader_init(struct code_reader *reader, const struct symbolizer_options *options);
void code_reader_done(struct code_reader *reader);

/*
 * `size` bytes at `addr`, which counts as the module's frames do. MODULE_NAMED and *ret_code,
 * to be done with before the next call; else why not:
 * MODULE_FILE_*; MODULE_HIDDEN: the kernel's; MODULE_NO_FILE: memory.
 */
enum module_outcome code_reader_get(struct code_reader *reader, const struct profile *profile,
	uint32_t module, uint64_t addr, uint32_t size, struct module_code *ret_code);
