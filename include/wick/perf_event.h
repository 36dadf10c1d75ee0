/*
 * perf_open perf_close perf_start perf_stop: one kernel event, from perf_event_open(2) to
 * close.
 *
 * This header and wick/perf_ringbuf.h stand alone: with <linux/perf_event.h> (or
 * wick/perf_abi.h, which is newer) they are all that a small profiler needs; see
 * examples/sample.c.
 *
 * All functions return 0 or more, or a negative errno. They keep no state and may be called
 * from any thread. None of them prints.
 */
#ifndef WICK_PERF_EVENT_H
#define WICK_PERF_EVENT_H

#include <wick/api.h>

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct perf_event_attr;

/*
 * Opens an event; returns its descriptor (close-on-exec), which the caller owns until
 * perf_close().
 *
 *   attr      filled by the caller; attr->size says how much of it there is. Where the kernel
 *             knows only a shorter attr (-E2BIG) and the rest is zero, it is opened with the
 * size that the kernel names. pid       a *thread* (not: all threads of a process), 0 for the
 * caller, -1 for everybody on `cpu`. With attr.inherit also the threads and processes that it
 * creates from now on. cpu       a CPU, or -1 for any. inherit needs a CPU when the event shall
 * have a ring: its mmap is EINVAL otherwise. group_fd  the group's leader, or -1. flags
 * PERF_FLAG_*; PERF_FLAG_FD_CLOEXEC is added.
 *
 * -ENOENT, -EOPNOTSUPP, -ENODEV: no such event on this machine. -EACCES: perf_event_paranoid,
 * or another user's process. -EPERM, -ENOSYS: a seccomp filter (containers), or no kernel
 * support. -ESRCH: the thread is gone. -EMFILE: RLIMIT_NOFILE. -EINVAL: the kernel refuses the
 * attr.
 */
WICK_API int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
	unsigned long flags);

/* Closes the event; a ring that is mapped stays valid until perf_ringbuf_close(). */
WICK_API int perf_close(int fd);

/* Sets the count to zero and lets the event count (ioctl RESET, ENABLE). */
WICK_API int perf_start(int fd);

/* Lets the event rest (ioctl DISABLE); its count and its ring stay. */
WICK_API int perf_stop(int fd);

#ifdef __cplusplus
}
#endif
#endif
