/*
 * The two sides of the conformance suite: the real kernel, and the core of src/softperf. Each
 * check talks to a side through this table and writes what it saw as text; the texts must be
 * those of tests/conformance/expected.txt, which the kernel wrote.
 */
#pragma once

#include "abi/perf_abi.h"
#include "base/strbuf.h"
#include "wick/perf_ringbuf.h"
#include "wick/record.h"

#include <stdint.h>

enum { SIDE_SELF = 0, SIDE_NOBODY = -1, SIDE_GONE = 4194303, SIDE_CHILD = -2 };

/* argv[1] of the program that k_child_exec() starts: it touches pages and ends. */
#define SIDE_EXEC_CHILD "--exec-child"

struct side {
	const char *name;
	void *data;
	/* The raw system call: attr.size may be written to. */
	int (*open)(struct side *side, struct perf_event_attr *attr, int pid, int cpu,
		int group, unsigned long flags);
	void (*close)(struct side *side, int fd);
	int (*ioctl)(struct side *side, int fd, unsigned long request, uint64_t arg);
	int64_t (*read)(struct side *side, int fd, void *buf, size_t size);
	int (*poll)(struct side *side, int fd); /* its revents; does not wait */
	/* Only whether it works; unmaps again. */
	int (*map)(struct side *side, int fd, size_t pages);
	int (*ring)(struct side *side, int fd, size_t pages, struct perf_ringbuf **ret_ring);
	/* A read-only mapping, which the writer overwrites; NULL: no. */
	const void *(*map_overwrite)(struct side *side, int fd, size_t pages);
	void (*unmap)(struct side *side, int fd, const void *map, size_t pages);
	/* The caller, on CPU 0, in user mode: touches `n` new pages (100 at most). */
	void (*fault)(struct side *side, uint32_t n);
	void (*spin)(struct side *side, uint64_t ns);
	/* The same time in a system call, or in several with little between them. */
	void (*in_kernel)(struct side *side, uint64_t ns);
	/* A child that lives until child_end(), at once on the CPU; touches `n` pages. */
	void (*child)(struct side *side, uint32_t n);
	void (*child_begin)(struct side *side); /* one that waits: SIDE_CHILD */
	void (*child_end)(struct side *side);
	void (*child_exec)(struct side *side); /* it becomes another program, and ends */
	void (*rename)(struct side *side, const char *comm);
	/* kernel.perf_event_max_sample_rate; 0: as it was. -EPERM: it is not ours to set. */
	int (*limit)(struct side *side, uint64_t rate);
	uint64_t region, region_end; /* what the pages lie in */
	int32_t pid;
	const char *skip; /* set by a check that cannot be made here: why */
};

int side_kernel(struct side *ret_side); /* negative errno: events are not allowed here */
int side_core(struct side *ret_side);
void side_core_done(struct side *side);

/* ---- checks.c */

struct check {
	const char *name;
	void (*run)(struct side *side, struct strbuf *out);
};

extern const struct check checks[];
extern const uint32_t check_count;

/* ---- hardware.c */

extern const struct check hardware_checks[];
extern const uint32_t hardware_check_count;
