/*
 * The stacks of simulated tasks, as far as samples copy them: made from the call chain when
 * they are asked for, with frame pointers, as aarch64 lays them out.
 *
 *     sp = fp of the leaf                    the caller's                      the outermost
 *     | fp of the caller, return address ... | fp of its caller, return ad. .. | 0, 0 ... |
 *     '---------- frame_bytes ---------------'
 *
 * A copy can be torn. `short`: what lies behind is not mapped, or paged out, and dyn_size says
 * so. `changed`: between the registers and the copy another thread wrote there; the registers
 * lead to frames that are none.
 */
#include "softperf/machine_internal.h"

#include <string.h>

enum { REG_FP = 29, REG_LR = 30, REG_SP = 31, REG_PC = 32 };

#define STACK_TOP    0x7ffffffff000ull
#define OTHERS_BYTES 0x5a5a5a5a5a5a5a5aull

static const struct core_frame *frame_of(const struct machine *machine, int cpu)
{
	return &machine->core->cpus[cpu].frame;
}

static uint64_t stack_pointer(const struct machine *machine, int cpu)
{
	return STACK_TOP - frame_of(machine, cpu)->user_depth * machine->memory.frame_bytes;
}

uint64_t memory_reg(void *ctx, int cpu, unsigned reg)
{
	const struct machine *machine = ctx;
	const struct core_frame *frame = frame_of(machine, cpu);

	switch (reg) {
	case REG_FP:
	case REG_SP:
		return stack_pointer(machine, cpu);
	case REG_LR:
		return frame->user_depth > 1 ? frame->user_chain[1] : 0;
	case REG_PC:
		return frame->user_depth ? frame->user_chain[0] : 0;
	default:
		return 0;
	}
}

size_t memory_stack(void *ctx, int cpu, void *to, size_t len)
{
	const struct machine *machine = ctx;
	const struct memory *memory = &machine->memory;
	const struct core_frame *frame = frame_of(machine, cpu);
	uint64_t sp = stack_pointer(machine, cpu), there = STACK_TOP - sp;

	if (len > memory->short_bytes)
		len = memory->short_bytes;
	if (len > there)
		len = there;
	memset(to, 0, len);
	for (uint64_t i = 0; i < frame->user_depth; i++) {
		uint64_t at = i * memory->frame_bytes, record[2] = {0, 0};

		if (i + 1 < frame->user_depth) {
			record[0] = sp + at + memory->frame_bytes;
			record[1] = frame->user_chain[i + 1];
		}
		if (i >= memory->changed)
			record[0] = record[1] = OTHERS_BYTES;
		if (at + sizeof(record) <= len)
			memcpy((char *)to + at, record, sizeof(record));
	}
	return len;
}

/* ---- the lines */

int memory_setup(struct machine *machine, const struct words *words, struct error *err)
{
	struct memory *memory = &machine->memory;
	int rc = word_number(words, 1, 32768, &memory->copy_bytes, err);

	if (rc == 0 && words->count > 2)
		rc = word_number(words, 2, 1 << 20, &memory->frame_bytes, err);
	if (rc == 0 && (!memory->copy_bytes || memory->copy_bytes % 8 ||
			       memory->frame_bytes < 16 || memory->frame_bytes % 16))
		rc = words_fail(words, err,
			"a copy is a multiple of 8, a frame one of 16, and neither is 0");
	return rc;
}

int memory_torn(struct machine *machine, const struct words *words, struct error *err)
{
	const char *how = words->count > 1 ? words->at[1] : "";
	struct memory *memory = &machine->memory;

	memory->short_bytes = memory->changed = UINT64_MAX;
	if (!memory->copy_bytes)
		return words_fail(words, err, "no stacks are copied: there is no `stack`");
	if (!strcmp(how, "short"))
		return word_number(words, 2, UINT32_MAX, &memory->short_bytes, err);
	if (!strcmp(how, "changed"))
		return word_number(words, 2, CORE_CHAIN_MAX, &memory->changed, err);
	return strcmp(how, "off") ? words_fail(words, err, "short, changed or off must follow")
				  : 0;
}
