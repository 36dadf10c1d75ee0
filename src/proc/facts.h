/*
 * What the kernel and the machine are, and what they allow: the limits that decide what can be
 * recorded, the kernel's identity, and the lines of the file header.
 */
#pragma once

#include "proc/proc.h"

#include <stddef.h>
#include <stdint.h>

/* A knob that is not there (another kernel, another configuration, a container). */
#define FACT_NONE INT64_MIN

struct perf_limits {
	int64_t paranoid; /* kernel.perf_event_paranoid; FACT_NONE: no perf events at all */
	int64_t mlock_kb; /* kernel.perf_event_mlock_kb: locked ring memory a CPU and user */
	int64_t max_sample_rate; /* kernel.perf_event_max_sample_rate, Hz */
	int64_t max_stack;	 /* kernel.perf_event_max_stack, frames */
	int64_t kptr_restrict;	 /* kernel.kptr_restrict: 1, 2 hide kernel addresses */
	int64_t ptrace_scope;	 /* kernel.yama.ptrace_scope; FACT_NONE: no Yama, nothing
				    restricted */
};

void perf_limits_read(const struct proc *proc, struct perf_limits *ret_limits);

enum { KERNEL_BUILD_ID_MAX = 20 };

/* The running kernel's build id, from /sys/kernel/notes. Its bytes, -ENOENT when it has none.
 */
int kernel_build_id(const struct proc *proc, uint8_t ret_id[KERNEL_BUILD_ID_MAX]);

/* The same out of any block of ELF notes (of this machine's byte order, padded to `align`). */
int notes_build_id(
	const void *notes, size_t len, size_t align, uint8_t ret_id[KERNEL_BUILD_ID_MAX]);

/* Run-time addresses; 0 where kptr_restrict hides them or the symbol is not there. */
struct kernel_text {
	uint64_t text;	/* _text: "[kernel.kallsyms]_text" in mapping records */
	uint64_t stext; /* _stext: the anchor by which symbols are moved */
};

/* Reads /proc/kallsyms only up to these two (the first page on most machines). */
int kernel_text_read(const struct proc *proc, struct kernel_text *ret_text);

/* "ext4 1003520 1 - Live 0xffffffffc0a00000" in /proc/modules; addr is 0 where it is hidden. */
struct kernel_module {
	const char *name; /* valid during the call */
	uint64_t addr, size;
};

typedef int (*kernel_module_fn)(void *ctx, const struct kernel_module *module);

/* How many; 0 also for a kernel without modules. A negative answer of the visitor ends it. */
int kernel_modules_read(const struct proc *proc, kernel_module_fn visit, void *ctx);

struct host_facts {
	char hostname[65], osrelease[65], version[65], arch[65]; /* uname */
	char cpudesc[128]; /* "model name" of the first CPU, or what comes nearest; "" */
	uint32_t cpus_online, cpus_possible; /* 0: not known */
	uint64_t mem_kb;		     /* MemTotal */
};

/* Whatever cannot be found out stays empty or 0. The release is the tree's where it has one. */
void host_facts_read(const struct proc *proc, struct host_facts *ret_facts);

/* Raises the soft limit of open files to `want`, or as near as the hard limit lets it. */
uint64_t nofile_raise(uint64_t want);
