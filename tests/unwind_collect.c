/*
 * One ring a CPU; records are copied out whenever a ring has some, with their times beside
 * them, and sorted by time (stable) before they are replayed.
 */
#include "tests/unwind_collect.h"

#include "abi/perf_abi.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "wick/perf_event.h"
#include "wick/perf_ringbuf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RING_PAGES = 1024, CPUS_MAX = 256 };

struct kept {
	uint64_t time;
	uint8_t *bytes;
	void *late; /* of the stack behind what was copied */
	uint64_t late_addr, late_bytes;
};

struct collection {
	const struct kept *now; /* being replayed */
	bool read_late;
	struct wick_layout layout;
	struct kept *at;
	uint32_t count, cap, samples, samples_max;
	uint64_t lost;
};

struct rings {
	int fds[CPUS_MAX];
	struct perf_ringbuf *rings[CPUS_MAX];
	int count;
};

static struct perf_event_attr attr_of(const struct collect_options *options)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.flags = ATTR_DISABLED | ATTR_INHERIT | ATTR_FREQ | ATTR_ENABLE_ON_EXEC |
			 ATTR_MMAP | ATTR_MMAP2 | ATTR_COMM | ATTR_COMM_EXEC | ATTR_TASK |
			 ATTR_SAMPLE_ID_ALL | ATTR_WATERMARK,
		.sample_regs_user = 0xff0fff,
		.sample_stack_user = options->stack_bytes,
	};

	attr.sample_period = options->hz;
	attr.wakeup_events = options->live ? 40000 : RING_PAGES * 1024;
	if (options->user_only)
		attr.flags |= ATTR_EXCLUDE_KERNEL;
	return attr;
}

static void rings_close(struct rings *rings)
{
	for (int i = 0; i < rings->count; i++) {
		perf_ringbuf_close(rings->rings[i]);
		perf_close(rings->fds[i]);
	}
	rings->count = 0;
}

static int rings_open(struct rings *rings, const struct perf_event_attr *attr, pid_t pid)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (int cpu = 0; cpu < cpus && cpu < CPUS_MAX; cpu++) {
		int fd = perf_open(attr, pid, cpu, -1, 0), rc;

		if (fd < 0)
			return fd;
		rc = perf_ringbuf_open(fd, RING_PAGES, &rings->rings[rings->count]);
		if (rc < 0) {
			perf_close(fd);
			return rc;
		}
		rings->fds[rings->count++] = fd;
	}
	return 0;
}

/* What is behind a copy that is full, with some overlap. */
static void keep_late(struct collection *c, struct kept *kept)
{
	enum { OVERLAP = 4096, MORE = 512 << 10 };
	struct wick_record record;
	struct perf_event_header header;
	struct iovec to, from;
	uint64_t sp;
	ssize_t got;

	memcpy(&header, kept->bytes, sizeof(header));
	if (header.type != PERF_RECORD_SAMPLE ||
		wick_record_decode(&c->layout, kept->bytes, header.size, &record) < 0 ||
		record.sample.stack_bytes < OVERLAP ||
		record.sample.stack_bytes + 8 < record.sample.stack_asked)
		return;
	sp = wick_word(record.sample.regs_user.values, 7);
	kept->late_addr = sp + record.sample.stack_bytes - OVERLAP;
	kept->late = malloc(MORE);
	to = (struct iovec){kept->late, MORE};
	from = (struct iovec){(void *)(uintptr_t)kept->late_addr, MORE};
	got = kept->late ? process_vm_readv((pid_t)record.id.pid, &to, 1, &from, 1, 0) : -1;
	kept->late_bytes = got > 0 ? (uint64_t)got : 0;
}

static void kept_free(struct kept *kept)
{
	free(kept->bytes);
	free(kept->late);
	kept->bytes = kept->late = NULL;
}

static int keep(struct collection *c, const void *record, size_t size)
{
	struct perf_event_header header;
	struct kept *kept;

	memcpy(&header, record, sizeof(header));
	if (header.type == PERF_RECORD_LOST) {
		uint64_t lost;

		memcpy(&lost, (const uint8_t *)record + 16, sizeof(lost));
		c->lost += lost;
		return 0;
	}
	if (header.type == PERF_RECORD_SAMPLE && ++c->samples > c->samples_max)
		return 0;
	if (array_reserve(&c->at, &c->cap, c->count + 1ull, sizeof(*c->at), 1 << 24) < 0)
		return -ENOMEM;
	kept = &c->at[c->count];
	kept->bytes = malloc(size);
	if (!kept->bytes)
		return -ENOMEM;
	memcpy(kept->bytes, record, size);
	kept->time = wick_record_time(&c->layout, record);
	kept->late = NULL;
	kept->late_addr = kept->late_bytes = 0;
	if (c->read_late)
		keep_late(c, kept);
	c->count++;
	return 0;
}

static int rings_drain(struct rings *rings, struct collection *c)
{
	const void *record;
	int rc = 0, size;

	for (int i = 0; i < rings->count && rc == 0; i++) {
		perf_ringbuf_fetch(rings->rings[i]);
		while (rc == 0 && (size = perf_ringbuf_peek(rings->rings[i], &record)) > 0) {
			rc = keep(c, record, (size_t)size);
			perf_ringbuf_next(rings->rings[i]);
		}
		perf_ringbuf_release(rings->rings[i]);
	}
	return rc;
}

/* The child waits for a byte, then becomes the command. */
static pid_t start(const struct collect_options *options, int *ret_go)
{
	int go[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		char byte;

		if (options->until_full) {
			setpgid(0, 0);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		}
		if (read(go[0], &byte, 1) == 1) {
			if (options->quiet) {
				int null = open("/dev/null", O_RDWR | O_CLOEXEC);

				dup2(null, 1);
				dup2(null, 2);
			}
			execvp(options->argv[0], options->argv);
		}
		_exit(127);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

static int sort(struct collection *c);

static int live(const struct collect_options *options, struct collection *c)
{
	int rc = sort(c);

	if (rc == 0)
		rc = collection_replay(
			c, options->live_target, options->live, options->live_ctx);
	for (uint32_t i = 0; i < c->count; i++)
		kept_free(&c->at[i]);
	c->count = 0;
	return rc;
}

static int run(const struct collect_options *options, struct collection *c)
{
	struct perf_event_attr attr = attr_of(options);
	struct rings rings = {.count = 0};
	struct pollfd polls[CPUS_MAX];
	int go = -1, rc, status;
	bool done = false;
	pid_t pid;

	rc = wick_layout_init(&c->layout, &attr);
	pid = rc < 0 ? -1 : start(options, &go);
	if (pid < 0)
		return rc < 0 ? rc : -errno;
	rc = rings_open(&rings, &attr, pid);
	if (rc == 0 && write(go, "g", 1) != 1)
		rc = -EIO;
	close(go);
	for (int i = 0; i < rings.count; i++)
		polls[i] = (struct pollfd){.fd = rings.fds[i], .events = POLLIN};
	while (rc == 0 && !done) {
		done = waitpid(pid, &status, WNOHANG) == pid;
		rc = rings_drain(&rings, c);
		if (rc == 0 && options->live)
			rc = live(options, c);
		if (!done)
			poll(polls, (nfds_t)rings.count, 20);
		for (int i = 0; i < rings.count; i++)
			if (polls[i].revents & POLLHUP)
				polls[i].fd = -1;
		if (options->until_full && c->samples >= c->samples_max)
			kill(-pid, SIGKILL);
	}
	if (!done)
		waitpid(pid, &status, 0);
	rings_close(&rings);
	return rc;
}

static int by_time(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Stable, unlike qsort() says of itself. */
static int sort(struct collection *c)
{
	struct kept *copy = malloc(c->count * sizeof(*copy) + 1);

	if (!copy)
		return -ENOMEM;
	for (uint32_t width = 1; width < c->count; width *= 2) {
		for (uint32_t lo = 0; lo < c->count; lo += 2 * width) {
			uint32_t mid = lo + width < c->count ? lo + width : c->count;
			uint32_t hi = mid + width < c->count ? mid + width : c->count;

			for (uint32_t i = lo, j = mid, k = lo; k < hi; k++)
				copy[k] = j >= hi || (i < mid &&
							     by_time(&c->at[i], &c->at[j]) <= 0)
						  ? c->at[i++]
						  : c->at[j++];
		}
		memcpy(c->at, copy, c->count * sizeof(*copy));
	}
	free(copy);
	return 0;
}

int collect(const struct collect_options *options, struct collection **ret_collection)
{
	struct collection *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->samples_max = options->samples_max;
	c->read_late = options->live;
	if (options->live_collection)
		*options->live_collection = c;
	rc = run(options, c);
	if (rc == 0)
		rc = sort(c);
	if (rc < 0)
		collection_free(c);
	else
		*ret_collection = c;
	return rc;
}

void collection_free(struct collection *collection)
{
	if (!collection)
		return;
	for (uint32_t i = 0; i < collection->count; i++)
		kept_free(&collection->at[i]);
	free(collection->at);
	free(collection);
}

uint32_t collection_samples(const struct collection *collection)
{
	return collection->samples;
}

uint64_t collection_lost(const struct collection *collection)
{
	return collection->lost;
}

static int apply_mmap(struct target *target, const struct wick_record_mmap *mmap)
{
	enum dso_kind kind = dso_kind_of(mmap->filename.text, false);
	struct dso_key key = {
		.kind = kind,
		.maj = mmap->maj,
		.min = mmap->min,
		.ino = mmap->ino,
		.anon_pid = kind == DSO_ANON ? mmap->pid : 0,
	};
	struct mapping mapping = {.start = mmap->addr,
		.end = mmap->addr + mmap->len,
		.pgoff = mmap->pgoff,
		.prot = mmap->prot};
	int rc = strings_add(
		&target->strings, mmap->filename.text, mmap->filename.len, &key.path);

	if (rc == 0)
		rc = target_dso(target, &key, &mapping.dso);
	return rc < 0 ? rc : target_map(target, (int32_t)mmap->pid, &mapping);
}

static void apply(struct target *target, const struct wick_record *record)
{
	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		apply_mmap(target, &record->mmap);
		break;
	case PERF_RECORD_COMM:
		target_comm(target, (int32_t)record->comm.pid, (int32_t)record->comm.tid,
			record->comm.name.text,
			(record->misc & PERF_RECORD_MISC_COMM_EXEC) != 0);
		break;
	case PERF_RECORD_FORK:
		target_fork(target, (int32_t)record->task.ppid, (int32_t)record->task.ptid,
			(int32_t)record->task.pid, (int32_t)record->task.tid);
		break;
	case PERF_RECORD_EXIT:
		target_exit(target, (int32_t)record->task.pid, (int32_t)record->task.tid);
		break;
	default:
		break;
	}
}

int collection_replay(
	struct collection *collection, struct target *target, collection_fn fn, void *ctx)
{
	for (uint32_t i = 0; i < collection->count; i++) {
		const uint8_t *bytes = collection->at[i].bytes;
		struct perf_event_header header;
		struct wick_record record;
		uint32_t thread;

		collection->now = &collection->at[i];
		memcpy(&header, bytes, sizeof(header));
		if (wick_record_decode(&collection->layout, bytes, header.size, &record) < 0)
			continue;
		if (record.type != PERF_RECORD_SAMPLE) {
			apply(target, &record);
			continue;
		}
		thread = target_thread(target, (int32_t)record.id.pid, (int32_t)record.id.tid);
		if (thread == TARGET_NONE)
			return -ENOMEM;
		fn(ctx, &record, target, target->threads[thread].process);
	}
	return 0;
}

const void *collection_late(
	const struct collection *collection, uint64_t *ret_addr, uint64_t *ret_bytes)
{
	*ret_addr = collection->now->late_addr;
	*ret_bytes = collection->now->late_bytes;
	return *ret_bytes ? collection->now->late : NULL;
}

size_t own_vdso(const void **ret_bytes)
{
	/* The kernel's image is a few pages; its section headers are its last part. */
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)base;

	if (!base)
		return 0;
	*ret_bytes = (const void *)base;
	return ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize;
}

int collected_module_open(
	void *ctx, const struct target *target, uint32_t dso, struct elf *ret_elf)
{
	const struct dso_key *key = &target->dsos[dso].key;
	const void *vdso;
	size_t len;
	int fd, rc;

	(void)ctx;
	if (key->kind == DSO_VDSO) {
		len = own_vdso(&vdso);
		return len ? elf_open_bytes(vdso, len, ret_elf, NULL) : -ENOENT;
	}
	if (key->kind != DSO_FILE)
		return -ENOENT;
	fd = open(strings_get(&target->strings, key->path), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = elf_open_fd(fd, ret_elf, NULL);
	if (rc < 0)
		close(fd);
	return rc;
}

void collected_module_close(void *ctx, uint32_t dso, struct elf *elf)
{
	(void)ctx, (void)dso;
	if (elf->fd >= 0)
		close(elf->fd);
	elf_close(elf);
}
