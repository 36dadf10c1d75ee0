/*
 * From results to findings. An errno alone does not say which knob refused; together with what
 * the knobs say it does:
 *
 *     ENOSYS   a seccomp filter (old containers), or a kernel without perf events
 *     EPERM    a seccomp filter, or a security module where there is no filter
 *     EACCES   perf_event_paranoid where it is high enough to, else a security module
 *     EPERM of mmap()   the limits of locked memory
 */
#include "session/diagnosis.h"

#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LOW_NOFILE = 4096, LOW_RATE = 997, LOW_DEPTH = 127 };

/* ---- findings */

static struct doctor_finding *add(struct doctor_report *report, enum doctor_group group,
	const char *id, const char *title)
{
	struct doctor_finding *finding = &report->findings[report->count++];

	*finding = (struct doctor_finding){.group = group, .id = id, .title = title};
	return finding;
}

__attribute__((format(printf, 2, 3))) static void detail(
	struct doctor_finding *finding, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(finding->detail, sizeof(finding->detail), fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void knob(
	struct doctor_finding *finding, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(finding->knob, sizeof(finding->knob), fmt, ap);
	va_end(ap);
}

/* Appends a line. */
__attribute__((format(printf, 2, 3))) static void remedy(
	struct doctor_finding *finding, const char *fmt, ...)
{
	size_t used = strlen(finding->remedy), cap = sizeof(finding->remedy);
	va_list ap;

	if (used && used + 1 < cap) {
		finding->remedy[used++] = '\n';
		finding->remedy[used] = '\0';
	}
	va_start(ap, fmt);
	vsnprintf(finding->remedy + used, cap - used, fmt, ap);
	va_end(ap);
}

static void without(struct doctor_finding *finding, const char *text)
{
	snprintf(finding->without, sizeof(finding->without), "%s", text);
}

static bool has_cap(const struct doctor_facts *facts, unsigned bit)
{
	return !facts->in_user_namespace && (facts->caps >> bit & 1);
}

static bool can_perfmon(const struct doctor_facts *facts)
{
	return has_cap(facts, CAP_BIT_PERFMON) || has_cap(facts, CAP_BIT_SYS_ADMIN);
}

/* ---- who refused */

static void blame_module(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->lockdown[0]) {
		knob(finding, "kernel lockdown (%s)", facts->lockdown);
		remedy(finding, "boot without lockdown= and Secure Boot's lockdown");
		return;
	}
	knob(finding, "a security module");
	if (facts->lsm[0])
		detail(finding, "loaded modules: %.100s", facts->lsm);
	remedy(finding, "journalctl -k -g 'denied|avc'  # shows which rule");
}

/* How to let a system call or a capability into the container that we are in, or seem to be. */
static void remedy_container(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	const char *name = facts->container;

	if (!strcmp(name, "podman"))
		remedy(finding,
			"podman run --cap-add PERFMON --security-opt seccomp=unconfined");
	else if (!strcmp(name, "kubernetes")) {
		remedy(finding, "securityContext: capabilities: add: [PERFMON]");
		remedy(finding, "securityContext: seccompProfile: type: Unconfined");
	} else if (!strcmp(name, "docker") || !name[0])
		remedy(finding,
			"docker run --cap-add PERFMON --security-opt seccomp=unconfined");
	else
		remedy(finding, "let %s pass perf_event_open and CAP_PERFMON", name);
}

static void blame_filter(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	knob(finding, "a seccomp filter%s%s%s", facts->container[0] ? " (" : "",
		facts->container[0] ? facts->container : "", facts->container[0] ? ")" : "");
	remedy_container(facts, finding);
	if (!facts->container[0])
		remedy(finding, "a systemd service: SystemCallFilter=perf_event_open");
}

/* A sysctl; in a container it is the host's. */
static void remedy_sysctl(const struct doctor_facts *facts, const char *name, int64_t value,
	struct doctor_finding *finding)
{
	remedy(finding, "sysctl kernel.%s=%" PRId64 "%s", name, value,
		facts->container[0] || facts->in_user_namespace ? "  # on the host" : "");
}

static void remedy_cap(
	const struct doctor_facts *facts, const char *cap, struct doctor_finding *finding)
{
	if (!facts->in_user_namespace) /* its capabilities do not count for the kernel */
		finding->cap = cap;
	else
		remedy(finding, "run wick outside of the user namespace");
}

static void blame_paranoid(
	const struct doctor_facts *facts, int64_t need, struct doctor_finding *finding)
{
	knob(finding, "kernel.perf_event_paranoid = %" PRId64, facts->limits.paranoid);
	remedy_sysctl(facts, "perf_event_paranoid", need, finding);
	remedy_cap(facts, "cap_perfmon", finding);
}

/* `need`: the highest perf_event_paranoid at which everybody may; INT64_MIN: none helps. */
static void refused(const struct doctor_facts *facts, int code, int64_t need,
	struct doctor_finding *finding)
{
	finding->state = DOCTOR_REFUSED;
	detail(finding, "perf_event_open says %s",
		code == -EACCES	  ? "EACCES"
		: code == -EPERM  ? "EPERM"
		: code == -ENOSYS ? "ENOSYS"
				  : strerror(-code));
	if (code == -ENOSYS && facts->limits.paranoid == FACT_NONE && facts->seccomp != 2) {
		finding->state = DOCTOR_ABSENT;
		detail(finding, "the kernel has no perf events");
		knob(finding, "CONFIG_PERF_EVENTS");
	} else if ((code == -EPERM || code == -ENOSYS) && facts->seccomp == 2) {
		blame_filter(facts, finding);
	} else if (code == -ENOSYS) {
		blame_module(facts, finding);
	} else if (facts->limits.paranoid != FACT_NONE && facts->limits.paranoid > need &&
		   need != INT64_MIN && !can_perfmon(facts)) {
		blame_paranoid(facts, need, finding);
	} else if (need == INT64_MIN && !can_perfmon(facts)) {
		knob(finding, "no CAP_PERFMON");
		remedy_cap(facts, "cap_perfmon", finding);
		remedy(finding, "sudo wick ...");
	} else {
		blame_module(facts, finding);
	}
}

static bool is_refusal(int code)
{
	return code == -EACCES || code == -EPERM || code == -ENOSYS;
}

/* ---- events */

static void judge_cycles(const struct doctor_facts *facts, struct doctor_report *report)
{
	/* The kernel's part is refused before anybody asks whether there is a PMU. */
	int code = is_refusal(facts->cycles) ? facts->cycles_user : facts->cycles;
	struct doctor_finding *finding;

	if (is_refusal(code) && facts->clock_user != 0)
		return; /* refused as everything is: told once */
	finding = add(report, DOCTOR_EVENTS, "cycles", "CPU cycles (hardware)");
	if (!facts->cycles) {
		detail(finding, "count and interrupt");
		return;
	}
	if (!code || is_refusal(code)) {
		refused(facts, facts->cycles, !code ? 1 : 2, finding);
		if (!code) {
			finding->state = DOCTOR_LIMITED;
			detail(finding, "user code only");
			without(finding, "the kernel's part of the time is only measured");
		}
		return;
	}
	finding->state = DOCTOR_ABSENT;
	detail(finding, code == -ENODATA ? "the PMU opens and counts nothing"
					 : "this machine shows no PMU");
	remedy(finding, "in a virtual machine: qemu -cpu host,pmu=on");
	without(finding,
		"cpu-clock: a timer; code that disables interrupts shows where it ends");
}

static void judge_clock(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_finding *user =
		add(report, DOCTOR_EVENTS, "clock-user", "cpu-clock, user code");
	struct doctor_finding *all;

	if (facts->clock_user == 0) {
		detail(user, "delivers samples");
	} else if (is_refusal(facts->clock_user)) {
		refused(facts, facts->clock_user, 2, user);
		without(user, "nothing can be recorded through perf events");
	} else {
		user->state = DOCTOR_ABSENT;
		detail(user, "%s",
			facts->clock_user == -ENODATA ? "opens and delivers nothing"
						      : strerror(-facts->clock_user));
		without(user, "nothing can be recorded through perf events");
	}
	if (facts->clock_user != 0)
		return; /* one word of the same refusal is enough */
	all = add(report, DOCTOR_EVENTS, "clock-kernel", "cpu-clock, kernel too");
	if (facts->clock == 0) {
		detail(all, "delivers samples");
		return;
	}
	refused(facts, facts->clock, 1, all);
	without(all, "samples of user code; how much time the kernel took is told");
}

/* The events of others; all of them need cpu-clock to open at all. */
static void judge_reach(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_finding *finding;

	if (facts->other_user != DOCTOR_UNTRIED) {
		finding = add(report, DOCTOR_EVENTS, "other-user", "others' processes (-p)");
		if (!facts->other_user) {
			detail(finding, "another user's process opens");
		} else {
			refused(facts, facts->other_user, INT64_MIN, finding);
			without(finding, "-p takes your own processes");
		}
	}
	finding = add(report, DOCTOR_EVENTS, "system-wide", "whole machine (-a, -C)");
	if (!facts->system_wide) {
		detail(finding, "a whole CPU opens");
	} else {
		refused(facts, facts->system_wide, 0, finding);
		without(finding, "commands and single processes only");
	}
}

static void judge_cgroup(const struct doctor_facts *facts, struct doctor_report *report)
{
	static const char lost[] = "threads are followed by inheritance: those shorter than a "
				   "period are missed, and coverage shows it";
	struct doctor_finding *finding =
		add(report, DOCTOR_EVENTS, "cgroup", "confined to a cgroup");

	if (facts->cgroup_make == -ENOENT) {
		finding->state = DOCTOR_ABSENT;
		detail(finding, "no cgroup v2 is mounted");
		remedy(finding, "mkdir /run/cgroup2 && mount -t cgroup2 none /run/cgroup2");
	} else if (facts->cgroup_make < 0) {
		finding->state = DOCTOR_REFUSED;
		detail(finding, "cannot be made: %s", strerror(-facts->cgroup_make));
		knob(finding, "%s",
			facts->cgroup_make == -EROFS ? "cgroup2 is mounted read-only"
						     : "who owns our cgroup directory");
		if (facts->uid != 0)
			remedy(finding, "systemd-run --user --scope -p Delegate=yes wick ...");
		else
			remedy(finding, "docker run --cgroupns private "
					"-v /sys/fs/cgroup:/sys/fs/cgroup");
	} else if (facts->cgroup_event == -ENOENT) {
		finding->state = DOCTOR_ABSENT;
		detail(finding,
			"no controller was ever given to a cgroup: new ones have no events");
		remedy(finding, "echo +pids >/sys/fs/cgroup/cgroup.subtree_control");
	} else if (facts->cgroup_event < 0) {
		refused(facts, facts->cgroup_event, 0, finding);
	} else if (facts->cgroup_clone < 0) {
		finding->state = DOCTOR_REFUSED;
		detail(finding, "no process can be started in it: %s",
			strerror(-facts->cgroup_clone));
		knob(finding, "%s",
			facts->seccomp == 2 ? "a seccomp filter" : "no clone3 (Linux 5.7)");
		remedy(finding, "%s",
			facts->seccomp == 2 ? "let the filter pass clone3" : "a newer kernel");
	} else {
		detail(finding, "short-lived threads are seen");
		return;
	}
	without(finding, lost);
}

static void judge_tracepoint(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_finding *finding =
		add(report, DOCTOR_EVENTS, "tracepoint", "tracepoints");

	if (facts->tracefs == -ENOENT) {
		finding->state = DOCTOR_ABSENT;
		detail(finding, "tracefs is not mounted");
		remedy(finding, "mount -t tracefs nodev /sys/kernel/tracing");
	} else if (facts->tracefs == -EPERM && facts->lockdown[0]) {
		finding->state = DOCTOR_REFUSED;
		detail(finding, "tracefs cannot be opened");
		blame_module(facts, finding);
	} else if (facts->tracefs < 0) {
		finding->state = DOCTOR_REFUSED;
		detail(finding, "tracefs may not be read");
		knob(finding, "the mode of /sys/kernel/tracing");
		remedy(finding, "mount -o remount,mode=755 /sys/kernel/tracing");
	} else if (facts->tracepoint == 0) {
		detail(finding, "sched:sched_switch opens");
	} else if (is_refusal(facts->tracepoint)) {
		refused(facts, facts->tracepoint, 1, finding);
	} else {
		finding->state = DOCTOR_ABSENT;
		detail(finding, "no sched:sched_switch (%s)", strerror(-facts->tracepoint));
	}
	if (finding->state != DOCTOR_WORKS)
		without(finding, "-e takes the other events; see wick list");
}

/* ---- buffers and limits */

static void judge_rings(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_finding *finding;

	if (facts->clock_user != 0)
		return; /* no event to map */
	finding = add(report, DOCTOR_BUFFERS, "rings", "ring buffers");
	if (!facts->rings && facts->ring_bytes >= facts->ring_bytes_asked) {
		detail(finding, "%" PRIu64 " KiB on each of %u CPU%s", facts->ring_bytes / 1024,
			facts->cpus, facts->cpus == 1 ? "" : "s");
		return;
	}
	if (facts->rings && facts->rings != -EPERM) {
		finding->state = DOCTOR_REFUSED;
		detail(finding, "cannot be mapped: %s", strerror(-facts->rings));
		knob(finding, "%s",
			facts->rings == -EMFILE ? "RLIMIT_NOFILE (hard limit)"
						: "the machine's memory");
		remedy(finding, "%s",
			facts->rings == -EMFILE ? "ulimit -Hn 1048576" : "wick record -m 16");
		without(finding, "nothing can be recorded through perf events");
		return;
	}
	finding->state = facts->ring_bytes ? DOCTOR_LIMITED : DOCTOR_REFUSED;
	detail(finding, "%" PRIu64 " KiB a CPU fit, %" PRIu64 " are asked for",
		facts->ring_bytes / 1024, facts->ring_bytes_asked / 1024);
	knob(finding, "RLIMIT_MEMLOCK, perf_event_mlock_kb = %" PRId64, facts->limits.mlock_kb);
	remedy(finding, "sysctl kernel.perf_event_mlock_kb=%" PRIu64,
		facts->ring_bytes_asked / 1024 + 4);
	remedy(finding, "ulimit -l unlimited  # as root, before wick");
	without(finding, facts->ring_bytes
				 ? "smaller rings: high rates lose samples, which is told"
				 : "nothing can be recorded through perf events");
}

static void judge_rate(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_finding *finding;
	int64_t rate = facts->limits.max_sample_rate;

	if (rate == FACT_NONE)
		return;
	finding = add(report, DOCTOR_BUFFERS, "rate", "sample rate");
	detail(finding, "up to %" PRId64 " Hz", rate);
	if (rate >= LOW_RATE)
		return;
	finding->state = DOCTOR_LIMITED;
	knob(finding, "kernel.perf_event_max_sample_rate");
	remedy(finding, "sysctl kernel.perf_event_max_sample_rate=100000");
	remedy(finding, "sysctl kernel.perf_cpu_time_max_percent=0  # it lowered the rate");
	without(finding, "the default of 997 Hz is lowered to it, which is told");
}

static void judge_depth(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_finding *finding;
	int64_t depth = facts->limits.max_stack;

	if (depth == FACT_NONE)
		return;
	finding = add(report, DOCTOR_BUFFERS, "stack", "stack depth");
	detail(finding, "%" PRId64 " frames by the kernel", depth);
	if (depth >= LOW_DEPTH)
		return;
	finding->state = DOCTOR_LIMITED;
	knob(finding, "kernel.perf_event_max_stack");
	remedy(finding, "sysctl kernel.perf_event_max_stack=127");
	without(finding, "deeper stacks are cut at the root; their share is told");
}

static void judge_files(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_finding *finding =
		add(report, DOCTOR_BUFFERS, "files", "open files (-p)");
	uint64_t threads = facts->nofile_hard / (facts->cpus ? facts->cpus : 1);

	if (facts->nofile_hard == UINT64_MAX) {
		detail(finding, "no limit");
		return;
	}
	detail(finding, "%" PRIu64 ": processes of up to %" PRIu64 " threads",
		facts->nofile_hard, threads);
	if (facts->nofile_hard >= LOW_NOFILE)
		return;
	finding->state = DOCTOR_LIMITED;
	knob(finding, "RLIMIT_NOFILE (hard limit)");
	remedy(finding, "ulimit -Hn 1048576  # as root, before wick; systemd: LimitNOFILE=");
	without(finding, "-p refuses processes with more threads; commands need few files");
}

/* ---- names */

static void judge_kallsyms(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_finding *finding =
		add(report, DOCTOR_NAMES, "kernel-symbols", "kernel functions");
	int64_t restrict_ = facts->limits.kptr_restrict;

	if (!facts->kallsyms) {
		detail(finding, "/proc/kallsyms shows addresses");
		return;
	}
	finding->state = is_refusal(facts->kallsyms) ? DOCTOR_REFUSED : DOCTOR_ABSENT;
	without(finding, "kernel frames are shown without names");
	if (finding->state == DOCTOR_ABSENT) {
		detail(finding, "/proc/kallsyms: %s", strerror(-facts->kallsyms));
		return;
	}
	detail(finding, "/proc/kallsyms hides the addresses");
	if (restrict_ != FACT_NONE && restrict_ > 0) {
		knob(finding, "kernel.kptr_restrict = %" PRId64, restrict_);
		remedy_sysctl(facts, "kptr_restrict", facts->uid == 0 && restrict_ > 1 ? 1 : 0,
			finding);
	} else {
		knob(finding, "perf_event_paranoid = %" PRId64 ", no CAP_SYSLOG",
			facts->limits.paranoid);
		remedy_sysctl(facts, "perf_event_paranoid", 1, finding);
	}
	if (restrict_ < 2)
		remedy_cap(facts, "cap_syslog", finding);
}

static void judge_map_files(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_finding *finding =
		add(report, DOCTOR_NAMES, "deleted-files", "deleted programs");

	if (!facts->map_files) {
		detail(finding, "/proc/PID/map_files opens");
		return;
	}
	finding->state = facts->map_files == -ENOENT ? DOCTOR_ABSENT : DOCTOR_REFUSED;
	detail(finding, "/proc/PID/map_files: %s", strerror(-facts->map_files));
	without(finding, "programs replaced while they run may lack names");
	if (finding->state == DOCTOR_ABSENT)
		return;
	knob(finding,
		facts->in_user_namespace ? "the user namespace" : "no CAP_CHECKPOINT_RESTORE");
	remedy_cap(facts, "cap_checkpoint_restore", finding);
}

/* ---- other ways */

static void judge_ptrace(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_finding *finding = add(report, DOCTOR_OTHERS, "ptrace", "ptrace");
	int64_t scope = facts->limits.ptrace_scope;
	bool free = has_cap(facts, CAP_BIT_SYS_PTRACE);

	if (facts->ptrace_child == DOCTOR_UNTRIED) {
		finding->state = DOCTOR_ABSENT;
		detail(finding, "no child could be started to try it");
		return;
	}
	if (!facts->ptrace_child && (scope == FACT_NONE || scope < 1 || free)) {
		detail(finding, "a process can be seized");
		return;
	}
	without(finding, "recording does not need it");
	finding->state = facts->ptrace_child ? DOCTOR_REFUSED : DOCTOR_LIMITED;
	detail(finding, "%s",
		facts->ptrace_child ? "not even our own child can be seized"
				    : "our own children only");
	if (scope != FACT_NONE && scope >= 1) {
		knob(finding, "kernel.yama.ptrace_scope = %" PRId64, scope);
		if (scope >= 3)
			remedy(finding, "only a reboot lowers it from 3");
		else
			remedy_sysctl(facts, "yama.ptrace_scope", 0, finding);
	} else if (facts->seccomp == 2) {
		knob(finding, "a seccomp filter");
		remedy(finding, "docker run --cap-add SYS_PTRACE");
	} else {
		blame_module(facts, finding);
	}
}

static void judge_bpf(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_finding *finding = add(report, DOCTOR_OTHERS, "bpf", "BPF programs");

	if (!facts->bpf) {
		detail(finding, "one for perf events loads");
		return;
	}
	without(finding, "recording does not need it");
	finding->state = DOCTOR_REFUSED;
	detail(finding, "bpf() says %s",
		facts->bpf == -EPERM ? "EPERM" : strerror(-facts->bpf));
	if (facts->bpf == -ENOSYS && facts->seccomp != 2) {
		finding->state = DOCTOR_ABSENT;
		knob(finding, "CONFIG_BPF_SYSCALL");
	} else if (!has_cap(facts, CAP_BIT_BPF) && !has_cap(facts, CAP_BIT_SYS_ADMIN)) {
		knob(finding, "no CAP_BPF");
		remedy(finding, "sudo wick ...");
	} else if (facts->seccomp == 2) {
		knob(finding, "a seccomp filter");
		remedy(finding, "docker run --cap-add BPF --cap-add PERFMON");
	} else {
		blame_module(facts, finding);
	}
}

/* ---- what follows for a recording */

static void judge_summary(const struct doctor_facts *facts, struct doctor_report *report)
{
	bool cycles = !facts->cycles || !facts->cycles_user;
	bool kernel = cycles ? !facts->cycles : !facts->clock;
	bool confined = !facts->cgroup_make && !facts->cgroup_event && !facts->cgroup_clone;
	const char *event = cycles ? "cycles" : "cpu-clock";
	const char *part = kernel ? "kernel and user code" : "user code only";

	report->can_record = (cycles || !facts->clock_user) && !facts->rings;
	report->system_works = report->can_record && !facts->system_wide;
	if (!report->can_record) {
		static const char no[] = "cannot be recorded here";

		memcpy(report->command, no, sizeof(no));
		memcpy(report->process, no, sizeof(no));
		memcpy(report->system, no, sizeof(no));
		return;
	}
	snprintf(report->command, sizeof(report->command), "%s, %s; %s", event, part,
		confined ? "by CPU, in a cgroup of its own: threads of any length are seen"
			 : "each thread by inheritance: very short ones are missed");
	snprintf(report->process, sizeof(report->process), "%s, %s; %s", event, part,
		facts->other_user == 0		      ? "any process"
		: facts->other_user == DOCTOR_UNTRIED ? "your own processes; others not tried"
						      : "your own processes");
	if (report->system_works)
		snprintf(report->system, sizeof(report->system),
			"%s, kernel and user code; by CPU, all processes", event);
	else
		snprintf(report->system, sizeof(report->system), "refused, see above");
}

/* One setcap replaces another's, so the findings' capabilities belong into one command. */
static void judge_capabilities(struct doctor_report *report)
{
	char *text = report->capabilities;
	size_t cap = sizeof(report->capabilities);

	for (uint32_t i = 0; i < report->count; i++) {
		const char *name = report->findings[i].cap;
		size_t used = strlen(text);

		if (name && !strstr(text, name))
			snprintf(text + used, cap - used, "%s%s", used ? "," : "", name);
	}
}

void doctor_judge(const struct doctor_facts *facts, struct doctor_report *ret_report)
{
	*ret_report = (struct doctor_report){.count = 0};
	judge_cycles(facts, ret_report);
	judge_clock(facts, ret_report);
	if (facts->clock_user == 0) {
		judge_reach(facts, ret_report);
		judge_cgroup(facts, ret_report);
		judge_tracepoint(facts, ret_report);
	}
	judge_rings(facts, ret_report);
	judge_rate(facts, ret_report);
	judge_depth(facts, ret_report);
	judge_files(facts, ret_report);
	judge_kallsyms(facts, ret_report);
	judge_map_files(facts, ret_report);
	judge_ptrace(facts, ret_report);
	judge_bpf(facts, ret_report);
	judge_summary(facts, ret_report);
	judge_capabilities(ret_report);
}
