/* Samples: what each bit makes of them, and how many there are. */
#include "checks.h"

static const struct {
	const char *name;
	uint64_t bit;
} sample_bits[] = {
	{"IP", PERF_SAMPLE_IP},
	{"TID", PERF_SAMPLE_TID},
	{"TIME", PERF_SAMPLE_TIME},
	{"ADDR", PERF_SAMPLE_ADDR},
	{"READ", PERF_SAMPLE_READ},
	{"CALLCHAIN", PERF_SAMPLE_CALLCHAIN},
	{"ID", PERF_SAMPLE_ID},
	{"CPU", PERF_SAMPLE_CPU},
	{"PERIOD", PERF_SAMPLE_PERIOD},
	{"STREAM_ID", PERF_SAMPLE_STREAM_ID},
	{"RAW", PERF_SAMPLE_RAW},
	{"REGS_USER", PERF_SAMPLE_REGS_USER},
	{"STACK_USER", PERF_SAMPLE_STACK_USER},
	{"WEIGHT", PERF_SAMPLE_WEIGHT},
	{"DATA_SRC", PERF_SAMPLE_DATA_SRC},
	{"IDENTIFIER", PERF_SAMPLE_IDENTIFIER},
	{"TRANSACTION", PERF_SAMPLE_TRANSACTION},
	{"REGS_INTR", PERF_SAMPLE_REGS_INTR},
	{"AUX", PERF_SAMPLE_AUX},
	{"DATA_PAGE_SIZE", PERF_SAMPLE_DATA_PAGE_SIZE},
	{"CODE_PAGE_SIZE", PERF_SAMPLE_CODE_PAGE_SIZE},
	{"WEIGHT_STRUCT", PERF_SAMPLE_WEIGHT_STRUCT},
	{"all fixed", PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
			      PERF_SAMPLE_READ | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |
			      PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID |
			      PERF_SAMPLE_REGS_USER | PERF_SAMPLE_IDENTIFIER},
};

static void sample_say(const struct side *side, uint64_t type, uint64_t id,
	const struct wick_record *r, struct strbuf *out)
{
	if (type & PERF_SAMPLE_IP)
		strbuf_printf(out, ", ip %d", r->sample.ip != 0);
	if (type & PERF_SAMPLE_TID)
		strbuf_printf(out, ", ours %d", r->id.pid == (uint32_t)side->pid);
	if (type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER))
		strbuf_printf(out, ", id %d", r->id.id == id);
	if (type & PERF_SAMPLE_STREAM_ID)
		strbuf_printf(out, ", stream %d", r->id.stream_id == id);
	if (type & PERF_SAMPLE_CPU)
		strbuf_printf(out, ", cpu %u", r->id.cpu);
	if (type & PERF_SAMPLE_PERIOD)
		strbuf_printf(out, ", period %llu", (unsigned long long)r->sample.period);
	if (type & PERF_SAMPLE_DATA_SRC)
		strbuf_printf(out, ", source %#llx", (unsigned long long)r->sample.data_src);
	if (type & PERF_SAMPLE_RAW)
		strbuf_printf(out, ", raw %u", r->sample.raw_bytes);
	if (type & PERF_SAMPLE_REGS_USER)
		strbuf_printf(out, ", abi %llu", (unsigned long long)r->sample.regs_user.abi);
	if (type & PERF_SAMPLE_STACK_USER)
		strbuf_printf(out, ", asked %llu", (unsigned long long)r->sample.stack_asked);
	if (type & PERF_SAMPLE_CALLCHAIN)
		strbuf_printf(out, ", chain %d", r->sample.callchain.n >= 2);
	strbuf_printf(out, ", misc %u", r->misc & PERF_RECORD_MISC_CPUMODE_MASK);
}

static void sample_check(struct side *side, const char *name, uint64_t type, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, type);
	struct perf_ringbuf *ring = NULL;
	uint64_t id = 0;
	struct drained d;
	int fd;

	attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
	attr.sample_regs_user = type & PERF_SAMPLE_REGS_USER ? 0x1ff : 0;
	attr.sample_regs_intr = type & PERF_SAMPLE_REGS_INTR ? 0x103 : 0;
	attr.sample_stack_user = type & PERF_SAMPLE_STACK_USER ? 256 : 0;
	fd = open_self(side, &attr);
	if (fd < 0) {
		strbuf_printf(out, "%s: %s\n", name, error_name(fd));
		return;
	}
	side->ring(side, fd, 4, &ring);
	side->ioctl(side, fd, PERF_EVENT_IOC_ID, (uintptr_t)&id);
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->fault(side, 3);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	d = drain(side, &attr, ring);
	strbuf_printf(out, "%s: %u samples, %u broken", name, d.samples, d.broken);
	if (!(type & PERF_SAMPLE_CALLCHAIN))
		strbuf_printf(out, ", %u bytes", d.size);
	sample_say(side, type, id, &d.last, out);
	strbuf_putc(out, '\n');
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

void check_samples(struct side *side, struct strbuf *out)
{
	for (size_t i = 0; i < sizeof(sample_bits) / sizeof(sample_bits[0]); i++)
		sample_check(side, sample_bits[i].name, sample_bits[i].bit, out);
}

static uint32_t samples_of(struct side *side, struct perf_event_attr *attr, uint32_t n)
{
	struct perf_ringbuf *ring = NULL;
	int fd = open_self(side, attr);
	struct drained d;

	side->ring(side, fd, 8, &ring);
	side->ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side->fault(side, n);
	side->ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0);
	d = drain(side, attr, ring);
	perf_ringbuf_close(ring);
	side->close(side, fd);
	return d.samples;
}

void check_periods(struct side *side, struct strbuf *out)
{
	static const uint64_t periods[] = {1, 2, 3, 10, 100, 101};
	struct perf_event_attr attr;
	struct perf_ringbuf *ring = NULL;
	struct drained d;
	int fd;

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		attr = faults(periods[i], PERF_SAMPLE_IP);
		strbuf_printf(out, "period %llu: %u of 100", (unsigned long long)periods[i],
			samples_of(side, &attr, 100));
		attr = faults(periods[i], PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD);
		strbuf_printf(out, ", %u with PERIOD\n", samples_of(side, &attr, 100));
	}
	attr = faults(1, PERF_SAMPLE_IP);
	fd = open_self(side, &attr);
	side->ring(side, fd, 1, &ring);
	side->ioctl(side, fd, PERF_EVENT_IOC_REFRESH, 3);
	side->fault(side, 10);
	d = drain(side, &attr, ring);
	strbuf_printf(out, "refresh 3: %u samples", d.samples);
	side->ioctl(side, fd, PERF_EVENT_IOC_REFRESH, 2);
	side->fault(side, 10);
	d = drain(side, &attr, ring);
	strbuf_printf(out, ", refresh 2: %u\n", d.samples);
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

/* PERIOD: from the next one on. */
void check_period_changes(struct side *side, struct strbuf *out)
{
	static const uint64_t periods[] = {2, 5, 1, 10};
	struct perf_event_attr attr = faults(2, PERF_SAMPLE_IP);
	struct perf_ringbuf *ring = NULL;
	int fd = open_self(side, &attr);

	side->ring(side, fd, 4, &ring);
	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		struct drained d;

		side->ioctl(side, fd, PERF_EVENT_IOC_PERIOD, (uintptr_t)&periods[i]);
		fault_counted(side, fd, 20);
		d = drain(side, &attr, ring);
		strbuf_printf(out, "period %llu: %u of 20\n", (unsigned long long)periods[i],
			d.samples);
	}
	perf_ringbuf_close(ring);
	side->close(side, fd);
}

/* READ with a group: what it holds is the leader's and each sibling's. */
void check_group_samples(struct side *side, struct strbuf *out)
{
	struct perf_event_attr attr = faults(1, PERF_SAMPLE_IP | PERF_SAMPLE_READ), other;
	struct perf_ringbuf *ring = NULL;
	int leader, sibling;
	struct drained d;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
	other = attr;
	other.sample_period = 0;
	other.flags &= ~ATTR_DISABLED;
	leader = open_self(side, &attr);
	sibling = side->open(side, &other, SIDE_SELF, -1, leader, 0);
	side->ring(side, leader, 1, &ring);
	fault_counted(side, leader, 4);
	d = drain(side, &attr, ring);
	strbuf_printf(out, "a group of 2: %u samples of %u bytes, %llu values\n", d.samples,
		d.size, (unsigned long long)d.last.sample.read.n);
	side->close(side, sibling);
	fault_counted(side, leader, 4);
	d = drain(side, &attr, ring);
	strbuf_printf(out, "alone: %u samples of %u bytes, %llu values\n", d.samples, d.size,
		(unsigned long long)d.last.sample.read.n);
	perf_ringbuf_close(ring);
	side->close(side, leader);
}
