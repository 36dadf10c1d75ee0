/*
 * Checks for a real PMU and for the model of it: hardware cycles and instructions. Their
 * answers are in hardware.txt; a side without such a PMU has none to give.
 */
#include "side.h"

#include <stdlib.h>
#include <string.h>

static struct perf_event_attr hardware(uint64_t config)
{
	return (struct perf_event_attr){.type = PERF_TYPE_HARDWARE,
		.size = PERF_ATTR_SIZE_VER8,
		.config = config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL};
}

static int open_one(struct side *side, struct perf_event_attr *attr, int group)
{
	return side->open(side, attr, SIDE_SELF, -1, group, 0);
}

struct sum {
	uint64_t samples, periods, first;
};

static struct sum sum_up(const struct perf_event_attr *attr, struct perf_ringbuf *ring)
{
	struct sum sum = {0, 0, 0};
	struct wick_layout layout;
	const void *bytes;
	int size;

	wick_layout_init(&layout, attr);
	perf_ringbuf_fetch(ring);
	while ((size = perf_ringbuf_peek(ring, &bytes)) > 0) {
		struct wick_record r;

		if (wick_record_decode(&layout, bytes, (size_t)size, &r) == size &&
			r.type == PERF_RECORD_SAMPLE) {
			sum.first = sum.samples++ ? sum.first : r.sample.period;
			sum.periods += r.sample.period;
		}
		perf_ringbuf_next(ring);
	}
	return sum;
}

static void sampled(struct side *side, uint64_t period, bool freq, struct strbuf *out)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_CPU_CYCLES);
	struct perf_ringbuf *ring = NULL;
	uint64_t words[3] = {0};
	struct sum sum;
	int fd;

	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	attr.sample_period = period;
	attr.flags |= freq ? ATTR_FREQ : 0;
	fd = open_one(side, &attr, -1);
	if (fd < 0 || side->ring(side, fd, 16, &ring) < 0) {
		strbuf_printf(out, "cycles cannot be sampled\n");
		return;
	}
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->spin(side, 400000000);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	side->read(side, fd, words, sizeof(words));
	sum = sum_up(&attr, ring);
	if (freq)
		strbuf_printf(out,
			"by frequency: first period %llu, many samples %d, the "
			"periods are the count within a fifth %d\n",
			(unsigned long long)sum.first, sum.samples > 100,
			sum.periods * 5 > words[0] * 4 && sum.periods * 4 < words[0] * 5);
	else
		strbuf_printf(out,
			"by period: many samples %d, their number is the count by the "
			"period %d\n",
			sum.samples > 50,
			sum.samples * period <= words[0] &&
				(sum.samples + 3) * period >= words[0]);
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

static void check_cycles(struct side *side, struct strbuf *out)
{
	sampled(side, 1000000, false, out);
	sampled(side, 1000, true, out);
}

static void check_kinds(struct side *side, struct strbuf *out)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} kinds[] = {
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
		{"reference cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
		{"hardware event 99", PERF_TYPE_HARDWARE, 99},
		{"raw 0x11", PERF_TYPE_RAW, 0x11},
		{"raw 0x8", PERF_TYPE_RAW, 0x8},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct perf_event_attr attr = hardware(kinds[i].config);
		uint64_t words[3] = {0};
		int fd;

		attr.type = kinds[i].type;
		fd = open_one(side, &attr, -1);
		strbuf_printf(
			out, "%s: %s", kinds[i].name, fd < 0 ? strerrorname_np(-fd) : "ok");
		if (fd >= 0) {
			side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
			side->spin(side, 5000000);
			side->read(side, fd, words, sizeof(words));
			strbuf_printf(out, ", counts %d, all the time %d", words[0] > 100000,
				words[1] == words[2]);
			side->close(side, fd);
		}
		strbuf_putc(out, '\n');
	}
}

struct so_many {
	const char *name;
	uint64_t config, config1, flags;
	int n, group; /* so many in each group */
};

/* How much of the time had each one a counter? */
static void turns(struct side *side, const struct so_many *many, struct strbuf *out)
{
	uint64_t words[3], running = 0, enabled = 0, n;
	int fds[16], refused = 0;

	for (int i = 0; i < many->n; i++) {
		struct perf_event_attr attr = hardware(many->config);

		attr.config1 = many->config1;
		attr.flags = (attr.flags & ~ATTR_DISABLED) | many->flags;
		fds[i] = open_one(side, &attr, i % many->group ? fds[i - i % many->group] : -1);
	}
	side->spin(side, 100000000);
	for (int i = 0; i < many->n; i++) {
		memset(words, 0, sizeof(words));
		/* What is pinned and finds no counter is in error, and reads as nothing. */
		refused += side->read(side, fds[i], words, sizeof(words)) == 0;
		enabled += words[1];
		running += words[2];
	}
	n = (uint64_t)(many->n - refused);
	/* A leader takes its siblings with it. */
	for (int i = many->n - 1; i >= 0; i--)
		side->close(side, fds[i]);
	strbuf_printf(out, "%d %s: %llu counters' worth, in error %d\n", many->n, many->name,
		(unsigned long long)(enabled ? (running * n * 2 + enabled) / (enabled * 2) : 0),
		refused);
}

/* Six counters, and one for cycles alone. */
static void check_turns(struct side *side, struct strbuf *out)
{
	static const struct so_many list[] = {
		{"instructions", PERF_COUNT_HW_INSTRUCTIONS, 0, 0, 6, 1},
		{"instructions", PERF_COUNT_HW_INSTRUCTIONS, 0, 0, 9, 1},
		{"instructions", PERF_COUNT_HW_INSTRUCTIONS, 0, 0, 12, 1},
		{"cycles", PERF_COUNT_HW_CPU_CYCLES, 0, 0, 7, 1},
		{"cycles", PERF_COUNT_HW_CPU_CYCLES, 0, 0, 10, 1},
		{"instructions in pairs", PERF_COUNT_HW_INSTRUCTIONS, 0, 0, 8, 2},
		{"instructions in fours", PERF_COUNT_HW_INSTRUCTIONS, 0, 0, 8, 4},
		{"instructions of 64 bits", PERF_COUNT_HW_INSTRUCTIONS, 1, 0, 3, 1},
		{"instructions of 64 bits", PERF_COUNT_HW_INSTRUCTIONS, 1, 0, 6, 1},
		{"cycles of 64 bits", PERF_COUNT_HW_CPU_CYCLES, 1, 0, 4, 1},
		{"instructions, pinned", PERF_COUNT_HW_INSTRUCTIONS, 0, ATTR_PINNED, 8, 1},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		turns(side, &list[i], out);
}

/* Only what is enabled must fit. */
static void group_size(struct side *side, bool disabled, struct strbuf *out)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fds[8], cycles, n;

	if (!disabled)
		attr.flags &= ~ATTR_DISABLED;
	fds[0] = open_one(side, &attr, -1);
	for (n = 1; n < 8; n++) {
		fds[n] = open_one(side, &attr, fds[0]);
		if (fds[n] < 0)
			break;
	}
	strbuf_printf(out, "%s: %d instructions in a group, the next: %s\n",
		disabled ? "disabled" : "enabled", n, n < 8 ? strerrorname_np(-fds[n]) : "ok");
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	cycles = open_one(side, &attr, fds[0]);
	strbuf_printf(
		out, "cycles beside them: %s\n", cycles < 0 ? strerrorname_np(-cycles) : "ok");
	if (cycles >= 0)
		side->close(side, cycles);
	while (n--)
		side->close(side, fds[n]);
}

static void check_group_size(struct side *side, struct strbuf *out)
{
	group_size(side, true, out);
	group_size(side, false, out);
}

/* The bits of the event's type register that leave a mode out. */
static void check_modes(struct side *side, struct strbuf *out)
{
	static const struct {
		const char *name;
		uint64_t flags;
	} modes[] = {
		{"of both", 0},
		{"of user mode", ATTR_EXCLUDE_KERNEL},
		{"of the kernel", ATTR_EXCLUDE_USER},
		{"of neither", ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_USER},
	};
	enum { MODES = sizeof(modes) / sizeof(modes[0]) };
	uint64_t words[MODES][3][3] = {0};
	int fds[MODES];

	for (int i = 0; i < MODES; i++) {
		struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

		attr.flags = modes[i].flags;
		fds[i] = open_one(side, &attr, -1);
	}
	for (int phase = 0; phase < 3; phase++) {
		if (phase == 1)
			side->spin(side, 20000000);
		else if (phase == 2)
			side->in_kernel(side, 20000000);
		for (int i = 0; i < MODES; i++)
			side->read(side, fds[i], words[i][phase], sizeof(words[i][phase]));
	}
	for (int i = 0; i < MODES; i++) {
		uint64_t in_user = words[i][1][0] - words[i][0][0];
		uint64_t in_kernel = words[i][2][0] - words[i][1][0];

		strbuf_printf(out, "%s: the user's %d, the kernel's %d, anything %d\n",
			modes[i].name, in_user * 10 > (words[0][1][0] - words[0][0][0]) * 9,
			in_kernel * 10 > (words[0][2][0] - words[0][1][0]) * 8,
			words[i][2][0] != 0);
		side->close(side, fds[i]);
	}
}

/* What the driver itself refuses. */
static void check_refused(struct side *side, struct strbuf *out)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config, sample_type, flags;
	} odd[] = {
		{"exclude_idle", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0,
			ATTR_EXCLUDE_IDLE},
		{"exclude_hv", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0,
			ATTR_EXCLUDE_HV},
		{"branch stacks", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
			PERF_SAMPLE_BRANCH_STACK, 0},
		{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0, 0},
		{"cache misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 0, 0},
		{"the first cache event", PERF_TYPE_HW_CACHE, 0, 0, 0},
		{"raw 0x3ff, which nothing counts", PERF_TYPE_RAW, 0x3ff, 0, 0},
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct perf_event_attr attr = hardware(odd[i].config);
		uint64_t words[3] = {0};
		int fd;

		attr.type = odd[i].type;
		attr.sample_type = odd[i].sample_type;
		attr.sample_period = odd[i].sample_type ? 1000000 : 0;
		attr.branch_sample_type = odd[i].sample_type ? PERF_SAMPLE_BRANCH_ANY : 0;
		attr.flags = (attr.flags & ~ATTR_DISABLED) | odd[i].flags;
		fd = open_one(side, &attr, -1);
		strbuf_printf(out, "%s: %s", odd[i].name, fd < 0 ? strerrorname_np(-fd) : "ok");
		if (fd >= 0) {
			side->spin(side, 5000000);
			side->read(side, fd, words, sizeof(words));
			strbuf_printf(out, ", counts %d", words[0] != 0);
			side->close(side, fd);
		}
		strbuf_putc(out, '\n');
	}
}

/* Are the counts in the samples the sample's number times the period? */
static bool at_periods(const struct perf_event_attr *attr, struct perf_ringbuf *ring,
	uint64_t period, uint64_t *ret_samples)
{
	struct wick_layout layout;
	const void *bytes;
	bool all = true;
	int size;

	*ret_samples = 0;
	wick_layout_init(&layout, attr);
	perf_ringbuf_fetch(ring);
	while ((size = perf_ringbuf_peek(ring, &bytes)) > 0) {
		struct wick_record r;

		if (wick_record_decode(&layout, bytes, (size_t)size, &r) == size &&
			r.type == PERF_RECORD_SAMPLE) {
			uint64_t count = wick_read_value(&r.sample.read, 0);

			/* The interrupt comes a little later. */
			++*ret_samples;
			all &= count >= *ret_samples * period &&
			       count < *ret_samples * period + period / 50;
		}
		perf_ringbuf_next(ring);
	}
	return all;
}

static void check_overflow(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_CPU_CYCLES);
	uint64_t words[3] = {0}, samples, other = 4000000;
	struct perf_ringbuf *ring = NULL;
	int fd;

	attr.sample_type = PERF_SAMPLE_READ;
	attr.sample_period = 1000000;
	fd = open_one(side, &attr, -1);
	if (fd < 0 || side->ring(side, fd, 16, &ring) < 0) {
		strbuf_printf(out, "cycles cannot be sampled\n");
		return;
	}
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->spin(side, 50000000);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	strbuf_printf(out, "each sample has its number by the period as its count: %d",
		at_periods(&attr, ring, attr.sample_period, &samples));
	strbuf_printf(out, ", many %d\n", samples > 20);
	/* Three more, of another period, and no more. */
	side->ioctl(side, fd, PERF_EVENT_IOC_PERIOD, (uint64_t)(uintptr_t)&other);
	side->ioctl(side, fd, PERF_EVENT_IOC_RESET, 0);
	side->ioctl(side, fd, PERF_EVENT_IOC_REFRESH, 3);
	side->spin(side, 100000000);
	side->read(side, fd, words, sizeof(words));
	strbuf_printf(out, "of another period: as their count %d",
		at_periods(&attr, ring, other, &samples));
	strbuf_printf(out, ", refreshed three times: %llu, and then counts on %d\n",
		(unsigned long long)samples, words[0] > 3 * other + other / 50);
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

const struct check hardware_checks[] = {
	{"hardware: sampled cycles", check_cycles},
	{"hardware: which events", check_kinds},
	{"hardware: counters run out", check_turns},
	{"hardware: groups", check_group_size},
	{"hardware: modes", check_modes},
	{"hardware: refused", check_refused},
	{"hardware: overflow", check_overflow},
};
const uint32_t hardware_check_count = sizeof(hardware_checks) / sizeof(hardware_checks[0]);
