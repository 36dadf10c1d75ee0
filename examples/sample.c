/*
 * The smallest profiler on the first layer: N samples of a process, with names.
 *
 *     sample [PID [N]]      default: itself, 20 samples
 *     cc sample.c -lwick -lelf
 *
 *     401196 pid 4242 tid 4242 time 81234.567890123 cpu 1
 *         0x401196 inner+0x16 (/tmp/sample)
 *         0x4011d3 outer+0x13 (/tmp/sample)
 *
 * An event follows one thread, and with `inherit` the threads that it starts later. A ring of
 * an inherited event must belong to one CPU. So: one event for each thread and CPU, and one
 * ring for each CPU that they share. The rings are read one after another: time is in order for
 * each CPU.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf */
#endif

#include <wick/perf_event.h>
#include <wick/perf_ringbuf.h>
#include <wick/record.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define RING_PAGES 64

/* ---- names: address -> file offset (maps) -> vaddr (PT_LOAD) -> symbol */

struct mapping {
	uint64_t start, end, pgoff;
	char *path;
};

/* The mappings of one process as of now; read again when it maps something. */
static struct {
	pid_t pid; /* 0: to be read */
	struct mapping *list;
	size_t count;
} maps;

/* ELF files stay open. */
struct module {
	char *path;
	Elf *elf; /* NULL: none, or not readable */
	struct module *next;
};

static struct module *modules;

static void maps_drop(void)
{
	for (size_t i = 0; i < maps.count; i++)
		free(maps.list[i].path);
	free(maps.list);
	memset(&maps, 0, sizeof(maps));
}

/* 00400000-00452000 r-xp 00002000 08:02 173521      /usr/bin/dbus-daemon */
static void maps_add_line(char *line)
{
	char *at = line, *path = strpbrk(line, "/[");
	struct mapping mapping = {0}, *grown;

	mapping.start = strtoull(at, &at, 16);
	if (*at != '-')
		return;
	mapping.end = strtoull(at + 1, &at, 16);
	if (strlen(at) < 6 || at[3] != 'x')
		return;
	mapping.pgoff = strtoull(at + 6, NULL, 16);
	line[strcspn(line, "\n")] = '\0';
	mapping.path = strdup(path ? path : "[anonymous]");
	grown = realloc(maps.list, (maps.count + 1) * sizeof(*grown));
	if (!mapping.path || !grown) {
		free(mapping.path);
		return;
	}
	maps.list = grown;
	maps.list[maps.count++] = mapping;
}

static const struct mapping *maps_find(pid_t pid, uint64_t addr)
{
	char path[64], *line = NULL;
	size_t cap = 0;

	if (maps.pid != pid) {
		FILE *file;

		maps_drop();
		snprintf(path, sizeof(path), "/proc/%d/maps", pid);
		file = fopen(path, "re");
		while (file && getline(&line, &cap, file) > 0)
			maps_add_line(line);
		if (file)
			fclose(file);
		free(line);
		maps.pid = pid;
	}
	for (size_t i = 0; i < maps.count; i++)
		if (addr >= maps.list[i].start && addr < maps.list[i].end)
			return &maps.list[i];
	return NULL;
}

static Elf *module_elf(pid_t pid, const char *path)
{
	struct module *module;
	char *full = NULL;
	int fd;

	for (module = modules; module; module = module->next)
		if (strcmp(module->path, path) == 0)
			return module->elf;
	module = calloc(1, sizeof(*module));
	if (!module || !(module->path = strdup(path))) {
		free(module);
		return NULL;
	}
	module->next = modules;
	modules = module;
	/* As the process sees it: it may live in a container. */
	if (path[0] != '/' || asprintf(&full, "/proc/%d/root%s", pid, path) < 0)
		return NULL;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	free(full);
	if (fd >= 0)
		module->elf = elf_begin(fd, ELF_C_READ, NULL);
	return module->elf;
}

static int foff_to_vaddr(Elf *elf, uint64_t foff, uint64_t *ret_vaddr)
{
	size_t count = 0;
	GElf_Phdr load;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &load) || load.p_type != PT_LOAD)
			continue;
		if (foff >= load.p_offset && foff - load.p_offset < load.p_filesz) {
			*ret_vaddr = foff - load.p_offset + load.p_vaddr;
			return 0;
		}
	}
	return -ENOENT;
}

/* The function that holds vaddr in a section of this type; NULL: none. */
static const char *symbol_in(Elf *elf, uint32_t type, uint64_t vaddr, uint64_t *ret_start)
{
	const char *name = NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	while (!name && (section = elf_nextscn(elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != type)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
				vaddr < symbol.st_value ||
				vaddr - symbol.st_value >= symbol.st_size)
				continue;
			*ret_start = symbol.st_value;
			name = elf_strptr(elf, header.sh_link, symbol.st_name);
			break;
		}
	}
	return name;
}

/*
 * Prints one frame. A caller is known by its return address, which may be the first byte of
 * the next function: it is looked up one byte before.
 */
static void print_frame(pid_t pid, uint64_t addr, int is_caller)
{
	uint64_t lookup = addr - (is_caller ? 1 : 0), vaddr, start;
	const struct mapping *mapping = maps_find(pid, lookup);
	const char *name = NULL;
	Elf *elf;

	if (!mapping) {
		printf("    %#" PRIx64 " (unknown)\n", addr);
		return;
	}
	elf = module_elf(pid, mapping->path);
	if (elf && foff_to_vaddr(elf, lookup - mapping->start + mapping->pgoff, &vaddr) == 0) {
		name = symbol_in(elf, SHT_SYMTAB, vaddr, &start);
		if (!name)
			name = symbol_in(elf, SHT_DYNSYM, vaddr, &start);
	}
	if (name)
		printf("    %#" PRIx64 " %s+%#" PRIx64 " (%s)\n", addr, name,
			vaddr - start + (is_caller ? 1 : 0), mapping->path);
	else
		printf("    %#" PRIx64 " (%s)\n", addr, mapping->path);
}

/* ---- samples */

static void print_sample(const struct wick_record *record)
{
	const struct wick_words *chain = &record->sample.callchain;
	uint64_t kind = 0;
	int is_caller = 0;

	printf("%" PRIx64 " pid %u tid %u time %" PRIu64 ".%09" PRIu64 " cpu %u\n",
		record->sample.ip, record->id.pid, record->id.tid, record->id.time / 1000000000,
		record->id.time % 1000000000, record->id.cpu);
	for (uint64_t i = 0; i < chain->n; i++) {
		uint64_t addr = wick_word(*chain, i);

		if (addr >= PERF_CONTEXT_MAX) { /* a marker, not an address */
			kind = addr;
			is_caller = 0; /* what follows is where this side was interrupted */
			continue;
		}
		if (kind == PERF_CONTEXT_KERNEL)
			printf("    %#" PRIx64 " (kernel)\n", addr);
		else
			print_frame((pid_t)record->id.pid, addr, is_caller);
		is_caller = 1;
	}
}

/* Reads what one ring holds; prints samples while *left lasts. */
static void drain(struct perf_ringbuf *ring, const struct wick_layout *layout, unsigned *left)
{
	struct wick_record record;
	const void *bytes;
	int size;

	perf_ringbuf_fetch(ring);
	while (*left && (size = perf_ringbuf_peek(ring, &bytes)) != 0) {
		if (size < 0) {
			fprintf(stderr, "sample: a broken ring, %" PRIu64 " bytes skipped\n",
				perf_ringbuf_skip(ring));
			break;
		}
		if (wick_record_decode(layout, bytes, (size_t)size, &record) < 0) {
			fprintf(stderr, "sample: a record of type %u cannot be decoded\n",
				record.type);
		} else if (record.type == PERF_RECORD_SAMPLE) {
			print_sample(&record);
			--*left;
		} else if (record.type == PERF_RECORD_LOST) {
			fprintf(stderr, "sample: %" PRIu64 " records lost\n", record.lost.lost);
		} else if (record.type == PERF_RECORD_THROTTLE) {
			fprintf(stderr, "sample: the kernel throttles\n");
		} else if (record.type == PERF_RECORD_MMAP2) {
			maps.pid = 0;
		}
		perf_ringbuf_next(ring);
	}
	perf_ringbuf_release(ring);
}

/* ---- events */

struct session {
	struct perf_event_attr attr;
	struct pollfd
		*events; /* every thread on every CPU; fd is ~fd when its thread is gone */
	size_t event_count;
	struct perf_ringbuf **rings; /* one for each CPU; NULL: none */
	int *ring_fds;
	size_t ring_count;
};

/* The best event that opens here: cycles, else the CPU clock; with the kernel's part, or
 * without. */
static int choose_event(struct perf_event_attr *attr, pid_t tid)
{
	static const struct {
		uint32_t type;
		uint64_t config;
	} events[] = {
		{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	};
	int fd = -ENOENT;

	for (size_t i = 0; i < 4; i++) {
		attr->type = events[i / 2].type;
		attr->config = events[i / 2].config;
		attr->exclude_kernel = i % 2;
		fd = perf_open(attr, tid, -1, -1, 0);
		if (fd >= 0)
			return perf_close(fd);
	}
	return fd;
}

/* Adds an event to the session, which closes it at the end; to its CPU's ring, too. */
static int add_event(struct session *session, int fd, int cpu)
{
	struct pollfd *grown =
		realloc(session->events, (session->event_count + 1) * sizeof(*grown));

	if (!grown) {
		perf_close(fd);
		return -ENOMEM;
	}
	session->events = grown;
	session->events[session->event_count++] = (struct pollfd){fd, POLLIN, 0};
	if (!session->rings[cpu]) {
		session->ring_fds[cpu] = fd;
		return perf_ringbuf_open(fd, RING_PAGES, &session->rings[cpu]);
	}
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, session->ring_fds[cpu]) < 0 ? -errno : 0;
}

/* One thread: an event on each CPU. */
static int attach_thread(struct session *session, pid_t tid, int cpus)
{
	int rc = 0;

	for (int cpu = 0; cpu < cpus && rc == 0; cpu++) {
		int fd = perf_open(&session->attr, tid, cpu, -1, 0);

		if (fd == -ESRCH || fd == -ENODEV) /* the thread is gone; the CPU is off */
			continue;
		rc = fd < 0 ? fd : add_event(session, fd, cpu);
	}
	return rc;
}

/* Every thread that there is now; `inherit` brings those that they start. */
static int attach_process(struct session *session, pid_t pid)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), rc;
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	rc = choose_event(&session->attr, pid);
	if (rc < 0)
		return rc;
	session->ring_count = (size_t)cpus;
	session->rings = calloc((size_t)cpus, sizeof(struct perf_ringbuf *));
	session->ring_fds = calloc((size_t)cpus, sizeof(*session->ring_fds));
	if (!session->rings || !session->ring_fds)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return -errno;
	while (rc == 0 && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			rc = attach_thread(
				session, (pid_t)strtol(entry->d_name, NULL, 10), cpus);
	closedir(tasks);
	if (rc == 0 && !session->event_count)
		rc = -ESRCH;
	for (size_t i = 0; i < session->event_count && rc == 0; i++)
		rc = perf_start(session->events[i].fd);
	return rc;
}

static void session_done(struct session *session)
{
	for (size_t i = 0; i < session->ring_count && session->rings; i++)
		perf_ringbuf_close(session->rings[i]);
	for (size_t i = 0; i < session->event_count; i++) {
		int fd = session->events[i].fd;

		perf_close(fd < 0 ? ~fd : fd);
	}
	free(session->rings);
	free(session->ring_fds);
	free(session->events);
	maps_drop();
	while (modules) {
		struct module *next = modules->next;

		elf_end(modules->elf);
		free(modules->path);
		free(modules);
		modules = next;
	}
}

/* ---- something to see */

static volatile uint64_t sink;

__attribute__((noinline)) static uint64_t inner(uint64_t n)
{
	uint64_t sum = 0;

	/* Asked for, it is set up: compilers leave it out of functions that call nothing, and
	 * the kernel, which walks frame pointers, would miss the caller. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (uint64_t i = 0; i < n; i++) {
		sum = sum * 31 + i;
		__asm__ volatile("" : "+r"(sum));
	}
	return sum;
}

__attribute__((noinline)) static void often(void)
{
	sink = inner(3000000);
}

__attribute__((noinline)) static void seldom(void)
{
	sink = inner(1000000);
}

/* True: the target is gone. */
static int wait_for_samples(struct session *session, pid_t pid)
{
	int alive = 0;

	if (pid == getpid()) {
		often();
		seldom();
		return 0;
	}
	poll(session->events, session->event_count, 1000);
	for (size_t i = 0; i < session->event_count; i++) {
		struct pollfd *event = &session->events[i];

		if (event->revents & POLLHUP)
			event->fd = ~event->fd; /* or poll spins on it */
		alive |= event->fd >= 0;
	}
	return !alive;
}

static int run(struct session *session, pid_t pid, unsigned left)
{
	struct wick_layout layout;
	int rc = attach_process(session, pid), gone = 0;

	if (rc == 0)
		rc = wick_layout_init(&layout, &session->attr);
	if (rc < 0)
		return rc;
	while (left && !gone) {
		gone = wait_for_samples(session, pid);
		for (size_t i = 0; i < session->ring_count; i++)
			if (session->rings[i])
				drain(session->rings[i], &layout, &left);
	}
	return 0;
}

/* A number that is the whole word and at least 1; 0: it is none. */
static long number(const char *word)
{
	char *end;
	long value = strtol(word, &end, 10);

	return *word && !*end && value > 0 && value < INT32_MAX ? value : 0;
}

int main(int argc, char **argv)
{
	struct session session = {
		.attr =
			{
				.size = sizeof(struct perf_event_attr),
				.freq = 1, /* the kernel adapts the period */
				.sample_freq =
					997, /* prime: keeps out of step with what runs */
				.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
					       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
					       PERF_SAMPLE_CALLCHAIN,
				.disabled = 1,
				.inherit = 1,
				.mmap = 1,
				.mmap2 = 1,
				.sample_id_all = 1,
				.use_clockid = 1,
				.clockid = CLOCK_MONOTONIC,
				.wakeup_events = 1,
			},
	};
	long pid = argc > 1 ? number(argv[1]) : getpid(),
	     count = argc > 2 ? number(argv[2]) : 20;
	int rc;

	if (argc > 3 || !pid || !count) {
		fprintf(stderr, "usage: sample [PID [N]]\n");
		return 2;
	}
	elf_version(EV_CURRENT);
	rc = run(&session, (pid_t)pid, (unsigned)count);
	if (rc < 0)
		fprintf(stderr, "sample: %s%s\n", strerror(-rc),
			rc == -EACCES || rc == -EPERM ? " (see kernel.perf_event_paranoid, and "
							"the container's seccomp)"
						      : "");
	session_done(&session);
	return rc < 0;
}
