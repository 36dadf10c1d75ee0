#include "object/jitcfi.h"

#include "base/fileio.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A dump in the making, in either byte order. */
struct made {
	uint8_t bytes[8192];
	size_t len, record;
	bool swap;
};

static void put(struct made *made, uint64_t value, int width)
{
	for (int i = 0; i < width; i++) {
		int at = made->swap ? width - 1 - i : i;

		made->bytes[made->len + (size_t)at] = (uint8_t)(value >> 8 * i);
	}
	made->len += (size_t)width;
}

static void begin(struct made *made, bool swap, uint32_t version)
{
	*made = (struct made){.swap = swap};
	put(made, 0x4A695444, 4);
	put(made, version, 4);
	put(made, 40, 4);
	put(made, 62, 4);
	put(made, 0, 4);
	put(made, 4711, 4);
	put(made, 1, 8);
	put(made, 0, 8);
}

static void record(struct made *made, uint32_t id, uint64_t time_ns)
{
	made->record = made->len;
	put(made, id, 4);
	put(made, 0, 4);
	put(made, time_ns, 8);
}

static void done(struct made *made)
{
	size_t end = made->len;

	made->len = made->record + 4;
	put(made, end - made->record, 4);
	made->len = end;
}

static void load(struct made *made, uint64_t ns, uint64_t addr, uint64_t size, uint64_t index)
{
	record(made, 0, ns);
	put(made, 4711, 4);
	put(made, 4711, 4);
	put(made, addr, 8);
	put(made, addr, 8);
	put(made, size, 8);
	put(made, index, 8);
	put(made, 'f', 2);
	if (made->swap) /* a text has no byte order */
		memcpy(made->bytes + made->len - 2, "f", 2);
	made->len += size;
	done(made);
}

static void move(struct made *made, uint64_t ns, uint64_t from, uint64_t to, uint64_t size,
	uint64_t index)
{
	record(made, 1, ns);
	put(made, 4711, 4);
	put(made, 4711, 4);
	put(made, to, 8);
	put(made, from, 8);
	put(made, to, 8);
	put(made, size, 8);
	put(made, index, 8);
	done(made);
}

enum where { HDR_FIRST, HDR_LAST, HDR_ABSOLUTE, HDR_SAYS_NOTHING, WHERES };

enum { CIE_BYTES = 24, FDE_BYTES = 20, HDR_SHORT = 8, HDR_LONG = 12, FAR_AWAY = 0x700000 };

/* One CIE (CFA = rsp + 8), and an FDE for [addr, addr + size) with CFA = rsp + `cfa`. */
static void eh_frame(
	struct made *made, uint64_t lies_at, uint64_t addr, uint64_t size, uint8_t cfa)
{
	static const uint8_t cie[] = {
		1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0};

	put(made, CIE_BYTES - 4, 4);
	put(made, 0, 4);
	memcpy(made->bytes + made->len, cie, sizeof(cie));
	made->len += sizeof(cie);
	put(made, FDE_BYTES - 4, 4);
	put(made, CIE_BYTES + 4, 4);
	put(made, addr - (lies_at + CIE_BYTES + 8), 4);
	put(made, size, 4);
	put(made, 0, 1);
	put(made, 0x0e, 1);
	put(made, cfa, 1);
	put(made, 0, 1);
}

static void header(struct made *made, enum where where, uint64_t eh_frame_at)
{
	put(made, 1, 1);
	put(made, where == HDR_SAYS_NOTHING ? 0xff : where == HDR_ABSOLUTE ? 0x04 : 0x1b, 1);
	put(made, 0xff, 1);
	put(made, 0xff, 1);
	if (where == HDR_ABSOLUTE)
		put(made, eh_frame_at, 8);
	else /* the distance from itself */
		put(made, where == HDR_LAST ? -(uint64_t)(CIE_BYTES + FDE_BYTES + 4) : 4, 4);
}

static void unwinding(
	struct made *made, enum where where, uint64_t addr, uint64_t size, uint8_t cfa)
{
	uint64_t behind = addr + (size + 7) / 8 * 8;
	uint64_t hdr = where == HDR_ABSOLUTE ? HDR_LONG : HDR_SHORT;
	uint64_t at = where == HDR_ABSOLUTE ? FAR_AWAY
		      : where == HDR_LAST   ? behind
					    : behind + hdr;

	record(made, 4, 1);
	put(made, hdr + CIE_BYTES + FDE_BYTES, 8);
	put(made, hdr, 8);
	put(made, hdr + CIE_BYTES + FDE_BYTES, 8);
	if (where != HDR_LAST)
		header(made, where, at);
	eh_frame(made, at, addr, size, cfa);
	if (where == HDR_LAST)
		header(made, where, at);
	done(made);
}

static int file_make(const struct made *made, size_t len)
{
	char path[] = "/tmp/wick-jitcfi-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(fd_write_all(fd, made->bytes, len), 0);
	return fd;
}

/* CFA - rsp at an address then; 0: nothing is known. */
static uint64_t cfa_at(struct jitcfi *jitcfi, uint64_t addr, uint64_t ns)
{
	struct cfi_row row;
	int rc = jitcfi_find(jitcfi, addr, ns, &row);

	assert_true(rc == 0 || rc == -ENOENT || rc == -EBADMSG);
	return rc == 0 && row.cfa_reg == 7 ? (uint64_t)row.cfa.offset : 0;
}

static void frames_are_described_in_every_layout(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 4 * WHERES; round++) {
		enum where where = (enum where)(round / 4);
		struct jitcfi *jitcfi;
		struct made made;
		int fd;

		begin(&made, round & 1, 1 + (round >> 1 & 1));
		unwinding(&made, where, 0x1000, 0x33, 48);
		record(&made, 2, 5); /* an empty DEBUG_INFO in between */
		put(&made, 0x1000, 8);
		put(&made, 0, 8);
		done(&made);
		load(&made, 10, 0x1000, 0x33, 1);
		load(&made, 10, 0x2000, 0x40, 2); /* without */
		fd = file_make(&made, made.len);
		assert_int_equal(jitcfi_new(fd, &jitcfi), 0);
		assert_int_equal(jitcfi_machine(jitcfi), 0);
		assert_int_equal(jitcfi_update(jitcfi), 0);
		assert_int_equal(jitcfi_machine(jitcfi), 62);
		assert_int_equal(cfa_at(jitcfi, 0x1000, 10), 48);
		assert_int_equal(cfa_at(jitcfi, 0x1032, UINT64_MAX), 48);
		assert_int_equal(cfa_at(jitcfi, 0x1033, 10), 0);
		assert_int_equal(cfa_at(jitcfi, 0xfff, 10), 0);
		assert_int_equal(cfa_at(jitcfi, 0x1000, 9), 0); /* not compiled yet */
		assert_int_equal(cfa_at(jitcfi, 0x2000, 10), 0);
		jitcfi_free(jitcfi);
		close(fd);
	}
}

static void addresses_are_used_again(void **state)
{
	struct jitcfi *jitcfi;
	struct made made;
	int fd;

	(void)state;
	begin(&made, false, 2);
	unwinding(&made, HDR_LAST, 0x1000, 0x40, 16);
	load(&made, 10, 0x1000, 0x40, 1);
	unwinding(&made, HDR_LAST, 0x1000, 0x40, 32);
	load(&made, 20, 0x1000, 0x40, 2);
	load(&made, 30, 0x1000, 0x40, 3);
	unwinding(&made, HDR_LAST, 0x5000, 0x800, 64); /* over several buckets */
	load(&made, 30, 0x5000, 0x800, 4);
	move(&made, 40, 0x5000, 0x9300, 0x800, 4);
	move(&made, 41, 0x5555, 0xa000, 0x800, 4); /* nobody lies there */
	record(&made, 3, 50);
	done(&made);
	unwinding(&made, HDR_LAST, 0xb000, 0x40, 16);
	load(&made, 10, 0xb000, 0x40, 5); /* behind the end */
	fd = file_make(&made, made.len);
	assert_int_equal(jitcfi_new(fd, &jitcfi), 0);
	assert_int_equal(jitcfi_update(jitcfi), 0);
	assert_int_equal(cfa_at(jitcfi, 0x1000, 15), 16);
	assert_int_equal(cfa_at(jitcfi, 0x1000, 25), 32);
	assert_int_equal(cfa_at(jitcfi, 0x1000, 35), 0); /* the third one says nothing */
	assert_int_equal(cfa_at(jitcfi, 0x57ff, 39), 64);
	assert_int_equal(cfa_at(jitcfi, 0x57ff, 40), 0);
	assert_int_equal(cfa_at(jitcfi, 0x9300, 39), 0);
	assert_int_equal(cfa_at(jitcfi, 0x9aff, 40), 64);
	assert_int_equal(cfa_at(jitcfi, 0xa000, 60), 0);
	assert_int_equal(cfa_at(jitcfi, 0xb000, 60), 0);
	jitcfi_free(jitcfi);
	close(fd);
}

/* With an address in the header one record may describe several functions. */
static void one_record_describes_several(void **state)
{
	struct jitcfi *jitcfi;
	struct made made;
	int fd;

	(void)state;
	begin(&made, false, 1);
	unwinding(&made, HDR_ABSOLUTE, 0x1000, 0x1000, 16);
	load(&made, 10, 0x1100, 0x40, 1);
	load(&made, 10, 0x1200, 0x40, 2);
	load(&made, 10, 0x7200, 0x40, 3); /* it does not speak of this one */
	fd = file_make(&made, made.len);
	assert_int_equal(jitcfi_new(fd, &jitcfi), 0);
	assert_int_equal(jitcfi_update(jitcfi), 0);
	assert_int_equal(cfa_at(jitcfi, 0x1110, 10), 16);
	assert_int_equal(cfa_at(jitcfi, 0x1210, 10), 16);
	assert_int_equal(cfa_at(jitcfi, 0x7210, 10), 0);
	jitcfi_free(jitcfi);
	close(fd);
}

/* Byte by byte, as a compiler writes it while we look; and cut again at the end. */
static void a_dump_grows_under_our_eyes(void **state)
{
	struct jitcfi *jitcfi;
	struct made made;
	uint32_t last = 0;
	int fd;

	(void)state;
	begin(&made, false, 1);
	unwinding(&made, HDR_FIRST, 0x1000, 0x40, 16);
	load(&made, 10, 0x1000, 0x40, 1);
	unwinding(&made, HDR_LAST, 0x2000, 0x40, 32);
	load(&made, 10, 0x2000, 0x40, 2);
	fd = file_make(&made, 0);
	assert_int_equal(jitcfi_new(fd, &jitcfi), 0);
	for (size_t i = 0; i < made.len; i++) {
		assert_int_equal(jitcfi_count(jitcfi), last);
		assert_int_equal(fd_write_all(fd, made.bytes + i, 1), 0);
		assert_int_equal(jitcfi_update(jitcfi), 0);
		last = jitcfi_count(jitcfi);
		assert_true(last <= 2);
		assert_int_equal(cfa_at(jitcfi, 0x1004, 10), last >= 1 ? 16 : 0);
		assert_int_equal(cfa_at(jitcfi, 0x2004, 10), last >= 2 ? 32 : 0);
	}
	assert_int_equal(last, 2);
	assert_int_equal(ftruncate(fd, 60), 0);
	assert_int_equal(jitcfi_update(jitcfi), 0);
	assert_int_equal(cfa_at(jitcfi, 0x1004, 10), 16); /* was read */
	jitcfi_free(jitcfi);
	close(fd);
}

/* A recorder that meets a large dump has its rings to empty: it reads it piece by piece. */
static void a_large_dump_is_read_in_pieces(void **state)
{
	enum { RECORDS = 1 << 16 };
	struct jitcfi *jitcfi;
	struct made made;
	int fd;

	(void)state;
	begin(&made, false, 1);
	fd = file_make(&made, made.len);
	made.len = 0;
	for (int i = 0; i < 256; i++) {
		record(&made, 2, 5);
		done(&made);
	}
	for (int i = 0; i < RECORDS / 256; i++)
		assert_int_equal(fd_write_all(fd, made.bytes, made.len), 0);
	made.len = 0;
	unwinding(&made, HDR_LAST, 0x1000, 0x40, 16);
	load(&made, 10, 0x1000, 0x40, 1);
	assert_int_equal(fd_write_all(fd, made.bytes, made.len), 0);
	assert_int_equal(jitcfi_new(fd, &jitcfi), 0);
	assert_int_equal(jitcfi_update(jitcfi), 0);
	assert_int_equal(jitcfi_count(jitcfi), 0);
	assert_int_equal(jitcfi_update(jitcfi), 0);
	assert_int_equal(jitcfi_count(jitcfi), 1);
	assert_int_equal(cfa_at(jitcfi, 0x1004, 10), 16);
	jitcfi_free(jitcfi);
	close(fd);
}

/* Nonsense of every kind ends, and harms nobody. */
static void nonsense_is_bounded(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 400; round++) {
		struct jitcfi *jitcfi;
		struct made made;
		int fd;

		begin(&made, round & 1, 1);
		unwinding(&made, (enum where)(round % WHERES), 0x1000, 0x40, 16);
		load(&made, 10, 0x1000, 0x40, 1);
		move(&made, 40, 0x1000, 0x9300, 0x800, 1);
		unwinding(&made, HDR_LAST, 0x2000, 0x40, 32);
		load(&made, 10, 0x2000, 0x40, 2);
		for (int i = 0; i < 6; i++) {
			seed = seed * 1103515245 + 12345;
			made.bytes[40 + (seed >> 8) % (made.len - 40)] = (uint8_t)(seed >> 24);
		}
		fd = file_make(&made, made.len);
		assert_int_equal(jitcfi_new(fd, &jitcfi), 0);
		assert_int_equal(jitcfi_update(jitcfi), 0);
		for (uint64_t addr = 0xf00; addr < 0x2100; addr += 4)
			cfa_at(jitcfi, addr, 50);
		jitcfi_free(jitcfi);
		close(fd);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(frames_are_described_in_every_layout),
	cmocka_unit_test(addresses_are_used_again),
	cmocka_unit_test(one_record_describes_several),
	cmocka_unit_test(a_dump_grows_under_our_eyes),
	cmocka_unit_test(a_large_dump_is_read_in_pieces),
	cmocka_unit_test(nonsense_is_bounded),
};
UNIT_TESTS("jitcfi", tests)
