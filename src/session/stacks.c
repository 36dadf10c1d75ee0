/*
 * Most stacks end inside the copied piece. One that does not is read on from the live process,
 * in one piece that overlaps the copy and grows until the stack ends:
 *
 *     copy      [sp ........ sp + n)
 *     late                 [sp + n - overlap .............. )   64 KiB, 512 KiB, 4 MiB
 *
 * The target ran on meanwhile, so the unwinder believes nothing of the late piece before it has
 * found the outermost frames of the copy unchanged in it.
 */
#include "session/stacks.h"

#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "session/fpchain.h"
#include "session/jit.h"
#include "session/sampled_regs.h"
#include "symbolize/vdso_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/utsname.h>

enum {
	LATE_FIRST = 64 << 10,
	LATE_GROWTH = 8,
	LATE_MOST = 8 << 20, /* the usual limit of a stack */
	LATE_OVERLAP = 4 << 10,
	CHAIN_MAX = 8180, /* what a record of 65,535 bytes holds */
	SHORT_DEPTH = 32, /* frames, while the recorder does not keep up */
	POINTERS_DEPTH = 127,
	REFUSED_PIDS = 256,
};

struct stacks {
	struct stacks_options options;
	struct unwinder *unwinder;
	uint64_t addrs[UNWIND_DEPTH_MAX];
	uint8_t hows[UNWIND_DEPTH_MAX];
	uint64_t chain[CHAIN_MAX];
	void *late;
	int32_t pid;		       /* of the sample at hand, for read_memory */
	uint64_t time_ns;	       /* and its time */
	bool no_late;		       /* there is no live process, or no such system call */
	int32_t refused[REFUSED_PIDS]; /* processes that may not be read, by pid */
	enum effort effort;
	struct stacks_stats stats;
};

static int dso_fd_live(const struct stacks *stacks, const struct dso *dso, const char *path)
{
	struct pin_request request = {
		(int32_t)dso->pid, dso->map_start, dso->map_end, path, dso->key.ino};
	enum pin_trust trust;
	int fd, rc;

	rc = pin_open(stacks->options.proc, &request, &fd, &trust);
	return rc < 0 ? rc : fd;
}

static int dso_fd_file(const struct stacks *stacks, const char *path)
{
	char full[4096];
	int fd;

	if (snprintf(full, sizeof(full), "%s%s",
		    stacks->options.sysroot ? stacks->options.sysroot : "",
		    path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* A copy of the vdso's bytes; module_close() frees them. */
static int vdso_open(const struct stacks *stacks, const struct dso *dso, struct elf *ret_elf)
{
	struct module module = {.kind = MODULE_VDSO,
		.pid = (int32_t)dso->pid,
		.map_start = dso->map_start,
		.map_end = dso->map_end};
	struct vdso_image image;
	int rc;

	if (!vdso_image_read(&module, stacks->options.proc != NULL, &image))
		return -ENOENT;
	rc = elf_open_bytes(image.bytes, image.len, ret_elf, NULL);
	if (rc < 0) {
		elf_close(ret_elf);
		free(image.bytes);
	}
	return rc;
}

static bool is_the_file(const struct dso *dso, const struct elf *elf)
{
	return !dso->key.build_id_bytes || !elf->build_id_bytes ||
	       (dso->key.build_id_bytes == elf->build_id_bytes &&
		       !memcmp(dso->key.build_id, elf->build_id, elf->build_id_bytes));
}

static int module_open(
	void *ctx, const struct target *target, uint32_t dso_id, struct elf *ret_elf)
{
	const struct stacks *stacks = ctx;
	const struct dso *dso = &target->dsos[dso_id];
	const char *path = strings_get(&target->strings, dso->key.path);
	cleanup_close int fd = -1;
	int rc;

	if (dso->key.kind == DSO_VDSO)
		return vdso_open(stacks, dso, ret_elf);
	if (dso->key.kind != DSO_FILE)
		return -ENOENT;
	fd = stacks->options.proc ? dso_fd_live(stacks, dso, path) : dso_fd_file(stacks, path);
	if (fd < 0)
		return fd;
	rc = elf_open_fd(fd, ret_elf, NULL);
	if (rc == 0 && !is_the_file(dso, ret_elf))
		rc = -ESTALE;
	if (rc < 0) {
		elf_close(ret_elf);
		return rc;
	}
	take_fd(&fd); /* module_close() has it back from the elf */
	return 0;
}

static void module_close(void *ctx, uint32_t dso, struct elf *elf)
{
	void *image = (void *)(uintptr_t)elf->image;
	int fd = elf->fd;

	(void)ctx;
	(void)dso;
	elf_close(elf);
	if (fd >= 0)
		close(fd);
	free(image);
}

/* unwinder_options.code_row */
static int code_row(void *ctx, const struct target *target, uint32_t process, uint64_t addr,
	struct cfi_row *ret_row)
{
	const struct stacks *stacks = ctx;
	uint16_t machine = stacks->options.arch == UNWIND_X86_64 ? EM_X86_64 : EM_AARCH64;

	return jit_row(stacks->options.jit, target->processes[process].pid, machine, addr,
		stacks->time_ns, ret_row);
}

/* The first time that a compiler describes its frames: what was worked out without goes. */
static void code_forget(struct stacks *stacks, int32_t pid)
{
	const struct target *target = stacks->options.target;

	for (uint32_t i = 0; i < target->dso_count; i++)
		if (target->dsos[i].key.kind == DSO_ANON &&
			target->dsos[i].key.anon_pid == (uint32_t)pid)
			unwinder_forget(stacks->unwinder, i);
}

int stacks_new(const struct stacks_options *options, struct stacks **ret_stacks)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));
	struct unwinder_options unwinder = {
		.open_module = module_open, .close_module = module_close, .ctx = stacks};
	int rc = -ENOMEM;

	if (stacks) {
		stacks->options = *options;
		stacks->no_late = !options->proc;
		if (options->jit)
			unwinder.code_row = code_row;
		rc = unwinder_new(&unwinder, &stacks->unwinder);
	}
	if (rc < 0) {
		stacks_free(stacks);
		return rc;
	}
	*ret_stacks = stacks;
	return 0;
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	unwinder_free(stacks->unwinder);
	free(stacks->late);
	free(stacks);
}

int stacks_arch_of(const char *machine)
{
	if (!strcmp(machine, "x86_64"))
		return UNWIND_X86_64;
	if (!strcmp(machine, "aarch64"))
		return UNWIND_AARCH64;
	return -ENOTSUP;
}

int stacks_arch_here(void)
{
	struct utsname name;

	return uname(&name) < 0 ? -errno : stacks_arch_of(name.machine);
}

uint64_t stacks_regs(int arch)
{
	return arch == UNWIND_X86_64 ? UNWIND_REGS_X86_64 : UNWIND_REGS_AARCH64;
}

/* ---- reading on from the live process */

static int64_t read_process(struct stacks *stacks, uint64_t addr, void *to, size_t len)
{
	struct iovec local = {to, len}, remote = {(void *)(uintptr_t)addr, len};
	int32_t *refused = &stacks->refused[(uint32_t)stacks->pid % REFUSED_PIDS];
	ssize_t got;

	if (stacks->no_late || *refused == stacks->pid)
		return -EPERM;
	got = process_vm_readv(stacks->pid, &local, 1, &remote, 1, 0);
	if (got >= 0)
		return got;
	stacks->no_late |= errno == ENOSYS;
	if (errno == EPERM)
		*refused = stacks->pid;
	return -errno;
}

static int read_memory(void *ctx, uint64_t addr, void *ret_bytes, size_t len)
{
	int64_t got = read_process(ctx, addr, ret_bytes, len);

	return got == (int64_t)len ? (int)len : -EFAULT;
}

/* The stack from just below the end of the copy on; what was read, 0 when nothing can be. */
static size_t read_late(struct stacks *stacks, uint64_t from, size_t want)
{
	int64_t got;

	if (!stacks->late)
		stacks->late = malloc(LATE_MOST);
	if (!stacks->late)
		return 0;
	/* A read that runs off the end of the stack stops there, at a page. */
	got = read_process(stacks, from, stacks->late, want);
	return got > 0 ? (size_t)got : 0;
}

/*
 * In the middle of exec and exit the old memory is gone and the registers still speak of it:
 * there is no stack to copy, or no mapping where the program called the kernel. No user part is
 * owed. A live process, however, that has a stack there owes one: its page was not in memory.
 */
static bool between_programs(struct stacks *stacks, const struct unwind_input *input,
	const struct wick_record *record)
{
	unsigned mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	uint64_t word;

	if (mode != PERF_RECORD_MISC_KERNEL)
		return false;
	if (!target_find(input->target, input->process, sampled_pc(input->arch, input->regs)))
		return true;
	return !input->stack_bytes && read_process(stacks, sampled_sp(input->arch, input->regs),
					      &word, sizeof(word)) != sizeof(word);
}

static void unwind_late(
	struct stacks *stacks, struct unwind_input *input, struct unwind_result *result)
{
	uint64_t copied = input->stack_bytes;
	uint64_t from = sampled_sp(input->arch, input->regs) + copied -
			(copied < LATE_OVERLAP ? copied : LATE_OVERLAP);
	size_t want = LATE_FIRST;

	while (want <= LATE_MOST && result->stop == STOP_COPY_EXHAUSTED && !stacks->no_late) {
		size_t got = read_late(stacks, from, want);

		if (got <= LATE_OVERLAP)
			return;
		input->late = stacks->late;
		input->late_addr = from;
		input->late_bytes = got;
		input->read_memory = read_memory;
		input->read_ctx = stacks;
		unwind_run(stacks->unwinder, input, result);
		if (result->late_refused || got < want)
			return;
		want *= LATE_GROWTH;
	}
}

/* Another stack than the one of the copy, page by page. */
static void unwind_elsewhere(
	struct stacks *stacks, struct unwind_input *input, struct unwind_result *result)
{
	input->read_memory = read_memory;
	input->read_ctx = stacks;
	unwind_run(stacks->unwinder, input, result);
}

/* ---- chains */

/* Entries up to the user's marker: what the kernel itself said. */
static uint32_t kernel_part(struct stacks *stacks, struct wick_words chain)
{
	uint32_t n = 0;

	for (uint64_t i = 0; i < chain.n && n < CHAIN_MAX / 2; i++) {
		uint64_t ip = wick_word(chain, i);

		if (ip == PERF_CONTEXT_USER)
			break;
		stacks->chain[n++] = ip;
	}
	return n;
}

static uint32_t user_part(struct stacks *stacks, uint32_t n, const struct unwind_result *result)
{
	for (uint32_t i = 0; i < result->count; i++) {
		bool exact = i && (result->hows[i] & UNWIND_EXACT);

		if (n + 2 > CHAIN_MAX)
			break;
		if (!i || exact)
			stacks->chain[n++] = PERF_CONTEXT_USER;
		stacks->chain[n++] = result->addrs[i];
	}
	return n;
}

/* The process may not be read on: it is another user's, or made itself not dumpable. */
static void count_forbidden(struct stacks *stacks)
{
	if (stacks->no_late ||
		stacks->refused[(uint32_t)stacks->pid % REFUSED_PIDS] != stacks->pid)
		return;
	if (!stacks->stats.late_forbidden++)
		stacks->stats.forbidden_by = stacks->pid;
}

static void stats_count(struct stacks *stacks, const struct unwind_result *result)
{
	stacks->stats.late += result->late;
	stacks->stats.late_refused += result->late_refused;
	for (int i = 0; i < UNWIND_HOW_COUNT; i++)
		stacks->stats.frames[i] += result->counts[i];
}

/* The leaf alone: there are no rules for a 32-bit process here. */
static uint32_t leaf_part(struct stacks *stacks, uint32_t n, const struct unwind_input *input)
{
	stacks->chain[n++] = PERF_CONTEXT_USER;
	stacks->chain[n++] = sampled_pc(input->arch, input->regs);
	return n;
}

static uint32_t pointers_part(
	struct stacks *stacks, uint32_t n, const struct unwind_input *input)
{
	stacks->chain[n++] = PERF_CONTEXT_USER;
	return n + fpchain_follow(input, stacks->chain + n, POINTERS_DEPTH);
}

static enum stack_stop unwind_fully(
	struct stacks *stacks, struct unwind_input *input, struct unwind_result *result)
{
	bool deep;

	unwind_run(stacks->unwinder, input, result);
	deep = result->stop == STOP_COPY_EXHAUSTED;
	if (deep && !stacks->no_late)
		unwind_late(stacks, input, result);
	else if ((result->stop == STOP_SWITCHED || result->stop == STOP_UNREADABLE) &&
		 !stacks->no_late)
		unwind_elsewhere(stacks, input, result);
	stacks->stats.fully++;
	if (deep && result->stop == STOP_COPY_EXHAUSTED) {
		stacks->stats.ran_out++;
		count_forbidden(stacks);
	} else if (result->stop == STOP_COPY_EXHAUSTED) {
		result->stop = STOP_UNREADABLE; /* another stack, which had changed */
	}
	return result->stop == STOP_ROOT && result->late ? STOP_LATE : result->stop;
}

/* What would have gone on, had there been time, says so. */
static enum stack_stop unwind_shortly(
	struct stacks *stacks, struct unwind_input *input, struct unwind_result *result)
{
	if (!input->depth_limit || input->depth_limit > SHORT_DEPTH)
		input->depth_limit = SHORT_DEPTH;
	unwind_run(stacks->unwinder, input, result);
	if (result->stop == STOP_DEPTH ||
		(!stacks->no_late &&
			(result->stop == STOP_COPY_EXHAUSTED || result->stop == STOP_SWITCHED ||
				result->stop == STOP_UNREADABLE)))
		return STOP_BEHIND;
	return result->stop;
}

/* Where nothing at all was copied the reason lies there, whatever the frames say. */
static enum stack_stop stop_of_copy(const struct unwind_input *input, enum stack_stop stop)
{
	bool early = stop == STOP_UNREADABLE || stop == STOP_NO_CFI ||
		     stop == STOP_COPY_EXHAUSTED || stop == STOP_BEHIND;

	return early && !input->stack_bytes ? STOP_NO_COPY : stop;
}

enum stack_stop stacks_unwind(struct stacks *stacks, uint32_t process,
	const struct wick_record *record, struct wick_words *ret_chain)
{
	const struct wick_sample *sample = &record->sample;
	uint32_t n = kernel_part(stacks, sample->callchain);
	struct unwind_input input = {
		.arch = stacks->options.arch,
		.target = stacks->options.target,
		.process = process,
		.regs = &sample->regs_user,
		.stack = sample->stack,
		.stack_bytes = sample->stack_bytes,
		.depth_limit = stacks->options.depth_limit,
	};
	struct unwind_result result = {
		.addrs = stacks->addrs, .hows = stacks->hows, .cap = UNWIND_DEPTH_MAX};
	enum stack_stop stop = STOP_NO_USER;

	stacks->pid = (int32_t)record->id.pid;
	stacks->time_ns = record->id.time;
	if (between_programs(stacks, &input, record)) {
		/* no user part */
	} else if (sample->regs_user.abi == PERF_SAMPLE_REGS_ABI_32) {
		n = leaf_part(stacks, n, &input);
		stop = STOP_NO_CFI;
	} else if (stacks->effort == EFFORT_POINTERS) {
		n = pointers_part(stacks, n, &input);
		stop = stop_of_copy(&input, STOP_BEHIND);
		stacks->stats.by_pointers += stop == STOP_BEHIND;
	} else {
		if (stacks->options.jit && jit_update(stacks->options.jit, stacks->pid) > 0)
			code_forget(stacks, stacks->pid);
		stop = stacks->effort == EFFORT_FULL ? unwind_fully(stacks, &input, &result)
						     : unwind_shortly(stacks, &input, &result);
		stop = stop_of_copy(&input, stop);
		stats_count(stacks, &result);
		n = user_part(stacks, n, &result);
	}
	*ret_chain = (struct wick_words){stacks->chain, n};
	return stop;
}

void stacks_set_effort(struct stacks *stacks, enum effort effort)
{
	stacks->effort = effort;
}

void stacks_stats(const struct stacks *stacks, struct stacks_stats *ret_stats)
{
	*ret_stats = stacks->stats;
	unwinder_stats(stacks->unwinder, &ret_stats->unwind);
}
