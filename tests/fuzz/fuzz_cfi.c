/*
 * Call frame information and Go's table out of any bytes.
 *
 *     input:  kind 1 | hdr bytes 2 | machine 1 | .eh_frame_hdr | the rest
 *
 * kind 0: the rest is .eh_frame, 1: .debug_frame, 2: .gopclntab, else the whole input is an ELF
 * file. Checked: a row that is found holds the address it was asked for; asking twice gives
 * the same; looking up through an index of our own finds what the table found.
 */
#include "base/bytes.h"
#include "object/cfi.h"
#include "object/gopclntab.h"
#include "tests/unwind_elf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void ask_cfi(struct cfi *cfi, uint64_t vaddr)
{
	struct cfi_row row, again;

	if (cfi_find(cfi, vaddr, &row) < 0)
		return;
	must(row.start <= vaddr && vaddr < row.end);
	must(row.function_start <= row.start && row.end <= row.function_end);
	must(row.ra_reg < CFI_REGS);
	for (int i = 0; i < CFI_REGS; i++)
		must(row.regs[i].kind <= CFI_VAL_EXPR);
	must(cfi_find(cfi, vaddr, &again) == 0);
	must(again.start == row.start && again.end == row.end &&
		again.cfa.kind == row.cfa.kind);
}

static void ask_go(const struct gopclntab *go, uint64_t vaddr)
{
	struct go_function f;
	const char *name = gopclntab_name(go, vaddr);

	must(!name || strlen(name) < 1 << 30);
	if (gopclntab_find(go, vaddr, &f) == 0)
		must(f.start <= vaddr && vaddr < f.end && f.sp_delta <= INT32_MAX);
}

static void ask(const struct elf *elf)
{
	static const uint64_t near[] = {0, 1, 4, 15, 16, 64, 255, 4096, 1 << 20};
	struct gopclntab *go = NULL;
	struct cfi *cfi = NULL;
	bool has_cfi = cfi_open(elf, 1 << 24, &cfi) == 0;
	bool has_go = gopclntab_open(elf, 1 << 24, &go) == 0;
	uint64_t start, end;
	const char *name;

	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
		const uint64_t vaddrs[] = {near[i], MADE_BASE + near[i], elf->entry + near[i],
			UINT64_MAX - near[i], (1ull << 32) + near[i]};

		for (size_t j = 0; j < sizeof(vaddrs) / sizeof(vaddrs[0]); j++) {
			if (has_cfi)
				ask_cfi(cfi, vaddrs[j]);
			if (has_go)
				ask_go(go, vaddrs[j]);
		}
	}
	for (uint64_t i = 0; has_go && i < 1000 && gopclntab_at(go, i, &start, &end, &name);
		i++)
		must(!name || strlen(name) < 1 << 30);
	cfi_free(cfi);
	gopclntab_free(go);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {".eh_frame", ".debug_frame", ".gopclntab"};
	struct bytes b = bytes_of(data, size);
	uint8_t kind = bytes_u8(&b);
	uint16_t hdr_len = bytes_u16(&b);
	uint16_t machine = bytes_u8(&b) & 1 ? EM_AARCH64 : EM_X86_64;
	const uint8_t *hdr = bytes_take(&b, hdr_len);
	struct made_part parts[] = {{".text", "", 0, 0},
		{kind < 3 ? names[kind] : "", b.at, bytes_left(&b), 0},
		{hdr_len ? ".eh_frame_hdr" : NULL, hdr, hdr_len, 0}, {NULL, NULL, 0, 0}};
	struct made_elf made = {NULL, 0};
	struct elf elf;

	if (kind >= 3 || b.bad) {
		if (elf_open_bytes(data, size, &elf, NULL) == 0) {
			ask(&elf);
			elf_close(&elf);
		}
		return 0;
	}
	if (made_elf(parts, machine, &made) &&
		elf_open_bytes(made.bytes, made.len, &elf, NULL) == 0) {
		ask(&elf);
		elf_close(&elf);
	}
	free(made.bytes);
	return 0;
}
