#include "unwind/arch/a64_insn.h"

static uint32_t bits(uint32_t insn, unsigned low, unsigned count)
{
	return insn >> low & ((1u << count) - 1);
}

static int64_t signed_bits(uint32_t insn, unsigned low, unsigned count)
{
	int64_t value = bits(insn, low, count);

	return value & 1LL << (count - 1) ? value - (1LL << count) : value;
}

static uint32_t bit_of(uint32_t reg)
{
	return reg < 31 ? 1u << reg : 0;
}

/* x0..x18 and the link register: a call leaves nothing in them. */
static const uint32_t call_clobbers = 0x4007ffff;

static bool branch(uint32_t insn, struct a64_insn *ret)
{
	ret->base = (uint8_t)bits(insn, 5, 5);
	if ((insn & 0xfffffbff) == 0xd65f0bff || (insn & 0xfffffc1f) == 0xd65f0000) {
		ret->kind = ret->base == A64_LR || ret->base == 31 ? A64_RET : A64_JMP_REG;
	} else if ((insn & 0x7c000000) == 0x14000000) {
		ret->kind = insn >> 31 ? A64_CALL : A64_JMP;
		ret->value = 4 * signed_bits(insn, 0, 26);
	} else if ((insn & 0xff000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000) {
		ret->kind = A64_JCC;
		ret->value = 4 * signed_bits(insn, 5, 19);
	} else if ((insn & 0x7e000000) == 0x36000000) {
		ret->kind = A64_JCC;
		ret->value = 4 * signed_bits(insn, 5, 14);
	} else if ((insn & 0xfffffc1f) == 0xd63f0000 || (insn & 0xfefff800) == 0xd63f0800) {
		ret->kind = A64_CALL;
	} else if ((insn & 0xfe000000) == 0xd6000000) {
		ret->kind = A64_JMP_REG;
	} else if ((insn & 0xffe0001f) == 0xd4200000 || (insn & 0xffe0001f) == 0xd4400000 ||
		   !(insn >> 16)) {
		ret->kind = A64_STOP;
	} else {
		return false;
	}
	if (ret->kind == A64_CALL)
		ret->writes = call_clobbers;
	return true;
}

/* add/sub (immediate); add/sub and logic that make a stack pointer of something else. */
static bool stack_pointer(uint32_t insn, struct a64_insn *ret)
{
	uint8_t rd = (uint8_t)bits(insn, 0, 5), rn = (uint8_t)bits(insn, 5, 5);

	if ((insn & 0xbf800000) == 0x91000000) {
		if (rd != A64_SP && rd != A64_FP)
			return false;
		ret->kind = A64_ADD;
		ret->reg = rd;
		ret->base = rn;
		ret->value = (int64_t)bits(insn, 10, 12) << (bits(insn, 22, 1) ? 12 : 0);
		if (insn >> 30 & 1)
			ret->value = -ret->value;
		return true;
	}
	/* (extended register), (logical immediate): in these 31 is sp */
	if (rd == A64_SP && ((insn & 0xbfe00000) == 0x8b200000 ||
				    ((insn & 0x1f800000) == 0x12000000 &&
					    (insn & 0x60000000) != 0x60000000))) {
		ret->kind = A64_SP_LOST;
		return true;
	}
	return false;
}

static void index_mode(uint32_t mode, int64_t offset, struct a64_insn *ret)
{
	if (mode == 1)
		ret->after = offset;
	else if (mode == 3)
		ret->before = offset;
	else
		ret->value = offset;
}

/* ldp, stp and their relatives */
static void pair(uint32_t insn, struct a64_insn *ret)
{
	uint32_t opc = insn >> 30;
	bool vector = bits(insn, 26, 1), load = bits(insn, 22, 1);
	unsigned shift = vector ? 2 + opc : opc & 2 ? 3 : 2;

	ret->base = (uint8_t)bits(insn, 5, 5);
	if (!vector && opc == 1 && !load) /* stgp */
		shift = 4;
	index_mode(bits(insn, 23, 2), signed_bits(insn, 15, 7) * (1LL << shift), ret);
	if (vector)
		return;
	ret->reg = (uint8_t)bits(insn, 0, 5);
	ret->reg2 = (uint8_t)bits(insn, 10, 5);
	if (load)
		ret->writes = bit_of(ret->reg) | bit_of(ret->reg2);
	if (opc == 2)
		ret->kind = load ? A64_LOAD : A64_STORE;
}

/* ldr, str: scaled offset, unscaled, pre- and post-index */
static void single(uint32_t insn, struct a64_insn *ret)
{
	uint32_t size = insn >> 30, opc = bits(insn, 22, 2);
	bool vector = bits(insn, 26, 1), scaled = bits(insn, 24, 1);

	ret->base = (uint8_t)bits(insn, 5, 5);
	if (scaled) {
		ret->value = (int64_t)bits(insn, 10, 12) << (vector && opc & 2 ? 4 : size);
	} else if (bits(insn, 21, 1)) { /* a register is the offset, or it is atomic */
		ret->writes = vector ? 0 : bit_of(bits(insn, 0, 5)) | bit_of(bits(insn, 16, 5));
		return;
	} else {
		index_mode(bits(insn, 10, 2), signed_bits(insn, 12, 9), ret);
	}
	if (vector)
		return;
	ret->reg = (uint8_t)bits(insn, 0, 5);
	if (opc)
		ret->writes = bit_of(ret->reg);
	if (size == 3 && opc < 2)
		ret->kind = opc ? A64_LOAD : A64_STORE;
}

void a64_decode(uint32_t insn, struct a64_insn *ret)
{
	*ret = (struct a64_insn){.kind = A64_OTHER, .reg2 = 31};
	if (branch(insn, ret) || stack_pointer(insn, ret))
		return;
	if ((insn & 0x3a000000) == 0x28000000)
		pair(insn, ret);
	else if ((insn & 0x3a000000) == 0x38000000)
		single(insn, ret);
	else if ((insn & 0x0a000000) == 0x08000000 || (insn & 0x1c000000) == 0x10000000 ||
		 (insn & 0x0e000000) == 0x0a000000)
		/* other loads; data processing: whatever stands where the result goes */
		ret->writes = bit_of(bits(insn, 0, 5));
}
