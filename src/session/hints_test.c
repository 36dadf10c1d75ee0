#include "session/hints.h"

#include "tests/unit_test.h"

#include "formats/test_profile.h"

/* `count` samples of a process: its program's file, and on top a frame of memory without a
 * file. */
static void add(struct profile *p, int32_t pid, const char *file, const char *anon, int count)
{
	struct module module = {.kind = MODULE_ANON, .pid = pid};
	uint32_t program = make_module(p, MODULE_FILE, file), memory, frame, stack, thread,
		 event;
	struct sample sample = {.weight = 1};

	stack = make_stack(p, program, "main");
	if (anon) {
		assert_int_equal(profile_string(p, "//anon", &module.path), 0);
		assert_int_equal(profile_module(p, &module, &memory), 0);
		if (*anon) {
			frame = make_frame(p, memory, anon);
		} else {
			assert_int_equal(
				profile_frame(p, memory, 0x7000, false, 0x7000, &frame), 0);
		}
		assert_int_equal(profile_stack(p, stack, frame, &stack), 0);
	}
	assert_int_equal(profile_thread(p, pid, pid, "x", &thread), 0);
	assert_int_equal(profile_event(p, "cpu-clock", true, &event), 0);
	sample.stack = stack;
	sample.thread = thread;
	for (int i = 0; i < count; i++)
		assert_int_equal(profile_add(p, &sample), 0);
}

static void notes_are(struct profile *p, const char *const *words)
{
	const char *at;

	quality_init(&p->quality);
	assert_int_equal(hints_add(p), 0);
	at = p->quality.notes;
	for (; *words; words++) {
		at = strstr(at, *words);
		if (!at) {
			fail_msg("no '%s' (there) in %s", *words, p->quality.notes);
			return;
		}
	}
	if (at == p->quality.notes)
		assert_string_equal(at, "");
	profile_done(p);
	*p = (struct profile){0};
}

static void runtimes_without_names_are_told_how(void **state)
{
	static const struct {
		const char *file, *word;
	} runtimes[] = {{"/usr/bin/node", "--perf-basic-prof"},
		{"/usr/lib/jvm/java-17/lib/server/libjvm.so", "Compiler.perfmap"},
		{"/usr/share/dotnet/libcoreclr.so", "DOTNET_PerfMapEnabled"},
		{"/usr/bin/luajit-2.1", "PERFTOOLS"}};
	struct profile p = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		add(&p, 7, runtimes[i].file, "", 10);
		notes_are(&p, (const char *const[]){runtimes[i].word, NULL});
		/* Code with names, none at all, and too little of it need nothing. */
		add(&p, 7, runtimes[i].file, "LazyCompile:f", 10);
		notes_are(&p, (const char *const[]){NULL});
		add(&p, 7, runtimes[i].file, NULL, 10);
		notes_are(&p, (const char *const[]){NULL});
		add(&p, 7, runtimes[i].file, NULL, 1000);
		add(&p, 7, runtimes[i].file, "", 10);
		notes_are(&p, (const char *const[]){NULL});
		/* Unnamed code of another process is not this one's. */
		add(&p, 7, runtimes[i].file, NULL, 10);
		add(&p, 8, "/usr/bin/other", "", 10);
		notes_are(&p, (const char *const[]){NULL});
	}
}

static void python_without_its_functions_is_said(void **state)
{
	struct profile p = {0};

	(void)state;
	add(&p, 7, "/usr/bin/python3.12", NULL, 10);
	add(&p, 8, "/usr/bin/node", "", 10);
	notes_are(&p, (const char *const[]){"-X perf", "--perf-basic-prof", NULL});
	add(&p, 7, "/usr/bin/python3.12", "py::f:/x.py", 10);
	notes_are(&p, (const char *const[]){NULL});
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(runtimes_without_names_are_told_how),
	cmocka_unit_test(python_without_its_functions_is_said),
};
UNIT_TESTS("hints", tests)
