#include "session/jit.h"

#include "base/fileio.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(struct strbuf *out, uint64_t value, size_t width)
{
	strbuf_add(out, &value, width); /* this machine's byte order is as good as the other */
}

static void load(struct strbuf *out, uint64_t ns, uint64_t addr, uint64_t size, uint64_t index,
	const char *name)
{
	put(out, 0, 4);
	put(out, 16 + 40 + strlen(name) + 1 + size, 4);
	put(out, ns, 8);
	put(out, 0, 8);
	put(out, addr, 8);
	put(out, addr, 8);
	put(out, size, 8);
	put(out, index, 8);
	strbuf_add(out, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		strbuf_putc(out, '\0');
}

/* Two functions at one address, one after the other, and one beside them. */
static int dump_make(void)
{
	char path[] = "/tmp/wick-jit-XXXXXX";
	int fd = mkstemp(path);
	struct strbuf out = {0};

	assert_true(fd >= 0);
	unlink(path);
	put(&out, 0x4A695444, 4);
	put(&out, 1, 4);
	put(&out, 40, 4);
	put(&out, 62, 8);
	put(&out, 7, 4);
	put(&out, 0, 8);
	put(&out, 0, 8);
	load(&out, 100, 0x1000, 0x40, 1, "early");
	load(&out, 200, 0x1000, 0x40, 2, "late");
	load(&out, 100, 0x9000, 0x40, 3, "beside");
	assert_int_equal(fd_write_all(fd, strbuf_text(&out), out.len), 0);
	strbuf_done(&out);
	return fd;
}

static const char *name_at(struct jit *jit, struct profile *profile, uint64_t ip, bool caller,
	uint64_t ns, uint32_t *ret_frame)
{
	int rc = jit_frame(jit, profile, 7, ip, caller, ns, ret_frame);

	assert_true(rc >= 0);
	return rc ? frame_name(profile, *ret_frame, 0) : "-";
}

static void frames_are_told_apart_by_time(void **state)
{
	struct profile profile = {.module_count = 0};
	uint32_t early, late, again;
	struct jit jit;

	(void)state;
	jit_init(&jit);
	assert_int_equal(jit_frame(&jit, &profile, 7, 0x1000, false, 150, &early), -ENODATA);
	assert_true(jit_wants(&jit, 7, "/tmp/jit-7.dump"));
	assert_false(jit_wants(&jit, 7, "/tmp/prog"));
	jit_add(&jit, 7, "/tmp/jit-7.dump", dump_make());
	assert_false(jit_wants(&jit, 7, "/tmp/jit-7.dump"));
	assert_int_equal(jit_read(&jit, NULL), 0);
	assert_string_equal(name_at(&jit, &profile, 0x1010, false, 150, &early), "early");
	assert_string_equal(name_at(&jit, &profile, 0x1010, false, 250, &late), "late");
	assert_string_equal(name_at(&jit, &profile, 0x1010, false, 199, &again), "early");
	assert_true(early != late && early == again);
	assert_string_equal(name_at(&jit, &profile, 0x1010, false, 99, &again), "-");
	assert_string_equal(name_at(&jit, &profile, 0x1040, false, 250, &again), "-");
	/* The call was the last instruction. */
	assert_string_equal(name_at(&jit, &profile, 0x1040, true, 250, &again), "late");
	assert_int_equal(jit_frame(&jit, &profile, 8, 0x1010, false, 150, &again), 0);
	assert_string_equal(
		module_short_name(&profile, profile.frames[early].module), "jit-7.dump");
	jit_done(&jit);
	profile_done(&profile);
}

static void without_a_common_clock_the_last_one_counts(void **state)
{
	struct profile profile = {.module_count = 0};
	struct jit jit;
	uint32_t frame;

	(void)state;
	jit_init(&jit);
	jit.no_time = true;
	jit_add(&jit, 7, "/tmp/jit-7.dump", dump_make());
	assert_int_equal(jit_read(&jit, NULL), 0);
	assert_string_equal(name_at(&jit, &profile, 0x1010, false, 1, &frame), "late");
	assert_string_equal(name_at(&jit, &profile, 0x9010, false, 1, &frame), "beside");
	jit_done(&jit);
	profile_done(&profile);
}

/* What a recorder keeps: functions in which it sampled something, whenever that was. */
static void only_what_was_sampled_is_kept(void **state)
{
	struct profile sampled = {.module_count = 0};
	struct module module = {.kind = MODULE_ANON, .pid = 7};
	uint32_t id, frame;
	struct jit jit;

	(void)state;
	assert_int_equal(profile_string(&sampled, "//anon", &module.path), 0);
	assert_int_equal(profile_module(&sampled, &module, &id), 0);
	assert_int_equal(profile_frame(&sampled, id, 0x1020, false, 0x1020, &frame), 0);
	jit_init(&jit);
	jit_add(&jit, 7, "/tmp/jit-7.dump", dump_make());
	assert_int_equal(jit_read(&jit, &sampled), 0);
	assert_int_equal(jit.codes->count, 2);
	assert_true(jit.codes->at[0].sampled && jit.codes->at[1].sampled);
	jit_done(&jit);
	profile_done(&sampled);
}

/* An .eh_frame for `size` bytes right before it, with CFA = rsp + `cfa`, and its header. */
static void unwinding(struct strbuf *out, uint64_t size, uint8_t cfa)
{
	static const uint8_t cie[] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1,
		0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0};

	put(out, 4, 4);
	put(out, 16 + 24 + sizeof(cie) + 20 + 4, 4);
	put(out, 1, 8);
	put(out, sizeof(cie) + 20 + 4, 8);
	put(out, 4, 8);
	put(out, 0, 8);
	strbuf_add(out, cie, sizeof(cie));
	put(out, 16, 4);
	put(out, sizeof(cie) + 4, 4);
	put(out, -(size + sizeof(cie) + 8), 4);
	put(out, size, 4);
	put(out, 0, 1);
	put(out, 0x0e, 1);
	put(out, cfa, 1);
	put(out, 0, 1);
	put(out, 0xffffff01, 4); /* a header that says nothing */
}

/* What a dump says of frames, from when it says it, of the machine it is for. */
static void frames_are_described_as_the_dump_grows(void **state)
{
	struct strbuf more = {0};
	struct cfi_row row;
	int fd = dump_make();
	struct jit jit;

	(void)state;
	jit_init(&jit);
	jit.unwinds = true;
	jit_add(&jit, 7, "/tmp/jit-7.dump", fd);
	assert_int_equal(jit_update(&jit, 7), 0);
	assert_int_equal(jit_row(&jit, 7, 62, 0x1000, 250, &row), -ENODATA);
	unwinding(&more, 0x40, 48);
	load(&more, 300, 0x1000, 0x40, 4, "described");
	assert_int_equal(fd_write_all(fd, strbuf_text(&more), more.len), 0);
	assert_int_equal(jit_update(&jit, 8), 0);
	assert_int_equal(jit_update(&jit, 7), 1);
	assert_int_equal(jit_update(&jit, 7), 0);
	assert_int_equal(jit_row(&jit, 7, 62, 0x1000, 350, &row), 0);
	assert_int_equal(row.cfa.offset, 48);
	assert_int_equal(jit_row(&jit, 7, 62, 0x1000, 250, &row), -ENOENT);
	assert_int_equal(jit_row(&jit, 7, 183, 0x1000, 350, &row), -ENODATA);
	assert_int_equal(jit_row(&jit, 8, 62, 0x1000, 350, &row), -ENODATA);
	/* Names are read once; frames go on. */
	assert_int_equal(jit_read(&jit, NULL), 0);
	assert_int_equal(jit_row(&jit, 7, 62, 0x103f, 350, &row), 0);
	jit.no_time = true;
	assert_int_equal(jit_row(&jit, 7, 62, 0x1000, 1, &row), 0);
	jit_done(&jit);
	strbuf_done(&more);
}

/* A dump that is torn, and one that cannot be read, are said. */
static void what_cannot_be_used_is_said(void **state)
{
	struct quality quality;
	int fd = dump_make(), folder = open("/", O_RDONLY | O_CLOEXEC);
	struct stat st;
	struct jit jit;

	(void)state;
	assert_true(fd >= 0 && folder >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(ftruncate(fd, st.st_size - 1), 0);
	jit_init(&jit);
	jit_add(&jit, 7, "/tmp/jit-7.dump", fd);
	jit_add(&jit, 8, "/tmp/jit-8.dump", folder);
	assert_int_equal(jit_read(&jit, NULL), 0);
	assert_int_equal(jit.codes->count, 2); /* what is whole */
	quality_init(&quality);
	jit_say(&jit, &quality);
	assert_non_null(strstr(quality.notes, "1 jitdump ended in the middle"));
	assert_non_null(strstr(quality.notes, "1 jitdump could not be read"));
	jit_done(&jit);
	quality_init(&quality);
	jit_init(&jit);
	jit_say(&jit, &quality);
	assert_string_equal(quality.notes, "");
	jit_done(&jit);
}

/* Two dumps of one process: it called exec, or the pid was used again. */
static void a_process_may_have_several(void **state)
{
	struct jit jit;

	(void)state;
	jit_init(&jit);
	jit_add(&jit, 7, "/tmp/jit-7.dump", dump_make());
	assert_false(jit_wants(&jit, 7, "/tmp/jit-7.dump"));
	assert_true(jit_wants(&jit, 7, "/home/x/jit-7.dump"));
	assert_true(jit_wants(&jit, 8, "/tmp/jit-7.dump"));
	jit_done(&jit);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(frames_are_described_as_the_dump_grows),
	cmocka_unit_test(what_cannot_be_used_is_said),
	cmocka_unit_test(a_process_may_have_several),
	cmocka_unit_test(frames_are_told_apart_by_time),
	cmocka_unit_test(without_a_common_clock_the_last_one_counts),
	cmocka_unit_test(only_what_was_sampled_is_kept),
};
UNIT_TESTS("jit", tests)
