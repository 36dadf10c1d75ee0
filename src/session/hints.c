/*
 * A runtime's stack shows the interpreter, or code that was compiled while it ran, not the
 * program that it runs, unless it is told to. What to tell it is said where it matters: one
 * sample in SHARE_OF_SAMPLES.
 *
 *     Python       interprets; 3.12 and later, by -X perf, makes a small piece of code for
 *                  every function, which has a name ("py::...") in its perf map
 *     the others   compile; addresses in memory without a file get no name
 *
 * A process is known by the runtime's file among the frames of its samples.
 */
#include "session/hints.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SHARE_OF_SAMPLES = 20, PIDS_MAX = 1 << 22 };

/* What a stack, or a process, has: bits. */
enum {
	PYTHON = 1, /* the first runtime; the others follow, a bit each */
	UNNAMED = 0x8000,
};

static const struct runtime {
	const char *files[3]; /* names begin so */
	const char *hint;
} runtimes[] = {
	{{"python3", "libpython3"},
		"python3: interpreted functions are not visible; from Python 3.12 on, "
		"python3 -X perf shows them"},
	{{"node", "libnode.so"},
		"node: JavaScript functions have no names; node --perf-basic-prof (a perf map) "
		"or --perf-prof (a jitdump) gives them"},
	{{"libjvm.so"},
		"java: compiled methods have no names; jcmd PID Compiler.perfmap (JDK 17 and "
		"later), -XX:+DumpPerfMapAtExit or an agent writes a perf map, and "
		"-XX:+PreserveFramePointer keeps the stacks"},
	{{"libcoreclr.so"}, "dotnet: compiled methods have no names; the environment variable "
			    "DOTNET_PerfMapEnabled=1 gives them"},
	{{"luajit", "libluajit"},
		"luajit: traces have no names; a LuaJIT built with LUAJIT_USE_PERFTOOLS writes "
		"a perf map"},
};

struct process {
	int32_t pid;
	unsigned has;
	uint64_t interpreted, unnamed; /* samples with PYTHON, with UNNAMED in their stack */
};

struct processes {
	struct process *at;
	uint32_t count, cap;
	struct hash_index by_pid;
};

static unsigned module_has(const struct profile *profile, uint32_t module)
{
	const char *name = module_short_name(profile, module);
	unsigned has = 0;

	if (profile->modules[module].kind != MODULE_FILE)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
		for (size_t k = 0; k < ARRAY_LEN(runtimes[i].files); k++)
			if (runtimes[i].files[k] && !strncmp(name, runtimes[i].files[k],
							    strlen(runtimes[i].files[k])))
				has |= 1u << i;
	return has;
}

static unsigned frame_has(
	const struct profile *profile, const unsigned *modules, uint32_t frame)
{
	const struct frame *it = &profile->frames[frame];
	const struct module *module = &profile->modules[it->module];

	if (module->kind == MODULE_ANON && !it->line_count &&
		strcmp(profile_text(profile, module->path), MODULE_UNMAPPED) != 0)
		return UNNAMED;
	return modules[it->module];
}

static bool has_python_functions(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->function_count; i++)
		if (!strncmp(profile_text(profile, profile->functions[i].linkage_name),
			    "py::", 4))
			return true;
	return false;
}

/* What each stack has; free() it. Parents stand before their children. */
static unsigned *stacks_have(const struct profile *profile, const unsigned *modules)
{
	unsigned *has = calloc(profile->stack_count + 1u, sizeof(*has));

	for (uint32_t i = 0; has && i < profile->stack_count; i++) {
		const struct stack *stack = &profile->stacks[i];

		has[i] = frame_has(profile, modules, stack->frame) |
			 (stack->parent < i ? has[stack->parent] : 0);
	}
	return has;
}

static struct process *process_of(struct processes *processes, int32_t pid)
{
	uint32_t hash = hash_u64((uint32_t)pid), id;
	struct hash_probe probe = hash_probe(&processes->by_pid, hash);

	while (processes->count && hash_next(&processes->by_pid, &probe, &id))
		if (processes->at[id].pid == pid)
			return &processes->at[id];
	if (array_reserve(&processes->at, &processes->cap, processes->count + 1ull,
		    sizeof(*processes->at), PIDS_MAX) < 0 ||
		hash_add(&processes->by_pid, hash, processes->count) < 0)
		return NULL;
	processes->at[processes->count] = (struct process){.pid = pid};
	return &processes->at[processes->count++];
}

static int count_samples(
	const struct profile *profile, const unsigned *has, struct processes *processes)
{
	for (uint32_t i = 0; i < profile->sample_count; i++) {
		const struct sample *sample = &profile->samples[i];
		unsigned bits = sample->stack < profile->stack_count ? has[sample->stack] : 0;
		struct process *process =
			process_of(processes, profile->threads[sample->thread].pid);

		if (!process)
			return -ENOMEM;
		process->has |= bits;
		process->interpreted += (bits & PYTHON) != 0;
		process->unnamed += (bits & UNNAMED) != 0;
	}
	return 0;
}

static void add_notes(struct profile *profile, const struct processes *processes)
{
	bool named_python = has_python_functions(profile);

	for (size_t i = 0; i < ARRAY_LEN(runtimes); i++) {
		uint64_t samples = 0;

		for (uint32_t k = 0; k < processes->count; k++) {
			const struct process *process = &processes->at[k];

			if (process->has & 1u << i)
				samples += i ? process->unnamed : process->interpreted;
		}
		if (samples && samples * SHARE_OF_SAMPLES >= profile->sample_count &&
			(i || !named_python))
			quality_note(&profile->quality, runtimes[i].hint);
	}
}

int hints_add(struct profile *profile)
{
	cleanup_free unsigned *modules = calloc(profile->module_count + 1u, sizeof(*modules));
	cleanup_free unsigned *has = NULL;
	struct processes processes = {.count = 0};
	unsigned any = 0;
	int rc = 0;

	for (uint32_t i = 0; modules && i < profile->module_count; i++)
		any |= modules[i] = module_has(profile, i);
	if (!modules || !any)
		return modules ? 0 : -ENOMEM;
	has = stacks_have(profile, modules);
	rc = has ? count_samples(profile, has, &processes) : -ENOMEM;
	if (rc == 0)
		add_notes(profile, &processes);
	free(processes.at);
	hash_done(&processes.by_pid);
	return rc;
}
