/*
 * x86-64. perf's order (arch/x86 uapi perf_regs.h): ax bx cx dx si di bp sp ip flags cs ss ds
 * es fs gs r8..r15. DWARF's (System V ABI, figure 3.36): ax dx cx bx si di bp sp r8..r15, 16 is
 * the return address.
 */
#include "unwind/arch/arch.h"

#include "unwind/arch/x86_code.h"

#include <elf.h>
#include <string.h>

static const uint8_t dwarf_of_perf[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, ARCH_NONE, ARCH_NONE,
	ARCH_NONE, ARCH_NONE, ARCH_NONE, ARCH_NONE, ARCH_NONE, 8, 9, 10, 11, 12, 13, 14, 15};

static const uint8_t tracked[] = {3, 6, 12, 13, 14, 15};

/*
 * e8 rel32; ff /2 with any operand: its length is 2, or 3 with a SIB byte, and 1 or 4 more for
 * the displacement.
 */
static bool ends_in_call(const uint8_t *bytes, size_t len)
{
	const uint8_t *end = bytes + len;

	if (len >= 5 && end[-5] == 0xe8)
		return true;
	for (size_t n = 2; n <= 7 && n <= len; n++) {
		const uint8_t *p = end - n;
		uint8_t mod = p[1] >> 6, rm = p[1] & 7;
		size_t want = 2;

		if (p[0] != 0xff || ((p[1] >> 3) & 7) != 2)
			continue;
		if (mod != 3 && rm == 4) {
			want++;
			if (mod == 0 && n >= 3 && (p[2] & 7) == 5)
				want += 4;
		}
		if (mod == 1)
			want++;
		else if (mod == 2 || (mod == 0 && rm == 5))
			want += 4;
		if (want == n)
			return true;
	}
	return false;
}

/* mov $15, %rax (or %eax); syscall */
static bool is_sigreturn(const uint8_t *bytes, size_t len)
{
	static const uint8_t rax[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t eax[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};

	return (len >= sizeof(rax) && !memcmp(bytes, rax, sizeof(rax))) ||
	       (len >= sizeof(eax) && !memcmp(bytes, eax, sizeof(eax)));
}

/* struct sigcontext, in a ucontext that lies at sp: r8..r15 di si bp bx dx ax cx sp ip. */
static const uint8_t sigframe_regs[] = {
	8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, ARCH_PC};

const struct arch arch_x86_64 = {
	.machine = EM_X86_64,
	.sp = 7,
	.fp = 6,
	.ra = 16,
	.perf_pc = 8,
	.perf_count = sizeof(dwarf_of_perf),
	.dwarf_of_perf = dwarf_of_perf,
	.callee_saved = 1u << 3 | 1u << 6 | 0xfu << 12,
	.tracked_count = sizeof(tracked),
	.tracked = tracked,
	.call_bytes_max = 7,
	.ends_in_call = ends_in_call,
	.is_sigreturn = is_sigreturn,
	.sigframe_offset = 40,
	.sigframe_count = sizeof(sigframe_regs),
	.sigframe_regs = sigframe_regs,
	.code_frame = x86_code_frame,
	.call_enters = x86_call_enters,
};
