/*
 * The first layer against the running kernel: a cpu-clock event on this thread with every
 * sample bit that the kernel takes, decoded and looked at. Skips, and says so, where it is not
 * allowed.
 */
#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "tests/unit_test.h"
#include "wick/perf_event.h"
#include "wick/perf_ringbuf.h"
#include "wick/record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define RING_PAGES 128

static struct perf_event_attr clock_attr(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000, /* ns of CPU time */
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV |
			 ATTR_SAMPLE_ID_ALL | ATTR_USE_CLOCKID | ATTR_COMM | ATTR_MMAP |
			 ATTR_MMAP2 | ATTR_TASK,
		.clockid = CLOCK_MONOTONIC,
		.sample_stack_user = 1024,
		.sample_regs_user = 1 << 7 | 1 << 8, /* x86_64: SP, IP; arm64: x7, x8 */
		.sample_regs_intr = 1 << 8,
	};
}

static int open_or_skip(const struct perf_event_attr *attr)
{
	int fd = perf_open(attr, 0, -1, -1, 0);

	if (fd < 0) {
		print_message("# perf_event_open: %s\n", strerror(-fd));
		skip();
	}
	return fd;
}

/* Burns CPU time until `ns` of it are gone. */
static __attribute__((noinline)) uint64_t burn(uint64_t ns)
{
	struct timespec start, now;
	uint64_t sum = 0;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do {
		for (int i = 0; i < 10000; i++)
			sum = sum * 31 + (uint64_t)i;
		__asm__ volatile("" : "+r"(sum));
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((uint64_t)((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec -
			    start.tv_nsec) < ns);
	return sum;
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* sample_type with every bit that this kernel takes beside the others. */
static uint64_t accepted_bits(struct perf_event_attr attr)
{
	for (uint64_t bit = 1; bit < PERF_SAMPLE_MAX; bit <<= 1) {
		struct perf_event_attr with = attr;
		int fd;

		with.sample_type |= bit;
		fd = perf_open(&with, 0, -1, -1, 0);
		if (fd >= 0) {
			attr.sample_type = with.sample_type;
			perf_close(fd);
		}
	}
	return attr.sample_type;
}

struct expected {
	uint64_t sample_type, from_ns, to_ns;
	uint64_t id;
	long tid;
};

static void look_at_sample(const struct expected *want, const struct wick_record *record)
{
	const struct wick_sample *sample = &record->sample;
	bool in_chain = false;

	assert_int_equal(record->id.pid, getpid());
	assert_int_equal(record->id.tid, want->tid);
	assert_in_range(record->id.time, want->from_ns, want->to_ns);
	assert_int_equal(record->id.id, want->id);
	assert_true(record->id.cpu < 4096);
	assert_true(sample->ip && sample->ip < PERF_CONTEXT_MAX);
	assert_int_equal(record->misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
	assert_in_range(sample->period, 1, 1000000000);
	assert_int_equal(sample->read.n, 1);
	assert_true(wick_read_value(&sample->read, 0) > 0);
	assert_int_equal(wick_read_id(&sample->read, 0), want->id);
	assert_true(sample->read.time_running <= sample->read.time_enabled);
	for (uint64_t i = 0; i < sample->callchain.n; i++)
		in_chain |= wick_word(sample->callchain, i) == sample->ip;
	assert_true(in_chain);
	assert_int_equal(wick_word(sample->callchain, 0), PERF_CONTEXT_USER);
	assert_int_equal(sample->regs_user.abi, PERF_SAMPLE_REGS_ABI_64);
	assert_int_equal(sample->regs_user.values.n, 2);
	assert_int_equal(sample->stack_asked, 1024);
	assert_true(sample->stack_bytes > 0);
#ifdef __x86_64__
	assert_int_equal(wick_word(sample->regs_user.values, 1), sample->ip);
	/* What lies at SP is what was copied. */
	assert_in_range(wick_word(sample->regs_user.values, 0), 4096, 1ull << 57);
#endif
	if (want->sample_type & PERF_SAMPLE_AUX)
		assert_int_equal(sample->aux_bytes, 0);
}

static void every_bit_of_the_kernel(void **state)
{
	struct perf_event_attr attr = clock_attr();
	struct expected want = {.tid = syscall(SYS_gettid)};
	uint64_t samples = 0, others = 0;
	struct perf_ringbuf *ring;
	struct wick_layout layout;
	struct wick_record record;
	const void *bytes;
	int fd, size;

	(void)state;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			   PERF_FORMAT_ID;
	fd = open_or_skip(&attr);
	perf_close(fd);
	attr.sample_type = want.sample_type = accepted_bits(attr);
	print_message("# this kernel takes sample bits %#llx\n",
		(unsigned long long)attr.sample_type);
	assert_int_equal(attr.sample_type & 0x37ff & ~PERF_SAMPLE_BRANCH_STACK,
		0x37ff & ~PERF_SAMPLE_BRANCH_STACK);
	assert_int_equal(wick_layout_init(&layout, &attr), 0);
	fd = open_or_skip(&attr);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(ioctl(fd, PERF_EVENT_IOC_ID, &want.id), 0);
	size = perf_ringbuf_open(fd, RING_PAGES, &ring);
	if (size < 0) {
		perf_close(fd);
		print_message("# mmap of a ring: %s\n", strerror(-size));
		skip();
	}
	want.from_ns = monotonic_ns();
	assert_int_equal(perf_start(fd), 0);
	burn(60000000);
	assert_int_equal(perf_stop(fd), 0);
	want.to_ns = monotonic_ns();
	perf_ringbuf_fetch(ring);
	while ((size = perf_ringbuf_peek(ring, &bytes)) > 0) {
		assert_int_equal(
			wick_record_decode(&layout, bytes, (size_t)size, &record), size);
		assert_int_equal(wick_record_time(&layout, bytes), record.id.time);
		assert_int_equal(wick_record_id(&layout, bytes), want.id);
		if (record.type == PERF_RECORD_SAMPLE) {
			look_at_sample(&want, &record);
			samples++;
		} else {
			others++;
		}
		perf_ringbuf_next(ring);
	}
	assert_int_equal(size, 0);
	perf_ringbuf_release(ring);
	print_message("# %llu samples, %llu other records\n", (unsigned long long)samples,
		(unsigned long long)others);
	assert_true(samples >= 5); /* 60 are due */
	perf_ringbuf_close(ring);
	perf_close(fd);
}

/* A mapping of this process arrives as an MMAP2 with a trailer. */
static void a_mapping_is_told(void **state)
{
	struct perf_event_attr attr = clock_attr();
	struct perf_ringbuf *ring;
	struct wick_layout layout;
	struct wick_record record;
	const void *bytes;
	bool told = false;
	int fd, size;
	void *map;

	(void)state;
	attr.config = PERF_COUNT_SW_DUMMY;
	fd = open_or_skip(&attr);
	assert_int_equal(wick_layout_init(&layout, &attr), 0);
	size = perf_ringbuf_open(fd, 8, &ring);
	if (size < 0)
		skip();
	assert_int_equal(perf_start(fd), 0);
	{
		cleanup_close int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

		map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, 0);
	}
	assert_true(map != MAP_FAILED);
	perf_ringbuf_fetch(ring);
	while ((size = perf_ringbuf_peek(ring, &bytes)) > 0) {
		assert_int_equal(
			wick_record_decode(&layout, bytes, (size_t)size, &record), size);
		if (record.type == PERF_RECORD_MMAP2 && record.mmap.addr == (uintptr_t)map) {
			assert_int_equal(record.mmap.len, 4096);
			assert_int_equal(record.mmap.pid, getpid());
			assert_true(record.mmap.filename.len > 0);
			told = record.id.time > 0;
		}
		perf_ringbuf_next(ring);
	}
	assert_true(told);
	munmap(map, 4096);
	perf_ringbuf_close(ring);
	perf_close(fd);
}

/* An attr that is longer than the kernel's: opened where the rest is zero, refused where not.
 */
static void a_longer_attr(void **state)
{
	static union {
		struct perf_event_attr attr;
		unsigned char bytes[8192];
	} longer;
	int fd;

	(void)state;
	longer.attr = clock_attr();
	perf_close(open_or_skip(&longer.attr));
	longer.attr.size = 4096;
	fd = perf_open(&longer.attr, 0, -1, -1, 0);
	assert_true(fd >= 0);
	perf_close(fd);
	longer.attr.size = sizeof(longer);
	fd = perf_open(&longer.attr, 0, -1, -1, 0);
	assert_true(fd >= 0);
	perf_close(fd);
	longer.bytes[sizeof(longer) - 1] = 1;
	assert_int_equal(perf_open(&longer.attr, 0, -1, -1, 0), -E2BIG);
	longer.attr.size = 1024;
	longer.bytes[1000] = 1;
	assert_int_equal(perf_open(&longer.attr, 0, -1, -1, 0), -E2BIG);
	longer.attr.size = 32;
	assert_int_equal(perf_open(&longer.attr, 0, -1, -1, 0), -EINVAL);
}

static void errors_are_errno(void **state)
{
	struct perf_event_attr attr = clock_attr();
	struct perf_ringbuf *ring;
	int fd;

	(void)state;
	perf_close(open_or_skip(&attr));
	assert_int_equal(perf_open(&attr, 0x7fffffff, -1, -1, 0), -ESRCH);
	attr.flags |= ATTR_INHERIT;
	fd = perf_open(&attr, 0, -1, -1, 0);
	assert_true(fd >= 0);
	assert_int_equal(perf_ringbuf_open(fd, 1, &ring), -EINVAL);
	perf_close(fd);
	assert_int_equal(perf_start(-1), -EBADF);
	assert_int_equal(perf_stop(-1), -EBADF);
	assert_int_equal(perf_close(-1), -EBADF);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_bit_of_the_kernel),
	cmocka_unit_test(a_mapping_is_told),
	cmocka_unit_test(a_longer_attr),
	cmocka_unit_test(errors_are_errno),
};
UNIT_TESTS("event", tests)
