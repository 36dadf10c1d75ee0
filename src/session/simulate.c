/*
 * The simulated kernel stands where the capture stands in recorder.c. What the file says about
 * its machine are constants, and the functions' names come from the scenario: no program lies
 * behind its addresses.
 *
 * Stacks that samples bring are unwound on the way, by frame pointers, as a recording does it.
 * Rings that are overwritten are read once, at the end: from the newest record to the oldest
 * that is whole, and then written in the order of time.
 */
#include "session/simulate.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "perfdata/perfdata.h"
#include "profile/names.h"
#include "record/encode.h"
#include "session/apply.h"
#include "session/embed.h"
#include "session/header.h"
#include "session/layouts.h"
#include "session/pump.h"
#include "session/stacks.h"
#include "softperf/machine.h"
#include "symbolize/symbolize.h"
#include "target/target.h"
#include "wick/perf_ringbuf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct simulation {
	const struct simulate_options *options;
	struct simulated *out;
	struct machine *machine;
	struct perf_ringbuf *rings[CORE_CPUS_MAX];
	struct perfdata_event events[MACHINE_EVENTS_MAX];
	char names[MACHINE_EVENTS_MAX][40];
	struct wick_layout layout, file_layout;
	struct layouts layouts;
	struct stacks *stacks; /* NULL: the samples bring chains */
	bool rewritten;
	uint8_t record[PERF_RECORD_SIZE_MAX + 1];
	struct pump pump;
	struct target target;
	struct apply *apply;
	struct perfdata_writer *writer;
	struct perfdata_features features;
	struct error *err;
};

static int sim_write(struct simulation *sim, const void *record, uint32_t size)
{
	return sim->writer ? perfdata_write(sim->writer, record, size, sim->err) : 0;
}

/* A sample whose stack was unwound: its chain is written in place of registers and stack. */
static int sim_counted(void *ctx, const struct wick_record *record)
{
	struct simulation *sim = ctx;
	int size = record_encode(&sim->file_layout, record, sim->record, sizeof(sim->record));

	sim->rewritten = true;
	return size < 0 ? size : sim_write(sim, sim->record, (uint32_t)size);
}

static int sim_sink(void *ctx, const void *record, uint32_t size)
{
	struct simulation *sim = ctx;
	int rc;

	sim->rewritten = false;
	rc = apply_record(
		sim->apply, &sim->layout, layouts_find(&sim->layouts, record), record, size);
	return rc < 0 || sim->rewritten ? rc : sim_write(sim, record, size);
}

/* ---- rings that are overwritten */

enum { KEPT_MOST = 16 << 20 };

struct kept {
	uint64_t time;
	uint32_t seq; /* newest first */
	uint32_t size;
	const uint8_t *bytes;
};

struct kept_list {
	struct kept *records;
	uint32_t count, cap;
	struct arena bytes;
};

static int keep_one(struct simulation *sim, const void *bytes, int size, struct kept_list *list)
{
	struct wick_record record;
	uint8_t *copy;
	int rc;

	if (wick_record_decode(&sim->layout, bytes, (size_t)size, &record) != size) {
		sim->out->profile.quality.bad_records++;
		return 0;
	}
	copy = arena_alloc(&list->bytes, (size_t)size);
	rc = copy ? array_reserve(&list->records, &list->cap, list->count + 1u,
			    sizeof(*list->records), KEPT_MOST)
		  : -ENOMEM;
	if (rc < 0)
		return rc;
	memcpy(copy, bytes, (size_t)size);
	list->records[list->count] =
		(struct kept){record.id.time, list->count, (uint32_t)size, copy};
	list->count++;
	return 0;
}

static int kept_order(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->seq > y->seq ? -1 : x->seq < y->seq;
}

static int drain_backward(struct simulation *sim)
{
	struct kept_list list = {.count = 0};
	const void *bytes;
	int size, rc = 0;

	for (uint32_t cpu = 0; cpu < machine_cpus(sim->machine); cpu++) {
		perf_ringbuf_fetch(sim->rings[cpu]);
		while (rc == 0 && (size = perf_ringbuf_peek(sim->rings[cpu], &bytes)) > 0) {
			rc = keep_one(sim, bytes, size, &list);
			perf_ringbuf_next(sim->rings[cpu]);
		}
	}
	if (list.count)
		qsort(list.records, list.count, sizeof(*list.records), kept_order);
	for (size_t i = 0; rc == 0 && i < list.count; i++)
		rc = sim_sink(sim, list.records[i].bytes, list.records[i].size);
	arena_done(&list.bytes);
	free(list.records);
	return rc;
}

static int sim_drain(void *ctx)
{
	struct simulation *sim = ctx;
	int rc = machine_overwrites(sim->machine) ? drain_backward(sim)
						  : pump_round(&sim->pump, true);

	if (rc == 0 && sim->writer)
		rc = perfdata_write_round(sim->writer, sim->err);
	return rc;
}

static bool is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		       attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

static void quality_fill(struct simulation *sim)
{
	const struct machine_event *event = machine_event(sim->machine, 0);
	struct quality *quality = &sim->out->profile.quality;
	bool freq = event->attr.flags & ATTR_FREQ;

	quality_init(quality);
	snprintf(quality->event, sizeof(quality->event), "%s", sim->names[0]);
	snprintf(quality->clock, sizeof(quality->clock), "CLOCK_MONOTONIC");
	quality->source = SOURCE_SIM;
	quality->scope = event->attr.flags & ATTR_INHERIT ? SCOPE_INHERIT : SCOPE_SYSTEM;
	quality->weight_is_ns = is_clock(&event->attr);
	quality->frequency_hz = freq ? event->attr.sample_period : 0;
	quality->period = freq ? 0 : event->attr.sample_period;
	quality->ring_pages = quality->ring_pages_asked = machine_pages(sim->machine);
	quality->coverage_events = 1;
	quality->targets = 1;
	quality->exit_status = -1;
}

/* What stands in the file in place of registers and stacks are chains. */
static struct perf_event_attr file_attr(const struct perf_event_attr *attr)
{
	struct perf_event_attr written = *attr;

	written.sample_type &= ~(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	written.sample_regs_user = 0;
	written.sample_stack_user = 0;
	if (attr->sample_stack_user)
		written.flags &= ~ATTR_EXCLUDE_CALLCHAIN_USER;
	return written;
}

static int events_fill(struct simulation *sim)
{
	uint32_t count = machine_event_count(sim->machine);
	struct perfdata_info info = {.events = sim->events, .event_count = count};

	for (uint32_t i = 0; i < count; i++) {
		const struct machine_event *event = machine_event(sim->machine, i);
		uint32_t id;
		int rc;

		snprintf(sim->names[i], sizeof(sim->names[i]), "%s%s", event->name,
			event->attr.flags & ATTR_EXCLUDE_KERNEL ? ":u" : "");
		sim->events[i] = (struct perfdata_event){.attr = file_attr(&event->attr),
			.ids = (uint64_t *)(uintptr_t)event->ids,
			.id_count = machine_cpus(sim->machine),
			.name = sim->names[i]};
		rc = profile_event(
			&sim->out->profile, sim->names[i], is_clock(&event->attr), &id);
		if (rc < 0)
			return rc;
	}
	return layouts_update(&sim->layouts, &info, sim->err);
}

static int features_fill(struct perfdata_features *features)
{
	*features = (struct perfdata_features){
		.hostname = strdup("simulated"),
		.osrelease = strdup("softperf"),
		.version = strdup("wick " WICK_VERSION),
		.arch = strdup("aarch64"),
		.nrcpus_online = 1,
		.nrcpus_available = 1,
		.clockid_res_ns = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	return features->hostname && features->osrelease && features->version && features->arch
		       ? 0
		       : -ENOMEM;
}

static int rings_open(struct simulation *sim)
{
	struct pump_ring rings[CORE_CPUS_MAX];

	for (uint32_t cpu = 0; cpu < machine_cpus(sim->machine); cpu++) {
		int fd = machine_ring_fd(sim->machine, cpu);
		size_t pages = machine_pages(sim->machine);
		int rc = machine_overwrites(sim->machine)
				 ? perf_ringbuf_open_backward(fd, pages, &sim->rings[cpu])
				 : perf_ringbuf_open(fd, pages, &sim->rings[cpu]);

		if (rc < 0)
			return rc;
		rings[cpu] = (struct pump_ring){sim->rings[cpu], &sim->layout};
	}
	return pump_init_rings(
		&sim->pump, rings, machine_cpus(sim->machine), -1, sim_sink, sim);
}

static bool sim_is_root(void *ctx, struct profile *profile, uint32_t frame)
{
	const struct simulation *sim = ctx;
	const struct frame *at = &profile->frames[frame];
	uint64_t start;
	const char *name = machine_function(
		sim->machine, at->shown_addr - (at->caller && at->shown_addr), &start);

	return name && (symbol_is_root(name) || symbol_is_start(name) || !strcmp(name, "main"));
}

/* Whatever lies on this machine's disks by the names of the scenario's files, it is not meant.
 */
static int make_stacks(struct simulation *sim, struct apply_options *apply)
{
	struct stacks_options options = {
		.target = &sim->target, .sysroot = "/dev/null", .arch = UNWIND_AARCH64};
	int rc = stacks_new(&options, &sim->stacks);

	apply->stacks = sim->stacks;
	apply->is_root = sim_is_root;
	apply->on_counted = sim_counted;
	apply->ctx = sim;
	return rc;
}

static int sim_open(struct simulation *sim)
{
	struct apply_options apply = {.target = &sim->target,
		.profile = &sim->out->profile,
		.count_only = true,
		.counted_frames_most = EMBED_FRAMES_MOST};
	int rc = wick_layout_init(&sim->layout, &machine_event(sim->machine, 0)->attr);

	if (rc == 0)
		rc = events_fill(sim);
	if (rc == 0)
		rc = wick_layout_init(&sim->file_layout, &sim->events[0].attr);
	if (rc == 0)
		rc = features_fill(&sim->features);
	if (rc == 0 && sim->layout.sample_type & PERF_SAMPLE_STACK_USER)
		rc = make_stacks(sim, &apply);
	if (rc == 0)
		rc = apply_new(&apply, &sim->apply);
	if (rc == 0)
		rc = rings_open(sim);
	if (rc < 0)
		return error_set(
			sim->err, rc, "the recording cannot be prepared: %s", strerror(-rc));
	quality_fill(sim);
	if (sim->options->output) {
		struct perfdata_writer_options options = {.path = sim->options->output,
			.events = sim->events,
			.event_count = machine_event_count(sim->machine),
			.owner_uid = -1,
			.owner_gid = -1};

		rc = perfdata_create(&options, &sim->writer, sim->err);
	}
	return rc;
}

/* The scenario knows its functions. */
static int name_frame(struct simulation *sim, uint32_t frame)
{
	struct profile *profile = &sim->out->profile;
	const struct frame *at = &profile->frames[frame];
	uint64_t start, addr = at->shown_addr - (at->caller && at->shown_addr);
	const char *name = machine_function(sim->machine, addr, &start);
	struct function key = {.module = at->module};
	struct line line = {.function = 0};
	int rc;

	if (!name || at->resolved)
		return 0;
	key.addr = frame_lookup_addr(at) - (addr - start);
	rc = profile_string(profile, name, &key.name);
	if (rc < 0)
		return rc;
	key.linkage_name = key.name;
	rc = profile_function(profile, &key, &line.function);
	return rc < 0 ? rc : profile_resolve(profile, frame, &line, 1);
}

static int sim_names(struct simulation *sim)
{
	struct names_source source = {.profile = &sim->out->profile};
	struct strbuf bytes = {0};
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < sim->out->profile.frame_count; i++)
		rc = name_frame(sim, i);
	if (rc == 0)
		rc = names_write(&source, &bytes);
	if (rc < 0) {
		strbuf_done(&bytes);
		return rc;
	}
	sim->features.names = bytes.text;
	sim->features.names_bytes = bytes.len;
	return 0;
}

static int sim_finish(struct simulation *sim, uint64_t began_ns)
{
	struct quality *quality = &sim->out->profile.quality;
	uint64_t count = 0;
	int rc = machine_read(sim->machine, 0, &count, &quality->lost_read);

	/* A clock of whole CPUs counts their idle time too, which is not sampled. */
	if (quality->scope != SCOPE_SYSTEM || !quality->weight_is_ns)
		quality->event_count = count;
	quality->cpu_ns = machine_core(sim->machine)->busy_ns;
	snprintf(quality->cpu_clock_name, sizeof(quality->cpu_clock_name),
		"simulated scheduler");
	quality->wall_ns = machine_core(sim->machine)->mono_ns - began_ns;
	sim->out->wakeups = machine_wakeups(sim->machine);
	if (rc == 0)
		rc = sim_names(sim);
	if (rc == 0)
		rc = header_refresh(&sim->features, quality, &sim->target);
	if (rc < 0)
		return error_set(
			sim->err, rc, "the recording cannot be finished: %s", strerror(-rc));
	if (!sim->writer)
		return 0;
	rc = perfdata_finish(sim->writer, &sim->features, sim->err);
	sim->out->file_bytes = perfdata_file_bytes(sim->writer);
	return rc;
}

static void sim_done(struct simulation *sim)
{
	perfdata_writer_free(sim->writer);
	perfdata_features_done(&sim->features);
	apply_free(sim->apply);
	stacks_free(sim->stacks);
	pump_done(&sim->pump);
	for (uint32_t cpu = 0; cpu < CORE_CPUS_MAX; cpu++)
		perf_ringbuf_close(sim->rings[cpu]);
	target_done(&sim->target);
	layouts_done(&sim->layouts);
	machine_free(sim->machine);
	free(sim);
}

int simulate_run(const struct simulate_options *options, struct simulated *ret_simulated,
	struct error *err)
{
	struct simulation *sim = calloc(1, sizeof(*sim));
	uint64_t began_ns;
	int rc;

	*ret_simulated = (struct simulated){.wakeups = 0};
	if (!sim)
		return error_set(err, -ENOMEM, "out of memory");
	sim->options = options;
	sim->out = ret_simulated;
	sim->err = err;
	rc = machine_new(options->scenario, options->scenario_bytes, options->trace,
		options->ctx, &sim->machine, err);
	if (rc == 0)
		rc = sim_open(sim);
	if (rc == 0) {
		began_ns = machine_core(sim->machine)->mono_ns;
		rc = machine_run(sim->machine, sim_drain, sim, err);
		if (rc == 0)
			rc = sim_finish(sim, began_ns);
	}
	sim_done(sim);
	return rc;
}

void simulated_done(struct simulated *simulated)
{
	profile_done(&simulated->profile);
}
