/*
 * What /proc says of processes and threads. Nothing in it is trusted: every line is parsed by
 * bounds-checked bytes, names may hold anything, and a process may vanish at any moment.
 *
 * Gone is a value, not a fault: -ESRCH, whether the kernel said ENOENT or ESRCH. Other errors
 * are those of the system calls; -EACCES and -EPERM are the ones that users meet. -EBADMSG: the
 * text is not what it should be.
 *
 * Everything goes through descriptors of the two roots, so that tests can show a tree of their
 * own. No state but the descriptors: any thread.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct proc {
	int root; /* of "/proc" */
	int sys;  /* of "/sys", or -1: there is none (some containers) */
};

/* NULL: "/proc" and "/sys". proc_close() takes a struct that failed to open, too. */
int proc_open(
	struct proc *proc, const char *proc_path, const char *sys_path, struct error *err);
void proc_close(struct proc *proc);

/*
 * One executable mapping, named as the kernel's MMAP2 record names it: what /proc/PID/maps
 * shows as
 *
 *     7f1c2a400000-7f1c2a555000 r-xp 00026000 fe:00 1835 /usr/lib/x86_64-linux-gnu/libc.so.6
 *
 * keeps its name (with " (deleted)"); no name and "[anon:a name]" become "//anon".
 */
struct proc_mapping {
	uint64_t start, end;
	uint64_t pgoff; /* bytes; of "//anon" and [heap] the start, as in the records */
	uint32_t prot;	/* PROT_* */
	uint32_t flags; /* MAP_PRIVATE or MAP_SHARED */
	uint32_t maj, min;
	uint64_t ino;
	const char *path; /* valid during the call */
};

/* 0 or more: goes on; a negative errno ends the reading and is returned. */
typedef int (*proc_mapping_fn)(void *ctx, const struct proc_mapping *mapping);

/*
 * The executable mappings of a process, lowest first. Lines that make no sense are left out.
 * How many there were, or -ESRCH, -EACCES, ... (some may have been visited before). The kernel
 * shows the file a page at a time: when the process maps meanwhile, a mapping can come twice or
 * not at all, so side-band records must be on before.
 */
int proc_read_maps(const struct proc *proc, int32_t pid, proc_mapping_fn visit, void *ctx);

struct pid_list {
	int32_t *pids;
	uint32_t count, cap;
};

void pid_list_done(struct pid_list *list); /* a zeroed one is empty */

/* Appends the tids of a process, or all pids. 0, -ESRCH, -EACCES, -ENOMEM, -ENOSPC. */
int proc_tasks(const struct proc *proc, int32_t pid, struct pid_list *list);
int proc_pids(const struct proc *proc, struct pid_list *list);

/* The kernel's threads have names of up to 63 bytes, others of 15. */
enum { PROC_COMM_MAX = 64 };

/* The name of a thread, NUL-terminated, without the final newline (others stay). */
int proc_comm(const struct proc *proc, int32_t pid, int32_t tid, char ret_comm[PROC_COMM_MAX]);

/* /proc/TID/status, which also finds threads that are not leaders. */
struct proc_status {
	int32_t tgid, ppid;
	int32_t ns_pid; /* in the innermost pid namespace (the last of NSpid); tid where not
			   shown */
	uint32_t uid;	/* real */
	uint32_t threads;
};

int proc_status(const struct proc *proc, int32_t tid, struct proc_status *ret_status);

/* The process of a thread: > 0, or -ESRCH, ... */
int32_t proc_tgid(const struct proc *proc, int32_t tid);

/* /proc/PID/stat: of the whole process; CPU times in units of the clock tick. */
struct proc_stat {
	char state; /* R, S, D, Z, T, t, X, I */
	int32_t ppid;
	uint32_t threads;
	uint64_t utime_ns, stime_ns;
	uint64_t start_ticks; /* since boot, in ticks: with the pid it names a process for good
			       */
};

int proc_stat(const struct proc *proc, int32_t pid, struct proc_stat *ret_stat);

/*
 * The CPU time of a process by its CPU clock: exact, and allowed for other users' processes
 * too. Includes its dead threads. Asks the system itself, not the tree. 0 or -ESRCH.
 */
int proc_cpu_ns(int32_t pid, uint64_t *ret_ns);

/* The CPU time of one thread, from its schedstat. -ENOTSUP: the kernel has no schedstat. */
int proc_thread_cpu_ns(const struct proc *proc, int32_t pid, int32_t tid, uint64_t *ret_ns);
