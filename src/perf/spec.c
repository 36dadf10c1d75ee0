/*
 * Names to attrs, and the ladder of events: cycles with the kernel's part, without it,
 * cpu-clock with it, without it. A step is taken when the kernel refuses to open the event *or*
 * when it opens and then does not deliver: virtual machines have PMUs that count nothing.
 */
#include "perf/spec.h"

#include "base/cleanup.h"
#include "base/fileio.h"
#include "perf/event_names.h"
#include "perf/pmu.h"
#include "wick/perf_event.h"
#include "wick/perf_ringbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

enum { PROBE_SPIN_NS = 3 * 1000 * 1000, SPIN_STEP_NS = 200 * 1000, PROBE_PERIODS = 10 };

static void name_set(struct event_spec *spec, const char *name, size_t len)
{
	if (len >= sizeof(spec->name))
		len = sizeof(spec->name) - 1;
	memcpy(spec->name, name, len);
	spec->name[len] = '\0';
}

static bool spec_is_user_only(const struct event_spec *spec)
{
	return spec->exclude_kernel && !spec->exclude_user;
}

static void spec_exclude_kernel(struct event_spec *spec)
{
	size_t len = strlen(spec->name);

	spec->exclude_kernel = true;
	if (len + 3 <= sizeof(spec->name))
		memcpy(spec->name + len, ":u", 3);
}

static int modifiers_parse(const char *text, struct event_spec *spec)
{
	bool user = false, kernel = false;

	for (; *text; text++) {
		if (*text == 'u')
			user = true;
		else if (*text == 'k')
			kernel = true;
		else
			return -EINVAL;
	}
	if (!user && !kernel)
		return -EINVAL;
	spec->exclude_user = !user;
	spec->exclude_kernel = !kernel;
	spec->by_user = true;
	return 0;
}

static int tracepoint_parse(const char *text, size_t len, struct event_spec *spec)
{
	static const char *const roots[] = {
		"/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"};
	char path[256];
	const char *colon = memchr(text, ':', len);
	int64_t id;

	if (!colon || memchr(text, '/', len) || text[0] == '.' || len > 128)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		snprintf(path, sizeof(path), "%s/%.*s/%.*s/id", roots[i], (int)(colon - text),
			text, (int)(text + len - colon - 1), colon + 1);
		if (file_read_number(AT_FDCWD, path, &id) == 0 && id >= 0) {
			spec->type = PERF_TYPE_TRACEPOINT;
			spec->config = (uint64_t)id;
			spec->default_period = 1;
			return 0;
		}
	}
	return -ENOENT;
}

/* The event proper, without modifiers. -ENOENT: not of this kind. */
static int body_parse(const char *text, size_t len, struct event_spec *spec, struct error *err)
{
	const struct event_name *known = event_name_find(text, (uint32_t)len);
	char hex[24] = "0x";

	if (known) {
		spec->type = known->type;
		spec->config = known->config;
		spec->weight_is_ns = known->weight_is_ns;
		return 0;
	}
	if (text[0] == 'r' && len > 1 && len < 20) {
		memcpy(hex + 2, text + 1, len - 1);
		if (parse_u64(hex, len + 1, &spec->config) == 0) {
			spec->type = PERF_TYPE_RAW;
			return 0;
		}
	}
	if (memchr(text, '/', len))
		return pmu_parse(PMU_SYSFS, text, len, spec, err);
	return error_set(err, -ENOENT,
		"event '%.*s' is not known; `wick list` shows what can be used here", (int)len,
		text);
}

int spec_parse(const char *text, struct event_spec *ret_spec, struct error *err)
{
	struct event_spec spec = {0};
	size_t len = strlen(text), body = len;
	const char *slash = strrchr(text, '/'), *colon = strrchr(slash ? slash : text, ':');
	int rc;

	if (!len || len >= sizeof(spec.name) - 3)
		return error_set(err, -EINVAL, "event '%.40s': empty or too long", text);
	if (tracepoint_parse(text, len, &spec) == 0) {
		name_set(&spec, text, len);
		*ret_spec = spec;
		return 0;
	}
	if (slash && !colon && slash[1]) { /* cpu/event=1/u */
		rc = modifiers_parse(slash + 1, &spec);
		body = (size_t)(slash + 1 - text);
	} else if (colon) {
		rc = modifiers_parse(colon + 1, &spec);
		body = (size_t)(colon - text);
		if (rc < 0 && tracepoint_parse(text, body, &spec) == 0)
			rc = -EINVAL;
	} else {
		rc = 0;
	}
	if (rc < 0)
		return error_set(err, -EINVAL,
			"event '%s': no such tracepoint here, and '%s' is not a modifier (u "
			"and k are)",
			text, colon ? colon + 1 : slash + 1);
	rc = body_parse(text, body, &spec, err);
	if (rc < 0)
		return rc;
	name_set(&spec, text, len);
	*ret_spec = spec;
	return 0;
}

void spec_attr(const struct event_spec *spec, struct perf_event_attr *ret_attr)
{
	*ret_attr = (struct perf_event_attr){
		.type = spec->type,
		.size = sizeof(*ret_attr),
		.config = spec->config,
		.config1 = spec->config1,
		.config2 = spec->config2,
		.flags = (spec->exclude_kernel ? ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV : 0) |
			 (spec->exclude_user ? ATTR_EXCLUDE_USER : 0),
	};
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * Burns `ns` of this thread's CPU time: on a busy machine that takes longer. Mostly in user
 * mode, by the clock that needs no system call.
 */
static void spin(uint64_t ns)
{
	uint64_t cpu_end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	do {
		uint64_t end = now_ns(CLOCK_MONOTONIC) + SPIN_STEP_NS;

		while (now_ns(CLOCK_MONOTONIC) < end)
			;
	} while (now_ns(CLOCK_THREAD_CPUTIME_ID) < cpu_end);
}

int spec_try_open(const struct event_spec *spec)
{
	struct perf_event_attr attr;
	int fd;

	spec_attr(spec, &attr);
	attr.flags |= ATTR_DISABLED;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		perf_close(fd);
	return fd < 0 ? fd : 0;
}

/* Counts while spinning, then samples with a tenth of that as the period: did the ring move? */
int spec_try_deliver(const struct event_spec *spec)
{
	struct perf_event_attr attr;
	struct perf_ringbuf *ring;
	uint64_t count = 0, head, tail;
	cleanup_close int counter = -1, sampler = -1;
	ssize_t got;
	int rc;

	spec_attr(spec, &attr);
	attr.flags |= ATTR_DISABLED;
	counter = perf_open(&attr, 0, -1, -1, 0);
	if (counter < 0)
		return counter;
	perf_start(counter);
	spin(PROBE_SPIN_NS);
	perf_stop(counter);
	do
		got = read(counter, &count, sizeof(count));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (got != sizeof(count) || count < PROBE_PERIODS)
		return -ENODATA;
	attr.sample_period = count / PROBE_PERIODS;
	attr.sample_type = PERF_SAMPLE_IP;
	sampler = perf_open(&attr, 0, -1, -1, 0);
	if (sampler < 0)
		return sampler;
	rc = perf_ringbuf_open(sampler, 1, &ring);
	if (rc < 0)
		return rc == -EPERM ? 0 : rc; /* no memory to lock: that is said elsewhere */
	perf_start(sampler);
	spin(PROBE_SPIN_NS);
	perf_stop(sampler);
	perf_ringbuf_head_tail(ring, &head, &tail);
	perf_ringbuf_close(ring);
	return head ? 0 : -ENODATA;
}

static bool code_is_missing(int code)
{
	return code == -ENOENT || code == -EOPNOTSUPP || code == -ENODEV || code == -ENODATA ||
	       code == -EINVAL;
}

/* Kernel and user, else user only. */
static int spec_open_ladder(struct event_spec *spec)
{
	int rc = spec_try_open(spec);

	if ((rc == -EACCES || rc == -EPERM) && !spec->by_user && !spec->exclude_kernel) {
		struct event_spec user = *spec;

		spec_exclude_kernel(&user);
		if (spec_try_open(&user) == 0) {
			*spec = user;
			return 0;
		}
	}
	return rc;
}

static void why_user_only(char *why)
{
	int64_t paranoid;

	if (file_read_number(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", &paranoid) < 0)
		paranoid = 2;
	snprintf(why, 192,
		"user code only: kernel.perf_event_paranoid is %d (1 or CAP_PERFMON shows the "
		"kernel's "
		"part)",
		(int)paranoid);
}

int spec_settle(struct event_spec *spec, char *why, struct error *err)
{
	bool was_user = spec_is_user_only(spec);
	int rc = spec_open_ladder(spec);

	why[0] = '\0';
	if (rc < 0)
		return spec_explain(spec, rc, err);
	if (spec_is_user_only(spec) && !was_user)
		why_user_only(why);
	return 0;
}

static uint32_t cycles_specs(struct event_spec *ret_specs)
{
	struct pmu pmus[64];
	struct event_spec plain = {.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.name = "cycles"};
	int n = pmu_list(PMU_SYSFS, pmus, ARRAY_LEN(pmus));
	uint32_t cores = 0;

	for (int i = 0; i < n && cores < SPECS_MAX; i++) {
		if (!pmus[i].is_core)
			continue;
		ret_specs[cores] = plain;
		ret_specs[cores].config |= (uint64_t)pmus[i].type << PERF_PMU_TYPE_SHIFT;
		snprintf(ret_specs[cores].name, sizeof(ret_specs[cores].name), "%.40s/cycles/",
			pmus[i].name);
		memcpy(ret_specs[cores].cpus, pmus[i].cpus, sizeof(pmus[i].cpus));
		cores++;
	}
	if (cores >= 2) /* hybrid: each core PMU counts on its own CPUs only */
		return cores;
	ret_specs[0] = plain;
	return 1;
}

static bool cycles_deliver(struct event_spec *specs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (spec_open_ladder(&specs[i]) < 0)
			return false;
	/* This thread runs on CPUs of one PMU: that one is tried, the others opened. */
	for (uint32_t i = 0; i < n; i++)
		if (spec_try_deliver(&specs[i]) == 0)
			return true;
	return false;
}

int spec_pick(struct event_spec *ret_specs, char *why, struct error *err)
{
	uint32_t n = cycles_specs(ret_specs);
	size_t used;
	int rc;

	why[0] = '\0';
	if (cycles_deliver(ret_specs, n)) {
		if (spec_is_user_only(&ret_specs[0]))
			why_user_only(why);
		return (int)n;
	}
	rc = spec_try_open(&ret_specs[0]);
	if (!rc || code_is_missing(rc))
		snprintf(why, 192,
			"no CPU cycles here: the machine's PMU is absent or counts nothing");
	ret_specs[0] = (struct event_spec){.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.name = "cpu-clock",
		.weight_is_ns = true};
	rc = spec_open_ladder(&ret_specs[0]);
	if (rc < 0)
		return spec_explain(&ret_specs[0], rc, err);
	rc = spec_try_deliver(&ret_specs[0]);
	if (rc < 0)
		return error_set(err, rc,
			"cpu-clock opens but delivers no samples on this kernel (%s): nothing "
			"can be "
			"recorded through perf events here",
			strerror(-rc));
	used = strlen(why);
	if (spec_is_user_only(&ret_specs[0])) {
		char more[192];

		why_user_only(more);
		snprintf(why + used, 192 - used, "%s%s", used ? "; " : "", more);
	}
	return 1;
}

int spec_explain(const struct event_spec *spec, int code, struct error *err)
{
	int64_t paranoid;
	bool knows = file_read_number(
			     AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", &paranoid) == 0;

	switch (code) {
	case -EACCES:
	case -EPERM:
		if (knows && paranoid >= 3)
			return error_set(err, code,
				"event %s: kernel.perf_event_paranoid is %d, which refuses "
				"every user; as "
				"root: sysctl kernel.perf_event_paranoid=2 (or give wick "
				"CAP_PERFMON)",
				spec->name, (int)paranoid);
		if (code == -EPERM)
			return error_set(err, code,
				"event %s: perf_event_open is refused (EPERM): a seccomp "
				"filter, as "
				"containers have by default, or a security module; allow "
				"perf_event_open in "
				"the container's profile",
				spec->name);
		return error_set(err, code,
			"event %s: not permitted (EACCES): another user's or a privileged "
			"process, or "
			"kernel.perf_event_paranoid (%d) forbids it; CAP_PERFMON allows it",
			spec->name, knows ? (int)paranoid : -1);
	case -ENOSYS:
		return error_set(err, code,
			"event %s: the kernel has no perf_event_open (ENOSYS): not built in, "
			"or a "
			"container's seccomp filter hides it",
			spec->name);
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		return error_set(err, code,
			"event %s: this machine cannot count it (%s); `wick list` shows what "
			"works, "
			"cpu-clock always does",
			spec->name, strerror(-code));
	case -EMFILE:
		return error_set(err, code,
			"event %s: too many open files; raise `ulimit -n` (threads x CPUs are "
			"needed)",
			spec->name);
	default:
		return error_set(err, code, "event %s: perf_event_open: %s", spec->name,
			strerror(-code));
	}
}
