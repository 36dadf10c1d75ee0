/*
 * The trials. Each does what a recording would do, as small as it can be, and undoes it. Those
 * that need another process start a child of their own, which dies with us.
 */
#include "session/diagnosis.h"

#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "perf/listing.h"
#include "perf/spec.h"
#include "proc/cpus.h"
#include "proc/text.h"
#include "session/child.h"
#include "session/confine.h"
#include "wick/perf_event.h"
#include "wick/perf_ringbuf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { RING_BYTES_ASKED = 2 * 1024 * 1024, NOBODY = 65534, FILE_MAX = 1 << 20 };

static const struct event_spec clock_spec = {.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.name = "cpu-clock",
	.weight_is_ns = true};

/* ---- events on ourselves */

static void deliver_both(struct event_spec spec, int *ret_all, int *ret_user)
{
	*ret_all = spec_try_deliver(&spec);
	spec.exclude_kernel = true;
	*ret_user = *ret_all == 0 ? 0 : spec_try_deliver(&spec);
}

static void probe_own_events(struct doctor_facts *facts)
{
	const struct event_spec cycles = {.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.name = "cycles"};

	deliver_both(cycles, &facts->cycles, &facts->cycles_user);
	deliver_both(clock_spec, &facts->clock, &facts->clock_user);
}

/* ---- events on others */

static int clock_open(pid_t pid, int cpu, bool user_only, unsigned long flags)
{
	struct perf_event_attr attr;
	int fd;

	spec_attr(&clock_spec, &attr);
	attr.flags |= ATTR_DISABLED | (user_only ? ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV : 0);
	attr.sample_period = 1000000;
	attr.sample_type = PERF_SAMPLE_IP;
	fd = perf_open(&attr, pid, cpu, -1, flags);
	if (fd >= 0)
		perf_close(fd);
	return fd < 0 ? fd : 0;
}

static void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/*
 * A child that waits, as another user when `uid` is not ours. Its pid when it has become that,
 * else a negative errno.
 */
static pid_t child_start(uint32_t uid)
{
	cleanup_close int in = -1, out = -1;
	int ends[2], code = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	in = ends[0];
	out = ends[1];
	pid = fork();
	if (pid == 0) {
		if (uid != geteuid() &&
			(setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
			code = errno;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(out, &code, sizeof(code)) == sizeof(code))
			for (;;)
				pause();
		_exit(0);
	}
	if (pid < 0)
		return -errno;
	close(take_fd(&out));
	if (read(in, &code, sizeof(code)) != sizeof(code))
		code = EIO;
	if (code)
		child_end(pid);
	return code ? -code : pid;
}

/* Root makes a process of another user; others have root's first one, mostly. */
static int probe_other_user(const struct proc *proc)
{
	struct proc_status status;
	pid_t child;
	int rc;

	if (geteuid() != 0) {
		if (proc_status(proc, 1, &status) < 0 || status.uid == geteuid())
			return DOCTOR_UNTRIED;
		return clock_open(1, -1, true, 0);
	}
	child = child_start(NOBODY);
	if (child < 0)
		return DOCTOR_UNTRIED;
	rc = clock_open(child, -1, true, 0);
	child_end(child);
	return rc;
}

static void probe_cgroup(struct doctor_facts *facts, const struct proc *proc, int cpu)
{
	char name[] = "true";
	char *const argv[] = {name, NULL};
	struct child command = {.started = false};
	struct confine confine;
	sigset_t mask;

	facts->cgroup_event = facts->cgroup_clone = DOCTOR_UNTRIED;
	facts->cgroup_make = confine_new(&confine, proc);
	if (facts->cgroup_make < 0)
		return;
	facts->cgroup_event = clock_open(confine.fd, cpu, false, PERF_FLAG_PID_CGROUP);
	if (facts->cgroup_event == -EACCES)
		facts->cgroup_event = clock_open(confine.fd, cpu, true, PERF_FLAG_PID_CGROUP);
	sigemptyset(&mask);
	facts->cgroup_clone = child_fork(argv, &mask, confine.fd, &command, NULL);
	child_done(&command); /* it was never let go */
	confine_done(&confine);
}

static void probe_tracepoint(struct doctor_facts *facts)
{
	struct list_event event = {.name = "sched:sched_switch"};
	struct list_roots roots;
	DIR *dir;

	list_roots_find(&roots);
	facts->tracepoint = DOCTOR_UNTRIED;
	if (!roots.tracepoints) {
		facts->tracefs = -ENOENT;
		return;
	}
	dir = opendir(roots.tracepoints);
	facts->tracefs = dir ? 0 : -errno;
	if (!dir)
		return;
	closedir(dir);
	list_try(&event);
	facts->tracepoint = event.code;
}

/* ---- rings */

/* One ring a CPU, all at once; 0 when every one could be mapped. */
static int rings_fit(const int *fds, struct perf_ringbuf **rings, uint32_t n, size_t pages)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < n; i++)
		rc = perf_ringbuf_open(fds[i], pages, &rings[i]);
	for (uint32_t i = 0; i < n; i++) {
		perf_ringbuf_close(rings[i]);
		rings[i] = NULL;
	}
	return rc;
}

static int ring_fds_open(const struct cpu_list *cpus, int *fds)
{
	struct perf_event_attr attr;
	struct event_spec spec = clock_spec;

	spec.exclude_kernel = true;
	spec_attr(&spec, &attr);
	attr.flags |= ATTR_DISABLED;
	attr.sample_period = 1000000;
	attr.sample_type = PERF_SAMPLE_IP;
	for (uint32_t i = 0; i < cpus->count; i++) {
		fds[i] = perf_open(&attr, 0, (int)cpus->cpus[i], -1, 0);
		if (fds[i] < 0)
			return fds[i];
	}
	return 0;
}

static void probe_rings(struct doctor_facts *facts, const struct cpu_list *cpus)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = RING_BYTES_ASKED / page;
	cleanup_free struct perf_ringbuf **rings = calloc(cpus->count + 1u, sizeof(*rings));
	cleanup_free int *fds = malloc((cpus->count + 1u) * sizeof(*fds));

	facts->ring_bytes_asked = RING_BYTES_ASKED;
	facts->rings = -ENOMEM;
	if (!rings || !fds)
		return;
	for (uint32_t i = 0; i < cpus->count; i++)
		fds[i] = -1;
	facts->rings = ring_fds_open(cpus, fds);
	for (int first = facts->rings; first == 0 && pages; pages /= 2) {
		facts->rings = rings_fit(fds, rings, cpus->count, pages);
		if (facts->rings == 0) {
			facts->ring_bytes = pages * page;
			break;
		}
	}
	for (uint32_t i = 0; i < cpus->count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* ---- names and other ways */

static int probe_map_files(const struct proc *proc)
{
	cleanup_close int dir =
		openat(proc->root, "self/map_files", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list;
	int rc = -ENOENT;

	if (dir < 0)
		return -errno;
	list = fdopendir(dup(dir));
	if (!list)
		return -errno;
	for (struct dirent *entry; (entry = readdir(list));) {
		cleanup_close int fd = -1;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dir, entry->d_name, O_RDONLY | O_CLOEXEC);
		rc = fd < 0 ? -errno : 0;
		break;
	}
	closedir(list);
	return rc;
}

static int probe_kallsyms(const struct proc *proc)
{
	struct kernel_text text;
	int rc = kernel_text_read(proc, &text);

	if (rc < 0)
		return rc;
	return text.text || text.stext ? 0 : -EACCES;
}

static int probe_ptrace(void)
{
	pid_t child = child_start(geteuid());
	int rc;

	if (child < 0)
		return DOCTOR_UNTRIED;
	rc = ptrace(PTRACE_SEIZE, child, NULL, NULL) < 0 ? -errno : 0;
	child_end(child);
	return rc;
}

/* The smallest program: return 0. The layout is that of bpf(2)'s BPF_PROG_LOAD. */
static int probe_bpf(void)
{
	enum { PROG_LOAD = 5, TYPE_PERF_EVENT = 7 };
	static const uint64_t program[] = {0x00000000000000b7, 0x0000000000000095};
	static const char license[] = "GPL";
	struct {
		uint32_t type, instructions;
		uint64_t program, license;
		uint32_t log_level, log_bytes;
		uint64_t log;
		uint32_t kernel_version, flags;
	} attr = {
		.type = TYPE_PERF_EVENT,
		.instructions = ARRAY_LEN(program),
		.program = (uintptr_t)program,
		.license = (uintptr_t)license,
	};
	long fd = syscall(SYS_bpf, PROG_LOAD, &attr, sizeof(attr));

	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

/* ---- surroundings */

static void status_read(struct doctor_facts *facts, const struct proc *proc)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	struct span rest, line;
	uint64_t value;

	facts->seccomp = -1;
	if (file_read(proc->root, "self/status", FILE_MAX, &text) < 0)
		return;
	rest = span_of(&text);
	while (span_line(&rest, &line)) {
		if (span_skip(&line, "Seccomp:") && span_decimal(&line, &value))
			facts->seccomp = (int)value;
		else if (span_skip(&line, "CapEff:") && span_hex(&line, &value))
			facts->caps = value;
	}
}

static bool in_user_namespace(const struct proc *proc)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	uint64_t inside, outside, count;
	struct span span;

	if (file_read(proc->root, "self/uid_map", FILE_MAX, &text) < 0)
		return false;
	span = span_of(&text);
	return !(span_decimal(&span, &inside) && span_decimal(&span, &outside) &&
		 span_decimal(&span, &count) && !inside && !outside && count == UINT32_MAX);
}

/* The first line of a file, cut to fit; "" when it cannot be read. */
static void line_read(int dirfd, const char *path, char *ret_text, size_t cap)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};

	ret_text[0] = '\0';
	if (file_read(dirfd, path, FILE_MAX, &text) == 0)
		snprintf(ret_text, cap, "%.*s", (int)strcspn(strbuf_text(&text), "\n"),
			strbuf_text(&text));
}

static void security_read(struct doctor_facts *facts, const struct proc *proc)
{
	char modes[128];
	const char *open;

	line_read(proc->sys, "kernel/security/lsm", facts->lsm, sizeof(facts->lsm));
	line_read(proc->sys, "kernel/security/lockdown", modes, sizeof(modes));
	open = strchr(modes, '['); /* "none [integrity] confidentiality" */
	if (open && strncmp(open, "[none]", 6) != 0)
		snprintf(facts->lockdown, sizeof(facts->lockdown), "%.*s",
			(int)strcspn(open + 1, "]"), open + 1);
}

static void container_find(struct doctor_facts *facts)
{
	const char *name = getenv("container");

	if (getenv("KUBERNETES_SERVICE_HOST"))
		name = "kubernetes";
	else if (access("/run/.containerenv", F_OK) == 0)
		name = "podman";
	else if (access("/.dockerenv", F_OK) == 0)
		name = "docker";
	if (name)
		snprintf(facts->container, sizeof(facts->container), "%s", name);
	else
		line_read(AT_FDCWD, "/run/systemd/container", facts->container,
			sizeof(facts->container));
}

static void read_surroundings(struct doctor_facts *facts, const struct proc *proc)
{
	struct host_facts host;
	struct rlimit limit;

	perf_limits_read(proc, &facts->limits);
	if (file_read_number(proc->root, "sys/kernel/unprivileged_bpf_disabled",
		    &facts->unprivileged_bpf_disabled) < 0)
		facts->unprivileged_bpf_disabled = FACT_NONE;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) /* RLIM_INFINITY is UINT64_MAX */
		facts->nofile_hard = limit.rlim_max;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
		facts->memlock = limit.rlim_cur;
	status_read(facts, proc);
	facts->in_user_namespace = in_user_namespace(proc);
	security_read(facts, proc);
	container_find(facts);
	host_facts_read(proc, &host);
	memcpy(facts->osrelease, host.osrelease, sizeof(facts->osrelease));
	memcpy(facts->arch, host.arch, sizeof(facts->arch));
	facts->uid = geteuid();
}

int doctor_probe(struct doctor_facts *ret_facts, struct error *err)
{
	cleanup_with(cpu_list_done) struct cpu_list cpus = {0};
	struct doctor_facts facts = {.uid = 0};
	struct proc proc;
	int rc = proc_open(&proc, NULL, NULL, err);

	if (rc == 0)
		rc = cpus_online(&proc, &cpus);
	if (rc == 0 && !cpus.count)
		rc = -ENOENT;
	if (rc < 0) {
		proc_close(&proc);
		return error_set(
			err, rc, "/proc and /sys do not tell the CPUs: %s", strerror(-rc));
	}
	facts.cpus = cpus.count;
	nofile_raise(UINT64_MAX); /* as a recording does */
	read_surroundings(&facts, &proc);
	probe_own_events(&facts);
	facts.other_user = probe_other_user(&proc);
	facts.system_wide = clock_open(-1, (int)cpus.cpus[0], false, 0);
	probe_cgroup(&facts, &proc, (int)cpus.cpus[0]);
	probe_tracepoint(&facts);
	probe_rings(&facts, &cpus);
	facts.kallsyms = probe_kallsyms(&proc);
	facts.map_files = probe_map_files(&proc);
	facts.ptrace_child = probe_ptrace();
	facts.bpf = probe_bpf();
	proc_close(&proc);
	*ret_facts = facts;
	return 0;
}
