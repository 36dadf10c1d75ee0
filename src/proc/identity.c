/*
 * How: "NSpid:\t4711\t7" in /proc/PID/status ends in what the process calls itself; the owner
 * of /proc/PID is its effective user; the 22nd field of /proc/PID/stat counts the ticks from
 * the boot (which goes on while the machine sleeps) to its start.
 */
#include "proc/identity.h"

#include "base/fileio.h"
#include "proc/text.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_MAX = 64 << 10, STAT_MAX = 4096, START_FIELD = 22, NAME_FIELD = 2 };

static int32_t own_pid(int proc_root, int32_t pid)
{
	struct strbuf status = {0};
	struct span span, line;
	uint64_t number;
	int32_t own = pid;
	char path[40];

	snprintf(path, sizeof(path), "%d/status", pid);
	if (!file_read(proc_root, path, STATUS_MAX, &status)) {
		span = span_of(&status);
		while (span_line(&span, &line))
			if (span_skip(&line, "NSpid:") && span_skip_past_last(&line, '\t') &&
				span_decimal(&line, &number) && number && number <= INT32_MAX)
				own = (int32_t)number;
	}
	strbuf_done(&status);
	return own;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) < 0
		       ? 0
		       : (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Ticks since the boot; 0: not known. The name before them may hold anything but its end. */
static uint64_t start_ticks(int proc_root, int32_t pid)
{
	struct strbuf stat = {0};
	uint64_t ticks = 0;
	struct span span;
	char path[40];
	bool there;

	snprintf(path, sizeof(path), "%d/stat", pid);
	there = !file_read(proc_root, path, STAT_MAX, &stat);
	span = span_of(&stat);
	there = there && span_skip_past_last(&span, ')');
	for (int field = NAME_FIELD; there && field < START_FIELD; field++)
		there = span_skip_past_first(&span, ' ');
	if (!there || !span_decimal(&span, &ticks))
		ticks = 0;
	strbuf_done(&stat);
	return ticks;
}

int proc_identity_read(int proc_root, int32_t pid, struct proc_identity *ret_identity)
{
	struct proc_identity identity = {.own_pid = pid};
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t ticks, since_boot, boot, now;
	struct stat st;
	char path[24];

	snprintf(path, sizeof(path), "%d", pid);
	if (pid <= 0 || fstatat(proc_root, path, &st, 0) < 0)
		return -ESRCH;
	identity.uid = st.st_uid;
	identity.own_pid = own_pid(proc_root, pid);
	ticks = start_ticks(proc_root, pid);
	boot = now_ns(CLOCK_BOOTTIME);
	now = now_ns(CLOCK_REALTIME);
	if (hz > 0 && ticks && now > boot &&
		!__builtin_mul_overflow(ticks, 1000000000u / (uint64_t)hz, &since_boot))
		identity.started_ns = now - boot + since_boot;
	*ret_identity = identity;
	return 0;
}
