/* What happens to a record between its ring and the file. */
#include "session/recorder_internal.h"

#include "base/cleanup.h"
#include "base/fileio.h"
#include "proc/facts.h"
#include "record/encode.h"
#include "record/narrow.h"
#include "session/apply.h"
#include "session/embed.h"
#include "session/header.h"
#include "session/resolve.h"

#include <errno.h>
#include <string.h>

enum { NS_PER_S = 1000 * 1000 * 1000 };

static int recorder_write(struct recorder *r, const void *record, uint32_t size)
{
	int rc;

	if (r->disk_full)
		return 0;
	rc = perfdata_write(r->writer, record, size, r->err);
	if (rc < 0) {
		r->disk_full = true;
		return rc;
	}
	return 0;
}

/* A sample whose stack was unwound: written with its chain in place of registers and stack. */
static int recorder_counted(void *ctx, const struct wick_record *record)
{
	struct recorder *r = ctx;
	int size = record_encode(&r->file_layout, record, r->record, sizeof(r->record));

	r->rewritten = true;
	if (quality_of(r)->first_stack_ns == QUALITY_UNKNOWN &&
		record->id.cpu_reserved == STOP_ROOT + 1u)
		quality_of(r)->first_stack_ns = recorder_now_ns() - r->span.begun_ns;
	return size < 0 ? 0 : recorder_write(r, r->record, (uint32_t)size);
}

static int recorder_sink(void *ctx, const void *record, uint32_t size)
{
	struct recorder *r = ctx;
	int rc;

	r->rewritten = false;
	rc = apply_record(r->apply, capture_layout(r->targets.capture),
		layouts_find(&r->layouts, record), record, size);
	if (rc < 0 || r->rewritten)
		return rc;
	if (r->narrowed) {
		size = record_narrow(
			capture_layout(r->targets.capture), &r->file_layout, record, r->record);
		record = r->record;
	}
	return recorder_write(r, record, size);
}

/* Rings that fill faster than they are read get less of each stack. */
static void recorder_pressure(void *ctx, const struct pressure *pressure)
{
	struct recorder *r = ctx;

	stacks_set_effort(r->stacks,
		strain_update(&r->strain, pressure, quality_of(r)->lost, recorder_now_ns()));
}

static void recorder_need_process(void *ctx, int32_t pid, int32_t tid, uint64_t time_ns)
{
	struct recorder *r = ctx;
	uint32_t process;

	(void)tid;
	process = target_process(&r->target, pid);
	if (process == TARGET_NONE)
		return;
	r->target.processes[process].known = true; /* asked once, whatever comes of it */
	if (pid > 0)
		synth_process(&r->synth, pid, time_ns);
}

static bool recorder_is_root(void *ctx, struct profile *profile, uint32_t frame)
{
	const struct recorder *r = ctx;

	return resolve_is_root(r->symbolizer, profile, frame);
}

/* The file holds call chains, not what they were unwound from. */
static void attr_as_written(struct perf_event_attr *attr)
{
	attr->sample_type &= ~(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	attr->flags &= ~ATTR_EXCLUDE_CALLCHAIN_USER;
	attr->sample_regs_user = 0;
	attr->sample_stack_user = 0;
}

/*
 * The only event needs no ids to tell its records apart. The period of the kernel's clocks is
 * constant, at a frequency too (kernel/events/core.c, perf_swevent_init_hrtimer).
 */
static void attr_narrow(struct perf_event_attr *attr)
{
	bool clock = attr->type == PERF_TYPE_SOFTWARE &&
		     (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
			     attr->config == PERF_COUNT_SW_TASK_CLOCK);

	attr->sample_type &= ~PERF_SAMPLE_IDENTIFIER;
	if (!clock || !attr->sample_period)
		return;
	attr->sample_type &= ~PERF_SAMPLE_PERIOD;
	if (attr->flags & ATTR_FREQ)
		attr->sample_period = NS_PER_S / attr->sample_period;
	attr->flags &= ~ATTR_FREQ;
}

int recorder_make_file(struct recorder *r)
{
	const struct capture *capture = r->targets.capture;
	uint32_t count = capture_event_count(capture);
	cleanup_free struct perfdata_event *events = calloc(count, sizeof(*events));
	struct perfdata_info info = {.events = events, .event_count = count};
	struct perfdata_writer_options options = {
		.path = r->out->path,
		.events = events,
		.event_count = count,
		.owner_uid = -1,
		.owner_gid = -1,
		.compression_level = r->options->compression_level,
	};
	char sideband[] = "dummy:u";
	int rc;

	if (!events)
		return error_set(
			r->err, -ENOMEM, "out of memory while preparing the recording");
	r->narrowed = count == 1;
	for (uint32_t i = 0; i < count; i++) {
		events[i].attr = *capture_attr(capture, i);
		attr_as_written(&events[i].attr);
		if (r->narrowed)
			attr_narrow(&events[i].attr);
		events[i].ids =
			(uint64_t *)(uintptr_t)capture_ids(capture, i, &events[i].id_count);
		events[i].name = i < r->events.count ? r->events.specs[i].name : sideband;
	}
	rc = layouts_update(&r->layouts, &info, r->err);
	if (rc == 0)
		rc = wick_layout_init(&r->file_layout, &events[0].attr);
	if (rc == 0)
		rc = header_fill(
			&r->features, &r->proc, r->options->own_argv, capture_clock(capture));
	if (rc < 0)
		return error_set(r->err, rc, "out of memory while preparing the recording");
	return perfdata_create(&options, &r->writer, r->err);
}

static void recorder_module_seen(void *ctx, const struct dso *dso, uint32_t module)
{
	struct recorder *r = ctx;

	keep_module(&r->keep, dso, module);
}

/* A jitdump is opened when it is mapped, and read at the end. */
static int recorder_mapping(void *ctx, const struct wick_record_mmap *mmap)
{
	struct recorder *r = ctx;
	struct pin_request request = {(int32_t)mmap->pid, mmap->addr, mmap->addr + mmap->len,
		mmap->filename.text, mmap->ino};
	enum pin_trust trust;
	int fd;

	if (jit_wants(&r->jit, request.pid, request.path) &&
		pin_open(&r->proc, &request, &fd, &trust) == 0)
		jit_add(&r->jit, request.pid, request.path, fd);
	return 0;
}

static int make_stacks(struct recorder *r, struct apply_options *apply)
{
	struct stacks_options options = {.target = &r->target,
		.proc = &r->proc,
		.jit = &r->jit,
		.arch = (enum unwind_arch)stacks_arch_here()};
	int rc;

	r->jit.unwinds = true;
	rc = stacks_new(&options, &r->stacks);
	apply->stacks = r->stacks;
	apply->mapping_seen = recorder_mapping;
	apply->on_counted = recorder_counted;
	return rc;
}

static bool recorder_is_program(void *ctx, const struct wick_record_mmap *mmap)
{
	const struct recorder *r = ctx;
	struct pin_request request = {(int32_t)mmap->pid, mmap->addr, mmap->addr + mmap->len,
		mmap->filename.text, mmap->ino};
	enum pin_trust trust;
	cleanup_close int fd = -1;
	char magic[4];

	return pin_open(&r->proc, &request, &fd, &trust) == 0 &&
	       fd_pread_all(fd, magic, sizeof(magic), 0) == (int64_t)sizeof(magic) &&
	       !memcmp(magic, "\177ELF", sizeof(magic));
}

static bool recorder_map_folder(void *ctx, int32_t pid, struct map_folder *ret_folder)
{
	const struct recorder *r = ctx;
	const struct keep_folder *folder = keep_folder(&r->keep, pid);

	if (folder)
		*ret_folder = folder->where;
	return folder != NULL;
}

static int recorder_pinned_fd(void *ctx, const struct profile *profile, uint32_t module)
{
	const struct recorder *r = ctx;

	(void)profile;
	return keep_fd(&r->keep, module);
}

/* A record will tell of the command's exec; until then it is still us, and not worth reading.
 */
static int know_command(struct recorder *r)
{
	pid_t pid = r->targets.command.pid;
	uint32_t process = pid ? target_process(&r->target, pid) : TARGET_NONE;

	if (process == TARGET_NONE)
		return 0;
	r->target.processes[process].known = true;
	return synth_name(&r->synth, pid, "wick-exec");
}

int recorder_make_pipeline(struct recorder *r)
{
	const struct capture *capture = r->targets.capture;
	uint32_t sideband =
		capture_event_count(capture) > r->events.count ? r->events.count : 0;
	struct symbolizer_options symbols = {
		.live = true,
		.pinned_fd = recorder_pinned_fd,
		.map_folder = recorder_map_folder,
		.ctx = r,
	};
	char cache[CACHE_DIR_ROOM], debug_cache[DOWNLOADS_DIR_ROOM];
	struct perf_limits limits;
	struct apply_options apply = {
		.target = &r->target,
		.profile = &r->out->profile,
		.is_root = recorder_is_root,
		.need_process = recorder_need_process,
		.is_program = recorder_is_program,
		.module_seen = r->options->no_embed ? NULL : recorder_module_seen,
		.mapping_seen = r->options->no_embed ? NULL : recorder_mapping,
		.ctx = r,
		.count_only = true,
		.counted_frames_most = r->options->no_embed ? 0 : EMBED_FRAMES_MOST,
		.self = r->options->no_embed ? NULL : &r->self,
	};
	uint32_t id_count;
	int rc;

	perf_limits_read(&r->proc, &limits);
	if (limits.max_stack > 0 && limits.max_stack < APPLY_DEPTH_MAX)
		apply.kernel_depth_limit = (uint32_t)limits.max_stack;
	r->synth = (struct synth){
		.proc = &r->proc,
		.layout = capture_layout(capture),
		.event_id = capture_ids(capture, sideband, &id_count)[0],
		.build_ids = (capture_attr(capture, sideband)->flags & ATTR_BUILD_ID) != 0,
		.emit = recorder_sink,
		.ctx = r,
	};
	symbols.kernel_cache = cache_dir(cache);
	symbols.debug_cache = downloads_dir(debug_cache);
	keep_init(&r->keep, &r->proc, &r->target);
	jit_init(&r->jit);
	r->jit.no_time = capture_clock(capture) != CLOCK_MONOTONIC;
	rc = symbolizer_new(&symbols, &r->symbolizer);
	if (rc == 0 && r->targets.stack_bytes)
		rc = make_stacks(r, &apply);
	if (rc == 0)
		rc = apply_new(&apply, &r->apply);
	if (rc == 0)
		rc = pump_init(&r->pump, r->targets.capture, recorder_sink, r);
	if (rc == 0 && r->stacks)
		r->pump.on_pressure = recorder_pressure;
	if (rc == 0 && !r->events.specs[0].exclude_kernel)
		rc = synth_kernel(&r->synth);
	if (rc == 0)
		rc = know_command(r);
	return rc < 0 ? error_set(r->err, rc, "out of memory while preparing the recording")
		      : 0;
}

void recorder_watch_copies(struct recorder *r)
{
	struct targets *targets = &r->targets;
	struct stacks_stats stats;
	uint32_t before = targets->stack_bytes;

	if (!r->stacks || !targets->grown_bytes)
		return;
	stacks_stats(r->stacks, &stats);
	if (!copies_run_out(&r->copies, stats.fully, stats.ran_out))
		return;
	if (capture_grow(targets->capture) == 0) {
		targets->stack_bytes = targets->grown_bytes;
		recorder_note(r,
			"from %.1f s on %.4g KiB of stack were copied with each sample, not "
			"%.4g: too many that were deeper had changed before they could be read",
			(double)(recorder_now_ns() - r->span.begun_ns) / 1e9,
			targets->stack_bytes / 1024.0, before / 1024.0);
	}
	targets->grown_bytes = 0;
}
