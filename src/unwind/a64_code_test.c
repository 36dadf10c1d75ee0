/*
 * What AArch64 code is found to do with its frame: pieces of code whose answer is known, and
 * the whole C library of the cross compiler, whose call frame information gives the answers.
 */
#include "tests/unit_test.h"
#include "unwind/arch/a64_code.h"
#include "unwind/starts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char libc_path[] = "/usr/aarch64-linux-gnu/lib/libc.so.6";

enum { BASE = 0x1000 };

struct code {
	const uint32_t *insns;
	uint32_t count;
};

static size_t code_bytes(void *ctx, uint64_t at, void *ret_bytes, size_t len)
{
	const struct code *code = ctx;
	uint64_t inside = at - BASE, all = code->count * sizeof(uint32_t);

	if (at < BASE || inside >= all)
		return 0;
	len = len < all - inside ? len : all - inside;
	memcpy(ret_bytes, (const char *)code->insns + inside, len);
	return len;
}

static bool frame_at(const uint32_t *insns, uint32_t count, uint32_t index, bool after_call,
	struct code_result *ret)
{
	struct code code = {insns, count};
	struct code_view view = {.read = code_bytes,
		.ctx = &code,
		.at = BASE + 4 * index,
		.after_call = after_call,
		.function_start = BASE};

	return a64_code_frame(&view, ret);
}

static const uint32_t leaf[] = {
	0x71003c1f, /* cmp w0, #15 */
	0x54000048, /* b.hi +8 */
	0x10000003, /* adr x3, . */
	0xd65f03c0, /* ret */
};

static const uint32_t framed[] = {
	0xa9be7bfd, /* stp x29, x30, [sp, #-32]! */
	0x910003fd, /* mov x29, sp */
	0xf9000bf3, /* str x19, [sp, #16] */
	0x94000100, /* bl */
	0xaa0003f3, /* mov x19, x0 */
	0x94000100, /* bl */
	0xf9400bf3, /* ldr x19, [sp, #16] */
	0xa8c27bfd, /* ldp x29, x30, [sp], #32 */
	0xd65f03c0, /* ret */
};

/* Pushes twice; a way back from the middle, and another that never comes back. */
static const uint32_t branching[] = {
	0xd503233f, /* paciasp */
	0xd10083ff, /* sub sp, sp, #32 */
	0xa9017bfd, /* stp x29, x30, [sp, #16] */
	0xb4000080, /* cbz x0, +16 */
	0xa9417bfd, /* ldp x29, x30, [sp, #16] */
	0x910083ff, /* add sp, sp, #32 */
	0xd65f0bff, /* retaa */
	0x94000100, /* bl */
	0xd4200000, /* brk */
};

static const uint32_t stub[] = {
	0x90000090, /* adrp x16, ... */
	0xf9400211, /* ldr x17, [x16] */
	0x91000210, /* add x16, x16, #0 */
	0xd61f0220, /* br x17 */
};

static void leaves_and_stubs(void **state)
{
	struct code_result r;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(frame_at(leaf, 4, i, false, &r));
		assert_true(r.ra_in_reg && r.cfa_reg == 31 && r.cfa_offset == 0 && !r.unsure);
		assert_true(frame_at(stub, 4, i, false, &r));
		assert_true(r.ra_in_reg && r.cfa_reg == 31 && r.cfa_offset == 0 && !r.unsure);
	}
}

static void frames(void **state)
{
	static const int32_t cfa[] = {0, 32, 32, 32, 32, 32, 32, 32, 0};
	struct code_result r;

	(void)state;
	for (uint32_t i = 0; i < 9; i++) {
		/* After a call x30 is the callee's; at the start and the end it is ours. */
		bool own = i == 0 || i == 8;

		assert_true(frame_at(framed, 9, i, !own, &r));
		assert_int_equal(r.cfa_reg, 31);
		assert_int_equal(r.cfa_offset, cfa[i]);
		assert_int_equal(r.ra_in_reg, own);
		assert_true(own || r.ra == -3);
		assert_int_equal(r.saved[10], own ? CODE_NOT_SAVED : -4); /* x29 */
		if (i > 2 && i < 7)
			assert_int_equal(r.saved[0], -2); /* x19 */
	}
}

static void ways(void **state)
{
	struct code_result r;

	(void)state;
	assert_true(frame_at(branching, 9, 3, false, &r));
	assert_true(!r.unsure && !r.ra_in_reg && r.cfa_offset == 32 && r.ra == -1);
	/* No way leads back from here: by the prologue. */
	assert_true(frame_at(branching, 9, 8, true, &r));
	assert_true(r.no_return && r.cfa_offset == 32 && r.ra == -1);
	/* Nothing to be told: a call's return address, and no store of it anywhere. */
	assert_false(frame_at(leaf, 4, 3, true, &r));
}

/* ---- the library */

struct library {
	struct elf elf;
	struct cfi *cfi;
	uint64_t *starts;
	uint32_t start_count;
	uint64_t asked, answered, right;
};

static size_t library_bytes(void *ctx, uint64_t at, void *ret_bytes, size_t len)
{
	const struct library *library = ctx;

	return code_read(&library->elf, at, ret_bytes, len);
}

static bool same(const struct cfi_row *row, const struct code_result *r)
{
	const struct cfi_rule *ra = &row->regs[30];

	if (row->cfa_reg != r->cfa_reg || row->cfa.offset != r->cfa_offset)
		return false;
	return r->ra_in_reg ? ra->kind != CFI_OFFSET
			    : ra->kind == CFI_OFFSET && ra->offset == 8 * r->ra;
}

static void ask(struct library *library, uint64_t at, bool after_call)
{
	struct code_view view = {.read = library_bytes,
		.ctx = library,
		.at = at,
		.after_call = after_call,
		.starts = library->starts,
		.start_count = library->start_count};
	struct code_result r;
	struct cfi_row row;

	if (cfi_find(library->cfi, at - after_call, &row) < 0 || row.signal_frame ||
		row.cfa.kind == CFI_VAL_EXPR || row.cfa_reg != 31)
		return;
	view.function_start = row.function_start;
	library->asked++;
	if (!a64_code_frame(&view, &r) || r.unsure)
		return;
	library->answered++;
	/* A frame that is told from x29 there may be told from sp here, and the other way. */
	library->right += r.cfa_reg != 31 || same(&row, &r);
}

static void agrees_with_the_unwind_information(void **state)
{
	int fd = open(libc_path, O_RDONLY | O_CLOEXEC);
	struct library library = {0};

	(void)state;
	if (fd < 0) {
		print_message("# %s is not here\n", libc_path);
		skip();
	}
	assert_int_equal(elf_open_fd(fd, &library.elf, NULL), 0);
	assert_int_equal(cfi_open(&library.elf, 1 << 26, &library.cfi), 0);
	assert_int_equal(
		function_starts(&library.elf, &library.starts, &library.start_count), 0);
	for (uint32_t i = 0; i < library.elf.segment_count; i++) {
		const struct elf_segment *s = &library.elf.segments[i];

		for (uint64_t at = s->vaddr; s->exec && at + 8 <= s->vaddr + s->file_bytes;
			at += 4) {
			uint32_t insn = 0;

			code_read(&library.elf, at, &insn, sizeof(insn));
			if (insn >> 26 == 0x25) /* bl */
				ask(&library, at + 4, true);
			else if (at / 4 % 16 == 0)
				ask(&library, at, false);
		}
	}
	print_message("# %llu places, %llu answers, %llu as the unwind information has it\n",
		(unsigned long long)library.asked, (unsigned long long)library.answered,
		(unsigned long long)library.right);
	assert_true(library.answered > 10000);
	assert_true(library.answered > library.asked - library.asked / 10);
	assert_true(library.right > library.answered - library.answered / 50);
	free(library.starts);
	cfi_free(library.cfi);
	elf_close(&library.elf);
	close(fd);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(leaves_and_stubs),
	cmocka_unit_test(frames),
	cmocka_unit_test(ways),
	cmocka_unit_test(agrees_with_the_unwind_information),
};
UNIT_TESTS("a64_code", tests)
