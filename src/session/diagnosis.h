/*
 * What can be recorded here, and what stands in the way.
 *
 *     doctor_probe()  tries each thing and reads the knobs   -> doctor_facts
 *     doctor_judge()  which knob, how to turn it, what then  -> doctor_report   (pure)
 *
 * Nothing stays behind: descriptors are closed, the children that were started are ended, the
 * cgroup that was made is removed.
 */
#pragma once

#include "base/error.h"
#include "proc/facts.h"

#include <stdbool.h>
#include <stdint.h>

/* A result that is no errno: it was not tried, as something else is missing. */
enum { DOCTOR_UNTRIED = 1 };

/*
 * The results: 0 worked; -ENODATA opened and delivered nothing; another negative errno;
 * DOCTOR_UNTRIED.
 */
struct doctor_facts {
	int cycles, cycles_user; /* CPU cycles: kernel and user; user only */
	int clock, clock_user;	 /* cpu-clock likewise */
	int other_user;		 /* cpu-clock on another user's process */
	int system_wide;	 /* cpu-clock on a whole CPU */
	int cgroup_make, cgroup_event, cgroup_clone; /* a cgroup, its event, a child in it */
	int tracefs, tracepoint;		     /* events/ readable; sched_switch opens */
	int rings;		   /* mapping one a CPU; 0 also when they had to be smaller */
	uint64_t ring_bytes;	   /* that fitted on every CPU */
	uint64_t ring_bytes_asked; /* what a recording asks for */
	int kallsyms;		   /* -EACCES: its addresses are hidden */
	int map_files;		   /* opening a file by /proc/self/map_files */
	int ptrace_child;	   /* PTRACE_SEIZE of our own child */
	int bpf;		   /* loading a program for perf events */
	struct perf_limits limits;
	int64_t unprivileged_bpf_disabled; /* FACT_NONE: no such knob */
	uint64_t nofile_hard, memlock;	   /* RLIMITs; UINT64_MAX: none */
	uint64_t caps;			   /* effective */
	bool in_user_namespace;		   /* caps do not count for the kernel as a whole */
	int seccomp;			   /* 0 off, 1 strict, 2 filter; -1 not known */
	char lockdown[32];		   /* "integrity", "confidentiality"; "": none */
	char lsm[128];			   /* "capability,apparmor"; "" not known */
	char container[32];		   /* "docker"; "": none was noticed */
	char osrelease[65], arch[65];
	uint32_t uid, cpus;
};

enum {
	CAP_BIT_SYSLOG = 34,
	CAP_BIT_PERFMON = 38,
	CAP_BIT_BPF = 39,
	CAP_BIT_SYS_ADMIN = 21,
	CAP_BIT_SYS_PTRACE = 19,
	CAP_BIT_IPC_LOCK = 14,
	CAP_BIT_CHECKPOINT = 40
};

/* Takes some 30 ms. 0; a negative errno and a sentence when not even /proc can be read. */
int doctor_probe(struct doctor_facts *ret_facts, struct error *err);

enum doctor_state {
	DOCTOR_WORKS,
	DOCTOR_LIMITED, /* works, but not fully */
	DOCTOR_REFUSED, /* a knob forbids it */
	DOCTOR_ABSENT,	/* this machine or kernel has it not */
};

enum doctor_group { DOCTOR_EVENTS, DOCTOR_BUFFERS, DOCTOR_NAMES, DOCTOR_OTHERS };
enum { DOCTOR_GROUPS = DOCTOR_OTHERS + 1, DOCTOR_FINDINGS_MAX = 24 };

struct doctor_finding {
	enum doctor_group group;
	enum doctor_state state;
	const char *id;	   /* "cycles": for programs */
	const char *title; /* "CPU cycles" */
	char detail[160];  /* what was seen */
	char knob[64];	   /* what refuses, by name; "" where nothing does */
	char remedy[320];  /* commands, a line each; "" where there is none */
	const char *cap;   /* a capability that would do, too: "cap_perfmon"; NULL: none */
	char without[160]; /* what wick does without it */
};

struct doctor_report {
	struct doctor_finding findings[DOCTOR_FINDINGS_MAX];
	uint32_t count;
	bool can_record; /* a command or a process of one's own */
	/* What `wick record` does here for a command, -p and -a: a sentence each. */
	char command[240], process[240], system[240];
	bool system_works;
	/* The capabilities of the findings that matter, as setcap takes them; "": none. */
	char capabilities[128];
};

void doctor_judge(const struct doctor_facts *facts, struct doctor_report *ret_report);
