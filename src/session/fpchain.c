/*
 *     fp -> [ caller's fp ][ return address ]        both architectures lay it out like this
 *             |
 *             `-> further up the stack, or it is no frame pointer
 */
#include "session/fpchain.h"

#include "session/sampled_regs.h"

#include <string.h>

uint32_t fpchain_follow(const struct unwind_input *input, uint64_t *ret_addrs, uint32_t cap)
{
	unsigned bits = input->addr_bits ? input->addr_bits : 48;
	uint64_t mask = input->arch == UNWIND_AARCH64 ? (1ull << bits) - 1 : UINT64_MAX;
	uint64_t sp = sampled_sp(input->arch, input->regs);
	uint64_t fp = sampled_fp(input->arch, input->regs), pair[2];
	uint32_t n = 0;

	if (cap)
		ret_addrs[n++] = sampled_pc(input->arch, input->regs) & mask;
	while (n < cap) {
		uint64_t at = fp - sp, addr;

		if (fp < sp || fp % 8 || at > input->stack_bytes ||
			input->stack_bytes - at < sizeof(pair))
			break;
		memcpy(pair, (const uint8_t *)input->stack + at, sizeof(pair));
		addr = pair[1] & mask;
		if (!addr || !target_find(input->target, input->process, addr))
			break;
		ret_addrs[n++] = addr;
		if (pair[0] <= fp)
			break;
		fp = pair[0];
	}
	return n;
}
