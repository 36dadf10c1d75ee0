#include "session/clocks.h"

#include <stdio.h>

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
