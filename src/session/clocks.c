#include "session/clocks.h"

#include "base/cleanup.h"
#include "base/fileio.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SPLIT_LEAST_NS = 40 * 1000 * 1000 }; /* ten ticks at 250 Hz */

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
	uint64_t used = 0, kernel = 0;

	for (uint32_t i = 0; i < count; i++) {
		used += clocks[i].used;
		kernel += clocks[i].kernel;
	}
	if (kernel > used)
		kernel = used;
	clocks_split(quality, used - kernel, kernel);
	snprintf(quality->cpu_clock_name, sizeof(quality->cpu_clock_name), "process clocks");
}

static uint64_t timeval_ns(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000000u + (uint64_t)tv->tv_usec * 1000u;
}

/* The kernel splits CPU time by looking at each tick: below some of them the split means
 * nothing. */
void clocks_split(struct quality *quality, uint64_t user_ns, uint64_t kernel_ns)
{
	bool known = user_ns + kernel_ns >= SPLIT_LEAST_NS;

	quality->cpu_ns = user_ns + kernel_ns;
	quality->user_ns = known ? user_ns : QUALITY_UNKNOWN;
	quality->kernel_ns = known ? kernel_ns : QUALITY_UNKNOWN;
}

void clocks_take_usage(struct quality *quality, const struct rusage *usage)
{
	clocks_split(quality, timeval_ns(&usage->ru_utime), timeval_ns(&usage->ru_stime));
	snprintf(quality->cpu_clock_name, sizeof(quality->cpu_clock_name), "rusage");
}

/* "cpu1 10132153 290696 3084719 46828483 16683 0 25195 0 175628 0": user nice system idle
 * iowait irq softirq steal guest guest_nice, in ticks; guest time is in user already. */
static uint64_t line_busy_ticks(const char *at)
{
	uint64_t busy = 0, ticks;

	for (int i = 0; i < 7; i++) {
		size_t len;

		at += strspn(at, " ");
		len = strcspn(at, " \n");
		if (parse_u64(at, len, &ticks) < 0)
			break;
		if (i != 3 && i != 4) /* idle, iowait; steal is not ours */
			busy += ticks;
		at += len;
	}
	return busy;
}

static bool list_has(const struct cpu_list *cpus, uint64_t cpu)
{
	for (uint32_t i = 0; i < cpus->count; i++)
		if (cpus->cpus[i] == cpu)
			return true;
	return false;
}

uint64_t machine_busy_ns(const struct proc *proc, const struct cpu_list *cpus)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	uint64_t busy = 0, cpu;

	if (file_read(proc->root, "stat", 16 << 20, &text) < 0)
		return QUALITY_UNKNOWN;
	for (const char *line = strbuf_text(&text); *line;) {
		size_t word = strcspn(line, " \n"), len = strcspn(line, "\n");

		if (word > 3 && !memcmp(line, "cpu", 3) &&
			parse_u64(line + 3, word - 3, &cpu) == 0 && list_has(cpus, cpu))
			busy += line_busy_ticks(line + word);
		line += len + (line[len] == '\n');
	}
	return busy * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}
