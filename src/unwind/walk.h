/* One run of the unwinder, inside the room. */
#pragma once

#include "unwind/arch/arch.h"
#include "unwind/unwind.h"

#include <string.h>

struct module;

/* Frames in the copy that a late read is compared with. */
struct edge {
	uint64_t cfa, slot, value;
	uint64_t lo, hi; /* the rules read from [lo, hi) */
};

enum late_state {
	LATE_UNTRIED,
	LATE_GOOD,
	LATE_BAD,
};

struct walk {
	struct unwinder *unwinder;
	const struct unwind_input *in;
	struct unwind_result *out;
	const struct arch *arch;
	const struct process *process;
	uint64_t addr_mask;
	uint64_t regs[CFI_REGS]; /* of the frame at hand */
	uint64_t known;		 /* bits: which of them are */
	uint64_t pc;
	bool exact;    /* pc is not a return address */
	bool switched; /* the copy is of another stack than the frame at hand */
	const uint8_t *stack;
	uint64_t stack_addr, stack_bytes;
	uint32_t backwards; /* steps that did not go up */
	enum late_state late;
	uint32_t sure_count; /* frames that were found without late memory */
	uint32_t edge_total;
	struct edge edges[2]; /* [edge_total & 1] is the next to be written */
	enum stack_stop fail; /* why memory could not be read */
	uint64_t fail_addr;
};

static inline bool reg_known(const struct walk *walk, unsigned reg)
{
	return reg < CFI_REGS && (walk->known >> reg & 1);
}

static inline void reg_set(struct walk *walk, unsigned reg, uint64_t value)
{
	walk->regs[reg] = value;
	walk->known |= 1ull << reg;
}

/* Memory outside of the copy. 0, or -EFAULT with walk->fail. */
int memory_read(struct walk *walk, uint64_t addr, uint64_t *ret_value);

/* [addr, addr + len) in the copy, or NULL. */
static inline const uint8_t *stack_at(const struct walk *walk, uint64_t addr, uint64_t len)
{
	uint64_t at = addr - walk->stack_addr;

	return at <= walk->stack_bytes && len <= walk->stack_bytes - at ? walk->stack + at
									: NULL;
}

static inline int walk_u64(struct walk *walk, uint64_t addr, uint64_t *ret_value)
{
	const uint8_t *p = stack_at(walk, addr, sizeof(*ret_value));

	if (!p)
		return memory_read(walk, addr, ret_value);
	memcpy(ret_value, p, sizeof(*ret_value));
	return 0;
}

/* What was read late is worth something only if the border is still the same at the end. */
bool memory_still_good(struct walk *walk);
