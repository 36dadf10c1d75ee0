#include "session/clocks.h"

#include "base/cleanup.h"
#include "base/fileio.h"

#include <stdio.h>
#include <string.h>

void process_clock_start(struct process_clock *clock, const struct proc *proc, int32_t pid)
{
	struct proc_stat stat;

	*clock = (struct process_clock){.pid = pid};
	if (proc_cpu_ns(pid, &clock->before) < 0)
		clock->before = 0;
	if (proc_stat(proc, pid, &stat) == 0)
		clock->kernel_before = stat.stime_ns;
}

void process_clock_read(struct process_clock *clock, const struct proc *proc)
{
	struct proc_stat stat;
	uint64_t now;

	if (proc_cpu_ns(clock->pid, &now) == 0 && now > clock->before)
		clock->used = now - clock->before;
	if (proc_stat(proc, clock->pid, &stat) < 0 || stat.stime_ns < clock->kernel_before)
		return;
	clock->kernel = stat.stime_ns - clock->kernel_before;
	/* A zombie's clock is gone, its times are still there. */
	now = stat.utime_ns + stat.stime_ns;
	if (now > clock->before && now - clock->before > clock->used)
		clock->used = now - clock->before;
}

void clocks_take_processes(
	struct quality *quality, const struct process_clock *clocks, uint32_t count)
{
	quality->cpu_ns = quality->kernel_ns = 0;
	for (uint32_t i = 0; i < count; i++) {
		quality->cpu_ns += clocks[i].used;
		quality->kernel_ns += clocks[i].kernel;
	}
	if (quality->kernel_ns > quality->cpu_ns)
		quality->kernel_ns = quality->cpu_ns;
	quality->user_ns = quality->cpu_ns - quality->kernel_ns;
	snprintf(quality->cpu_clock_name, sizeof(quality->cpu_clock_name), "process clocks");
}

static uint64_t timeval_ns(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000000u + (uint64_t)tv->tv_usec * 1000u;
}

void clocks_take_usage(struct quality *quality, const struct rusage *usage)
{
	quality->user_ns = timeval_ns(&usage->ru_utime);
	quality->kernel_ns = timeval_ns(&usage->ru_stime);
	quality->cpu_ns = quality->user_ns + quality->kernel_ns;
	snprintf(quality->cpu_clock_name, sizeof(quality->cpu_clock_name), "rusage");
}

/* "cpu  10132153 290696 3084719 46828483 16683 0 25195 0 175628 0": user nice system idle
 * iowait irq softirq steal guest guest_nice; guest time is in user already. */
uint64_t machine_busy_ns(const struct proc *proc)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	uint64_t ticks[8] = {0}, busy = 0;
	const char *at;

	if (file_read(proc->root, "stat", 16 << 20, &text) < 0 ||
		strncmp(strbuf_text(&text), "cpu ", 4) != 0)
		return QUALITY_UNKNOWN;
	at = strbuf_text(&text) + 4;
	for (int i = 0; i < 8; i++) {
		size_t len;

		at += strspn(at, " ");
		len = strcspn(at, " \n");
		if (parse_u64(at, len, &ticks[i]) < 0)
			break;
		at += len;
	}
	for (int i = 0; i < 7; i++)
		if (i != 3 && i != 4) /* idle, iowait; steal is not ours */
			busy += ticks[i];
	return busy * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}
