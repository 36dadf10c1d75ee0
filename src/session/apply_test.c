#include "session/apply.h"

#include "abi/perf_abi.h"
#include "record/encode.h"
#include "tests/unit_test.h"

#include <string.h>
#include <sys/mman.h>

struct fixture {
	struct target target;
	struct profile profile;
	struct wick_layout layout;
	struct apply *apply;
	uint64_t time;
	uint32_t asked; /* processes that were asked for */
};

static bool main_is_root(void *ctx, struct profile *profile, uint32_t frame)
{
	(void)ctx;
	return profile->frames[frame].addr == 0x1100;
}

static void need_process(void *ctx, int32_t pid, int32_t tid, uint64_t time_ns)
{
	struct fixture *f = ctx;

	(void)tid;
	(void)time_ns;
	f->asked++;
	f->target.processes[target_process(&f->target, pid)].known = true;
}

static void setup(struct fixture *f)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN,
		.flags = ATTR_SAMPLE_ID_ALL,
	};
	struct apply_options options = {.target = &f->target,
		.profile = &f->profile,
		.is_root = main_is_root,
		.need_process = need_process,
		.ctx = f};
	uint32_t event;

	*f = (struct fixture){.time = 1000};
	quality_init(&f->profile.quality);
	assert_int_equal(wick_layout_init(&f->layout, &attr), 0);
	assert_int_equal(profile_event(&f->profile, "cpu-clock", true, &event), 0);
	assert_int_equal(apply_new(&options, &f->apply), 0);
}

static void teardown(struct fixture *f)
{
	apply_free(f->apply);
	target_done(&f->target);
	profile_done(&f->profile);
}

static void apply(struct fixture *f, struct wick_record *record)
{
	_Alignas(8) uint8_t buf[4096];
	int size;

	record->id.time = f->time += 10;
	size = record_encode(&f->layout, record, buf, sizeof(buf));
	assert_true(size > 0);
	assert_int_equal(apply_record(f->apply, &f->layout, 0, buf, (size_t)size), 0);
}

static void map(struct fixture *f, uint32_t pid, uint64_t start, uint64_t pgoff,
	const char *name, uint64_t ino)
{
	struct wick_record record = {.type = PERF_RECORD_MMAP2,
		.misc = PERF_RECORD_MISC_USER,
		.mmap = {.pid = pid,
			.tid = pid,
			.addr = start,
			.len = 0x1000,
			.pgoff = pgoff,
			.ino = ino,
			.has_inode = true,
			.prot = PROT_READ | PROT_EXEC,
			.filename = {name, (uint32_t)strlen(name)}}};

	apply(f, &record);
}

static void sample(struct fixture *f, uint32_t pid, const uint64_t *chain, uint64_t n)
{
	struct wick_record record = {.type = PERF_RECORD_SAMPLE,
		.misc = PERF_RECORD_MISC_USER,
		.id = {.pid = pid, .tid = pid, .cpu = 1},
		.sample = {.ip = n > 1 ? chain[1] : 0, .period = 7, .callchain = {chain, n}}};

	apply(f, &record);
}

static const struct frame *frame_at(
	const struct fixture *f, const struct sample *sample, int up)
{
	uint32_t stack = sample->stack;

	while (up--)
		stack = f->profile.stacks[stack].parent;
	return &f->profile.frames[f->profile.stacks[stack].frame];
}

static void a_chain_becomes_frames_of_file_offsets(void **state)
{
	const uint64_t chain[] = {PERF_CONTEXT_USER, 0x401200, 0x401100};
	struct fixture f;

	(void)state;
	setup(&f);
	map(&f, 10, 0x401000, 0x1000, "/bin/a", 5);
	sample(&f, 10, chain, 3);
	assert_int_equal(f.profile.sample_count, 1);
	assert_int_equal(f.asked, 1);
	assert_int_equal(f.profile.samples[0].weight, 7);
	assert_int_equal(frame_at(&f, f.profile.samples, 0)->addr, 0x1200);
	assert_false(frame_at(&f, f.profile.samples, 0)->caller);
	assert_int_equal(frame_at(&f, f.profile.samples, 1)->addr, 0x1100);
	assert_true(frame_at(&f, f.profile.samples, 1)->caller);
	assert_int_equal(f.profile.quality.stops[STOP_ROOT], 1);
	assert_int_equal(f.profile.quality.period_sum, 7);
	assert_int_equal(f.profile.quality.first_ns, f.profile.samples[0].time_ns);
	sample(&f, 10, chain, 3);
	assert_int_equal(f.profile.quality.first_ns, f.profile.samples[0].time_ns);
	assert_int_equal(f.profile.quality.last_ns, f.profile.samples[1].time_ns);
	teardown(&f);
}

/* A return address at the very start of a mapping belongs to the call that ends the one before.
 */
static void a_caller_is_looked_up_one_byte_before(void **state)
{
	const uint64_t chain[] = {PERF_CONTEXT_USER, 0x401200, 0x402000};
	struct fixture f;

	(void)state;
	setup(&f);
	map(&f, 10, 0x401000, 0, "/bin/a", 5);
	map(&f, 10, 0x402000, 0, "/bin/b", 6);
	sample(&f, 10, chain, 3);
	assert_string_equal(
		module_short_name(&f.profile, frame_at(&f, f.profile.samples, 1)->module), "a");
	teardown(&f);
}

static void context_markers_are_no_frames(void **state)
{
	const uint64_t chain[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020,
		PERF_CONTEXT_USER, 0x401200, 0x401100};
	struct fixture f;

	(void)state;
	setup(&f);
	map(&f, 10, 0x401000, 0x1000, "/bin/a", 5);
	sample(&f, 10, chain, 6);
	assert_int_equal(f.profile.stacks[f.profile.samples[0].stack].depth, 4);
	assert_int_equal(frame_at(&f, f.profile.samples, 0)->addr, 0xffffffff81000010);
	/* The first user entry is where the thread entered the kernel: a leaf of its own. */
	assert_false(frame_at(&f, f.profile.samples, 2)->caller);
	assert_true(frame_at(&f, f.profile.samples, 3)->caller);
	teardown(&f);
}

static void a_chain_that_ends_elsewhere_is_marked(void **state)
{
	const uint64_t chain[] = {PERF_CONTEXT_USER, 0x401200, 0x401234};
	struct fixture f;

	(void)state;
	setup(&f);
	map(&f, 10, 0x401000, 0x1000, "/bin/a", 5);
	sample(&f, 10, chain, 3);
	assert_int_equal(f.profile.quality.stops[STOP_NOT_ROOT], 1);
	assert_int_equal(f.profile.stacks[f.profile.samples[0].stack].depth, 3);
	assert_int_equal(f.profile.modules[frame_at(&f, f.profile.samples, 2)->module].kind,
		MODULE_MARKER);
	teardown(&f);
}

/* dlclose and dlopen at the same address: the frame cache must not remember the old library. */
static void a_new_mapping_takes_the_address_over(void **state)
{
	const uint64_t chain[] = {PERF_CONTEXT_USER, 0x401200, 0x401100};
	struct fixture f;

	(void)state;
	setup(&f);
	map(&f, 10, 0x401000, 0x1000, "/lib/old.so", 5);
	sample(&f, 10, chain, 3);
	map(&f, 10, 0x401000, 0x1000, "/lib/new.so", 6);
	sample(&f, 10, chain, 3);
	assert_string_equal(
		module_short_name(&f.profile, frame_at(&f, &f.profile.samples[0], 0)->module),
		"old.so");
	assert_string_equal(
		module_short_name(&f.profile, frame_at(&f, &f.profile.samples[1], 0)->module),
		"new.so");
	teardown(&f);
}

static void exec_forgets_and_fork_inherits_the_mappings(void **state)
{
	const uint64_t chain[] = {PERF_CONTEXT_USER, 0x401200, 0x401100};
	struct wick_record fork = {.type = PERF_RECORD_FORK, .task = {11, 10, 11, 10, 0}};
	struct wick_record exec = {
		.type = PERF_RECORD_COMM, .misc = PERF_RECORD_MISC_COMM_EXEC};
	struct fixture f;

	(void)state;
	setup(&f);
	map(&f, 10, 0x401000, 0x1000, "/bin/a", 5);
	apply(&f, &fork);
	sample(&f, 11, chain, 3);
	exec.comm.pid = exec.comm.tid = 11;
	exec.comm.name = (struct wick_name){"b", 1};
	apply(&f, &exec);
	sample(&f, 11, chain, 3);
	assert_string_equal(
		module_short_name(&f.profile, frame_at(&f, &f.profile.samples[0], 0)->module),
		"a");
	assert_string_equal(
		module_short_name(&f.profile, frame_at(&f, &f.profile.samples[1], 0)->module),
		"[unknown]");
	assert_string_equal(
		profile_text(&f.profile, f.profile.threads[f.profile.samples[1].thread].comm),
		"b");
	teardown(&f);
}

/* A hostile file must not reach the kernel's mappings, which all processes share. */
static void a_user_mapping_of_nobody_is_dropped(void **state)
{
	const uint64_t chain[] = {PERF_CONTEXT_KERNEL, 0x401200};
	struct fixture f;

	(void)state;
	setup(&f);
	map(&f, UINT32_MAX, 0x401000, 0, "/bin/a", 5);
	sample(&f, 10, chain, 2);
	assert_int_equal(f.profile.modules[frame_at(&f, f.profile.samples, 0)->module].kind,
		MODULE_KERNEL);
	teardown(&f);
}

static void losses_and_throttling_are_counted_with_their_times(void **state)
{
	struct wick_record lost = {.type = PERF_RECORD_LOST, .lost = {1, 5}};
	struct wick_record throttle = {.type = PERF_RECORD_THROTTLE, .throttle = {2000, 1, 1}};
	struct wick_record unthrottle = {
		.type = PERF_RECORD_UNTHROTTLE, .throttle = {2500, 1, 1}};
	const struct quality *quality;
	struct fixture f;

	(void)state;
	setup(&f);
	quality = &f.profile.quality;
	map(&f, 10, 0x401000, 0x1000, "/bin/a", 5);
	apply(&f, &lost);
	lost.lost.lost = 7;
	apply(&f, &lost);
	apply(&f, &throttle);
	apply(&f, &unthrottle);
	assert_int_equal(quality->lost, 12);
	assert_int_equal(quality->lost_records, 2);
	assert_int_equal(quality->first_loss_ns, 10);
	assert_int_equal(quality->last_loss_ns, 20);
	assert_int_equal(quality->throttled, 1);
	assert_int_equal(quality->throttled_ns, 500);
	assert_int_equal(f.profile.span_count, 3);
	assert_int_equal(f.profile.spans[1].kind, SPAN_LOST);
	assert_int_equal(f.profile.spans[1].start_ns, 1020); /* of the record before it */
	assert_int_equal(f.profile.spans[1].end_ns, 1030);
	assert_int_equal(f.profile.spans[2].kind, SPAN_THROTTLED);
	assert_int_equal(f.profile.spans[2].start_ns, 2000);
	assert_int_equal(f.profile.spans[2].end_ns, 2500);
	teardown(&f);
}

/* A million losses are ten thousand spans, of which the last one is long. */
static void spans_are_bounded(void **state)
{
	struct wick_record lost = {
		.type = PERF_RECORD_LOST, .id = {.pid = 10, .tid = 11}, .lost = {1, 5}};
	struct fixture f;

	(void)state;
	setup(&f);
	for (int i = 0; i < PROFILE_SPANS_MAX + 500; i++)
		apply(&f, &lost);
	assert_int_equal(f.profile.span_count, PROFILE_SPANS_MAX);
	assert_int_equal(f.profile.spans[PROFILE_SPANS_MAX - 1].end_ns, f.time);
	assert_int_equal(f.profile.spans[PROFILE_SPANS_MAX - 1].thread, PROFILE_NONE);
	assert_int_equal(f.profile.threads[f.profile.spans[0].thread].tid, 11);
	assert_int_equal(f.profile.thread_count, 1);
	teardown(&f);
}

/* Two loads of the same code, one after the other at one address; then frames in both places.
 */
static void bpf_programs_are_modules_by_their_names(void **state)
{
	struct wick_record load = {.type = PERF_RECORD_KSYMBOL,
		.ksymbol = {.addr = 0xffffffffc0001000,
			.len = 0x100,
			.ksym_type = PERF_RECORD_KSYMBOL_TYPE_BPF,
			.name = {"bpf_prog_6deef7357e7b4530_one", 29}}};
	struct wick_record sample = {.type = PERF_RECORD_SAMPLE,
		.misc = PERF_RECORD_MISC_KERNEL,
		.id = {.pid = 10, .tid = 10},
		.sample = {.ip = 0xffffffffc0001080, .period = 1}};
	const struct module *module;
	struct fixture f;

	(void)state;
	setup(&f);
	apply(&f, &load);
	apply(&f, &sample);
	load.ksymbol.flags = PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	apply(&f, &load);
	apply(&f, &sample);
	load.ksymbol.flags = 0;
	load.ksymbol.name = (struct wick_name){"bpf_prog_0000000000000001_two", 29};
	apply(&f, &load);
	apply(&f, &sample);
	module = &f.profile.modules[frame_at(&f, f.profile.samples, 0)->module];
	assert_int_equal(module->kind, MODULE_KMODULE);
	assert_true(module->ino == 0xffffffffc0001000);
	assert_string_equal(
		profile_text(&f.profile, module->path), "bpf_prog_6deef7357e7b4530_one");
	assert_ptr_equal(
		&f.profile.modules[frame_at(&f, f.profile.samples + 1, 0)->module], module);
	module = &f.profile.modules[frame_at(&f, f.profile.samples + 2, 0)->module];
	assert_string_equal(
		profile_text(&f.profile, module->path), "bpf_prog_0000000000000001_two");
	teardown(&f);
}

/* Lengths that run over, and names that would be modules or files. */
static void absurd_kernel_symbols_are_dropped(void **state)
{
	struct wick_record load = {.type = PERF_RECORD_KSYMBOL,
		.ksymbol = {.addr = UINT64_MAX - 1, .len = 0x100, .name = {"bpf_prog_1", 10}}};
	struct fixture f;

	(void)state;
	setup(&f);
	apply(&f, &load);
	load.ksymbol.addr = 0xffffffffc0001000;
	load.ksymbol.name = (struct wick_name){"[ext4]", 6};
	apply(&f, &load);
	load.ksymbol.name = (struct wick_name){"", 0};
	apply(&f, &load);
	load.ksymbol.name = (struct wick_name){"bpf_prog_1", 10};
	load.ksymbol.len = 0;
	apply(&f, &load);
	assert_null(target_find_kernel(&f.target, 0xffffffffc0001000));
	assert_null(target_find_kernel(&f.target, UINT64_MAX - 1));
	teardown(&f);
}

static void records_that_are_none_are_counted_and_passed(void **state)
{
	const struct perf_event_header newer = {.type = 60, .size = 8};
	const struct perf_event_header cut = {.type = PERF_RECORD_COMM, .size = 8};
	struct fixture f;

	(void)state;
	setup(&f);
	assert_int_equal(apply_record(f.apply, &f.layout, 0, &newer, sizeof(newer)), 0);
	assert_int_equal(apply_record(f.apply, &f.layout, 0, &cut, sizeof(cut)), 0);
	assert_int_equal(f.profile.quality.unknown_records, 1);
	assert_int_equal(f.profile.quality.bad_records, 1);
	teardown(&f);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_chain_becomes_frames_of_file_offsets),
	cmocka_unit_test(a_caller_is_looked_up_one_byte_before),
	cmocka_unit_test(context_markers_are_no_frames),
	cmocka_unit_test(a_chain_that_ends_elsewhere_is_marked),
	cmocka_unit_test(a_new_mapping_takes_the_address_over),
	cmocka_unit_test(exec_forgets_and_fork_inherits_the_mappings),
	cmocka_unit_test(a_user_mapping_of_nobody_is_dropped),
	cmocka_unit_test(losses_and_throttling_are_counted_with_their_times),
	cmocka_unit_test(spans_are_bounded),
	cmocka_unit_test(bpf_programs_are_modules_by_their_names),
	cmocka_unit_test(absurd_kernel_symbols_are_dropped),
	cmocka_unit_test(records_that_are_none_are_counted_and_passed),
};
UNIT_TESTS("apply", tests)
