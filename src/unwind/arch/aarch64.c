/*
 * AArch64: x29 is the frame pointer, x30 the link register, 31 the stack pointer. perf's order
 * (arch/arm64 uapi perf_regs.h): x0..x29, lr, sp, pc; DWARF's is the same with pc at 32.
 */
#include "unwind/arch/arch.h"

#include "unwind/arch/a64_code.h"

#include <elf.h>
#include <string.h>

static const uint8_t dwarf_of_perf[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, ARCH_NONE};

static const uint8_t tracked[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};

/* BL imm26; BLR Xn, and its forms that authenticate. */
static bool ends_in_call(const uint8_t *bytes, size_t len)
{
	uint32_t insn;

	if (len < 4)
		return false;
	bytes += len - 4;
	insn = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800;
}

/* mov x8, #139; svc #0 */
static bool is_sigreturn(const uint8_t *bytes, size_t len)
{
	static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

	return len >= sizeof(code) && !memcmp(bytes, code, sizeof(code));
}

/* struct sigcontext behind siginfo (128 bytes) and the head of ucontext (176): x0..x30 sp pc.
 */
static const uint8_t sigframe_regs[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, ARCH_PC};

const struct arch arch_aarch64 = {
	.machine = EM_AARCH64,
	.sp = 31,
	.fp = 29,
	.ra = 30,
	.link_register = true,
	.perf_pc = 32,
	.perf_count = sizeof(dwarf_of_perf),
	.dwarf_of_perf = dwarf_of_perf,
	.callee_saved = 0x7ff80000, /* x19..x30 */
	.tracked_count = sizeof(tracked),
	.tracked = tracked,
	.call_bytes_max = 4,
	.ends_in_call = ends_in_call,
	.is_sigreturn = is_sigreturn,
	.sigframe_offset = 128 + 176 + 8,
	.sigframe_count = sizeof(sigframe_regs),
	.sigframe_regs = sigframe_regs,
	.code_frame = a64_code_frame,
	.call_enters = a64_call_enters,
};
