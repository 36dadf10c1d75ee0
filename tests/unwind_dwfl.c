/*
 * The unwinder against libdwfl, on real samples: both get the same registers, stack bytes and
 * mappings.
 *
 *     unwind-dwfl [-F HZ] [-s STACK_BYTES] [-n SAMPLES] [-v SHOWN] -- COMMAND...
 *
 * The command is ended when there are SAMPLES. Prints how many stacks are equal, and how many
 * differ: one is the beginning of the other (who goes on?), theirs lacks one frame of ours, or
 * they part (at which frame). -v shows the first few of each kind. Two kinds of differences are
 * explained, and counted apart from the rest:
 *
 *   by-pointer  where there is no CFI libdwfl follows the frame pointer without a check: past
 *               the caller of a function that has no frame (ours has one more), or to an
 *               address where no code is
 *   gave-up     libdwfl ends where ours goes on: its last frame has no CFI, or (gcc says in an
 *               epilogue that a register lies where it was popped from) it asked for memory
 *               below the stack pointer, which the kernel does not copy
 *
 * Exit status 77: perf events are not allowed here.
 */
#include "tests/unwind_collect.h"
#include "unwind/unwind.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRAMES = UNWIND_DEPTH_MAX, SKIPPED = 77, PROCESSES = 256 };

enum verdict {
	EQUAL,
	OURS_LONGER,
	THEIRS_LONGER,
	THEIRS_DROPS_ONE, /* theirs is ours without one frame */
	PARTED,
	VERDICTS,
};

struct theirs {
	Dwfl *dwfl;
	uint32_t generation, process;
	uint64_t maps; /* of the files, as they were reported */
};

struct compare {
	struct unwinder *unwinder;
	struct theirs theirs[PROCESSES];
	const struct wick_record *sample;
	const struct target *target;
	uint64_t ours[FRAMES], dwfl[FRAMES];
	uint8_t hows[FRAMES];
	uint32_t dwfl_count;
	bool below_sp; /* they asked for it */
	uint64_t verdicts[VERDICTS], with_guess, samples, ours_root;
	uint64_t by_pointer, gave_up, unexplained, unmapped;
	unsigned show, shown[VERDICTS];
	char vdso[64];
};

/* ---- libdwfl's view */

static bool reg_of(const struct wick_regs *regs, unsigned bit, uint64_t *ret)
{
	uint64_t below = regs->mask & ((1ull << bit) - 1);

	if (!regs->abi || !(regs->mask >> bit & 1))
		return false;
	*ret = wick_word(regs->values, (uint64_t)__builtin_popcountll(below));
	return true;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	const struct compare *c = arg;

	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return (pid_t)c->sample->id.tid;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	struct compare *c = arg;
	uint64_t sp, at;

	(void)dwfl;
	if (!reg_of(&c->sample->sample.regs_user, 7, &sp))
		return false;
	at = addr - sp;
	c->below_sp |= addr < sp;
	if (at > c->sample->sample.stack_bytes || c->sample->sample.stack_bytes - at < 8)
		return false;
	memcpy(result, (const uint8_t *)c->sample->sample.stack + at, 8);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	static const uint8_t perf_of_dwarf[17] = {
		0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};
	const struct compare *c = arg;
	Dwarf_Word values[17];

	for (unsigned i = 0; i < 17; i++)
		if (!reg_of(&c->sample->sample.regs_user, perf_of_dwarf[i], &values[i]))
			return false;
	return dwfl_thread_state_registers(thread, 0, 17, values);
}

static int frame(Dwfl_Frame *state, void *arg)
{
	struct compare *c = arg;
	Dwarf_Addr pc;
	bool activation;

	if (!dwfl_frame_pc(state, &pc, &activation) || c->dwfl_count == FRAMES)
		return DWARF_CB_ABORT;
	c->dwfl[c->dwfl_count++] = pc;
	return DWARF_CB_OK;
}

static int find_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
	char **path, Elf **elf)
{
	(void)module, (void)data, (void)name, (void)base, (void)path, (void)elf;
	return -1;
}

static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
	const char *path, const char *link, GElf_Word crc, char **ret)
{
	(void)module, (void)data, (void)name, (void)base, (void)path, (void)link, (void)crc,
		(void)ret;
	return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = find_elf, .find_debuginfo = no_debuginfo};
static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers};

static void report_modules(struct compare *c, Dwfl *dwfl, const struct process *process)
{
	for (uint32_t i = 0; process->maps && i < process->maps->count; i++) {
		const struct mapping *m = &process->maps->at[i];
		const struct dso_key *key = &c->target->dsos[m->dso].key;
		const char *path = strings_get(&c->target->strings, key->path);
		bool first = true;

		for (uint32_t j = 0; j < i; j++)
			first = first && process->maps->at[j].dso != m->dso;
		if (key->kind == DSO_VDSO)
			path = c->vdso;
		else if (key->kind != DSO_FILE)
			continue;
		if (first)
			dwfl_report_elf(dwfl, path, path, -1, m->start - m->pgoff, false);
	}
}

static uint64_t maps_of(const struct compare *c, const struct process *process)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; process->maps && i < process->maps->count; i++) {
		const struct mapping *m = &process->maps->at[i];

		if (c->target->dsos[m->dso].key.kind != DSO_ANON)
			hash = (hash ^ m->start ^ m->pgoff << 20 ^ (uint64_t)m->dso << 50) *
			       0x9e3779b97f4a7c15u;
	}
	return hash;
}

/* A process's session with the library; made anew when its files' mappings changed. */
static Dwfl *dwfl_of(struct compare *c, uint32_t process_id)
{
	struct theirs *t = &c->theirs[process_id % PROCESSES];
	const struct process *process = &c->target->processes[process_id];

	uint64_t maps;

	if (t->dwfl && t->process == process_id && t->generation == process->generation)
		return t->dwfl;
	maps = maps_of(c, process);
	if (t->dwfl && t->process == process_id && t->maps == maps) {
		t->generation = process->generation;
		return t->dwfl;
	}
	if (t->dwfl)
		dwfl_end(t->dwfl);
	t->maps = maps;
	t->dwfl = dwfl_begin(&callbacks);
	t->process = process_id;
	t->generation = process->generation;
	dwfl_report_begin(t->dwfl);
	report_modules(c, t->dwfl, process);
	dwfl_report_end(t->dwfl, NULL, NULL);
	dwfl_attach_state(t->dwfl, NULL, process->pid, &thread_callbacks, c);
	return t->dwfl;
}

/* ---- comparing */

static enum verdict verdict_of(const struct compare *c, uint32_t ours, uint32_t *ret_at)
{
	uint32_t i = 0;

	while (i < ours && i < c->dwfl_count && c->ours[i] == c->dwfl[i])
		i++;
	*ret_at = i;
	if (ours == c->dwfl_count + 1 && i < c->dwfl_count &&
		!memcmp(c->ours + i + 1, c->dwfl + i, (c->dwfl_count - i) * sizeof(*c->ours)))
		return THEIRS_DROPS_ONE;
	if (i < ours && i < c->dwfl_count)
		return PARTED;
	return ours > c->dwfl_count   ? OURS_LONGER
	       : ours < c->dwfl_count ? THEIRS_LONGER
				      : EQUAL;
}

static bool is_guess(const struct compare *c, uint32_t frame)
{
	return (c->hows[frame] & UNWIND_HOW_MASK) >= UNWIND_BY_CODE;
}

static bool is_code(const struct compare *c, uint32_t process, uint64_t addr)
{
	const struct mapping *m = target_find(c->target, process, addr);

	return m && (m->prot & PROT_EXEC);
}

/* Why do they differ? (see above) */
static void explain(struct compare *c, enum verdict verdict, uint32_t at,
	const struct unwind_result *r, uint32_t process)
{
	if (verdict == THEIRS_DROPS_ONE && (is_guess(c, at) || is_guess(c, at + 1)))
		c->by_pointer++;
	else if (verdict == PARTED && is_guess(c, at) && !is_code(c, process, c->dwfl[at]))
		c->by_pointer++;
	else if (verdict == OURS_LONGER && at < r->count && (is_guess(c, at) || c->below_sp))
		c->gave_up++;
	else if (verdict != EQUAL)
		c->unexplained++;
}

static void print_frame(const struct compare *c, uint32_t process, uint64_t pc, unsigned how)
{
	const struct mapping *m = target_find(c->target, process, pc - 1);
	const char *path =
		m ? strings_get(&c->target->strings, c->target->dsos[m->dso].key.path) : "-";
	const char *slash = strrchr(path, '/');

	printf(" %" PRIx64 "(%s+%" PRIx64 ",%u)", pc, slash ? slash + 1 : path,
		m ? pc - m->start + m->pgoff : 0, how);
}

static void show(const struct compare *c, uint32_t process, const char *what,
	const struct unwind_result *r, uint32_t at)
{
	uint32_t from = at < 2 ? 0 : at - 2;

	printf("%s at %u (ours %u, stop %s; theirs %u)\n  ours:  ", what, at, r->count,
		quality_stop_name(r->stop), c->dwfl_count);
	for (uint32_t i = from; i < r->count && i < at + 3; i++)
		print_frame(c, process, c->ours[i], c->hows[i]);
	printf("\n  theirs:");
	for (uint32_t i = from; i < c->dwfl_count && i < at + 3; i++)
		print_frame(c, process, c->dwfl[i], 0);
	puts("");
}

static void compare_one(void *ctx, const struct wick_record *sample,
	const struct target *target, uint32_t process)
{
	static const char *const names[] = {
		"equal", "ours longer", "theirs longer", "theirs drops one", "parted"};
	struct compare *c = ctx;
	struct unwind_input in = {
		.arch = UNWIND_X86_64,
		.target = target,
		.process = process,
		.regs = &sample->sample.regs_user,
		.stack = sample->sample.stack,
		.stack_bytes = sample->sample.stack_bytes,
	};
	struct unwind_result r = {.addrs = c->ours, .hows = c->hows, .cap = FRAMES};
	uint64_t pc;
	bool guess;
	enum verdict verdict;
	uint32_t at;

	/* In the middle of exec and mmap there is no code where the registers point. */
	if (!reg_of(&sample->sample.regs_user, 8, &pc) || !target_find(target, process, pc)) {
		c->unmapped++;
		return;
	}
	c->sample = sample;
	c->target = target;
	c->dwfl_count = 0;
	c->below_sp = false;
	unwind_run(c->unwinder, &in, &r);
	dwfl_getthread_frames(dwfl_of(c, process), (pid_t)sample->id.tid, frame, c);
	verdict = verdict_of(c, r.count, &at);
	guess = r.counts[UNWIND_BY_FP] || r.counts[UNWIND_BY_CODE] || r.counts[UNWIND_BY_SCAN];
	c->samples++;
	c->verdicts[verdict]++;
	c->with_guess += guess;
	explain(c, verdict, at, &r, process);
	c->ours_root += r.stop == STOP_ROOT;
	if (verdict != EQUAL && c->shown[verdict]++ < c->show)
		show(c, process, names[verdict], &r, at);
}

static void vdso_file(struct compare *c)
{
	const void *bytes;
	size_t len = own_vdso(&bytes);
	int fd = memfd_create("vdso", 0);

	if (fd >= 0 && len && write(fd, bytes, len) == (ssize_t)len)
		snprintf(c->vdso, sizeof(c->vdso), "/proc/self/fd/%d", fd);
}

int main(int argc, char **argv)
{
	struct unwinder_options options = {
		.open_module = collected_module_open, .close_module = collected_module_close};
	struct collect_options collect_options = {.hz = 999,
		.stack_bytes = 32768,
		.samples_max = 3000,
		.quiet = 1,
		.until_full = true};
	static struct compare c;
	struct collection *collection;
	struct target target = {0};
	int rc, opt;

	while ((opt = getopt(argc, argv, "+F:s:n:v:")) != -1) {
		unsigned long number = strtoul(optarg ? optarg : "", NULL, 0);

		if (opt == 'F')
			collect_options.hz = number;
		else if (opt == 's')
			collect_options.stack_bytes = (uint32_t)number;
		else if (opt == 'n')
			collect_options.samples_max = (uint32_t)number;
		else if (opt == 'v')
			c.show = (unsigned)number;
		else
			return 2;
	}
	if (optind == argc)
		return 2;
	collect_options.argv = argv + optind;
	rc = collect(&collect_options, &collection);
	if (rc < 0) {
		fprintf(stderr, "unwind-dwfl: cannot sample: %s\n", strerror(-rc));
		return rc == -EACCES || rc == -EPERM || rc == -ENOSYS ? SKIPPED : 1;
	}
	vdso_file(&c);
	if (unwinder_new(&options, &c.unwinder) < 0)
		return 1;
	collection_replay(collection, &target, compare_one, &c);
	printf("compared %" PRIu64 " equal %" PRIu64 " ours-longer %" PRIu64
	       " theirs-longer %" PRIu64 " theirs-drops-one %" PRIu64 " parted %" PRIu64
	       " with-guess %" PRIu64 " ours-root %" PRIu64 " by-pointer %" PRIu64
	       " gave-up %" PRIu64 " unexplained %" PRIu64 " unmapped %" PRIu64 "\n",
		c.samples, c.verdicts[EQUAL], c.verdicts[OURS_LONGER],
		c.verdicts[THEIRS_LONGER], c.verdicts[THEIRS_DROPS_ONE], c.verdicts[PARTED],
		c.with_guess, c.ours_root, c.by_pointer, c.gave_up, c.unexplained, c.unmapped);
	unwinder_free(c.unwinder);
	collection_free(collection);
	target_done(&target);
	for (unsigned i = 0; i < PROCESSES; i++)
		if (c.theirs[i].dwfl)
			dwfl_end(c.theirs[i].dwfl);
	return 0;
}
