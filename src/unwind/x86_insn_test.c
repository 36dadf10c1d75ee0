/* The x86-64 length decoder against objdump, over the C library and whatever else is there. */
#include "tests/run_tool.h"
#include "tests/unit_test.h"
#include "unwind/arch/x86_insn.h"

#include <errno.h>

enum { LINE_MAX_BYTES = 512 };

/* "  4010:	48 8b 05 e1 2f 00 00 	mov ...": fills bytes, returns their number. */
static size_t line_bytes(const char *line, uint8_t *ret, size_t max)
{
	const char *p = strchr(line, '\t');
	size_t n = 0;

	if (!p || line[0] != ' ')
		return 0;
	p++;
	while (n < max && p[0] && p[1] && p[0] != ' ' && p[0] != '\t' && p[0] != '\n') {
		char hex[3] = {p[0], p[1], 0}, *end;

		ret[n++] = (uint8_t)strtoul(hex, &end, 16);
		if (*end)
			return 0;
		p += 2;
		if (*p == ' ')
			p++;
	}
	return n;
}

static bool is_odd(const char *line)
{
	/* Data between functions; and what objdump shows as prefixes of their own. */
	return strstr(line, "(bad)") || strstr(line, ".byte") || strstr(line, "data16") ||
	       strstr(line, "rex") || !strchr(strchr(line, '\t') + 1, '\t');
}

static void compare(const char *path, uint64_t *count, uint64_t *wrong)
{
	char command[256], line[LINE_MAX_BYTES];
	FILE *out;

	snprintf(command, sizeof(command), "objdump -d -w %s 2>/dev/null", path);
	out = popen(command, "re");
	if (!out)
		return;
	while (fgets(line, sizeof(line), out)) {
		uint8_t bytes[24] = {0};
		size_t n = line_bytes(line, bytes, 16);
		struct x86_insn insn;

		/* An fwait is an instruction of its own, whatever objdump joins it with. */
		if (!n || is_odd(line) || bytes[0] == 0x9b)
			continue;
		++*count;
		if (x86_decode(bytes, sizeof(bytes), &insn) && insn.length == n)
			continue;
		if (++*wrong <= 10)
			print_message("%s: %s", path, line);
	}
	pclose(out);
}

static void lengths_are_objdumps(void **state)
{
	static const char *const files[] = {"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib/x86_64-linux-gnu/libgmp.so.10",
		"/lib64/libc.so.6", "/usr/lib/x86_64-linux-musl/libc.so"};
	uint64_t count = 0, wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (access(files[i], R_OK) == 0)
			compare(files[i], &count, &wrong);
	if (count < 10000) {
		print_message("objdump or an x86-64 library is missing here\n");
		skip();
	}
	print_message("%lu instructions, %lu of another length\n", (unsigned long)count,
		(unsigned long)wrong);
	assert_int_equal(wrong, 0);
}

struct expected {
	const char *bytes;
	size_t len;
	enum x86_kind kind;
	int reg;
	int64_t value;
};

#define CODE(text) text, sizeof(text) - 1

static void kinds(void **state)
{
	static const struct expected table[] = {
		{CODE("\x55"), X86_PUSH, 5, 0},
		{CODE("\x41\x57"), X86_PUSH, 15, 0},
		{CODE("\x5b"), X86_POP, 3, 0},
		{CODE("\x48\x83\xec\x18"), X86_ADD_SP, 4, -0x18},
		{CODE("\x48\x81\xc4\x98\x00\x00\x00"), X86_ADD_SP, 4, 0x98},
		{CODE("\x48\x8d\x65\xd8"), X86_SP_FROM, 5, -0x28},
		{CODE("\x48\x8d\x64\x24\x08"), X86_SP_FROM, 4, 8},
		{CODE("\x48\x89\xec"), X86_SP_FROM, 5, 0},
		{CODE("\x48\x83\xe4\xf0"), X86_SP_LOST, 4, 0},
		{CODE("\x48\x8b\x5c\x24\x08"), X86_LOAD, 3, 8},
		{CODE("\xc9"), X86_LEAVE, 0, 0},
		{CODE("\xc3"), X86_RET, 0, 0},
		{CODE("\xf3\xc3"), X86_RET, 0, 0},
		{CODE("\xc2\x08\x00"), X86_RET, 0, 8},
		{CODE("\xe8\x10\x00\x00\x00"), X86_CALL, 0, 16},
		{CODE("\xff\xd0"), X86_CALL, 0, 0},
		{CODE("\xeb\xfe"), X86_JMP, 0, -2},
		{CODE("\x0f\x84\x10\x00\x00\x00"), X86_JCC, 0, 16},
		{CODE("\xff\x25\x00\x00\x00\x00"), X86_JMP_FAR_AWAY, 0, 0},
		{CODE("\x0f\x0b"), X86_STOP, 0, 0},
		{CODE("\xf4"), X86_STOP, 0, 0},
		{CODE("\x0f\x05"), X86_SYSCALL, 0, 0},
		{CODE("\x66\x90"), X86_NOP, 0, 0},
		{CODE("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), X86_NOP, 0, 0},
		{CODE("\xf3\x0f\x1e\xfa"), X86_NOP, 0, 0},
		{CODE("\xc5\xf8\x77"), X86_OTHER, 0, 0},
		{CODE("\x62\xf1\x7c\x48\x10\x07"), X86_OTHER, 0, 0},
		{CODE("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"), X86_OTHER, 0, 0},
		{CODE("\xf6\xc1\x01"), X86_OTHER, 0, 0},
		{CODE("\xf7\xd8"), X86_OTHER, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct expected *e = &table[i];
		struct x86_insn insn;

		assert_true(x86_decode((const uint8_t *)e->bytes, e->len, &insn));
		assert_int_equal(insn.length, e->len);
		assert_int_equal(insn.kind, e->kind);
		assert_int_equal(insn.value, e->value);
		if (e->kind == X86_PUSH || e->kind == X86_POP || e->kind == X86_SP_FROM)
			assert_int_equal(insn.reg, e->reg);
		/* One byte less is no instruction. */
		assert_false(x86_decode((const uint8_t *)e->bytes, e->len - 1, &insn) &&
			     insn.length == e->len);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(lengths_are_objdumps),
	cmocka_unit_test(kinds),
};

UNIT_TESTS("x86_insn", tests)
