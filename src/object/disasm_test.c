#include "config.h"
#include "tests/unit_test.h"

#include "object/disasm.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/* All of a piece of code as lines of text. */
static void listing(uint16_t machine, enum disasm_syntax syntax, const char *code, size_t len,
	char *text, size_t room)
{
	struct instruction one;
	struct disasm *disasm;
	size_t at = 0;

	text[0] = '\0';
	assert_int_equal(disasm_open(machine, syntax, &disasm), 0);
	while (len > 0) {
		disasm_next(disasm, (const uint8_t *)code, len, 0x1000, &one);
		assert_true(one.size > 0 && one.size <= len);
		at += (size_t)snprintf(text + at, room - at, "%s;", one.text);
		code += one.size;
		len -= one.size;
	}
	disasm_close(disasm);
}

static void x86_both_ways(void **state)
{
	static const char code[] = "\x55\x48\x89\xe5\x8b\x45\xfc\xc3";
	char text[400];

	(void)state;
	if (!HAVE_CAPSTONE)
		skip();
	listing(EM_X86_64, DISASM_INTEL, code, sizeof(code) - 1, text, sizeof(text));
	assert_string_equal(text, "push rbp;mov rbp, rsp;mov eax, dword ptr [rbp - 4];ret;");
	listing(EM_X86_64, DISASM_ATT, code, sizeof(code) - 1, text, sizeof(text));
	assert_non_null(strstr(text, "(%rbp), %eax;"));
}

static void arm64(void **state)
{
	char text[400];

	(void)state;
	if (!HAVE_CAPSTONE)
		skip();
	listing(EM_AARCH64, DISASM_INTEL, "\x00\x00\x80\xd2\xc0\x03\x5f\xd6", 8, text,
		sizeof(text));
	assert_non_null(strstr(text, "x0, #0"));
	assert_non_null(strstr(text, ";ret;"));
}

/* What is no code goes by in small steps, and the code behind it is found again. */
static void data_in_between(void **state)
{
	char text[400];

	(void)state;
	if (!HAVE_CAPSTONE)
		skip();
	listing(EM_X86_64, DISASM_INTEL, "\x06\xc3\xe8\x01", 4, text, sizeof(text));
	assert_string_equal(text, ".byte 0x06;ret;.byte 0xe8;.byte 0x01;");
	text[0] = '\0';
	listing(EM_AARCH64, DISASM_INTEL, "\xff\xff\xff\xff\xc0\x03", 6, text, sizeof(text));
	assert_string_equal(text, ".byte 0xff, 0xff, 0xff, 0xff;.byte 0xc0, 0x03;");
}

static void unknown_machines_are_numbers(void **state)
{
	struct disasm *disasm;
	char text[400];

	(void)state;
	assert_int_equal(disasm_open(EM_68K, DISASM_INTEL, &disasm), 0);
	assert_false(disasm_knows(disasm));
	disasm_close(disasm);
	listing(EM_68K, DISASM_INTEL, "abcde", 5, text, sizeof(text));
	assert_string_equal(text, ".byte 0x61, 0x62, 0x63, 0x64;.byte 0x65;");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(x86_both_ways),
	cmocka_unit_test(arm64),
	cmocka_unit_test(data_in_between),
	cmocka_unit_test(unknown_machines_are_numbers),
};
UNIT_TESTS("disasm", tests)
