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

/* Six counters for so many: how much of the time each had one. */
static void check_turns(struct side *side, struct strbuf *out)
{
	for (int n = 6; n <= 12; n += 3) {
		uint64_t words[3], running = 0, enabled = 0;
		int fds[12];

		for (int i = 0; i < n; i++) {
			struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

			attr.flags &= ~ATTR_DISABLED;
			fds[i] = open_one(side, &attr, -1);
		}
		side->spin(side, 400000000);
		for (int i = 0; i < n; i++) {
			memset(words, 0, sizeof(words));
			side->read(side, fds[i], words, sizeof(words));
			enabled += words[1];
			running += words[2];
			side->close(side, fds[i]);
		}
		strbuf_printf(out, "%d events: %llu counters' worth\n", n,
			(unsigned long long)(enabled ? (running * (uint64_t)n * 2 + enabled) /
							       (enabled * 2)
						     : 0));
	}
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

const struct check hardware_checks[] = {
	{"hardware: sampled cycles", check_cycles},
	{"hardware: which events", check_kinds},
	{"hardware: counters run out", check_turns},
	{"hardware: groups", check_group_size},
};
const uint32_t hardware_check_count = sizeof(hardware_checks) / sizeof(hardware_checks[0]);
