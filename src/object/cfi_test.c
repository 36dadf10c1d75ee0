/* Call frame information made by hand, in every form; and damage. */
#include "object/cfi.h"
#include "tests/cfi_bytes.h"
#include "tests/unit_test.h"
#include "tests/unwind_elf.h"

#include <errno.h>

enum { FUNCTION = 0x20000, FUNCTION_BYTES = 0x100, SP = 7, BP = 6, RA = 16 };

struct opened {
	struct made_elf made;
	struct elf elf;
	struct cfi *cfi;
};

static int open_parts(struct opened *o, struct made_part *parts, uint16_t machine)
{
	o->cfi = NULL;
	assert_true(made_elf(parts, machine, &o->made));
	assert_int_equal(elf_open_bytes(o->made.bytes, o->made.len, &o->elf, NULL), 0);
	return cfi_open(&o->elf, 1 << 20, &o->cfi);
}

static void done(struct opened *o)
{
	cfi_free(o->cfi);
	elf_close(&o->elf);
	free(o->made.bytes);
}

static int open_one(
	struct opened *o, const struct cfi_bytes *b, const char *name, uint16_t machine)
{
	struct made_part parts[] = {{name, b->at, b->len, 0}, {NULL, NULL, 0, 0}};

	return open_parts(o, parts, machine);
}

/* CFA = sp + 8, the return address below it. */
static void first_rules(struct cfi_bytes *b)
{
	CB(b, 0x0c, SP, 8, 0x80 | RA, 1);
}

/* An FDE of FUNCTION with absolute addresses and this program. */
static void function(struct cfi_bytes *b, const uint8_t *program, size_t len)
{
	cb_fde(b);
	cb_u(b, FUNCTION, 8);
	cb_u(b, FUNCTION_BYTES, 8);
	cb_put(b, program, len);
	cb_end(b);
}

#define FUNCTION_WITH(b, ...)                                                                  \
	function(b, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static struct cfi_row row_at(struct opened *o, uint64_t offset)
{
	struct cfi_row row;

	assert_int_equal(cfi_find(o->cfi, FUNCTION + offset, &row), 0);
	return row;
}

static void assert_cfa(const struct cfi_row *row, unsigned reg, int64_t offset)
{
	assert_int_equal(row->cfa.kind, CFI_VAL_OFFSET);
	assert_int_equal(row->cfa_reg, reg);
	assert_int_equal(row->cfa.offset, offset);
}

static void assert_reg(const struct cfi_row *row, unsigned reg, unsigned kind, int64_t offset)
{
	assert_int_equal(row->regs[reg].kind, kind);
	assert_int_equal(row->regs[reg].offset, offset);
}

/* Each form of a section gives the same rows. */
static void forms(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		static const uint8_t versions[] = {1, 3, 4};
		struct cfi_bytes b = {.debug = i & 1, .wide = i & 2};
		struct opened o;
		struct cfi_row row;

		cb_cie(&b, versions[i / 4], "", RA);
		first_rules(&b);
		cb_end(&b);
		FUNCTION_WITH(&b, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, BP);
		assert_int_equal(
			open_one(&o, &b, b.debug ? ".debug_frame" : ".eh_frame", EM_X86_64), 0);
		row = row_at(&o, 0);
		assert_cfa(&row, SP, 8);
		assert_reg(&row, RA, CFI_OFFSET, -8);
		assert_int_equal(row.start, FUNCTION);
		assert_int_equal(row.end, FUNCTION + 1);
		row = row_at(&o, 3);
		assert_cfa(&row, SP, 16);
		assert_reg(&row, BP, CFI_OFFSET, -16);
		row = row_at(&o, FUNCTION_BYTES - 1);
		assert_cfa(&row, BP, 16);
		assert_int_equal(row.start, FUNCTION + 4);
		assert_int_equal(row.end, FUNCTION + FUNCTION_BYTES);
		assert_int_equal(row.ra_reg, RA);
		assert_int_equal(cfi_find(o.cfi, FUNCTION - 1, &row), -ENOENT);
		assert_int_equal(cfi_find(o.cfi, FUNCTION + FUNCTION_BYTES, &row), -ENOENT);
		done(&o);
	}
}

static void ranges_are_sorted(void **state)
{
	struct cfi_bytes b = {0};
	struct cfi_range *ranges;
	struct opened o;

	(void)state;
	cb_cie(&b, 1, "", RA);
	first_rules(&b);
	cb_end(&b);
	for (unsigned i = 3; i-- > 0;) {
		cb_fde(&b);
		cb_u(&b, FUNCTION + i * 0x100, 8);
		cb_u(&b, 0x10 + i, 8);
		cb_end(&b);
	}
	assert_int_equal(open_one(&o, &b, ".eh_frame", EM_X86_64), 0);
	assert_int_equal(cfi_ranges(o.cfi, &ranges), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(ranges[i].start, FUNCTION + i * 0x100);
		assert_int_equal(ranges[i].end, FUNCTION + i * 0x100 + 0x10 + i);
	}
	free(ranges);
	done(&o);
}

/* Every DW_CFA instruction, one function each. */
static void instructions(void **state)
{
	struct cfi_bytes b = {0};
	struct opened o;
	struct cfi_row row;

	(void)state;
	cb_cie(&b, 3, "", RA);
	first_rules(&b);
	CB(&b, 0x83, 5); /* rbx at cfa - 40: what restore goes back to */
	cb_end(&b);
	FUNCTION_WITH(&b, 0x02, 1, 0x12, SP, 0x7e,    /* advance1; def_cfa_sf rsp, 16 */
		0x03, 1, 0, 0x13, 0x7d,		      /* advance2; def_cfa_offset_sf 24 */
		0x04, 1, 0, 0, 0, 0x05, 12, 3,	      /* advance4; offset_extended r12, -24 */
		0x41, 0x11, 13, 0x7c,		      /* offset_extended_sf r13, +32 */
		0x41, 0x2f, 14, 4,		      /* negative_offset_extended r14, +32 */
		0x41, 0x14, 15, 2, 0x15, 12, 0x7f,    /* val_offset -16; val_offset_sf +8 */
		0x41, 0x07, 3, 0x08, 6, 0x09, 14, 15, /* undefined, same_value, register */
		0x41, 0x06, 3, 0xce,		      /* restore_extended rbx, restore r14 */
		0x41, 0x0a, 0x0e, 99, 0x07, 3,	      /* remember_state, then changes */
		0x41, 0x0b,			      /* restore_state */
		0x41, 0x2e, 16, 0x16, 6, 2, 0x77, 8,  /* args_size; val_expression rbp */
		0x41, 0x10, 6, 2, 0x76, 0x70,	      /* expression rbp */
		0x41, 0x0f, 3, 0x77, 8, 0x06);	      /* def_cfa_expression */
	assert_int_equal(open_one(&o, &b, ".eh_frame", EM_X86_64), 0);
	row = row_at(&o, 1);
	assert_cfa(&row, SP, 16);
	row = row_at(&o, 2);
	assert_cfa(&row, SP, 24);
	row = row_at(&o, 3);
	assert_reg(&row, 12, CFI_OFFSET, -24);
	row = row_at(&o, 4);
	assert_reg(&row, 13, CFI_OFFSET, 32);
	row = row_at(&o, 5);
	assert_reg(&row, 14, CFI_OFFSET, 32);
	row = row_at(&o, 6);
	assert_reg(&row, 15, CFI_VAL_OFFSET, -16);
	assert_reg(&row, 12, CFI_VAL_OFFSET, 8);
	row = row_at(&o, 7);
	assert_reg(&row, 3, CFI_UNDEFINED, 0);
	assert_reg(&row, 6, CFI_SAME, 0);
	assert_reg(&row, 14, CFI_REGISTER, 15);
	row = row_at(&o, 8);
	assert_reg(&row, 3, CFI_OFFSET, -40);
	assert_reg(&row, 14, CFI_UNSPECIFIED, 0);
	row = row_at(&o, 9);
	assert_cfa(&row, SP, 99);
	row = row_at(&o, 10);
	assert_cfa(&row, SP, 24);
	assert_reg(&row, 3, CFI_OFFSET, -40);
	row = row_at(&o, 11);
	assert_int_equal(row.regs[6].kind, CFI_VAL_EXPR);
	assert_int_equal(row.regs[6].expr_len, 2);
	assert_int_equal(row.regs[6].expr[1], 8);
	row = row_at(&o, 12);
	assert_int_equal(row.regs[6].kind, CFI_EXPR);
	row = row_at(&o, 13);
	assert_int_equal(row.cfa.kind, CFI_VAL_EXPR);
	assert_int_equal(row.cfa.expr_len, 3);
	done(&o);
}

/* Damage is told, wherever it lies; what stands before it may be used. */
static void damaged_programs(void **state)
{
	static const struct {
		uint8_t bytes[8];
		size_t len;
	} programs[] = {
		{{0x0b}, 1},			  /* restore_state without one */
		{{0x0c, 99, 8}, 3},		  /* a CFA register that there is not */
		{{0x3f}, 1},			  /* unknown */
		{{0x0f, 0x7f, 0x30}, 3},	  /* an expression that is cut */
		{{0x0f, 1, 0x30, 0x0e, 8}, 5},	  /* an offset for an expression */
		{{0x2d}, 1},			  /* negate_ra_state is AArch64's */
		{{0x01, 1, 0, 0, 0, 0, 0, 0}, 8}, /* set_loc that is cut */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct cfi_bytes b = {0};
		struct opened o;
		struct cfi_row row;

		cb_cie(&b, 1, "", RA);
		first_rules(&b);
		cb_end(&b);
		function(&b, programs[i].bytes, programs[i].len);
		/* No padding: what is cut must stay cut. */
		b.len = b.entry + 4 + 4 + 16 + programs[i].len;
		b.at[b.entry] = (uint8_t)(b.len - b.entry - 4);
		assert_int_equal(open_one(&o, &b, ".eh_frame", EM_X86_64), 0);
		assert_int_equal(cfi_find(o.cfi, FUNCTION + 20, &row), -EBADMSG);
		done(&o);
	}
}

static void remembered_states_are_bounded(void **state)
{
	uint8_t program[1000];
	struct cfi_bytes b = {0};
	struct opened o;
	struct cfi_row row;

	(void)state;
	memset(program, 0x0a, sizeof(program));
	cb_cie(&b, 1, "", RA);
	first_rules(&b);
	cb_end(&b);
	function(&b, program, sizeof(program));
	assert_int_equal(open_one(&o, &b, ".eh_frame", EM_X86_64), 0);
	assert_int_equal(cfi_find(o.cfi, FUNCTION, &row), -EBADMSG);
	done(&o);
}

/* zPLR, S, an unknown letter, "eh"; each pointer encoding of the FDE. */
static void augmentations(void **state)
{
	struct cfi_bytes b = {0};
	struct opened o;
	struct cfi_row row;

	(void)state;
	cb_cie(&b, 1, "zPLRS", RA);
	CB(&b, 1 + 4 + 1 + 1, 0x1b, 1, 2, 3, 4, 0x1b, 0x04); /* R: udata8 */
	first_rules(&b);
	cb_end(&b);
	cb_fde(&b);
	cb_u(&b, FUNCTION, 8);
	cb_u(&b, 16, 8);
	CB(&b, 4, 1, 2, 3, 4, 0x0e, 32);
	cb_end(&b);
	cb_cie(&b, 1, "zRX", RA); /* sdata4, and a letter from the future with its data */
	CB(&b, 3, 0x0b, 7, 7);
	first_rules(&b);
	cb_end(&b);
	cb_fde(&b);
	cb_u(&b, FUNCTION + 16, 4);
	cb_u(&b, 16, 4);
	CB(&b, 0);
	cb_end(&b);
	cb_cie(&b, 1, "eh", RA);
	/* The pointer of "eh" stands before the factors. */
	b.len -= 3;
	cb_u(&b, 12345, 8);
	CB(&b, 1, 0x78, RA);
	first_rules(&b);
	cb_end(&b);
	cb_fde(&b);
	cb_u(&b, FUNCTION + 32, 8);
	cb_u(&b, 16, 8);
	cb_end(&b);
	assert_int_equal(open_one(&o, &b, ".eh_frame", EM_X86_64), 0);
	row = row_at(&o, 3);
	assert_true(row.signal_frame);
	assert_cfa(&row, SP, 32);
	row = row_at(&o, 20);
	assert_false(row.signal_frame);
	assert_cfa(&row, SP, 8);
	row = row_at(&o, 40);
	assert_cfa(&row, SP, 8);
	assert_int_equal(cfi_find(o.cfi, FUNCTION + 48, &row), -ENOENT);
	done(&o);
}

static void pointers_relative_to_themselves(void **state)
{
	struct made_part parts[] = {{".eh_frame", NULL, 0, 0}, {NULL, NULL, 0, 0}};
	struct cfi_bytes b = {0};
	struct opened o;
	struct cfi_row row;

	(void)state;
	made_layout(parts);
	cb_cie(&b, 1, "zR", RA);
	CB(&b, 1, 0x1b); /* pcrel sdata4 */
	first_rules(&b);
	cb_end(&b);
	cb_fde(&b);
	cb_u(&b, FUNCTION - (parts[0].vaddr + b.len), 4);
	cb_u(&b, FUNCTION_BYTES, 4);
	CB(&b, 0, 0x01); /* set_loc uses the same encoding */
	cb_u(&b, FUNCTION + 0x10 - (parts[0].vaddr + b.len), 4);
	CB(&b, 0x0e, 64);
	cb_end(&b);
	assert_int_equal(open_one(&o, &b, ".eh_frame", EM_X86_64), 0);
	row = row_at(&o, 0xf);
	assert_cfa(&row, SP, 8);
	row = row_at(&o, 0x10);
	assert_cfa(&row, SP, 64);
	done(&o);
}

/* Two functions and a table that says `first` and `count` of them. */
static void open_with_table(struct opened *o, struct cfi_bytes *b, uint64_t first_start,
	uint32_t count, bool swapped)
{
	struct made_part parts[] = {{".eh_frame_hdr", NULL, 12 + 16, 0},
		{".eh_frame", NULL, 0, 0}, {NULL, NULL, 0, 0}};
	struct cfi_bytes hdr = {0};
	uint64_t fdes[2];

	cb_cie(b, 1, "", RA);
	first_rules(b);
	cb_end(b);
	for (int i = 0; i < 2; i++) {
		fdes[i] = b->len;
		cb_fde(b);
		cb_u(b, FUNCTION + (uint64_t)i * 0x1000, 8);
		cb_u(b, 0x1000, 8);
		CB(b, 0x0e, (uint8_t)(16 + 16 * i));
		cb_end(b);
	}
	parts[1].bytes = b->at;
	parts[1].len = b->len;
	made_layout(parts);
	CB(&hdr, 1, 0x1b, 0x03, 0x3b);
	cb_u(&hdr, parts[1].vaddr - (parts[0].vaddr + 4), 4);
	cb_u(&hdr, count, 4);
	for (unsigned i = 0; i < 2; i++) {
		unsigned k = swapped ? 1 - i : i;

		cb_u(&hdr, (k ? FUNCTION + 0x1000 : first_start) - parts[0].vaddr, 4);
		cb_u(&hdr, parts[1].vaddr + fdes[k] - parts[0].vaddr, 4);
	}
	parts[0].bytes = hdr.at;
	assert_int_equal(open_parts(o, parts, EM_X86_64), 0);
}

static void a_table_is_used(void **state)
{
	struct cfi_bytes b = {0};
	struct opened o;
	struct cfi_row row;

	(void)state;
	open_with_table(&o, &b, FUNCTION, 2, false);
	assert_int_equal(cfi_lookup_kind(o.cfi), CFI_BY_HDR);
	row = row_at(&o, 0x10);
	assert_cfa(&row, SP, 16);
	row = row_at(&o, 0x1010);
	assert_cfa(&row, SP, 32);
	assert_int_equal(cfi_find(o.cfi, FUNCTION + 0x2000, &row), -ENOENT);
	assert_int_equal(cfi_lookup_kind(o.cfi), CFI_BY_HDR);
	done(&o);
}

static void a_table_that_lies_is_given_up(void **state)
{
	static const struct {
		uint64_t start;
		uint32_t count;
		bool swapped;
	} lies[] = {
		{FUNCTION + 8, 2, false}, /* another start than the FDE's */
		{FUNCTION, 1, false},	  /* an FDE is missing */
		{FUNCTION, 2, true},	  /* not sorted */
		{FUNCTION, 0, false},	  /* empty */
		{FUNCTION, 1000, false},  /* longer than the section */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct cfi_bytes b = {0};
		struct opened o;
		struct cfi_row row;

		open_with_table(&o, &b, lies[i].start, lies[i].count, lies[i].swapped);
		row = row_at(&o, 0x10);
		assert_cfa(&row, SP, 16);
		row = row_at(&o, 0x1010);
		assert_cfa(&row, SP, 32);
		assert_int_equal(cfi_lookup_kind(o.cfi), CFI_BY_INDEX);
		done(&o);
	}
}

static void aarch64_signs_return_addresses(void **state)
{
	struct cfi_bytes b = {0};
	struct opened o;
	struct cfi_row row;

	(void)state;
	cb_cie(&b, 1, "zRB", 30);
	CB(&b, 1, 0x04, 0x0c, 31, 0);
	cb_end(&b);
	cb_fde(&b);
	cb_u(&b, FUNCTION, 8);
	cb_u(&b, FUNCTION_BYTES, 8);
	CB(&b, 0, 0x44, 0x2d, 0x44, 0x0e, 16, 0x9d, 2, 0x9e, 1, 0x44, 0x2d);
	cb_end(&b);
	assert_int_equal(open_one(&o, &b, ".eh_frame", EM_AARCH64), 0);
	assert_false(row_at(&o, 0).ra_signed);
	assert_true(row_at(&o, 4).ra_signed);
	row = row_at(&o, 8);
	assert_true(row.ra_signed);
	assert_cfa(&row, 31, 16);
	assert_reg(&row, 30, CFI_OFFSET, -8);
	assert_reg(&row, 29, CFI_OFFSET, -16);
	assert_false(row_at(&o, 12).ra_signed);
	done(&o);
}

static void files_without_any(void **state)
{
	struct made_part parts[] = {{".text", "x", 1, 0}, {NULL, NULL, 0, 0}};
	struct cfi_bytes b = {0};
	struct opened o;
	struct cfi_row row;

	(void)state;
	assert_int_equal(open_parts(&o, parts, EM_X86_64), -ENOENT);
	done(&o);
	CB(&b, 0, 0, 0, 0);
	assert_int_equal(open_one(&o, &b, ".eh_frame", EM_X86_64), 0);
	assert_int_equal(cfi_find(o.cfi, FUNCTION, &row), -ENOENT);
	done(&o);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(forms),
	cmocka_unit_test(ranges_are_sorted),
	cmocka_unit_test(instructions),
	cmocka_unit_test(damaged_programs),
	cmocka_unit_test(remembered_states_are_bounded),
	cmocka_unit_test(augmentations),
	cmocka_unit_test(pointers_relative_to_themselves),
	cmocka_unit_test(a_table_is_used),
	cmocka_unit_test(a_table_that_lies_is_given_up),
	cmocka_unit_test(aarch64_signs_return_addresses),
	cmocka_unit_test(files_without_any),
};

UNIT_TESTS("cfi", tests)
