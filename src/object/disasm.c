/*
 * How: one capstone handle for a function. What it refuses is taken in the machine's smallest
 * steps, so that it finds its way again behind data in the code.
 */
#include "config.h"
#include "object/disasm.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if HAVE_CAPSTONE
#include <capstone/capstone.h>
#endif

struct disasm {
	uint32_t step; /* bytes of the smallest instruction */
	bool knows;
#if HAVE_CAPSTONE
	csh handle;
	cs_insn *insn;
#endif
};

static uint32_t smallest(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
	case EM_386:
		return 1;
	case EM_RISCV:
	case EM_S390:
		return 2;
	default:
		return 4;
	}
}

#if HAVE_CAPSTONE
static bool machine_is(uint16_t machine, cs_arch *ret_arch, cs_mode *ret_mode)
{
	switch (machine) {
	case EM_X86_64:
		*ret_arch = CS_ARCH_X86;
		*ret_mode = CS_MODE_64;
		return true;
	case EM_386:
		*ret_arch = CS_ARCH_X86;
		*ret_mode = CS_MODE_32;
		return true;
	case EM_AARCH64:
		*ret_arch = CS_ARCH_ARM64;
		*ret_mode = CS_MODE_ARM; /* instructions are little-endian, whatever data is */
		return true;
#if CS_API_MAJOR >= 5
	case EM_RISCV:
		*ret_arch = CS_ARCH_RISCV;
		*ret_mode = (cs_mode)(CS_MODE_RISCV64 | CS_MODE_RISCVC);
		return true;
#endif
	default:
		return false;
	}
}

static int library_open(struct disasm *disasm, uint16_t machine, enum disasm_syntax syntax)
{
	cs_arch arch;
	cs_mode mode;

	if (!machine_is(machine, &arch, &mode) ||
		cs_open(arch, mode, &disasm->handle) != CS_ERR_OK)
		return 0;
	disasm->knows = true;
	if (arch == CS_ARCH_X86 && syntax == DISASM_ATT)
		cs_option(disasm->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	disasm->insn = cs_malloc(disasm->handle);
	return disasm->insn ? 0 : -ENOMEM;
}

static void library_close(struct disasm *disasm)
{
	if (disasm->insn)
		cs_free(disasm->insn, 1);
	if (disasm->knows)
		cs_close(&disasm->handle);
}

static bool library_next(struct disasm *disasm, const uint8_t *bytes, size_t len,
	uint64_t vaddr, struct instruction *ret)
{
	const cs_insn *insn = disasm->insn;

	if (!disasm->knows ||
		!cs_disasm_iter(disasm->handle, &bytes, &len, &vaddr, disasm->insn) ||
		!insn->size)
		return false;
	ret->size = insn->size;
	ret->decoded = true;
	snprintf(ret->text, sizeof(ret->text), "%s%s%s", insn->mnemonic,
		insn->op_str[0] ? " " : "", insn->op_str);
	return true;
}
#else
static int library_open(struct disasm *disasm, uint16_t machine, enum disasm_syntax syntax)
{
	(void)disasm, (void)machine, (void)syntax;
	return 0;
}

static void library_close(struct disasm *disasm)
{
	(void)disasm;
}

static bool library_next(struct disasm *disasm, const uint8_t *bytes, size_t len,
	uint64_t vaddr, struct instruction *ret)
{
	(void)disasm, (void)bytes, (void)len, (void)vaddr, (void)ret;
	return false;
}
#endif

int disasm_open(uint16_t machine, enum disasm_syntax syntax, struct disasm **ret_disasm)
{
	struct disasm *disasm = calloc(1, sizeof(*disasm));
	int rc;

	if (!disasm)
		return -ENOMEM;
	disasm->step = smallest(machine);
	rc = library_open(disasm, machine, syntax);
	if (rc < 0) {
		disasm_close(disasm);
		return rc;
	}
	*ret_disasm = disasm;
	return 0;
}

void disasm_close(struct disasm *disasm)
{
	if (!disasm)
		return;
	library_close(disasm);
	free(disasm);
}

bool disasm_knows(const struct disasm *disasm)
{
	return disasm->knows;
}

/* As an assembler would take it: whole words in the order of the memory. */
static void numbers(const uint8_t *bytes, uint32_t size, char *text)
{
	int at = snprintf(text, DISASM_TEXT_ROOM, ".byte");

	for (uint32_t i = 0; i < size; i++)
		at += snprintf(text + at, DISASM_TEXT_ROOM - (size_t)at, "%s 0x%02x",
			i ? "," : "", bytes[i]);
}

void disasm_next(struct disasm *disasm, const uint8_t *bytes, size_t len, uint64_t vaddr,
	struct instruction *ret_instruction)
{
	if (library_next(disasm, bytes, len, vaddr, ret_instruction))
		return;
	ret_instruction->decoded = false;
	ret_instruction->size = len < disasm->step ? (uint32_t)len : disasm->step;
	numbers(bytes, ret_instruction->size, ret_instruction->text);
}
