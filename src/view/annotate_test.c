#include "view/annotate.h"

#include "tests/unit_test.h"
#include "view/page_code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTION = 0x1000 };

struct made {
	struct profile profile;
	struct excerpts excerpts;
	uint32_t module, function, inlined, event, most;
};

static uint32_t function_of(struct made *m, const char *name, uint64_t addr, uint64_t size)
{
	struct function key = {.module = m->module, .addr = addr, .size = size};
	uint32_t id;

	assert_int_equal(profile_string(&m->profile, name, &key.name), 0);
	key.linkage_name = key.name;
	assert_int_equal(profile_function(&m->profile, &key, &id), 0);
	return id;
}

/* `n` samples at an address of work(), where small() may be inlined. */
static void add(struct made *m, uint64_t addr, bool inlined, uint32_t line, int n)
{
	struct line lines[2] = {{.function = m->inlined, .line = line}, {.line = 3}};
	struct sample sample = {.weight = 10, .event = (uint16_t)m->event};
	uint32_t frame, count = inlined ? 2 : 1;

	lines[count - 1].function = m->function;
	lines[0].line = line;
	assert_int_equal(profile_string(&m->profile, "/src/a.c", &lines[0].file), 0);
	lines[1].file = lines[0].file;
	assert_int_equal(profile_frame(&m->profile, m->module, addr, false, 0, &frame), 0);
	assert_int_equal(profile_resolve(&m->profile, frame, lines, count), 0);
	assert_int_equal(profile_stack(&m->profile, PROFILE_NONE, frame, &sample.stack), 0);
	assert_int_equal(profile_thread(&m->profile, 1, 1, "t", &sample.thread), 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(profile_add(&m->profile, &sample), 0);
}

static void setup(struct made *m)
{
	struct module module = {.kind = MODULE_FILE};

	*m = (struct made){.most = ANNOTATION_INSTRUCTIONS_MAX};
	quality_init(&m->profile.quality);
	assert_int_equal(profile_string(&m->profile, "/bin/prog", &module.path), 0);
	assert_int_equal(profile_module(&m->profile, &module, &m->module), 0);
	assert_int_equal(profile_event(&m->profile, "cpu-clock", true, &m->event), 0);
	m->function = function_of(m, "work(int)", FUNCTION, 16);
	m->inlined = function_of(m, "small()", 0, 0);
}

static void teardown(struct made *m)
{
	excerpts_done(&m->excerpts);
	profile_done(&m->profile);
}

/* push rbp; mov rbp, rsp; mov eax, [rbp - 4]; ret; then padding. */
static void give_code(struct made *m)
{
	static const uint8_t code[16] = {0x55, 0x48, 0x89, 0xe5, 0x8b, 0x45, 0xfc, 0xc3, 0x66,
		0x0f, 0x1f, 0x44, 0x00, 0x00, 0x66, 0x90};
	const struct excerpt excerpt = {.module = m->module,
		.addr = FUNCTION,
		.vaddr = 0x401000,
		.machine = EM_X86_64,
		.size = 16};
	struct code_row rows[] = {{0, 0, 10}, {4, 0, 12}, {7, 0, 10}};

	assert_int_equal(profile_string(&m->profile, "/src/a.c", &rows[0].file), 0);
	assert_int_equal(excerpts_add(&m->excerpts, &excerpt, code), 0);
	for (size_t i = 0; i < 3; i++) {
		rows[i].file = rows[0].file;
		assert_int_equal(excerpts_add_row(&m->excerpts, &rows[i]), 0);
	}
}

static void annotate(struct made *m, struct annotation *a)
{
	struct annotate_hits hits;

	assert_int_equal(annotate_hits_make(&hits, &m->profile), 0);
	assert_int_equal(annotation_make(a, &m->profile, &m->excerpts, &hits, m->function,
				 DISASM_INTEL, m->most),
		0);
	annotate_hits_done(&hits);
}

static void samples_go_to_instructions_and_lines(void **state)
{
	struct annotation a;
	struct made m;

	(void)state;
	setup(&m);
	give_code(&m);
	add(&m, FUNCTION + 4, true, 12, 3); /* small() is inlined there: still work()'s code */
	add(&m, FUNCTION + 5, true, 12, 2); /* in the middle of the instruction */
	add(&m, FUNCTION + 7, false, 10, 1);
	annotate(&m, &a);
	assert_int_equal(a.samples, 6);
	assert_int_equal(a.weight, 60);
	if (!a.known_machine) { /* bytes: as many instructions as there are */
		assert_int_equal(a.instruction_count, 16);
	} else {
		assert_int_equal(a.instruction_count, 4); /* without the padding */
		assert_string_equal(annotation_text(&a, &a.instructions[1]), "mov rbp, rsp");
		assert_true(a.instructions[1].vaddr == 0x401001);
		assert_int_equal(a.instructions[2].samples, 5);
		assert_int_equal(a.instructions[3].samples, 1);
	}
	assert_int_equal(a.line_count, 2);
	assert_int_equal(a.lines[0].line, 10);
	assert_int_equal(a.lines[0].samples, 1);
	assert_int_equal(a.lines[1].line, 12);
	assert_int_equal(a.lines[1].weight, 50);
	annotation_done(&a);
	teardown(&m);
}

static void without_code_the_addresses_are_left(void **state)
{
	const struct excerpt none = {.addr = FUNCTION, .why = "gone"};
	struct annotation a;
	struct made m;

	(void)state;
	setup(&m);
	assert_int_equal(excerpts_add(&m.excerpts, &none, NULL), 0);
	add(&m, FUNCTION + 7, false, 10, 1);
	add(&m, FUNCTION + 4, true, 12, 3);
	annotate(&m, &a);
	assert_null(a.excerpt);
	assert_string_equal(a.why, "gone");
	assert_int_equal(a.instruction_count, 2);
	assert_true(a.instructions[0].vaddr == FUNCTION + 4);
	assert_int_equal(a.instructions[0].samples, 3);
	assert_int_equal(a.lines[a.instructions[0].line].line, 12);
	assert_int_equal(a.lines[a.instructions[1].line].line, 10);
	annotation_done(&a);
	teardown(&m);
}

static void too_many_instructions_are_cut(void **state)
{
	struct annotation a;
	struct made m;

	(void)state;
	setup(&m);
	add(&m, FUNCTION, false, 10, 1);
	add(&m, FUNCTION + 1, false, 10, 1);
	add(&m, FUNCTION + 7, false, 10, 1);
	m.most = 2;
	annotate(&m, &a); /* only samples */
	assert_true(a.cut);
	assert_int_equal(a.instruction_count, 2);
	assert_int_equal(a.samples, 3);
	annotation_done(&a);
	give_code(&m);
	annotate(&m, &a);
	assert_true(a.cut);
	assert_int_equal(a.instruction_count, 2);
	assert_int_equal(a.samples, 3);
	assert_int_equal(a.instructions[0].samples + a.instructions[1].samples, 2);
	annotation_done(&a);
	m.most = 16;
	annotate(&m, &a);
	assert_false(a.cut);
	annotation_done(&a);
	teardown(&m);
}

static void a_page_passes_over_what_is_too_large(void **state)
{
	uint8_t *zeros = calloc(1, 4 << 20);
	struct excerpt large = {.machine = EM_X86_64};
	struct page_code code;
	struct loaded loaded = {.note_count = 0};
	struct made m;

	(void)state;
	assert_non_null(zeros);
	setup(&m);
	give_code(&m);
	add(&m, FUNCTION + 4, false, 12, 1);
	for (uint32_t i = 0; i < 2;
		i++) { /* one too large at first sight, one when it is read */
		large.module = m.module;
		large.addr = FUNCTION + 0x1000000 * (i + 1);
		large.size = i ? 4 * PAGE_INSTRUCTIONS : 4 << 20;
		assert_int_equal(excerpts_add(&m.excerpts, &large, zeros), 0);
		m.function = function_of(&m, i ? "second" : "first", large.addr, large.size);
		add(&m, large.addr, false, 12, 5);
	}
	loaded.profile = m.profile;
	loaded.excerpts = m.excerpts;
	assert_int_equal(page_code_make(&code, &loaded, NULL, true), 0);
	assert_int_equal(code.count, 1);
	assert_true(code.at[0].address == 0x401000);
	page_code_done(&code);
	free(zeros);
	teardown(&m);
}

static void functions_are_found_by_words(void **state)
{
	struct error err = {.text = ""};
	bool *wanted = NULL;
	struct made m;

	(void)state;
	setup(&m);
	add(&m, FUNCTION + 4, true, 12, 3);
	static const char *const words[] = {
		"work", "work(int)", "or", "/^w/", "prog:work", "prog:/k/"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(annotate_find(&m.profile, words[i], &wanted, &err), 0);
		assert_true(wanted[m.function] && !wanted[m.inlined]);
		free(wanted);
	}
	assert_int_equal(annotate_find(&m.profile, "other:work", &wanted, &err), -ENOENT);
	assert_int_equal(annotate_find(&m.profile, "nobody", &wanted, &err), -ENOENT);
	assert_int_equal(annotate_find(&m.profile, "small", &wanted, &err), -ENOENT);
	assert_non_null(strstr(err.text, "instructions are in work(int)"));
	assert_int_equal(profile_string(&m.profile, "\x1b[2Jwork",
				 &m.profile.functions[m.function].name),
		0);
	assert_int_equal(annotate_find(&m.profile, "small", &wanted, &err), -ENOENT);
	assert_non_null(strstr(err.text, "instructions are in \\x1b[2Jwork"));
	assert_int_equal(annotate_find(&m.profile, "/(/", &wanted, &err), -EINVAL);
	teardown(&m);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(samples_go_to_instructions_and_lines),
	cmocka_unit_test(without_code_the_addresses_are_left),
	cmocka_unit_test(too_many_instructions_are_cut),
	cmocka_unit_test(a_page_passes_over_what_is_too_large),
	cmocka_unit_test(functions_are_found_by_words),
};
UNIT_TESTS("annotate", tests)
