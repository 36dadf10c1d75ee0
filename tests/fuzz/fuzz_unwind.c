/*
 * The whole unwinder over any registers, stack, CFI and code.
 *
 *     input:  arch 1 | flags 1 | .eh_frame bytes 2 | code bytes 2 | registers 33 * 8 |
 *             .eh_frame | code | stack
 *
 * One module is mapped, and one piece of JIT code. What the callback reads is the stack once
 * more, at other addresses. Checked: the answer is bounded and well-formed, a second run gives
 * the same, what is said to lie in the copy lies there, and 0 frames are never a root.
 */
#include "abi/perf_abi.h"
#include "base/bytes.h"
#include "tests/unwind_elf.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { FRAMES = 600, STACK_MAX = 1 << 16, MODULE_AT = 0x400000, JIT_AT = 0x7f0000000000 };

enum flag {
	HAS_LATE = 1,
	HAS_MEMORY = 2,
	NO_SCAN = 4,
	STACK_AT_SP = 8, /* else sp is as the input has it */
	SHORT_LIMIT = 16,
	WITH_GO = 32, /* what is named .eh_frame is .gopclntab */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	struct made_elf made;
	const uint8_t *stack;
	size_t stack_len;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static int open_module(
	void *ctx, const struct target *target, uint32_t dso, struct elf *ret_elf)
{
	const struct world *world = ctx;

	(void)target, (void)dso;
	return elf_open_bytes(world->made.bytes, world->made.len, ret_elf, NULL);
}

static int read_memory(void *ctx, uint64_t addr, void *ret_bytes, size_t len)
{
	const struct world *world = ctx;
	uint8_t *out = ret_bytes;

	if (!world->stack_len || addr % 3 == 2)
		return -EFAULT;
	for (size_t i = 0; i < len; i++)
		out[i] = world->stack[(addr + i) % world->stack_len];
	return (int)len;
}

static void target_make(struct target *target, size_t module_bytes)
{
	struct dso_key key = {.kind = DSO_FILE, .ino = 1};
	struct mapping module = {MODULE_AT, MODULE_AT + ((module_bytes + 4095) & ~4095ull), 0,
		0, PROT_READ | PROT_EXEC};
	struct mapping jit = {JIT_AT, JIT_AT + 65536, 0, 0, PROT_READ | PROT_EXEC};

	must(strings_add(&target->strings, "/m", 2, &key.path) == 0);
	must(target_process(target, 1) == 0);
	must(target_dso(target, &key, &module.dso) == 0);
	key.kind = DSO_ANON;
	key.anon_pid = 1;
	must(target_dso(target, &key, &jit.dso) == 0);
	must(target_map(target, 1, &module) == 0 && target_map(target, 1, &jit) == 0);
}

static void check(const struct unwind_input *in, const struct unwind_result *r, uint64_t sp)
{
	uint32_t limit = in->depth_limit ? in->depth_limit : UNWIND_DEPTH_MAX, total = 0;

	must(r->count <= limit && r->count <= r->cap && r->stop < STOP_COUNT);
	must(r->stop != STOP_ROOT || r->count);
	must(!(r->late && r->late_refused));
	for (uint32_t i = 0; i < r->count; i++)
		must((r->hows[i] & UNWIND_HOW_MASK) < UNWIND_HOW_COUNT);
	for (int i = 0; i < UNWIND_HOW_COUNT; i++)
		total += r->counts[i];
	must(total >= r->count);
	must(r->edge_count <= 2);
	for (uint32_t i = 0; i < r->edge_count; i++) {
		uint64_t at = r->edges[i].slot - sp, value;

		must(at + 8 <= in->stack_bytes);
		memcpy(&value, (const uint8_t *)in->stack + at, 8);
		must(value == r->edges[i].value);
	}
}

static void run(struct unwinder *unwinder, struct world *world, struct bytes *b,
	enum unwind_arch arch, uint8_t flags, const uint8_t *registers)
{
	struct wick_regs regs = {.abi = PERF_SAMPLE_REGS_ABI_64,
		.mask = arch == UNWIND_X86_64 ? UNWIND_REGS_X86_64 : UNWIND_REGS_AARCH64};
	uint64_t values[33], addrs[FRAMES], again[FRAMES], sp;
	uint8_t hows[FRAMES];
	struct target target = {0};
	struct unwind_input in = {.arch = arch,
		.target = &target,
		.regs = &regs,
		.stack = b->at,
		.stack_bytes = bytes_left(b),
		.no_scan = flags & NO_SCAN,
		.depth_limit = flags & SHORT_LIMIT ? 5 : 0};
	struct unwind_result r = {.addrs = addrs, .hows = hows, .cap = FRAMES};
	struct unwind_result second = {.addrs = again, .cap = FRAMES};

	memcpy(values, registers, sizeof(values));
	regs.values = (struct wick_words){values, (uint64_t)__builtin_popcountll(regs.mask)};
	if (flags & STACK_AT_SP)
		values[arch == UNWIND_X86_64 ? 7 : 31] = 0x7ffc00000000;
	sp = values[arch == UNWIND_X86_64 ? 7 : 31];
	world->stack = b->at;
	world->stack_len = bytes_left(b);
	if (flags & HAS_LATE) { /* the upper half is known twice */
		in.stack_bytes /= 2;
		in.late = b->at + in.stack_bytes / 2;
		in.late_addr = sp + in.stack_bytes / 2;
		in.late_bytes = bytes_left(b) - in.stack_bytes / 2;
	}
	if (flags & HAS_MEMORY) {
		in.read_memory = read_memory;
		in.read_ctx = world;
	}
	target_make(&target, world->made.len);
	unwind_run(unwinder, &in, &r);
	check(&in, &r, sp);
	unwind_run(unwinder, &in, &second);
	must(second.count == r.count && second.stop == r.stop);
	must(!r.count || memcmp(addrs, again, r.count * 8) == 0);
	unwinder_forget(unwinder, TARGET_NONE);
	target_done(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);
	enum unwind_arch arch = bytes_u8(&b) & 1 ? UNWIND_AARCH64 : UNWIND_X86_64;
	uint8_t flags = bytes_u8(&b);
	uint16_t cfi_len = bytes_u16(&b), code_len = bytes_u16(&b);
	const uint8_t *registers = bytes_take(&b, 33 * 8ull);
	const uint8_t *cfi = bytes_take(&b, cfi_len), *code = bytes_take(&b, code_len);
	struct made_part parts[] = {{".text", code, code_len, 0},
		{flags & WITH_GO ? ".gopclntab" : ".eh_frame", cfi, cfi_len, 0},
		{NULL, NULL, 0, 0}};
	static struct unwinder *unwinder; /* large; it forgets everything after each input */
	static struct world world;
	struct unwinder_options options = {
		.open_module = open_module, .ctx = &world, .tables_limit = 1 << 20};

	if (b.bad || bytes_left(&b) > STACK_MAX)
		return 0;
	if (!unwinder)
		must(unwinder_new(&options, &unwinder) == 0);
	if (made_elf(parts, arch == UNWIND_AARCH64 ? EM_AARCH64 : EM_X86_64, &world.made))
		run(unwinder, &world, &b, arch, flags, registers);
	free(world.made.bytes);
	world.made.bytes = NULL;
	return 0;
}
