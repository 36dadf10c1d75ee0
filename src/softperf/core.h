/*
 * The kernel's perf core (kernel/events/core.c) in user space, on simulated time: PMUs in a
 * registry, events in the contexts of tasks and CPUs, the overflow handler, and rings in memfds
 * that perf_ringbuf_open() maps unchanged.
 *
 *     user:     core_open  core_mmap  core_ioctl  core_read  core_poll  core_close
 *     kernel:   core_task_* (fork, exec, mmap, exit), core_switch, core_advance, core_fault
 *
 * A machine (machine.h, or a test) plays the hardware: it says what each CPU executes and for
 * how long. Descriptors are the core's own numbers. One thread drives a core.
 */
#pragma once

#include "abi/perf_abi.h"
#include "softperf/ringwriter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CORE_CPUS_MAX = 64,
	CORE_EVENTS_MAX = 65536,
	CORE_PMUS_MAX = 16,
	CORE_TASKS_MAX = 65536,
	CORE_GROUP_MAX = 64,
	CORE_CHAIN_MAX = 127, /* kernel.perf_event_max_stack */
};

struct core;
struct core_event;

/* What a CPU executes: leaf first. Copied where it is kept. */
struct core_frame {
	bool kernel; /* the CPU is in the kernel; user_chain is where it came from */
	uint32_t kernel_depth, user_depth;
	const uint64_t *kernel_chain, *user_chain;
	uint64_t addr; /* of a fault */
};

/* ---- PMUs: struct pmu of include/linux/perf_event.h */

enum { CORE_EF_START = 1, CORE_EF_RELOAD = 2, CORE_EF_UPDATE = 4 };

struct core_pmu {
	const char *name;
	uint32_t type; /* set by core_pmu_register() when it is CORE_PMU_DYNAMIC */
	bool no_interrupt;
	bool software; /* there is always room for one more of its events */
	/* 0: mine; -ENOENT: somebody else's; else an error. */
	int (*event_init)(struct core_pmu *pmu, struct core_event *event);
	/* Finds a counter for the event on its CPU; -EAGAIN: all are taken. */
	int (*add)(struct core_event *event, int flags);
	void (*del)(struct core_event *event, int flags);
	void (*start)(struct core_event *event, int flags);
	void (*stop)(struct core_event *event, int flags);
	void (*read)(struct core_event *event); /* brings event->count up to date */
	/* The whole PMU of one CPU, around changes. NULL: nothing to do. */
	void (*enable)(struct core_pmu *pmu, int cpu);
	void (*disable)(struct core_pmu *pmu, int cpu);
	/*
	 * The hardware's side. ns until this PMU interrupts on a CPU that goes on as it does;
	 * `ns` have passed; the interrupt. NULL for software events.
	 */
	uint64_t (*until)(struct core_pmu *pmu, int cpu);
	void (*advance)(struct core_pmu *pmu, int cpu, uint64_t ns);
	void (*interrupt)(struct core_pmu *pmu, int cpu);
	void (*free)(struct core_pmu *pmu);
	struct core *core;
	void *data;
};

#define CORE_PMU_DYNAMIC UINT32_MAX
#define CORE_NEVER	 UINT64_MAX

/* The core owns the PMU's `data` through free(). -EEXIST: name or type is taken. */
int core_pmu_register(struct core *core, const struct core_pmu *pmu);
struct core_pmu *core_pmu_by_name(struct core *core, const char *name);
struct core_pmu *core_pmu_by_type(struct core *core, uint32_t type);

/* ---- events */

/* CORE_ERROR: pinned, and there was no counter for it */
enum core_state { CORE_EXIT = -2, CORE_ERROR, CORE_OFF, CORE_INACTIVE, CORE_ACTIVE };

struct core_task {
	int32_t pid, tid, ppid, ptid;
	char comm[16];
	int cpu; /* it runs there; -1: it does not run */
	bool dead;
	struct core_context *ctx;
	struct core_task *next;
};

/* The events of a task, or of a CPU (task NULL). */
struct core_context {
	struct core_task *task;
	int cpu; /* of a CPU's context, or where the task runs; -1: not scheduled in */
	struct core_event *first; /* by next_in_context, in the order of opening */
	uint64_t time, stamp;	  /* how long it was scheduled in, and until when that is */
	bool rotate;		  /* a group found no counters: no other is tried */
};

struct core_hw {
	uint64_t sample_period, last_period;
	int64_t period_left;
	uint64_t interrupts, interrupts_seq;
	uint64_t freq_stamp_ns, freq_count_stamp;
	bool freq; /* the period follows the frequency; a clock's does not */
	bool stopped;
	int idx;	   /* the counter; -1: none */
	uint64_t prev;	   /* the counter's value, or the time, at the last read */
	uint64_t deadline; /* cpu-clock's timer */
};

struct core_event {
	struct core *core;
	struct core_pmu *pmu;
	struct perf_event_attr attr;
	struct wick_layout layout;
	uint64_t id;
	int fd; /* -1: inherited, or closed */
	int cpu;
	int on_cpu; /* while it is active */
	enum core_state state;
	struct core_context *ctx; /* NULL: its task is gone */
	struct core_event *next_in_context;
	struct core_event *leader, *next_sibling; /* of a group; leader: itself */
	uint32_t sibling_count;			  /* of a leader: CORE_GROUP_MAX at most */
	struct core_event *parent, *children, *next_child;
	struct core_hw hw;
	uint64_t count, child_count;
	uint64_t enabled, running, child_enabled, child_running, stamp;
	int64_t limit; /* REFRESH: so many overflows are left; 0: no limit */
	uint64_t lost;
	struct core_ring *ring;
	uint32_t maps; /* mappings made through this event: they keep it alive */
	bool closed;   /* its descriptor is gone */
};

struct core_ring {
	struct ringwriter *writer;
	size_t pages;
	uint32_t users; /* events that write into it */
	uint32_t maps;
	struct core_ring *next_wakeup; /* in core->wakeups */
	bool waits;		       /* it is in there */
};

/* What a sample copies of the CPU's task. */
struct core_memory {
	/* A user register, by the kernel's number for perf. */
	uint64_t (*reg)(void *ctx, int cpu, unsigned reg);
	/* `len` bytes of the stack from its pointer on; returns how many could be read. */
	size_t (*stack)(void *ctx, int cpu, void *to, size_t len);
	void *ctx;
};

/* Narration: when, since the core was made; who, and a sentence. */
typedef void (*core_trace_fn)(void *ctx, uint64_t ns, const char *who, const char *text);

struct core_options {
	uint32_t cpus;
	uint32_t tick_hz;	  /* 0: 250 */
	uint64_t max_sample_rate; /* kernel.perf_event_max_sample_rate; 0: 100,000 */
	uint64_t start_ns;
	/* A record that is not written by an interrupt takes so long to copy: interrupts come
	 * in the middle of it. */
	uint64_t copy_ns;
	bool aarch64;		   /* the machine's registers; else x86-64 */
	struct core_memory memory; /* NULLs: zeros */
	core_trace_fn trace;	   /* NULL: silent */
	void *trace_ctx;
};

struct core_cpu {
	struct core_context ctx;
	struct core_task *current; /* NULL: idle */
	bool exclusive;		   /* a group is on that shares its PMU with nobody */
	struct core_frame frame;
	uint64_t user_chain[CORE_CHAIN_MAX], kernel_chain[CORE_CHAIN_MAX];
	uint64_t throttle_seq;
};

struct core {
	struct core_options options;
	uint64_t now_ns;  /* of the events' clock; scenarios may step it */
	uint64_t mono_ns; /* never steps */
	uint64_t next_tick_ns;
	struct core_cpu *cpus;
	struct core_pmu pmus[CORE_PMUS_MAX];
	uint32_t pmu_count;
	struct core_event **files; /* by descriptor */
	uint32_t file_cap;
	struct core_task *tasks;
	uint32_t task_count;
	uint64_t last_id;
	uint64_t samples;	   /* ever written */
	uint64_t busy_ns;	   /* of all CPUs that had a task */
	bool in_interrupt;	   /* a PMU's handler, or the tick */
	struct core_ring *wakeups; /* whose readers are woken when the interrupt is over */
	struct core_ring *copying; /* a record of this ring is copied, and copy_ns passes */
	uint8_t *stack;	     /* PERF_RECORD_SIZE_MAX + 1, of the sample that is prepared */
	uint8_t *records[2]; /* PERF_RECORD_SIZE_MAX + 1 each: that, and what interrupts it */
};

int core_new(const struct core_options *options, struct core **ret_core);
void core_free(struct core *core); /* NULL is fine */
__attribute__((format(printf, 3, 4))) void core_trace(
	struct core *core, const char *who, const char *fmt, ...);

/* ---- the system calls; negative errno as the kernel's */

/* attr->size is read from it, and written to it with -E2BIG. Returns a descriptor. `caller`: of
 * pid 0. */
int core_open(struct core *core, struct perf_event_attr *attr, struct core_task *caller,
	int32_t pid, int cpu, int group_fd, unsigned long flags);
/* With a mapping the event lives on until core_munmap(). */
int core_close(struct core *core, int fd);
/* Makes the ring, or maps it once more; returns its memfd, the core's. `writable`: the reader
 * can move data_tail. */
int core_mmap(struct core *core, int fd, size_t pages, bool writable);
int core_munmap(struct core *core, int fd);
int core_ioctl(struct core *core, int fd, unsigned long request, uint64_t arg);
int64_t core_read(struct core *core, int fd, void *buf, size_t size);
/* POLLIN once a wakeup, POLLHUP at the target's end. */
int core_poll(struct core *core, int fd);
/* The wakeups of its ring, for poll(); -ENOENT: no ring. */
int core_wakeup_fd(struct core *core, int fd);
struct core_event *core_event_of(struct core *core, int fd);

/* ---- what happens in the kernel */

struct core_task *core_task_find(struct core *core, int32_t tid);
/* A thread of `parent`'s process, or a process of its own; parent NULL: it was always there. */
int core_task_fork(struct core *core, struct core_task *parent, int32_t pid, int32_t tid,
	const char *comm, struct core_task **ret_task);
void core_task_exec(struct core_task *task, struct core *core, const char *comm);
void core_task_comm(struct core_task *task, struct core *core, const char *comm);
void core_task_exit(struct core_task *task, struct core *core);
void core_task_mmap(
	struct core_task *task, struct core *core, const struct wick_record_mmap *mapping);

/* The CPU's next task; NULL: idle. */
void core_switch(struct core *core, int cpu, struct core_task *task, bool preempted);
void core_execute(struct core *core, int cpu, const struct core_frame *frame);
/* Time passes on all CPUs, with its interrupts and ticks. */
void core_advance(struct core *core, uint64_t ns);
/* A page fault of the CPU's task. */
void core_fault(struct core *core, int cpu, uint64_t addr);

/* ---- inside softperf: scheduling (core_sched.c) */

void core_context_time(struct core_context *ctx, struct core *core);
void core_event_time(struct core_event *event);
void core_event_enable(struct core_event *event);
void core_event_disable(struct core_event *event);
void core_context_in(struct core *core, struct core_context *ctx, int cpu);
void core_context_out(struct core *core, struct core_context *ctx);
void core_context_add(struct core_context *ctx, struct core_event *event);
void core_context_remove(struct core_event *event);
void core_context_rotate(struct core *core, struct core_context *ctx);
struct core_event *core_event_new(struct core *core, const struct perf_event_attr *attr);
int core_event_inherit(struct core_task *parent, struct core_task *child, struct core *core);
void core_event_free(struct core_event *event);
/* What a CPU's events are: those of its own context, then of its task's. NULL: start, or no
 * more. */
struct core_event *core_cpu_events(struct core *core, int cpu, struct core_event *after);
/* perf_exclude_event() */
bool core_excluded(const struct core_event *event, const struct core_frame *frame);

/* ---- overflow (core_overflow.c) */

/* The driver's part is done: account, limit, throttle, write. True: stop the event. */
bool core_overflow(struct core_event *event, bool throttle, uint64_t period,
	const struct core_frame *frame);
void core_tick(struct core *core, int cpu);
/* The software event `config` happened `nr` times on a CPU. */
void core_software(struct core *core, int cpu, uint64_t config, uint64_t nr,
	const struct core_frame *frame);

/* ---- output (core_output.c) */

void core_write_sample(
	struct core_event *event, uint64_t period, const struct core_frame *frame);
void core_write_throttle(struct core_event *event, bool unthrottle);
/*
 * The event's values, or its group's, as (value, id, lost) in `words`: 3 for each of the group.
 * `live`: with what the events that were inherited count at this moment.
 */
void core_read_values(
	struct core_event *event, bool live, uint64_t *words, struct wick_read *ret_read);
/* irq_work_run(): wakes the readers that were left for behind the interrupt. */
void core_wakeups(struct core *core);
/* A record for every event of the task and its CPU whose attr has one of `flags`. */
void core_sideband(struct core *core, struct core_task *task, int cpu, uint64_t flags,
	struct wick_record *record);

/* ---- drivers */

int core_software_register(struct core *core);	/* page-faults, context-switches, dummy */
int core_cpu_clock_register(struct core *core); /* cpu-clock and task-clock */
