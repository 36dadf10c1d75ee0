/*
 * Reading a file: perfdata hands out records in the file's order, reorder puts them into the
 * order of time, apply interprets them. The tag that travels through reorder is the event's
 * index.
 */
#include "session/load_internal.h"

#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "session/embed.h"
#include "session/gather.h"
#include "session/hints.h"
#include "symbolize/open_regular.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { OWN_ROUND = 1024 }; /* records */

static int load_on_sample(void *ctx, const struct sample *sample)
{
	struct load *load = ctx;
	int rc = load->options->no_names ? 0 : load_resolve_new(load);

	return rc < 0 ? rc
		      : load->options->on_sample(
				load->options->ctx, &load->out->profile, sample);
}

/* Anybody may leave a dump in /tmp: it counts when it is ours, root's, or the one that was
 * mapped. */
static int dump_open(const struct load *load, const struct wick_record_mmap *mmap)
{
	cleanup_close int fd = open_regular(load->options->sysroot, mmap->filename.text);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -ENOENT;
	if (st.st_uid != geteuid() && st.st_uid != 0 && (!mmap->ino || st.st_ino != mmap->ino))
		return -EACCES;
	return take_fd(&fd);
}

static int load_mapping(void *ctx, const struct wick_record_mmap *mmap)
{
	struct load *load = ctx;

	if ((load->options->no_names && !load->stacks) ||
		!jit_wants(&load->jit, (int32_t)mmap->pid, mmap->filename.text))
		return 0;
	jit_add(&load->jit, (int32_t)mmap->pid, mmap->filename.text, dump_open(load, mmap));
	return jit_read(&load->jit, NULL);
}

/* What the recorder saw to be one; it alone could look. */
static bool load_is_program(void *ctx, const struct wick_record_mmap *mmap)
{
	const struct load *load = ctx;

	return load->names && names_has_file(load->names, mmap->filename.text, mmap->ino);
}

static int load_code(
	void *ctx, int32_t pid, uint64_t ip, bool caller, uint64_t time_ns, uint32_t *ret_frame)
{
	struct load *load = ctx;

	return jit_frame(&load->jit, &load->out->profile, pid, ip, caller, time_ns, ret_frame);
}

static int events_update(struct load *load)
{
	int rc = layouts_update(&load->layouts, load->info, load->err);
	uint32_t *grown;

	if (rc < 0 || load->event_count == load->info->event_count)
		return rc;
	grown = reallocarray(load->events, load->info->event_count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	load->events = grown;
	for (; load->event_count < load->info->event_count; load->event_count++) {
		const struct perfdata_event *event = &load->info->events[load->event_count];
		bool clock = event->attr.type == PERF_TYPE_SOFTWARE &&
			     (event->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
				     event->attr.config == PERF_COUNT_SW_TASK_CLOCK);
		char name[128];

		perfdata_event_name(event, name, sizeof(name));
		rc = profile_event(
			&load->out->profile, name, clock, &load->events[load->event_count]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int load_flush(struct load *load)
{
	struct reorder_entry entry;

	while (reorder_next(load->reorder, &entry)) {
		uint32_t event = (uint32_t)entry.tag;
		int rc = apply_record(load->apply, &load->layouts.layouts[event],
			load->events[event], entry.record, entry.size);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int load_push(struct load *load, const void *record, uint32_t size)
{
	uint32_t event = layouts_find(&load->layouts, record);
	uint64_t time = wick_record_time(&load->layouts.layouts[event], record);
	int rc = reorder_push(load->reorder, time, record, size, event);

	if (rc == -ENOSPC) { /* a file without rounds, larger than memory: in the order it
				stands */
		reorder_end(load->reorder);
		rc = load_flush(load);
		if (rc == 0)
			rc = reorder_push(load->reorder, time, record, size, event);
	}
	return rc;
}

/*
 * Our own recorder writes in the order of time and ends a round once a second only: some
 * records later everything older may go, and less of the file is held in memory.
 */
static int load_own_round(struct load *load)
{
	if (!load->own || ++load->since_round < OWN_ROUND)
		return 0;
	load->since_round = 0;
	reorder_round(load->reorder);
	return load_flush(load);
}

static int load_records(struct load *load)
{
	const void *record;
	uint64_t offset, n = 0;
	int size, rc;

	while ((size = perfdata_next(load->reader, &record, &offset, load->err)) > 0) {
		struct perf_event_header header;

		memcpy(&header, record, sizeof(header));
		rc = events_update(load);
		if (rc == 0 && header.type == PERF_RECORD_FINISHED_ROUND) {
			reorder_round(load->reorder);
			rc = load_flush(load);
		} else if (rc == 0 && load->event_count) {
			rc = load_push(load, record, (uint32_t)size);
			if (rc == 0)
				rc = load_own_round(load);
		} else if (rc == 0) {
			load->out->profile.quality.unknown_records++; /* before any event */
		}
		if (rc < 0)
			return rc;
		if (load->options->progress && !(++n & 0xffff))
			load->options->progress(load->options->ctx, "reading", offset, 0);
	}
	if (size < 0)
		return size;
	reorder_end(load->reorder);
	return load_flush(load);
}

/* What the header says of the kernel: its build id, the newest; and whether it may be this one.
 */
static void kernel_build_id(
	const struct perfdata_info *info, struct symbolizer_options *options)
{
	const struct perfdata_features *features = info->features;

	struct utsname here;

	options->same_release = features && features->hostname && features->osrelease &&
				uname(&here) == 0 &&
				!strcmp(features->hostname, here.nodename) &&
				!strcmp(features->osrelease, here.release);
	for (uint32_t i = 0; features && i < features->build_id_count; i++) {
		const struct perfdata_build_id *id = &features->build_ids[i];

		if (!id->filename || strncmp(id->filename, "[kernel.kallsyms]", 17) != 0)
			continue;
		options->kernel_build_id_bytes = id->len;
		memcpy(options->kernel_build_id, id->bytes, sizeof(id->bytes));
	}
}

/* The stored half; of a pipe it comes at the end. */
static int load_quality(struct load *load)
{
	const struct perfdata_features *features = load->info->features;

	if (!features || !features->quality)
		return 0;
	return quality_read(&load->out->profile.quality, features->quality,
		features->quality_bytes, load->err);
}

/* Our own files say why each chain ended; others may bring stacks to unwind. */
static int load_stacks(struct load *load, struct apply_options *apply)
{
	const struct perfdata_features *features = load->info->features;
	struct stacks_options options = {
		.target = &load->target, .sysroot = load->options->sysroot, .jit = &load->jit};
	int arch = features && features->arch ? stacks_arch_of(features->arch)
					      : stacks_arch_here();
	int rc;

	apply->stored_stops = load->own = features && features->quality;
	if (apply->stored_stops || arch < 0)
		return 0;
	options.arch = (enum unwind_arch)arch;
	load->jit.unwinds = true;
	rc = stacks_new(&options, &load->stacks);
	apply->stacks = load->stacks;
	return rc;
}

/* The clock of jitdumps. */
static bool is_monotonic(const struct perfdata_info *info)
{
	return info->event_count && (info->events[0].attr.flags & ATTR_USE_CLOCKID) &&
	       info->events[0].attr.clockid == CLOCK_MONOTONIC;
}

static int load_start(struct load *load)
{
	char kernel_cache[CACHE_DIR_ROOM], debug_cache[DOWNLOADS_DIR_ROOM];
	struct symbolizer_options symbols = {.sysroot = load->options->sysroot,
		.debug_dir = load->options->debug_dir,
		.debug_cache = downloads_dir(debug_cache),
		.kernel_cache = cache_dir(kernel_cache),
		.no_inlines = load->options->no_inlines,
		.no_demangle = load->options->no_demangle};
	struct apply_options apply = {
		.target = &load->target,
		.profile = &load->out->profile,
		.is_root = load->options->no_names ? NULL : load_is_root,
		.on_sample = load->options->on_sample ? load_on_sample : NULL,
		.mapping_seen = load_mapping,
		.is_program = load_is_program,
		.code_at = load->options->no_names ? NULL : load_code,
		.ctx = load,
	};
	int rc = perfdata_open(load->options->path, &load->reader, load->err);

	if (rc < 0)
		return rc;
	load->info = perfdata_info(load->reader);
	jit_init(&load->jit);
	load->jit.no_time = !is_monotonic(load->info);
	rc = load_quality(load);
	if (rc == 0)
		rc = load_names(load);
	if (rc < 0)
		return rc;
	kernel_build_id(load->info, &symbols);
	rc = load_stacks(load, &apply);
	if (rc == 0)
		rc = reorder_new(load->info->volatile_records, &load->reorder);
	if (rc == 0)
		rc = symbolizer_new(&symbols, &load->symbolizer);
	if (rc == 0)
		rc = apply_new(&apply, &load->apply);
	if (rc == 0)
		rc = events_update(load);
	return rc;
}

/* What the header says: the features are the reader's, so strings are copied. */
static void load_header(struct load *load)
{
	const struct perfdata_features *f = load->info->features;
	struct loaded *out = load->out;

	if (!f)
		return;
	out->hostname = f->hostname ? strdup(f->hostname) : NULL;
	out->osrelease = f->osrelease ? strdup(f->osrelease) : NULL;
	out->arch = f->arch ? strdup(f->arch) : NULL;
	if (f->has_clock_data && f->wall_clock_ns > f->clockid_ns)
		out->wall_clock_offset_ns = f->wall_clock_ns - f->clockid_ns;
	out->cmdline = f->cmdline_count ? calloc(f->cmdline_count, sizeof(char *)) : NULL;
	for (uint32_t i = 0; out->cmdline && i < f->cmdline_count; i++)
		out->cmdline[out->cmdline_count++] = strdup(f->cmdline[i] ? f->cmdline[i] : "");
}

/* What the attr of another recorder's file tells of what ours would have stored. */
static void quality_from_attr(struct load *load)
{
	struct quality *quality = &load->out->profile.quality;
	const struct perf_event_attr *attr;
	bool clock;

	if (!load->info->event_count || quality->event[0])
		return;
	attr = &load->info->events[0].attr;
	clock = attr->type == PERF_TYPE_SOFTWARE &&
		(attr->config == PERF_COUNT_SW_CPU_CLOCK ||
			attr->config == PERF_COUNT_SW_TASK_CLOCK);
	perfdata_event_name(&load->info->events[0], quality->event, sizeof(quality->event));
	quality->weight_is_ns = clock;
	quality->source =
		attr->flags & ATTR_EXCLUDE_KERNEL ? SOURCE_KERNEL_USER_ONLY : SOURCE_KERNEL;
	quality->frequency_hz = attr->flags & ATTR_FREQ ? attr->sample_period : 0;
	quality->period = attr->flags & ATTR_FREQ ? 0 : attr->sample_period;
}

/* What the file brought along, then what is missing. Code that is damaged is done without. */
static int load_excerpts(struct load *load)
{
	cleanup_with(self_counts_done) struct self_counts self = {0};
	const struct perfdata_features *features = load->info->features;
	struct profile *profile = &load->out->profile;
	struct gather gather = {.symbolizer = load->symbolizer,
		.profile = profile,
		.jit = &load->jit,
		.self = &self,
		.wants = load->options->wants_code,
		.ctx = load->options->code_ctx};
	struct error why = {.text = ""};
	int rc = 0;

	if (features && features->code_bytes)
		rc = excerpts_read(features->code, features->code_bytes, profile,
			&load->out->excerpts, &why);
	if (rc < 0 && rc != -ENOMEM) {
		quality_note(&profile->quality, why.text);
		load->out->code_error = why;
		rc = 0;
	}
	if (rc == 0)
		rc = self_counts_of(&self, profile);
	return rc < 0 ? rc : gather_code(&gather, &load->out->excerpts);
}

/* Names, the stored half of the quality, and what is known only at the end. */
static int load_finish(struct load *load)
{
	struct quality *quality = &load->out->profile.quality;
	int rc = 0;

	quality->truncated_at = load->info->truncated_at;
	quality->out_of_order = reorder_late(load->reorder);
	if (load->info->is_pipe)
		rc = load_quality(load);
	quality_from_attr(load);
	load_header(load);
	if (rc == 0 && load_fetches(load->options) &&
		(load->options->no_names || !load->options->on_sample))
		downloads_run(load->options->downloads, load->symbolizer, &load->out->profile);
	if (rc < 0 || load->options->no_names || load->options->on_sample)
		return rc;
	rc = load_resolve(load);
	if (rc == 0)
		rc = hints_add(&load->out->profile);
	jit_say(&load->jit, &load->out->profile.quality);
	if (rc >= 0 && (load->options->code || load->options->copy_to))
		rc = load_excerpts(load);
	if (rc >= 0 && load->options->copy_to)
		rc = embed_copy(load->options->path, load->options->copy_to, load->symbolizer,
			&load->out->profile, load->jit.codes, &load->out->excerpts, load->err);
	return rc < 0 ? rc : 0;
}

static int drop_sample(void *ctx, const struct profile *profile, const struct sample *sample)
{
	(void)ctx, (void)profile, (void)sample;
	return 0;
}

/*
 * Who streams wants names as the samples come, and what is to be fetched is known when the last
 * one was seen: the file is read twice. A pipe cannot be.
 */
static int load_fetch_first(const struct load_options *options, struct error *err)
{
	struct load_options first = {.path = options->path,
		.sysroot = options->sysroot,
		.no_names = true,
		.debug_dir = options->debug_dir,
		.downloads = options->downloads,
		.on_sample = drop_sample};
	struct loaded loaded;
	int rc;

	if (!load_fetches(options) || !options->on_sample || options->no_names)
		return 0;
	if (!strcmp(options->path, "-"))
		return error_set(err, -ESPIPE,
			"standard input cannot be read twice, as fetching debug files wants "
			"it; write it to a file first, or leave out --debuginfod");
	rc = load_file(&first, &loaded, err);
	loaded_done(&loaded);
	return rc;
}

int load_file(const struct load_options *options, struct loaded *ret_loaded, struct error *err)
{
	struct error local = {.text = ""};
	struct load load = {.options = options, .out = ret_loaded, .err = err ? err : &local};
	int rc = load_fetch_first(options, load.err);

	*ret_loaded = (struct loaded){0};
	if (rc == 0)
		load.err->text[0] = '\0';
	quality_init(&ret_loaded->profile.quality);
	if (rc == 0)
		rc = load_start(&load);
	if (rc == 0)
		rc = load_records(&load);
	if (rc == 0)
		rc = load_finish(&load);
	if (rc == -ENOMEM && !load.err->text[0])
		error_set(load.err, rc,
			"%s: out of memory; a shorter recording, or a larger machine",
			options->path);
	apply_free(load.apply);
	stacks_free(load.stacks);
	symbolizer_free(load.symbolizer);
	jit_done(&load.jit);
	names_free(load.names);
	strbuf_done(&load.text);
	reorder_free(load.reorder);
	layouts_done(&load.layouts);
	target_done(&load.target);
	perfdata_close(load.reader);
	free(load.events);
	if (rc < 0)
		loaded_done(ret_loaded);
	return rc;
}

void loaded_done(struct loaded *loaded)
{
	for (uint32_t i = 0; i < loaded->cmdline_count; i++)
		free(loaded->cmdline[i]);
	free(loaded->cmdline);
	free(loaded->notes);
	excerpts_done(&loaded->excerpts);
	free(loaded->namings);
	free(loaded->hostname);
	free(loaded->osrelease);
	free(loaded->arch);
	profile_done(&loaded->profile);
	*loaded = (struct loaded){0};
}
