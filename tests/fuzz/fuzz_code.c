/*
 * The code section of a recording over any bytes: as they are where they begin as one, else as
 * what stands in it unpacked; and its code through the disassembler, for each machine.
 *
 * Checked: what is read is whole (code and rows inside the tables, rows in order) and the same
 * again when it is written and read; instructions cover the code without a gap.
 */
#include "object/disasm.h"
#include "profile/excerpts.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void is_whole(const struct profile *profile, const struct excerpts *excerpts)
{
	for (uint32_t i = 0; i < excerpts->count; i++) {
		const struct excerpt *it = &excerpts->at[i];
		uint64_t last = 0;

		must(it->module < profile->module_count && it->size > 0);
		must((uint64_t)it->first_byte + it->size <= excerpts->byte_count);
		must((uint64_t)it->first_row + it->row_count <= excerpts->row_count);
		for (uint32_t k = 0; k < it->row_count; k++) {
			const struct code_row *row = &excerpts->rows[it->first_row + k];

			must(row->offset >= last && row->offset < it->size);
			must(row->file < profile->strings.count);
			last = row->offset;
		}
		(void)excerpt_row(excerpts, it, it->size);
		must(excerpts_find(excerpts, it->module, it->addr) != NULL);
	}
}

static void disassemble(const struct excerpts *excerpts)
{
	static const uint16_t machines[] = {EM_X86_64, EM_386, EM_AARCH64, EM_RISCV, EM_NONE};
	struct instruction one;

	for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++) {
		struct disasm *disasm;
		uint32_t at = 0;

		must(disasm_open(machines[m], m & 1 ? DISASM_ATT : DISASM_INTEL, &disasm) == 0);
		while (at < excerpts->byte_count) {
			disasm_next(disasm, excerpts->bytes + at, excerpts->byte_count - at, at,
				&one);
			must(one.size > 0 && one.size <= excerpts->byte_count - at);
			must(memchr(one.text, '\0', sizeof(one.text)) != NULL);
			at += one.size;
		}
		disasm_close(disasm);
	}
}

static void again(const struct profile *profile, const struct excerpts *excerpts)
{
	struct profile other = {.module_count = 0};
	struct excerpts back = {0};
	struct strbuf bytes = {0};

	must(excerpts_write(excerpts, profile, &bytes) == 0);
	if (bytes.len)
		must(excerpts_read(bytes.text, bytes.len, &other, &back, NULL) == 0);
	must(back.count == excerpts->count && back.byte_count == excerpts->byte_count &&
		back.row_count == excerpts->row_count);
	excerpts_done(&back);
	profile_done(&other);
	strbuf_done(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char start[] = "wick-code ";
	struct profile profile = {.module_count = 0};
	struct excerpts excerpts = {0};
	struct error err = {.text = ""};
	struct strbuf bytes = {0};
	uint64_t left = size;
	int rc;

	if (size < sizeof(start) || memcmp(data, start, sizeof(start) - 1) != 0) {
		strbuf_puts(&bytes, "wick-code 1\n");
		strbuf_putc(&bytes, '\0');
		do {
			strbuf_putc(&bytes, (char)((left & 127) | (left > 127 ? 128 : 0)));
			left >>= 7;
		} while (left);
	}
	strbuf_add(&bytes, data, size);
	rc = excerpts_read(strbuf_text(&bytes), bytes.len, &profile, &excerpts, &err);
	must(rc == 0 || (err.text[0] && !excerpts.count && !excerpts.byte_count));
	if (rc == 0) {
		is_whole(&profile, &excerpts);
		disassemble(&excerpts);
		again(&profile, &excerpts);
	}
	excerpts_done(&excerpts);
	profile_done(&profile);
	strbuf_done(&bytes);
	return 0;
}
