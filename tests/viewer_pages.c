/*
 * Writes the page of a made-up profile, for the viewer's tests:
 *
 *     viewer_pages empty|one|small|other|cycles|deep|threads|hostile|million FILE.html
 *
 * small and other are alike but for one function; million has 1,000,000 samples in about
 * 200,000 call paths.
 */
#include "base/cleanup.h"
#include "formats/viewer_data.h"

#include <stdio.h>
#include <string.h>

enum { MS = 1000000 };

struct making {
	struct profile profile;
	uint32_t program, library, kernel, jit;
	uint64_t seed, time_ns;
	uint32_t event;
	bool failed;
};

static uint32_t module_of(struct making *m, enum module_kind kind, const char *path)
{
	struct module module = {.kind = kind};
	uint32_t id = 0;

	m->failed |= profile_string(&m->profile, path, &module.path) < 0 ||
		     profile_module(&m->profile, &module, &id) < 0;
	return id;
}

static void begin(struct making *m, const char *event)
{
	quality_init(&m->profile.quality);
	m->program = module_of(m, MODULE_FILE, "/usr/bin/server");
	m->library = module_of(m, MODULE_FILE, "/usr/lib/libc.so.6");
	m->kernel = module_of(m, MODULE_KERNEL, "[kernel.kallsyms]");
	m->jit = module_of(m, MODULE_ANON, "[anon]");
	m->seed = 88172645463325252u;
	m->time_ns = 5000000000;
	m->failed |=
		profile_event(&m->profile, event, strcmp(event, "cycles") != 0, &m->event) < 0;
}

/* xorshift: the same numbers on each machine. */
static uint32_t any(struct making *m, uint32_t below)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 7;
	m->seed ^= m->seed << 17;
	return (uint32_t)(m->seed >> 33) % below;
}

static uint32_t step(struct making *m, uint32_t parent, uint32_t module, const char *name)
{
	struct function function = {.module = module};
	uint32_t frame = 0, stack = PROFILE_NONE;
	struct line line = {.line = 12};
	struct profile *p = &m->profile;

	m->failed |= profile_string(p, name, &function.name) < 0;
	function.linkage_name = function.name;
	function.addr = 0x1000 + function.name * 64ull;
	m->failed |= profile_frame(p, module, function.addr + 8, true, 0, &frame) < 0;
	if (!m->failed && !p->frames[frame].resolved) {
		m->failed |= profile_function(p, &function, &line.function) < 0 ||
			     profile_string(p, "/src/server.c", &line.file) < 0 ||
			     profile_resolve(p, frame, &line, 1) < 0;
	}
	m->failed |= profile_stack(p, parent, frame, &stack) < 0;
	return stack;
}

static void add(struct making *m, int32_t tid, const char *comm, uint32_t stack)
{
	struct sample sample = {.weight = MS, .stack = stack, .event = (uint16_t)m->event};

	m->time_ns += MS - 20000 + any(m, 40000);
	sample.time_ns = m->time_ns;
	m->failed |= profile_thread(&m->profile, 100, tid, comm, &sample.thread) < 0 ||
		     profile_add(&m->profile, &sample) < 0;
}

/* 600 ms of parse in the first thread, then 400 ms of write in the second. */
static void make_small(struct making *m, const char *slow, uint32_t slow_samples)
{
	uint32_t root = step(m, PROFILE_NONE, m->program, "main");
	uint32_t parse = step(m, step(m, root, m->program, "parse"), m->program, slow);
	uint32_t copy = step(m, step(m, root, m->program, "parse"), m->library, "memcpy");
	uint32_t sys = step(m, step(m, root, m->program, "save"), m->kernel, "ksys_write");

	for (uint32_t i = 0; i < 600; i++)
		add(m, 101, "reader", i < slow_samples ? parse : copy);
	for (uint32_t i = 0; i < 400; i++)
		add(m, 102, "writer", sys);
}

static void make_deep(struct making *m)
{
	uint32_t stack = step(m, PROFILE_NONE, m->program, "main");
	char name[32];

	for (int i = 0; i < 8000; i++) {
		snprintf(name, sizeof(name), "level_%d", i % 50);
		stack = step(m, stack, m->program, name);
	}
	for (int i = 0; i < 20; i++)
		add(m, 101, "deep", stack);
}

static void make_threads(struct making *m)
{
	uint32_t stack = step(m, PROFILE_NONE, m->program, "main");
	char name[32];

	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "worker-%d", i % 5000);
		add(m, 1000 + i % 5000, name, stack);
	}
}

static const char rude[] =
	"</script><script>document.title='owned'</script>"
	"<img src=x onerror=\"document.title='owned'\">&amp;\"'`${1}\n\t\x01\xff"
	"\xe2\x80\xae gnp.exe <!-- -->";

static void make_hostile(struct making *m)
{
	cleanup_free char *longest = malloc(100001);
	uint32_t stack;

	if (!longest) {
		m->failed = true;
		return;
	}
	memset(longest, 'x', 100000);
	longest[100000] = '\0';
	stack = step(m, PROFILE_NONE, module_of(m, MODULE_FILE, rude), rude);
	for (int i = 0; i < 5; i++)
		add(m, 101, rude, stack);
	stack = step(m, PROFILE_NONE, module_of(m, MODULE_FILE, longest), longest);
	for (int i = 0; i < 5; i++)
		add(m, 102, longest, stack);
}

/* A tree of calls in which some ways are taken far more often than others. */
static void make_million(struct making *m)
{
	uint32_t modules[4] = {m->program, m->library, m->kernel, m->jit};
	char name[64], comm[32];

	for (uint32_t i = 0; i < 1000000 && !m->failed; i++) {
		uint32_t depth = 8 + any(m, 16), stack = PROFILE_NONE, way = 0;

		for (uint32_t k = 0; k < depth; k++) {
			uint32_t turn = any(m, 100) < 95 ? 0 : 1 + any(m, 3);

			way = (way * 5 + turn + k) % 4000;
			snprintf(
				name, sizeof(name), "server::stage_%u::handle_%u(int)", k, way);
			stack = step(m, stack, modules[way % 4], name);
		}
		snprintf(comm, sizeof(comm), "worker-%u", i % 16);
		add(m, (int32_t)(101 + i % 16), comm, stack);
	}
}

/* What stopped in the function that was made last: as long as a page of the book, one is hot.
 */
struct code {
	struct viewer_line lines[3];
	struct viewer_instruction instructions[300];
	struct viewer_code code;
};

static void make_code(const struct profile *profile, const char *name, struct code *code)
{
	static const char *const text[] = {"mov eax, <b>0</b>", "add rax, rdx", "jne 0x1000"};
	uint32_t function = 0;

	while (function + 1 < profile->function_count &&
		strcmp(profile_text(profile, profile->functions[function].name), name) != 0)
		function++;
	for (uint32_t i = 0; i < 300; i++)
		code->instructions[i] = (struct viewer_instruction){
			.text = text[i % 3], .size = 4, .line = i < 200 ? 0 : PROFILE_NONE};
	code->instructions[100] = (struct viewer_instruction){
		text[0], 4, 1, .samples = 300, .weight = 300ull * MS};
	code->instructions[101] = (struct viewer_instruction){
		text[1], 4, 2, .samples = 150, .weight = 150ull * MS};
	code->lines[0] =
		(struct viewer_line){"/src/server.c", "static int slow(void)", 10, 0, 0};
	code->lines[1] = (struct viewer_line){
		"/src/server.c", "  return 1 < 2 && \"</script>\";", 12, 300, 300ull * MS};
	code->lines[2] = (struct viewer_line){"/src/gone.h", NULL, 7, 150, 150ull * MS};
	code->code = (struct viewer_code){.function = function,
		.address = 0x401000,
		.note = "its code is made up",
		.samples = 450,
		.weight = 450ull * MS,
		.lines = code->lines,
		.line_count = 3,
		.instructions = code->instructions,
		.instruction_count = 300};
}

/* Lost for a tenth of the time, and held back while the writer ran. */
static void make_spans(struct making *m)
{
	const struct profile_span lost = {SPAN_LOST, 5100000000, 5200000000, PROFILE_NONE};
	const struct profile_span held = {SPAN_THROTTLED, 5700000000, 5750000000, 1};

	m->failed |=
		profile_span(&m->profile, &lost) < 0 || profile_span(&m->profile, &held) < 0;
}

static const struct viewer_sentence sentences[] = {
	{1, "samples", "1,000 in 1.00 s, none lost"},
	{2, "names", "35 % in <b>libfoo</b>: stripped"},
};

static bool make(struct making *m, const char *what)
{
	uint32_t root;

	begin(m, strcmp(what, "cycles") ? "cpu-clock" : "cycles");
	if (!strcmp(what, "one")) {
		root = step(m, PROFILE_NONE, m->program, "main");
		add(m, 101, "one", root);
	} else if (!strcmp(what, "small")) {
		make_small(m, "slow", 450);
		make_spans(m);
	} else if (!strcmp(what, "other")) {
		make_small(m, "slow", 150);
	} else if (!strcmp(what, "cycles")) {
		make_small(m, "slow", 300);
	} else if (!strcmp(what, "deep")) {
		make_deep(m);
	} else if (!strcmp(what, "threads")) {
		make_threads(m);
	} else if (!strcmp(what, "hostile")) {
		make_hostile(m);
	} else if (!strcmp(what, "million")) {
		make_million(m);
	} else if (strcmp(what, "empty") != 0) {
		return false;
	}
	return !m->failed;
}

int main(int argc, char **argv)
{
	struct making made[VIEWER_PROFILES_MAX] = {0};
	struct viewer_data data[VIEWER_PROFILES_MAX] = {0};
	static struct code code;
	struct error err = {.text = ""};
	uint32_t count = 0;
	FILE *out;
	int rc;

	for (int i = 1; i < argc - 1 && count < VIEWER_PROFILES_MAX; i++, count++) {
		if (!make(&made[count], argv[i])) {
			fprintf(stderr, "%s cannot be made\n", argv[i]);
			return 2;
		}
		data[count] = (struct viewer_data){.profile = &made[count].profile,
			.file = argv[i],
			.command = "wick record ./server",
			.sentences = sentences,
			.sentence_count = ARRAY_LEN(sentences)};
		if (!strcmp(argv[i], "small")) {
			make_code(&made[count].profile, "slow", &code);
			data[count].code = &code.code;
			data[count].code_count = 1;
		}
		fprintf(stderr, "%s: %u samples, %u stacks\n", argv[i],
			made[count].profile.sample_count, made[count].profile.stack_count);
	}
	out = count ? fopen(argv[argc - 1], "we") : NULL;
	if (!out) {
		fprintf(stderr, "usage: viewer_pages WHAT [WHAT] FILE.html\n");
		return 2;
	}
	rc = viewer_write(data, count, out, &err);
	fclose(out);
	for (uint32_t i = 0; i < count; i++)
		profile_done(&made[i].profile);
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	return rc < 0;
}
