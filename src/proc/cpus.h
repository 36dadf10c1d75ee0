/*
 * Lists of CPUs, as the kernel and the command line write them: "0-3,8,10-11".
 */
#pragma once

#include "proc/proc.h"

#include <stddef.h>
#include <stdint.h>

enum { CPU_LIST_LIMIT = 65536 }; /* CPU numbers end below; the kernel's own limit is 8,192 */

struct cpu_list {
	uint32_t *cpus; /* ascending, each once */
	uint32_t count, cap;
};

void cpu_list_done(struct cpu_list *list); /* a zeroed one is empty */

/*
 * Replaces the list by what the text says; a newline at its end is fine, nothing at all is an
 * empty list. 0; -EINVAL for anything else, a falling range included; -ERANGE for a number
 * beyond the limit; -ENOMEM. On failure the list is as it was.
 */
int cpu_list_parse(const char *text, size_t len, struct cpu_list *list);

/* From sysfs; without a sysfs the CPUs of /proc/stat, which are the online ones. */
int cpus_online(const struct proc *proc, struct cpu_list *list);
int cpus_possible(const struct proc *proc, struct cpu_list *list);
