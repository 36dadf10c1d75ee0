/* Findings from results that were made up: each refusal names its knob and its remedy. */
#include "session/diagnosis.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A machine where everything works. */
static struct doctor_facts all_well(void)
{
	return (struct doctor_facts){
		.ring_bytes = 2 << 20,
		.ring_bytes_asked = 2 << 20,
		.limits = {.paranoid = 2,
			.mlock_kb = 516,
			.max_sample_rate = 100000,
			.max_stack = 127,
			.kptr_restrict = 0,
			.ptrace_scope = FACT_NONE},
		.unprivileged_bpf_disabled = 2,
		.nofile_hard = 1 << 20,
		.memlock = 8 << 20,
		.caps = 1ull << CAP_BIT_PERFMON | 1ull << CAP_BIT_SYSLOG | 1ull << CAP_BIT_BPF |
			1ull << CAP_BIT_SYS_PTRACE | 1ull << CAP_BIT_CHECKPOINT,
		.cpus = 4,
		.uid = 1000,
	};
}

/* Paranoid 2, no capability: what a distribution's user gets. */
static struct doctor_facts ordinary_user(void)
{
	struct doctor_facts facts = all_well();

	facts.caps = 0;
	facts.cycles = facts.clock = facts.system_wide = facts.other_user = -EACCES;
	facts.cgroup_make = -EACCES;
	facts.cgroup_event = facts.cgroup_clone = DOCTOR_UNTRIED;
	facts.tracefs = -EACCES;
	facts.tracepoint = DOCTOR_UNTRIED;
	facts.kallsyms = -EACCES;
	facts.map_files = -EPERM;
	facts.bpf = -EPERM;
	return facts;
}

/* The finding's number, or -1. */
static int finding_index(const struct doctor_report *report, const char *id)
{
	for (uint32_t i = 0; i < report->count; i++)
		if (!strcmp(report->findings[i].id, id))
			return (int)i;
	return -1;
}

static const struct doctor_finding *finding_of(
	const struct doctor_report *report, const char *id)
{
	int i = finding_index(report, id);

	assert_true(i >= 0);
	return &report->findings[i];
}

static void check(const struct doctor_report *report, const char *id, enum doctor_state state,
	const char *knob, const char *remedy)
{
	const struct doctor_finding *finding = finding_of(report, id);

	if (finding->state != state || !strstr(finding->knob, knob) ||
		!strstr(finding->remedy, remedy))
		fail_msg("%s: state %d, knob '%s', remedy '%s'", id, (int)finding->state,
			finding->knob, finding->remedy);
}

/* What holds of every report. */
static void check_whole(const struct doctor_report *report)
{
	assert_true(report->count > 4 && report->count <= DOCTOR_FINDINGS_MAX);
	assert_true(report->command[0] && report->process[0] && report->system[0]);
	for (uint32_t i = 0; i < report->count; i++) {
		const struct doctor_finding *finding = &report->findings[i];

		assert_true(finding->detail[0]);
		/* Cut texts would end at the buffer's end. */
		assert_true(strlen(finding->detail) + 1 < sizeof(finding->detail));
		assert_true(strlen(finding->knob) + 1 < sizeof(finding->knob));
		assert_true(strlen(finding->remedy) + 1 < sizeof(finding->remedy));
		assert_true(strlen(finding->without) + 1 < sizeof(finding->without));
		if (finding->state == DOCTOR_WORKS)
			assert_true(!finding->knob[0] && !finding->remedy[0]);
		if (finding->state == DOCTOR_REFUSED)
			assert_true(finding->knob[0] && (finding->remedy[0] || finding->cap));
		if (i)
			assert_true(finding->group >= report->findings[i - 1].group);
	}
}

static void judge(struct doctor_facts facts, struct doctor_report *report)
{
	doctor_judge(&facts, report);
	check_whole(report);
}

static void where_all_works_nothing_is_blamed(void **state)
{
	struct doctor_report report;

	(void)state;
	judge(all_well(), &report);
	for (uint32_t i = 0; i < report.count; i++)
		assert_int_equal(report.findings[i].state, DOCTOR_WORKS);
	assert_true(report.can_record && report.system_works);
	assert_string_equal(report.capabilities, "");
	assert_non_null(strstr(report.command, "cycles, kernel and user"));
	assert_non_null(strstr(report.command, "cgroup"));
}

static void an_ordinary_user_hears_of_paranoid(void **state)
{
	struct doctor_report report;

	(void)state;
	judge(ordinary_user(), &report);
	check(&report, "clock-user", DOCTOR_WORKS, "", "");
	check(&report, "cycles", DOCTOR_LIMITED, "perf_event_paranoid = 2", "paranoid=1");
	check(&report, "clock-kernel", DOCTOR_REFUSED, "perf_event_paranoid = 2", "paranoid=1");
	check(&report, "system-wide", DOCTOR_REFUSED, "perf_event_paranoid = 2", "paranoid=0");
	check(&report, "other-user", DOCTOR_REFUSED, "CAP_PERFMON", "sudo");
	check(&report, "cgroup", DOCTOR_REFUSED, "cgroup", "Delegate");
	check(&report, "tracepoint", DOCTOR_REFUSED, "mode of", "remount");
	check(&report, "kernel-symbols", DOCTOR_REFUSED, "CAP_SYSLOG", "paranoid=1");
	check(&report, "deleted-files", DOCTOR_REFUSED, "CAP_CHECKPOINT_RESTORE", "");
	check(&report, "bpf", DOCTOR_REFUSED, "CAP_BPF", "");
	assert_true(report.can_record && !report.system_works);
	assert_non_null(strstr(report.command, "user code only"));
	assert_non_null(strstr(report.command, "inheritance"));
	assert_string_equal(
		report.capabilities, "cap_perfmon,cap_syslog,cap_checkpoint_restore");
}

static void a_machine_without_a_pmu_is_not_a_refusal(void **state)
{
	struct doctor_facts facts = ordinary_user();
	struct doctor_report report;

	(void)state;
	facts.cycles_user = -ENOENT; /* the kernel's part is refused before that shows */
	judge(facts, &report);
	check(&report, "cycles", DOCTOR_ABSENT, "", "pmu=on");
	assert_non_null(strstr(report.command, "cpu-clock"));
	facts = all_well();
	facts.cycles = facts.cycles_user = -ENODATA;
	judge(facts, &report);
	check(&report, "cycles", DOCTOR_ABSENT, "", "");
	assert_non_null(strstr(finding_of(&report, "cycles")->detail, "counts nothing"));
	assert_non_null(strstr(report.command, "cpu-clock, kernel and user"));
}

static struct doctor_facts refused_by(int code)
{
	struct doctor_facts facts = ordinary_user();

	facts.cycles = facts.cycles_user = facts.clock = facts.clock_user = code;
	facts.system_wide = facts.other_user = facts.rings = code;
	facts.ring_bytes = 0;
	return facts;
}

static void a_seccomp_filter_is_told_from_others(void **state)
{
	static const int codes[] = {-EPERM, -ENOSYS};
	struct doctor_report report;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct doctor_facts facts = refused_by(codes[i]);

		facts.seccomp = 2;
		judge(facts, &report);
		check(&report, "clock-user", DOCTOR_REFUSED, "seccomp", "docker run");
		check(&report, "clock-user", DOCTOR_REFUSED, "seccomp", "SystemCallFilter");
		assert_int_equal(
			finding_index(&report, "cycles"), -1); /* the same refusal, told once */
		assert_false(report.can_record);
		strcpy(facts.container, "podman");
		judge(facts, &report);
		check(&report, "clock-user", DOCTOR_REFUSED, "seccomp filter (podman)",
			"podman run --cap-add PERFMON");
		strcpy(facts.container, "kubernetes");
		judge(facts, &report);
		check(&report, "clock-user", DOCTOR_REFUSED, "seccomp", "seccompProfile");
	}
}

static void without_a_filter_a_security_module_did_it(void **state)
{
	struct doctor_facts facts = refused_by(-EPERM);
	struct doctor_report report;

	(void)state;
	strcpy(facts.lsm, "capability,selinux");
	judge(facts, &report);
	check(&report, "clock-user", DOCTOR_REFUSED, "security module", "journalctl");
	assert_non_null(strstr(finding_of(&report, "clock-user")->detail, "selinux"));
	strcpy(facts.lockdown, "confidentiality");
	judge(facts, &report);
	check(&report, "clock-user", DOCTOR_REFUSED, "lockdown (confidentiality)", "boot");
}

static void debians_paranoid_3_refuses_everything(void **state)
{
	struct doctor_facts facts = refused_by(-EACCES);
	struct doctor_report report;

	(void)state;
	facts.limits.paranoid = 3;
	judge(facts, &report);
	check(&report, "clock-user", DOCTOR_REFUSED, "perf_event_paranoid = 3", "paranoid=2");
	assert_false(report.can_record);
}

static void a_kernel_without_perf_events(void **state)
{
	struct doctor_facts facts = refused_by(-ENOSYS);
	struct doctor_report report;

	(void)state;
	facts.limits.paranoid = FACT_NONE;
	judge(facts, &report);
	check(&report, "clock-user", DOCTOR_ABSENT, "CONFIG_PERF_EVENTS", "");
	assert_false(report.can_record);
}

static void capabilities_of_a_user_namespace_do_not_count(void **state)
{
	struct doctor_facts facts = ordinary_user();
	struct doctor_report report;

	(void)state;
	facts.caps = UINT64_MAX;
	facts.in_user_namespace = true;
	judge(facts, &report);
	check(&report, "clock-kernel", DOCTOR_REFUSED, "perf_event_paranoid = 2",
		"# on the host");
	check(&report, "deleted-files", DOCTOR_REFUSED, "user namespace", "outside");
	assert_string_equal(report.capabilities, "");
}

static void the_limits_are_named(void **state)
{
	struct doctor_facts facts = all_well();
	struct doctor_report report;

	(void)state;
	facts.ring_bytes = 512 << 10;
	facts.limits.max_sample_rate = 500;
	facts.limits.max_stack = 64;
	facts.nofile_hard = 1024;
	judge(facts, &report);
	check(&report, "rings", DOCTOR_LIMITED, "RLIMIT_MEMLOCK", "perf_event_mlock_kb=2052");
	check(&report, "rate", DOCTOR_LIMITED, "max_sample_rate", "=100000");
	check(&report, "stack", DOCTOR_LIMITED, "max_stack", "=127");
	check(&report, "files", DOCTOR_LIMITED, "RLIMIT_NOFILE", "ulimit");
	assert_non_null(strstr(finding_of(&report, "files")->detail, "256 threads"));
	assert_true(report.can_record);
	facts.ring_bytes = 0;
	facts.rings = -EPERM;
	judge(facts, &report);
	check(&report, "rings", DOCTOR_REFUSED, "RLIMIT_MEMLOCK", "mlock");
	assert_false(report.can_record);
}

static void kptr_restrict_and_ptrace_scope_are_named(void **state)
{
	struct doctor_facts facts = all_well();
	struct doctor_report report;

	(void)state;
	facts.kallsyms = -EACCES;
	facts.limits.kptr_restrict = 2;
	facts.limits.ptrace_scope = 1;
	facts.caps = 0;
	judge(facts, &report);
	check(&report, "kernel-symbols", DOCTOR_REFUSED, "kptr_restrict = 2",
		"kptr_restrict=0");
	check(&report, "ptrace", DOCTOR_LIMITED, "ptrace_scope = 1", "ptrace_scope=0");
	facts.limits.ptrace_scope = 3;
	facts.ptrace_child = -EPERM;
	judge(facts, &report);
	check(&report, "ptrace", DOCTOR_REFUSED, "ptrace_scope = 3", "reboot");
}

static void cgroups_and_tracefs_that_are_not_there(void **state)
{
	struct doctor_facts facts = all_well();
	struct doctor_report report;

	(void)state;
	facts.cgroup_make = facts.tracefs = -ENOENT;
	facts.cgroup_event = facts.cgroup_clone = facts.tracepoint = DOCTOR_UNTRIED;
	judge(facts, &report);
	check(&report, "cgroup", DOCTOR_ABSENT, "", "mount -t cgroup2");
	check(&report, "tracepoint", DOCTOR_ABSENT, "", "mount -t tracefs");
	assert_non_null(strstr(report.command, "inheritance"));
	facts.cgroup_make = 0;
	facts.cgroup_event = -ENOENT;
	judge(facts, &report);
	check(&report, "cgroup", DOCTOR_ABSENT, "", "cgroup.subtree_control");
	facts.cgroup_event = DOCTOR_UNTRIED;
	facts.cgroup_make = -EROFS;
	judge(facts, &report);
	check(&report, "cgroup", DOCTOR_REFUSED, "read-only", "");
}

/* Every result of every trial gives a whole report. */
static void any_mixture_is_told_whole(void **state)
{
	static const int codes[] = {0, -EACCES, -EPERM, -ENOSYS, -ENOENT, -ENODATA, -EROFS,
		-EINVAL, -EMFILE, DOCTOR_UNTRIED};
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct doctor_facts facts = all_well();
		int *const results[] = {&facts.cycles, &facts.cycles_user, &facts.clock,
			&facts.clock_user, &facts.system_wide, &facts.other_user,
			&facts.cgroup_make, &facts.cgroup_event, &facts.cgroup_clone,
			&facts.tracefs, &facts.tracepoint, &facts.kallsyms, &facts.map_files,
			&facts.ptrace_child, &facts.bpf};
		struct doctor_report report;

		for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			*results[i] = codes[(seed >> 33) % 10];
		}
		if (facts.clock_user == DOCTOR_UNTRIED || facts.cycles == DOCTOR_UNTRIED ||
			facts.cycles_user == DOCTOR_UNTRIED || facts.clock == DOCTOR_UNTRIED ||
			facts.system_wide == DOCTOR_UNTRIED ||
			facts.kallsyms == DOCTOR_UNTRIED || facts.map_files == DOCTOR_UNTRIED ||
			facts.bpf == DOCTOR_UNTRIED || facts.cgroup_make == DOCTOR_UNTRIED ||
			facts.tracefs == DOCTOR_UNTRIED)
			continue; /* these are always tried */
		facts.seccomp = seed >> 40 & 2;
		facts.caps = seed >> 20 & 1 ? 0 : facts.caps;
		facts.in_user_namespace = seed >> 21 & 1;
		facts.limits.paranoid = (int64_t)(seed >> 22 & 3) - 1;
		judge(facts, &report);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(where_all_works_nothing_is_blamed),
	cmocka_unit_test(an_ordinary_user_hears_of_paranoid),
	cmocka_unit_test(a_machine_without_a_pmu_is_not_a_refusal),
	cmocka_unit_test(a_seccomp_filter_is_told_from_others),
	cmocka_unit_test(without_a_filter_a_security_module_did_it),
	cmocka_unit_test(debians_paranoid_3_refuses_everything),
	cmocka_unit_test(a_kernel_without_perf_events),
	cmocka_unit_test(capabilities_of_a_user_namespace_do_not_count),
	cmocka_unit_test(the_limits_are_named),
	cmocka_unit_test(kptr_restrict_and_ptrace_scope_are_named),
	cmocka_unit_test(cgroups_and_tracefs_that_are_not_there),
	cmocka_unit_test(any_mixture_is_told_whole),
};
UNIT_TESTS("doctor", tests)
