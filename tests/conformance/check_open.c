/* What cannot be opened, mapped or asked for: the errors. */
#include "checks.h"

#include <errno.h>
#include <time.h>

struct argument_case {
	const char *name;
	struct perf_event_attr attr; /* added to faults(1, IP): every field but size is or-ed */
	int pid, cpu, group;
	unsigned long flags;
	uint32_t size;
};

static const struct argument_case argument_cases[] = {
	{"plain", {0}, 0, -1, -1, 0, 0},
	{"cpu 0", {0}, 0, 0, -1, 0, 0},
	{"nobody, no cpu", {0}, -1, -1, -1, 0, 0},
	{"cpu 100000", {0}, 0, 100000, -1, 0, 0},
	{"cpu -2", {0}, 0, -2, -1, 0, 0},
	{"no such task", {0}, SIDE_GONE, -1, -1, 0, 0},
	{"no such group", {0}, 0, -1, 9999, 0, 0},
	{"unknown open flag", {0}, 0, -1, -1, 1ul << 10, 0},
	{"cgroup without cpu", {0}, 0, -1, -1, PERF_FLAG_PID_CGROUP, 0},
	{"size 0", {0}, 0, -1, -1, 0, UINT32_MAX},
	{"size 8", {0}, 0, -1, -1, 0, 8},
	{"size 64", {0}, 0, -1, -1, 0, 64},
	{"size 72", {0}, 0, -1, -1, 0, 72},
	{"size 5000", {0}, 0, -1, -1, 0, 5000},
	{"unknown type", {.type = 0x7fff0000}, 0, -1, -1, 0, 0},
	{"unknown software event", {.config = 0x40}, 0, -1, -1, 0, 0},
	{"reserved_2", {.reserved_2 = 1}, 0, -1, -1, 0, 0},
	{"unknown sample bit", {.sample_type = 1ull << 30}, 0, -1, -1, 0, 0},
	{"unknown format bit", {.read_format = 1ull << 20}, 0, -1, -1, 0, 0},
	{"period with bit 63", {.sample_period = 1ull << 63}, 0, -1, -1, 0, 0},
	{"frequency beyond the limit", {.sample_period = 1u << 30, .flags = ATTR_FREQ}, 0, -1,
		-1, 0, 0},
	{"branch stack, no kind", {.sample_type = PERF_SAMPLE_BRANCH_STACK}, 0, -1, -1, 0, 0},
	{"branch stack",
		{.sample_type = PERF_SAMPLE_BRANCH_STACK,
			.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY},
		0, -1, -1, 0, 0},
	{"user regs, empty mask", {.sample_type = PERF_SAMPLE_REGS_USER}, 0, -1, -1, 0, 0},
	{"interrupt regs, empty mask", {.sample_type = PERF_SAMPLE_REGS_INTR}, 0, -1, -1, 0, 0},
	{"stack of 12 bytes", {.sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 12},
		0, -1, -1, 0, 0},
	{"stack of 65,528 bytes",
		{.sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65528}, 0, -1, -1,
		0, 0},
	{"stack of 65,536 bytes",
		{.sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65536}, 0, -1, -1,
		0, 0},
	{"both weights", {.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT}, 0, -1,
		-1, 0, 0},
	{"inherit_thread alone", {.flags = ATTR_INHERIT_THREAD}, 0, -1, -1, 0, 0},
	{"inherit_thread", {.flags = ATTR_INHERIT_THREAD | ATTR_INHERIT}, 0, -1, -1, 0, 0},
	{"remove and enable on exec", {.flags = ATTR_REMOVE_ON_EXEC | ATTR_ENABLE_ON_EXEC}, 0,
		-1, -1, 0, 0},
	{"sigtrap alone", {.flags = ATTR_SIGTRAP}, 0, -1, -1, 0, 0},
	{"inherited READ without tid", {.flags = ATTR_INHERIT, .sample_type = PERF_SAMPLE_READ},
		0, -1, -1, 0, 0},
	{"inherited READ with tid",
		{.flags = ATTR_INHERIT, .sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID}, 0,
		-1, -1, 0, 0},
	{"clock monotonic", {.flags = ATTR_USE_CLOCKID, .clockid = CLOCK_MONOTONIC}, 0, -1, -1,
		0, 0},
	{"clock 99", {.flags = ATTR_USE_CLOCKID, .clockid = 99}, 0, -1, -1, 0, 0},
	{"clock of the process", {.flags = ATTR_USE_CLOCKID, .clockid = 2}, 0, -1, -1, 0, 0},
	{"chain of 60,000", {.sample_type = PERF_SAMPLE_CALLCHAIN, .sample_max_stack = 60000},
		0, -1, -1, 0, 0},
	{"60,000 without a chain", {.sample_max_stack = 60000}, 0, -1, -1, 0, 0},
	{"frequency 1", {.flags = ATTR_FREQ}, 0, -1, -1, 0, 0},
	{"aux output without a group", {.flags = ATTR_AUX_OUTPUT}, 0, -1, -1, 0, 0},
	{"aux samples without a group", {.aux_sample_size = 64}, 0, -1, -1, 0, 0},
	{"aux action", {.aux_action = 1}, 0, -1, -1, 0, 0},
	{"pinned and exclusive", {.flags = ATTR_PINNED | ATTR_EXCLUSIVE}, 0, -1, -1, 0, 0},
	{"written backward", {.flags = ATTR_WRITE_BACKWARD}, 0, -1, -1, 0, 0},
	{"cgroup that is none", {0}, 9999, 0, -1, PERF_FLAG_PID_CGROUP, 0},
	{"output to nobody", {0}, 0, -1, -1, PERF_FLAG_FD_OUTPUT, 0},
};

static struct perf_event_attr case_attr(const struct argument_case *c)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP);

	attr.type |= c->attr.type;
	attr.config |= c->attr.config;
	attr.sample_type |= c->attr.sample_type;
	attr.read_format |= c->attr.read_format;
	attr.flags |= c->attr.flags;
	attr.branch_sample_type = c->attr.branch_sample_type;
	attr.sample_regs_user = c->attr.sample_regs_user;
	attr.sample_regs_intr = c->attr.sample_regs_intr;
	attr.sample_stack_user = c->attr.sample_stack_user;
	attr.clockid = c->attr.clockid;
	attr.reserved_2 = c->attr.reserved_2;
	attr.sample_max_stack = c->attr.sample_max_stack;
	attr.aux_sample_size = c->attr.aux_sample_size;
	attr.aux_action = c->attr.aux_action;
	if (c->attr.sample_period)
		attr.sample_period = c->attr.sample_period;
	if (c->size)
		attr.size = c->size == UINT32_MAX ? 0 : c->size;
	return attr;
}

void check_arguments(struct side *side, struct strbuf *out)
{
	for (size_t i = 0; i < sizeof(argument_cases) / sizeof(argument_cases[0]); i++) {
		const struct argument_case *c = &argument_cases[i];
		/* Longer than any kernel knows: what is read behind the struct must be ours. */
		union {
			struct perf_event_attr attr;
			char room[8192];
		} u = {.room = {0}};
		int fd;

		u.attr = case_attr(c);
		fd = side->open(side, &u.attr, c->pid, c->cpu, c->group, c->flags);
		strbuf_printf(out, "%s: %s", c->name, error_name(fd));
		if (fd == -E2BIG) /* the kernel says what it knows */
			strbuf_printf(out, ", size %u", u.attr.size);
		strbuf_putc(out, '\n');
		if (fd >= 0)
			side->close(side, fd);
	}
}

/* An attr that is longer than what is known: nothing may stand there. */
void check_sizes(struct side *side, struct strbuf *out)
{
	static const uint32_t sizes[] = {63, 65, 120, 136, 144, 200, 4096, 4097};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int behind = 0; behind < 2; behind++) {
			union {
				struct perf_event_attr attr;
				char room[8192];
			} u = {.room = {0}};
			int fd;

			u.attr = faults(1, PERF_SAMPLE_IP);
			u.attr.size = sizes[i];
			u.room[sizes[i] - 1] = (char)behind;
			fd = side->open(side, &u.attr, SIDE_SELF, -1, -1, 0);
			strbuf_printf(out, "%u bytes, the last one %d: %s", sizes[i], behind,
				error_name(fd));
			if (fd == -E2BIG)
				strbuf_printf(out, ", size %u", u.attr.size);
			strbuf_putc(out, '\n');
			if (fd >= 0)
				side->close(side, fd);
		}
}

void check_groups_open(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP), other = attr;
	int leader = open_self(side, &attr);
	int sibling = side->open(side, &attr, 0, -1, leader, 0), fd;

	strbuf_printf(out, "sibling: %s\n", error_name(sibling));
	strbuf_printf(out, "of a sibling: %s\n",
		error_name(side->open(side, &attr, 0, -1, sibling, 0)));
	strbuf_printf(
		out, "other cpu: %s\n", error_name(side->open(side, &attr, 0, 0, leader, 0)));
	other.flags |= ATTR_INHERIT;
	strbuf_printf(
		out, "inherits: %s\n", error_name(side->open(side, &other, 0, -1, leader, 0)));
	other = attr;
	other.flags |= ATTR_PINNED;
	strbuf_printf(
		out, "pinned: %s\n", error_name(side->open(side, &other, 0, -1, leader, 0)));
	other = attr;
	other.flags |= ATTR_USE_CLOCKID;
	other.clockid = CLOCK_MONOTONIC;
	strbuf_printf(out, "other clock: %s\n",
		error_name(side->open(side, &other, 0, -1, leader, 0)));
	fd = side->open(side, &attr, 0, -1, leader, PERF_FLAG_FD_NO_GROUP);
	strbuf_printf(out, "no group: %s\n", error_name(fd));
	side->close(side, fd);
	strbuf_printf(out, "output without a ring: %s\n",
		error_name(side->open(side, &attr, 0, -1, leader,
			PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT)));
	side->close(side, sibling);
	side->close(side, leader);
}

void check_mmap(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP), inherit = attr;
	int fd = open_self(side, &attr), in, in_cpu;
	struct perf_ringbuf *ring = NULL;

	inherit.flags |= ATTR_INHERIT;
	in = open_self(side, &inherit);
	in_cpu = side->open(side, &inherit, 0, 0, -1, 0);
	strbuf_printf(out, "3 pages: %s\n", error_name(side->map(side, fd, 3)));
	strbuf_printf(out, "4 pages: %s\n", error_name(side->map(side, fd, 4)));
	strbuf_printf(out, "inherit, no cpu: %s\n", error_name(side->map(side, in, 4)));
	strbuf_printf(out, "inherit, cpu 0: %s\n", error_name(side->map(side, in_cpu, 4)));
	strbuf_printf(out, "ring: %s\n", error_name(side->ring(side, fd, 4, &ring)));
	strbuf_printf(out, "again: %s\n", error_name(side->map(side, fd, 4)));
	strbuf_printf(out, "other size: %s\n", error_name(side->map(side, fd, 8)));
	perf_ringbuf_close(ring);
	side->close(side, in_cpu);
	side->close(side, in);
	side->close(side, fd);
}

void check_ioctls(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP), count = faults(0, 0);
	struct perf_event_attr backward = attr, inherit = attr, clocked = attr;
	int fd = open_self(side, &attr), other = open_self(side, &attr);
	int counter = open_self(side, &count), on_cpu, back, in, timed;
	uint64_t period = 0, huge = 1ull << 63, five = 5;
	struct perf_ringbuf *ring = NULL;

#define TRY(name, fd_, request, arg)                                                           \
	strbuf_printf(out, "%s: %s\n", name,                                                   \
		error_name(side->ioctl(side, fd_, request, (uint64_t)(arg))))
	backward.flags |= ATTR_WRITE_BACKWARD;
	inherit.flags |= ATTR_INHERIT;
	clocked.flags |= ATTR_USE_CLOCKID;
	clocked.clockid = CLOCK_MONOTONIC;
	back = open_self(side, &backward);
	in = open_self(side, &inherit);
	timed = open_self(side, &clocked);
	on_cpu = side->open(side, &attr, 0, 0, -1, 0);
	TRY("unknown", fd, _IO('$', 99), 0);
	TRY("pause without a ring", fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	TRY("output without a ring", other, PERF_EVENT_IOC_SET_OUTPUT, fd);
	side->ring(side, fd, 1, &ring);
	TRY("output", other, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("output again", other, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("output to itself", fd, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("output of a mapped one", fd, PERF_EVENT_IOC_SET_OUTPUT, other);
	TRY("output to nobody", other, PERF_EVENT_IOC_SET_OUTPUT, -1);
	TRY("output to a bad one", other, PERF_EVENT_IOC_SET_OUTPUT, 9999);
	TRY("output across cpus", on_cpu, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("output backward", back, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("output of another clock", timed, PERF_EVENT_IOC_SET_OUTPUT, fd);
	TRY("pause", fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	TRY("period 0", fd, PERF_EVENT_IOC_PERIOD, (uintptr_t)&period);
	TRY("period with bit 63", fd, PERF_EVENT_IOC_PERIOD, (uintptr_t)&huge);
	TRY("period 5", fd, PERF_EVENT_IOC_PERIOD, (uintptr_t)&five);
	TRY("period of a count", counter, PERF_EVENT_IOC_PERIOD, (uintptr_t)&five);
	TRY("refresh a count", counter, PERF_EVENT_IOC_REFRESH, 1);
	TRY("refresh what inherits", in, PERF_EVENT_IOC_REFRESH, 1);
#undef TRY
	perf_ringbuf_close(ring);
	side->close(side, timed);
	side->close(side, in);
	side->close(side, back);
	side->close(side, on_cpu);
	side->close(side, counter);
	side->close(side, other);
	side->close(side, fd);
}
