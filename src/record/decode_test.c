/* The records that are not samples: bytes written by hand, cut everywhere, and written back. */
#include "record/encode.h"
#include "record/fields.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdlib.h>

#define HEADER(type, misc, size)                                                               \
	((uint64_t)(type) | (uint64_t)(misc) << 32 | (uint64_t)(size) << 48)
#define PAIR(low, high) ((uint64_t)(low) | (uint64_t)(high) << 32)

/* tid, time, id, stream id, cpu, identifier: as all these records end. */
#define TRAILER	      PAIR(100, 101), 5000, 0x1d, 0x1e, PAIR(3, 0), 0x1d
#define TRAILER_BYTES 48

static const struct perf_event_attr attr = {
	.sample_type = TRAILER_BITS | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
	.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED,
	.flags = ATTR_SAMPLE_ID_ALL,
};

static struct wick_layout layout_of(const struct perf_event_attr *of)
{
	struct wick_layout layout;

	assert_int_equal(wick_layout_init(&layout, of), 0);
	return layout;
}

/* Decodes, checks the trailer, that no cut of it decodes, and that encoding gives the bytes
 * back. */
static struct wick_record decode_all(const uint64_t *words, size_t bytes)
{
	struct wick_layout layout = layout_of(&attr);
	struct wick_record record, cut_record;
	uint8_t back[512], *copy;

	assert_int_equal(wick_record_decode(&layout, words, bytes, &record), bytes);
	assert_int_equal(record.size, bytes);
	assert_int_equal(record.id.have, TRAILER_BITS);
	assert_int_equal(record.id.pid, 100);
	assert_int_equal(record.id.tid, 101);
	assert_int_equal(record.id.time, 5000);
	assert_int_equal(record.id.id, 0x1d);
	assert_int_equal(record.id.stream_id, 0x1e);
	assert_int_equal(record.id.cpu, 3);
	assert_int_equal(wick_record_time(&layout, words), 5000);
	assert_int_equal(wick_record_id(&layout, words), 0x1d);
	assert_int_equal(record_encode(&layout, &record, back, sizeof(back)), bytes);
	assert_memory_equal(back, words, bytes);
	for (size_t len = 0; len < bytes; len++)
		assert_int_equal(
			wick_record_decode(&layout, words, len, &cut_record), -EBADMSG);
	if (bytes > 8 + TRAILER_BYTES) { /* the body cut, the header saying so */
		uint16_t size = (uint16_t)(bytes - 8);

		copy = malloc(size);
		assert_non_null(copy);
		memcpy(copy, words, size);
		memcpy(copy + 6, &size, sizeof(size));
		assert_int_equal(
			wick_record_decode(&layout, copy, size, &cut_record), -EBADMSG);
		free(copy);
	}
	return record;
}

static void mmap_and_mmap2(void **state)
{
	static const uint64_t mmap[] = {HEADER(1, 2, 104), PAIR(100, 101), 0x400000, 0x1000,
		0x2000, 0x6e69622f, 0, TRAILER}; /* "/bin", and a word of zeros behind it */
	static const uint64_t mmap2[] = {HEADER(10, 2, 128), PAIR(100, 101), 0x400000, 0x1000,
		0x2000, PAIR(8, 1), 1234, 5, PAIR(5, 2), 0x6e69622f, TRAILER};
	static const uint64_t by_id[] = {HEADER(10, 2 | 1 << 14, 128), PAIR(100, 101), 0x400000,
		0x1000, 0x2000, PAIR(20, 0x03020100), 0x0b0a090807060504, 0x131211100f0e0d0c,
		PAIR(5, 2), 0x6e69622f, TRAILER};
	struct wick_layout layout = layout_of(&attr);
	struct wick_record record;

	(void)state;
	assert_int_equal(wick_record_decode(&layout, mmap, sizeof(mmap), &record), 104);
	assert_string_equal(record.mmap.filename.text, "/bin");
	assert_int_equal(record.mmap.filename.len, 4);
	assert_false(record.mmap.has_inode);
	record = decode_all(mmap2, sizeof(mmap2));
	assert_int_equal(record.mmap.pid, 100);
	assert_int_equal(record.mmap.addr, 0x400000);
	assert_int_equal(record.mmap.len, 0x1000);
	assert_int_equal(record.mmap.pgoff, 0x2000);
	assert_true(record.mmap.has_inode);
	assert_int_equal(record.mmap.maj, 8);
	assert_int_equal(record.mmap.min, 1);
	assert_int_equal(record.mmap.ino, 1234);
	assert_int_equal(record.mmap.ino_generation, 5);
	assert_int_equal(record.mmap.prot, 5);
	assert_int_equal(record.mmap.flags, 2);
	assert_string_equal(record.mmap.filename.text, "/bin");
	record = decode_all(by_id, sizeof(by_id));
	assert_false(record.mmap.has_inode);
	assert_int_equal(record.mmap.build_id_bytes, 20);
	for (uint8_t i = 0; i < 20; i++)
		assert_int_equal(record.mmap.build_id[i], i);
	assert_int_equal(record.mmap.prot, 5);
}

/* The bit of another recorder's event, over what this one asked for. */
static void a_bit_that_leaked_makes_no_build_id(void **state)
{
	static const uint64_t leaked[] = {HEADER(10, 2 | 1 << 14, 128), PAIR(100, 101),
		0x400000, 0x1000, 0x2000, PAIR(254, 1), 1234, 5, PAIR(5, 2), 0x6e69622f,
		TRAILER};
	static const uint64_t small[] = {HEADER(10, 2 | 1 << 14, 128), PAIR(100, 101), 0x400000,
		0x1000, 0x2000, PAIR(8, 1), 1234, 5, PAIR(5, 2), 0x6e69622f, TRAILER};
	struct wick_layout layout = layout_of(&attr);
	struct wick_record record;

	(void)state;
	assert_int_equal(wick_record_decode(&layout, leaked, sizeof(leaked), &record), 128);
	assert_true(record.mmap.has_inode);
	assert_int_equal(record.mmap.maj, 254);
	assert_int_equal(record.mmap.ino, 1234);
	assert_int_equal(record.mmap.build_id_bytes, 0);
	assert_int_equal(record.misc, 2);
	assert_int_equal(wick_record_decode(&layout, small, sizeof(small), &record), 128);
	assert_int_equal(record.mmap.maj, 8);
	layout.build_ids = true;
	assert_int_equal(
		wick_record_decode(&layout, leaked, sizeof(leaked), &record), -EBADMSG);
	assert_int_equal(wick_record_decode(&layout, small, sizeof(small), &record), 128);
	assert_int_equal(record.mmap.build_id_bytes, 8);
}

static void tasks(void **state)
{
	static const uint64_t comm[] = {
		HEADER(3, 1 << 13, 72), PAIR(100, 101), 0x00006b636977, TRAILER};
	static const uint64_t fork[] = {HEADER(7, 0, 80), PAIR(1, 2), PAIR(3, 4), 77, TRAILER};
	static const uint64_t leaves[] = {
		HEADER(4, 0, 80), PAIR(1, 2), PAIR(3, 4), 77, TRAILER};
	static const uint64_t sched[] = {HEADER(14, 1 << 13, 56), TRAILER};
	static const uint64_t wide[] = {HEADER(15, 0, 64), PAIR(8, 9), TRAILER};
	static const uint64_t spaces[] = {
		HEADER(16, 0, 104), PAIR(8, 9), 2, 4, 11, 4, 12, TRAILER};
	static const uint64_t start[] = {HEADER(12, 0, 64), PAIR(8, 9), TRAILER};
	struct wick_record record;

	(void)state;
	record = decode_all(comm, sizeof(comm));
	assert_string_equal(record.comm.name.text, "wick");
	assert_int_equal(record.comm.tid, 101);
	assert_int_equal(record.misc, PERF_RECORD_MISC_COMM_EXEC);
	record = decode_all(fork, sizeof(fork));
	assert_int_equal(record.task.pid, 1);
	assert_int_equal(record.task.ppid, 2);
	assert_int_equal(record.task.tid, 3);
	assert_int_equal(record.task.ptid, 4);
	assert_int_equal(record.task.time, 77);
	record = decode_all(leaves, sizeof(leaves));
	assert_int_equal(record.task.ptid, 4);
	decode_all(sched, sizeof(sched));
	record = decode_all(wide, sizeof(wide));
	assert_int_equal(record.sched.tid, 9);
	record = decode_all(spaces, sizeof(spaces));
	assert_int_equal(record.namespaces.n, 2);
	assert_int_equal(wick_word(record.namespaces.links, 3), 12);
	record = decode_all(start, sizeof(start));
	assert_int_equal(record.itrace_start.pid, 8);
}

static void bookkeeping(void **state)
{
	static const uint64_t lost[] = {HEADER(2, 0, 72), 0x1d, 33, TRAILER};
	static const uint64_t lost_samples[] = {HEADER(13, 0, 64), 44, TRAILER};
	static const uint64_t throttle[] = {HEADER(5, 0, 80), 6000, 0x1d, 0x1e, TRAILER};
	static const uint64_t unthrottle[] = {HEADER(6, 0, 80), 6001, 0x1d, 0x1e, TRAILER};
	static const uint64_t values[] = {
		HEADER(8, 0, 112), PAIR(8, 9), 2, 1000, 71, 1, 72, 2, TRAILER};
	static const uint64_t aux[] = {HEADER(11, 0, 80), 1, 2, 3, TRAILER};
	static const uint64_t hw_id[] = {HEADER(21, 0, 64), 99, TRAILER};
	static const uint64_t deferred[] = {
		HEADER(22, 0, 88), 0xc00c1e, 2, 0x1000, 0x2000, TRAILER};
	struct wick_record record;

	(void)state;
	record = decode_all(lost, sizeof(lost));
	assert_int_equal(record.lost.id, 0x1d);
	assert_int_equal(record.lost.lost, 33);
	record = decode_all(lost_samples, sizeof(lost_samples));
	assert_int_equal(record.lost.lost, 44);
	record = decode_all(throttle, sizeof(throttle));
	assert_int_equal(record.throttle.time, 6000);
	assert_int_equal(record.throttle.stream_id, 0x1e);
	record = decode_all(unthrottle, sizeof(unthrottle));
	assert_int_equal(record.throttle.id, 0x1d);
	record = decode_all(values, sizeof(values));
	assert_int_equal(record.read.tid, 9);
	assert_int_equal(record.read.values.n, 2);
	assert_int_equal(record.read.values.time_enabled, 1000);
	assert_int_equal(wick_read_value(&record.read.values, 1), 72);
	assert_int_equal(wick_read_id(&record.read.values, 1), 2);
	assert_int_equal(wick_read_lost(&record.read.values, 1), 0);
	record = decode_all(aux, sizeof(aux));
	assert_int_equal(record.aux.flags, 3);
	record = decode_all(hw_id, sizeof(hw_id));
	assert_int_equal(record.aux_output_hw_id, 99);
	record = decode_all(deferred, sizeof(deferred));
	assert_int_equal(record.deferred.cookie, 0xc00c1e);
	assert_int_equal(wick_word(record.deferred.callchain, 1), 0x2000);
}

static void kernel_side(void **state)
{
	static const uint64_t ksymbol[] = {HEADER(17, 0, 80), 0xffffffffc0001000,
		64 | 1ull << 32 | 1ull << 48, 0x00000000676f7270, TRAILER};
	static const uint64_t bpf[] = {
		HEADER(18, 0, 72), 1 | 2ull << 16 | 7ull << 32, 0x0807060504030201, TRAILER};
	static const uint64_t cgroup[] = {HEADER(19, 0, 72), 42, 0x0000000000612f2f, TRAILER};
	static const uint64_t poke[] = {HEADER(20, 0, 80), 0xffffffff81000000,
		2 | 3ull << 16 | 0x04030201ull << 32, 5, TRAILER};
	struct wick_record record;

	(void)state;
	record = decode_all(ksymbol, sizeof(ksymbol));
	assert_int_equal(record.ksymbol.addr, 0xffffffffc0001000);
	assert_int_equal(record.ksymbol.len, 64);
	assert_int_equal(record.ksymbol.ksym_type, PERF_RECORD_KSYMBOL_TYPE_BPF);
	assert_int_equal(record.ksymbol.flags, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	assert_string_equal(record.ksymbol.name.text, "prog");
	record = decode_all(bpf, sizeof(bpf));
	assert_int_equal(record.bpf.bpf_type, 1);
	assert_int_equal(record.bpf.flags, 2);
	assert_int_equal(record.bpf.prog_id, 7);
	assert_memory_equal(record.bpf.tag, "\1\2\3\4\5\6\7\10", 8);
	record = decode_all(cgroup, sizeof(cgroup));
	assert_int_equal(record.cgroup.id, 42);
	assert_string_equal(record.cgroup.path.text, "//a");
	record = decode_all(poke, sizeof(poke));
	assert_int_equal(record.text_poke.old_len, 2);
	assert_int_equal(record.text_poke.new_len, 3);
	assert_memory_equal(record.text_poke.bytes, "\1\2\3\4\5", 5);
}

/* Without sample_id_all there is no trailer, and IDENTIFIER's place is a SAMPLE's only. */
static void no_trailer(void **state)
{
	static const uint64_t comm[] = {HEADER(3, 0, 24), PAIR(1, 2), 0x00006b636977};
	struct perf_event_attr bare = attr;
	struct wick_layout layout;
	struct wick_record record;

	(void)state;
	bare.flags = 0;
	layout = layout_of(&bare);
	assert_int_equal(layout.trailer_bytes, 0);
	assert_int_equal(wick_record_decode(&layout, comm, sizeof(comm), &record), 24);
	assert_int_equal(record.id.have, 0);
	assert_int_equal(wick_record_time(&layout, comm), 0);
	assert_int_equal(wick_record_id(&layout, comm), 0);
}

static void what_is_refused(void **state)
{
	static const uint64_t unknown[] = {HEADER(23, 0, 16), 1};
	static const uint64_t of_a_file[] = {HEADER(68, 0, 8)};
	static const uint64_t no_end[] = {HEADER(3, 0, 72), PAIR(1, 2), 0x6161616161616161,
		TRAILER}; /* the string runs into the trailer */
	static const uint64_t long_id[] = {
		HEADER(10, 1 << 14, 128), PAIR(100, 101), 0, 0, 0, 21, 0, 0, 0, 0x61, TRAILER};
	static const uint64_t spaces[] = {
		HEADER(16, 0, 88), PAIR(8, 9), 0x1000000000000001, 4, 11, TRAILER};
	static const uint64_t small[] = {HEADER(14, 0, 48), 0, 0, 0, 0, 0};
	struct wick_layout layout = layout_of(&attr);
	struct wick_record record;

	(void)state;
	assert_int_equal(wick_record_decode(&layout, unknown, 16, &record), -ENOTSUP);
	assert_int_equal(record.type, 23);
	assert_int_equal(record.size, 16);
	assert_int_equal(wick_record_decode(&layout, of_a_file, 8, &record), -ENOTSUP);
	assert_int_equal(record.type, PERF_RECORD_FINISHED_ROUND);
	assert_int_equal(
		wick_record_decode(&layout, no_end, sizeof(no_end), &record), -EBADMSG);
	layout.build_ids = true;
	assert_int_equal(
		wick_record_decode(&layout, long_id, sizeof(long_id), &record), -EBADMSG);
	assert_int_equal(
		wick_record_decode(&layout, spaces, sizeof(spaces), &record), -EBADMSG);
	assert_int_equal(wick_record_decode(&layout, small, sizeof(small), &record), -EBADMSG);
	for (uint64_t size = 0; size < 8; size++) {
		const uint64_t header = HEADER(14, 0, size);

		assert_int_equal(wick_record_decode(&layout, &header, 8, &record), -EBADMSG);
	}
	record = (struct wick_record){.type = 23};
	assert_int_equal(record_encode(&layout, &record, &record, 8), -EINVAL);
}

static void every_type_has_a_name(void **state)
{
	(void)state;
	for (uint32_t type = 1; type < PERF_RECORD_MAX; type++)
		assert_string_not_equal(wick_record_type_name(type), "?");
	assert_string_equal(wick_record_type_name(9), "SAMPLE");
	assert_string_equal(wick_record_type_name(0), "?");
	assert_string_equal(wick_record_type_name(PERF_RECORD_MAX), "?");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(mmap_and_mmap2),
	cmocka_unit_test(a_bit_that_leaked_makes_no_build_id),
	cmocka_unit_test(tasks),
	cmocka_unit_test(bookkeeping),
	cmocka_unit_test(kernel_side),
	cmocka_unit_test(no_trailer),
	cmocka_unit_test(what_is_refused),
	cmocka_unit_test(every_type_has_a_name),
};
UNIT_TESTS("decode", tests)
