/*
 * Samples a command, unwinds every sample and prints the stacks, for the tests of the unwinder:
 *
 *     unwind-samples [-F HZ] [-s STACK_BYTES] [-n SAMPLES] [-u] [-l] [-r REPEAT] [-t
 * TABLE_BYTES] -- COMMAND...
 *
 *     sample PID TID STOP late|- dso
 *     	ADDR HOW symbol module
 *     	* N                       the same frame N times more
 *     (an empty line)
 *
 * With -l stacks are unwound while the command runs, and memory is read late.
 *
 * and at the end "stats ..." lines; with -r, every stack is unwound so often again, and the
 * time and the allocations are told. Exit status 77: perf events are not allowed here.
 */
#include "object/elf_symbols.h"
#include "tests/unwind_collect.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES = UNWIND_DEPTH_MAX, SKIPPED = 77 };

static uint64_t allocations;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
/* Counts what the unwinder allocates; glibc exports the real ones. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	allocations++;
	return __libc_realloc(p, size);
}
#endif

struct named {
	bool tried, open;
	struct elf elf;
	struct elf_symbols symbols;
};

struct dump {
	struct unwinder *unwinder;
	struct named *named; /* by dso */
	uint32_t named_count;
	unsigned repeat;
	bool quiet, live;
	struct collection *collection;
	pid_t pid; /* of the sample at hand */
	uint64_t stops[STOP_COUNT], counts[UNWIND_HOW_COUNT], samples, frames;
	uint64_t warm_ns, warm_frames, warm_allocations;
	uint64_t first_ns, slowest_ns;
	uint64_t missing_ns, missing_frames, misses; /* of first runs that met a new address */
	uint64_t addrs[FRAMES];
	uint8_t hows[FRAMES];
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const char *name_of(
	struct dump *dump, const struct target *target, const struct mapping *m, uint64_t addr)
{
	struct named *named;
	const struct symbol *symbol;
	uint64_t vaddr;

	if (m->dso >= dump->named_count) {
		dump->named = realloc(dump->named, (m->dso + 1) * sizeof(*dump->named));
		if (!dump->named)
			abort();
		memset(dump->named + dump->named_count, 0,
			(m->dso + 1 - dump->named_count) * sizeof(*dump->named));
		dump->named_count = m->dso + 1;
	}
	named = &dump->named[m->dso];
	if (!named->tried) {
		named->tried = true;
		named->open = collected_module_open(NULL, target, m->dso, &named->elf) >= 0 &&
			      elf_symbols_load(&named->elf, NULL, &named->symbols) >= 0;
	}
	if (!named->open || !elf_foff_to_vaddr(named->elf.segments, named->elf.segment_count,
				    addr - m->start + m->pgoff, &vaddr))
		return "?";
	symbol = symtab_find(&named->symbols.table, vaddr);
	return symbol ? named->symbols.table.names + symbol->name : "?";
}

static void print_stack(struct dump *dump, const struct wick_record *sample,
	const struct target *target, uint32_t process, const struct unwind_result *r)
{
	static const char *const hows[] = {"leaf", "cfi", "code", "fp", "scan"};
	const struct mapping *stop = target_find(target, process, r->stop_addr);

	printf("sample %u %u %d %s %s\n", sample->id.pid, sample->id.tid, (int)r->stop,
		r->late ? "late" : "-",
		stop ? strings_get(&target->strings, target->dsos[stop->dso].key.path) : "-");
	for (uint32_t i = 0; i < r->count; i++) {
		uint64_t look = r->addrs[i] - !(r->hows[i] & UNWIND_EXACT);
		const struct mapping *m = target_find(target, process, look);
		uint32_t same = 0;

		while (i + same + 1 < r->count && r->addrs[i + same + 1] == r->addrs[i] &&
			r->hows[i + same + 1] == r->hows[i])
			same++;
		printf("\t%" PRIx64 " %s%s %s %s\n", r->addrs[i],
			hows[r->hows[i] & UNWIND_HOW_MASK],
			r->hows[i] & UNWIND_EXACT ? "!" : "",
			m ? name_of(dump, target, m, look) : "?",
			m ? strings_get(&target->strings, target->dsos[m->dso].key.path) : "-");
		if (same)
			printf("\t* %u\n", same);
		i += same;
	}
	puts("");
}

static uint64_t misses_of(const struct unwinder *unwinder)
{
	struct unwind_stats stats;

	unwinder_stats(unwinder, &stats);
	return stats.misses;
}

static void first_count(struct dump *dump, uint64_t ns, uint32_t frames, uint64_t misses_before)
{
	uint64_t misses = misses_of(dump->unwinder) - misses_before;

	dump->first_ns += ns;
	if (ns > dump->slowest_ns)
		dump->slowest_ns = ns;
	if (!misses)
		return;
	dump->missing_ns += ns;
	dump->missing_frames += frames;
	dump->misses += misses;
}

static int read_process(void *ctx, uint64_t addr, void *ret_bytes, size_t len)
{
	const struct dump *dump = ctx;
	struct iovec to = {ret_bytes, len}, from = {(void *)(uintptr_t)addr, len};
	ssize_t got = process_vm_readv(dump->pid, &to, 1, &from, 1, 0);

	return got < 0 ? -errno : (int)got;
}

static void unwind_one(void *ctx, const struct wick_record *sample, const struct target *target,
	uint32_t process)
{
	struct dump *dump = ctx;
	struct unwind_input in = {
		.arch = UNWIND_X86_64,
		.target = target,
		.process = process,
		.regs = &sample->sample.regs_user,
		.stack = sample->sample.stack,
		.stack_bytes = sample->sample.stack_bytes,
	};
	struct unwind_result r = {.addrs = dump->addrs, .hows = dump->hows, .cap = FRAMES};
	uint64_t before = misses_of(dump->unwinder), start = cpu_ns(), allocated;

	if (dump->live) {
		dump->pid = (pid_t)sample->id.pid;
		in.read_memory = read_process;
		in.read_ctx = dump;
		in.late = collection_late(dump->collection, &in.late_addr, &in.late_bytes);
	}

	unwind_run(dump->unwinder, &in, &r);
	first_count(dump, cpu_ns() - start, r.count, before);
	dump->stops[r.stop]++;
	for (int i = 0; i < UNWIND_HOW_COUNT; i++)
		dump->counts[i] += r.counts[i];
	dump->frames += r.count;
	dump->samples++;
	if (!dump->quiet)
		print_stack(dump, sample, target, process, &r);
	allocated = allocations;
	start = cpu_ns();
	for (unsigned i = 0; i < dump->repeat; i++) {
		unwind_run(dump->unwinder, &in, &r);
		dump->warm_frames += r.count;
	}
	dump->warm_ns += cpu_ns() - start;
	dump->warm_allocations += allocations - allocated;
}

/* A miss costs what a sample with misses takes more than one of as many frames without any. */
static void print_times(const struct dump *dump)
{
	double hit_frames = (double)(dump->frames - dump->missing_frames);
	double hit_ns = (double)(dump->first_ns - dump->missing_ns);
	double per_frame = hit_frames > 0 ? hit_ns / hit_frames : 0;

	printf("stats first %.0f ns a sample, slowest %.0f, %.1f ns a frame without misses",
		dump->samples ? (double)dump->first_ns / (double)dump->samples : 0,
		(double)dump->slowest_ns, per_frame);
	if (dump->misses)
		printf(", a miss %.0f ns",
			((double)dump->missing_ns - per_frame * (double)dump->missing_frames) /
				(double)dump->misses);
	if (dump->warm_frames)
		printf("\nstats warm %.1f ns a frame, %" PRIu64 " allocations",
			(double)dump->warm_ns / (double)dump->warm_frames,
			dump->warm_allocations);
	puts("");
}

static void print_totals(const struct dump *dump, const struct collection *collection)
{
	struct unwind_stats stats;

	unwinder_stats(dump->unwinder, &stats);
	printf("stats samples %" PRIu64 " of %u lost %" PRIu64 " frames %" PRIu64 "\n",
		dump->samples, collection_samples(collection), collection_lost(collection),
		dump->frames);
	printf("stats stops");
	for (int i = 0; i < STOP_COUNT; i++)
		if (dump->stops[i])
			printf(" | %s: %" PRIu64, quality_stop_name((enum stack_stop)i),
				dump->stops[i]);
	printf("\nstats how leaf %" PRIu64 " cfi %" PRIu64 " code %" PRIu64 " fp %" PRIu64
	       " scan %" PRIu64 "\n",
		dump->counts[0], dump->counts[1], dump->counts[2], dump->counts[3],
		dump->counts[4]);
	printf("stats cache hits %" PRIu64 " rechecked %" PRIu64 " misses %" PRIu64
	       " from rows %" PRIu64 " modules %" PRIu64 " evicted %" PRIu64 " tables %zu\n",
		stats.hits, stats.rechecked, stats.misses, stats.from_rows,
		stats.modules_opened, stats.modules_evicted, stats.tables_bytes);
	print_times(dump);
}

int main(int argc, char **argv)
{
	struct unwinder_options options = {
		.open_module = collected_module_open, .close_module = collected_module_close};
	struct collect_options collect_options = {
		.hz = 999, .stack_bytes = 32768, .samples_max = 5000, .quiet = 1};
	static struct dump dump;
	struct collection *collection;
	struct target target = {0};
	int rc, opt;

	while ((opt = getopt(argc, argv, "+F:s:n:r:t:uql")) != -1) {
		unsigned long number = optarg ? strtoul(optarg, NULL, 0) : 0;

		if (opt == 'F')
			collect_options.hz = number;
		else if (opt == 's')
			collect_options.stack_bytes = (uint32_t)number;
		else if (opt == 'n')
			collect_options.samples_max = (uint32_t)number;
		else if (opt == 'r')
			dump.repeat = (unsigned)number;
		else if (opt == 't')
			options.tables_limit = number;
		else if (opt == 'u')
			collect_options.user_only = true;
		else if (opt == 'l')
			dump.live = true;
		else if (opt == 'q')
			dump.quiet = true;
		else
			return 2;
	}
	if (optind == argc)
		return 2;
	collect_options.argv = argv + optind;
	if (unwinder_new(&options, &dump.unwinder) < 0)
		return 1;
	if (dump.live) {
		collect_options.live = unwind_one;
		collect_options.live_target = &target;
		collect_options.live_ctx = &dump;
		collect_options.live_collection = &dump.collection;
	}
	rc = collect(&collect_options, &collection);
	if (rc < 0) {
		fprintf(stderr, "unwind-samples: cannot sample: %s\n", strerror(-rc));
		return rc == -EACCES || rc == -EPERM || rc == -ENOSYS ? SKIPPED : 1;
	}
	collection_replay(collection, &target, unwind_one, &dump);
	print_totals(&dump, collection);
	unwinder_free(dump.unwinder);
	collection_free(collection);
	target_done(&target);
	for (uint32_t i = 0; i < dump.named_count; i++) {
		if (dump.named[i].open) {
			elf_symbols_done(&dump.named[i].symbols);
			collected_module_close(NULL, i, &dump.named[i].elf);
		}
	}
	free(dump.named);
	return 0;
}
