/* wick record: samples a command or running processes into a perf.data file. */
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "cli/command.h"
#include "cli/fetching.h"
#include "session/recorder.h"
#include "view/quality_view.h"
#include "view/term.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

enum {
	EVENTS_MAX = 32,
	TARGETS_MAX = 4096,
	ZSTD_LEVEL_DEFAULT = 3,
	STACK_BYTES_MOST = 63 << 10
};

struct options {
	struct record_options record;
	const char *events[EVENTS_MAX];
	int32_t pids[TARGETS_MAX], tids[TARGETS_MAX];
	bool strict, quiet;
	uint32_t debuginfod_s;	       /* 0: nothing is fetched */
	double min_coverage, max_lost; /* shares; negative: not asked for */
	struct arena arena;	       /* holds the events' names */
};

static int add_event(struct options *options, const char *text, size_t len, struct error *err)
{
	char *copy;

	if (options->record.event_count == EVENTS_MAX)
		return error_set(err, -E2BIG, "more than %d events", EVENTS_MAX);
	copy = arena_strndup(&options->arena, text, len);
	if (!copy)
		return error_set(err, -ENOMEM, "out of memory");
	options->events[options->record.event_count++] = copy;
	options->record.events = options->events;
	return 0;
}

/* A comma separates events, but not the terms inside pmu/.../. */
static int set_event(void *ctx, const char *value, struct error *err)
{
	const char *start = value;
	bool in_terms = false;

	for (const char *p = value;; p++) {
		int rc;

		in_terms ^= *p == '/';
		if (*p && (*p != ',' || in_terms))
			continue;
		rc = add_event(ctx, start, (size_t)(p - start), err);
		if (rc < 0 || !*p)
			return rc;
		start = p + 1;
	}
}

static int add_ids(const char *value, int32_t *ids, uint32_t *count, struct error *err)
{
	for (const char *p = value;; p++) {
		size_t len = strcspn(p, ",");
		uint64_t id;

		if (parse_u64(p, len, &id) < 0 || !id || id > INT32_MAX)
			return error_set(
				err, -EINVAL, "'%.60s' is not a list of process ids", value);
		if (*count == TARGETS_MAX)
			return error_set(err, -E2BIG, "more than %d targets", TARGETS_MAX);
		ids[(*count)++] = (int32_t)id;
		p += len;
		if (!*p)
			return 0;
	}
}

static int set_pid(void *ctx, const char *value, struct error *err)
{
	struct options *options = ctx;

	options->record.pids = options->pids;
	return add_ids(value, options->pids, &options->record.pid_count, err);
}

static int set_tid(void *ctx, const char *value, struct error *err)
{
	struct options *options = ctx;

	options->record.tids = options->tids;
	return add_ids(value, options->tids, &options->record.tid_count, err);
}

static int set_frequency(void *ctx, const char *value, struct error *err)
{
	struct options *options = ctx;

	if (!strcmp(value, "max")) {
		options->record.frequency_hz =
			UINT32_MAX; /* lowered to what the kernel allows */
		return 0;
	}
	return cli_number(value, 1, 10000000, &options->record.frequency_hz, err);
}

static int set_period(void *ctx, const char *value, struct error *err)
{
	return cli_number(value, 1, INT64_MAX, &((struct options *)ctx)->record.period, err);
}

static int set_output(void *ctx, const char *value, struct error *err)
{
	if (!*value)
		return error_set(err, -EINVAL, "the file name is empty");
	((struct options *)ctx)->record.output = value;
	return 0;
}

static int set_pages(void *ctx, const char *value, struct error *err)
{
	uint64_t pages;
	int rc = cli_number(value, 1, 1 << 20, &pages, err);

	if (rc < 0)
		return rc;
	if (pages & (pages - 1))
		return error_set(err, -EINVAL, "%s pages is not a power of two", value);
	((struct options *)ctx)->record.pages = (uint32_t)pages;
	return 0;
}

static int set_duration(void *ctx, const char *value, struct error *err)
{
	struct record_options *record = &((struct options *)ctx)->record;
	int rc = cli_seconds(value, &record->duration_ns, err);

	if (rc == 0 && !record->duration_ns)
		return error_set(err, -EINVAL, "no time at all is too short");
	return rc;
}

static int set_delay(void *ctx, const char *value, struct error *err)
{
	struct options *options = ctx;
	uint64_t msec;
	int rc;

	if (!strcmp(value, "-1")) {
		options->record.start_paused = options->record.can_pause = true;
		return 0;
	}
	rc = cli_number(value, 0, 1000000000, &msec, err);
	if (rc == 0)
		options->record.delay_ns = msec * 1000000;
	return rc;
}

static int set_all(void *ctx, const char *value, struct error *err)
{
	(void)value;
	(void)err;
	((struct options *)ctx)->record.system_wide = true;
	return 0;
}

static int set_cpus(void *ctx, const char *value, struct error *err)
{
	(void)err;
	((struct options *)ctx)->record.cpus = value;
	return 0;
}

static int set_cgroup(void *ctx, const char *value, struct error *err)
{
	(void)err;
	((struct options *)ctx)->record.cgroup = value;
	return 0;
}

static int set_wait_name(void *ctx, const char *value, struct error *err)
{
	if (!*value)
		return error_set(err, -EINVAL, "the name is empty");
	((struct options *)ctx)->record.wait_name = value;
	return 0;
}

static int set_control(void *ctx, const char *value, struct error *err)
{
	(void)err;
	((struct options *)ctx)->record.control = value;
	((struct options *)ctx)->record.can_pause = true;
	return 0;
}

static int set_inherit(void *ctx, const char *value, struct error *err)
{
	(void)value;
	(void)err;
	((struct options *)ctx)->record.inherit_only = true;
	return 0;
}

static int level_parse(const char *text, int *ret_level, struct error *err)
{
	uint64_t level = ZSTD_LEVEL_DEFAULT;
	int rc = *text ? cli_number(text, 0, 22, &level, err) : 0;

	if (rc == 0) /* as perf: 0 means the default, too */
		*ret_level = level ? (int)level : ZSTD_LEVEL_DEFAULT;
	return rc;
}

static int set_zstd(void *ctx, const char *value, struct error *err)
{
	return level_parse(value, &((struct options *)ctx)->record.compression_level, err);
}

static int set_compression(void *ctx, const char *value, struct error *err)
{
	struct options *options = ctx;

	if (!strcmp(value, "none")) {
		options->record.compression_level = 0;
		return 0;
	}
	if (!strncmp(value, "zstd", 4) && (!value[4] || value[4] == ':'))
		return level_parse(
			value + 4 + (value[4] == ':'), &options->record.compression_level, err);
	return error_set(err, -EINVAL, "'%.40s' is not none, zstd or zstd:LEVEL", value);
}

static int stack_bytes_parse(const char *text, uint32_t *ret_bytes, struct error *err)
{
	uint64_t bytes;
	int rc = cli_number(text, 1024, STACK_BYTES_MOST, &bytes, err);

	if (rc == 0)
		*ret_bytes = (uint32_t)(bytes + 7) / 8 * 8;
	return rc;
}

static int set_stack_bytes(void *ctx, const char *value, struct error *err)
{
	return stack_bytes_parse(value, &((struct options *)ctx)->record.stack_bytes, err);
}

static int set_call_graph(void *ctx, const char *value, struct error *err)
{
	static const char *const names[] = {"auto", "dwarf", "fp", "none"};
	static const enum record_stacks stacks[] = {
		RECORD_STACKS_AUTO, RECORD_STACKS_DWARF, RECORD_STACKS_FP, RECORD_STACKS_NONE};
	struct record_options *record = &((struct options *)ctx)->record;
	size_t len = strcspn(value, ",");

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strlen(names[i]) != len || memcmp(names[i], value, len) != 0)
			continue;
		record->stacks = stacks[i];
		if (!value[len])
			return 0;
		if (record->stacks == RECORD_STACKS_DWARF)
			return stack_bytes_parse(value + len + 1, &record->stack_bytes, err);
	}
	return error_set(
		err, -EINVAL, "'%.40s' is not auto, fp, dwarf, dwarf,BYTES or none", value);
}

static int set_no_embed(void *ctx, const char *value, struct error *err)
{
	(void)value;
	(void)err;
	((struct options *)ctx)->record.no_embed = true;
	return 0;
}

static int set_embed_time(void *ctx, const char *value, struct error *err)
{
	uint64_t msec;
	int rc = cli_number(value, 0, 3600000, &msec, err);

	if (rc == 0)
		((struct options *)ctx)->record.embed_ns = msec * 1000000;
	return rc;
}

static int set_debuginfod(void *ctx, const char *value, struct error *err)
{
	return fetching_set(value, &((struct options *)ctx)->debuginfod_s, err);
}

static int set_source(void *ctx, const char *value, struct error *err)
{
	(void)ctx;
	if (!strcmp(value, "kernel"))
		return 0;
	return error_set(err, -EINVAL, "'%.40s' is no source of samples; kernel is", value);
}

static int set_strict(void *ctx, const char *value, struct error *err)
{
	struct options *options = ctx;

	(void)value;
	(void)err;
	options->strict = true;
	return 0;
}

static int set_min_coverage(void *ctx, const char *value, struct error *err)
{
	struct options *options = ctx;

	options->strict = true;
	return cli_share(value, &options->min_coverage, err);
}

static int set_max_lost(void *ctx, const char *value, struct error *err)
{
	struct options *options = ctx;

	options->strict = true;
	return cli_share(value, &options->max_lost, err);
}

static int set_quiet(void *ctx, const char *value, struct error *err)
{
	(void)value;
	(void)err;
	((struct options *)ctx)->quiet = true;
	return 0;
}

static const struct cli_option record_table[] = {
	{'F', "freq", "HZ", "samples a second of the target's time, or max; default 997",
		set_frequency},
	{'c', "count", "N", "in place of -F: one sample every N events (ns for the clocks)",
		set_period},
	{'e', "event", "EVENT",
		"what to sample by: cycles, cpu-clock, page-faults, rNNN, ...; with :u or :k "
		"for user or kernel only; default: the CPU's cycles where they can be had, "
		"else cpu-clock",
		set_event},
	{'p', "pid", "PID,..",
		"running processes, with all their threads, in place of a command", set_pid},
	{'t', "tid", "TID,..", "single running threads", set_tid},
	{'o', "output", "FILE", "default perf.data; an old one is kept as FILE.old",
		set_output},
	{'m', "mmap-pages", "PAGES", "size of each CPU's ring buffer, a power of two",
		set_pages},
	{'d', "duration", "SECONDS", "end after this time", set_duration},
	{0, "call-graph", "HOW",
		"auto: complete stacks, unwound from copies of registers and stack; fp: the "
		"kernel's frame-pointer chains; dwarf[,BYTES]; none",
		set_call_graph},
	{0, "stack-bytes", "BYTES",
		"of the stack to copy with each sample; default 24576, less at high rates, up "
		"to 63488 where deeper stacks cannot be read",
		set_stack_bytes},
	{'D', "delay", "MSEC",
		"begin to sample so long after the start; -1: only when told, by SIGUSR2 or "
		"--control",
		set_delay},
	{'a', "all-cpus", NULL, "the whole machine, in place of a command", set_all},
	{'C', "cpu", "LIST", "only these CPUs: 0-3,8", set_cpus},
	{'G', "cgroup", "PATH",
		"all processes of an existing cgroup (v2), of a container for example",
		set_cgroup},
	{0, "wait-name", "NAME", "the next process that execs into a command of this name",
		set_wait_name},
	{0, "control", "fifo:CTL[,ACK]",
		"take enable, disable, ping and stop from a fifo (or fd:N[,M]) while it runs; "
		"SIGUSR2 does the first two by turns",
		set_control},
	{0, "inherit", NULL,
		"follow a command by inheritance even where it could be confined to a cgroup "
		"and sampled by CPU",
		set_inherit},
	{'z', "compression-level", "[LEVEL]", "of the zstd compression, 1 to 22", set_zstd},
	{0, "compression", "HOW", "none, zstd or zstd:LEVEL; default zstd:3", set_compression},
	{0, "no-embed", NULL,
		"leave names, and the code of hot functions, out of the file: it is read where "
		"the programs still are",
		set_no_embed},
	{0, "embed-time", "MSEC",
		"CPU time to spend on inlined functions and lines at the end, for the most "
		"frequent addresses first; default 500",
		set_embed_time},
	FETCHING_OPTION(set_debuginfod),
	{0, "source", "kernel", "where samples come from", set_source},
	{0, "strict", NULL,
		"exit with 3 when there is no sample, with 4 when less than 90 % of the "
		"visible time is covered or more than 1 % of the samples is lost",
		set_strict},
	{0, "min-coverage", "PERCENT", "another bound than 90 for --strict, which it implies",
		set_min_coverage},
	{0, "max-lost", "PERCENT", "another bound than 1 for --strict, which it implies",
		set_max_lost},
	{'q', "quiet", NULL, "say nothing but errors", set_quiet},
	{0, NULL, NULL, NULL, NULL},
};

static int record_main(int argc, char **argv);

const struct cli_command cli_record = {
	.name = "record",
	.summary = "sample a command or running processes into a file",
	.synopsis = "[options] [--] COMMAND [ARG...]\n   or: wick record [options] -p PID | -t "
		    "TID | -G CGROUP | -a",
	.description =
		"Runs the command, or attaches to running processes, and samples where they "
		"spend "
		"their time, in all threads and everything they start, until they end or "
		"Ctrl-C ends "
		"the recording. The data is a perf.data file: read it with wick report.\n\n"
		"The exit status is that of the command (128 + n when signal n ended it).",
	.options = record_table,
	.stops_at_operand = true,
	.run = record_main,
};

static bool tell_started;

static void on_started(void *ctx, const struct quality *quality)
{
	const struct options *options = ctx;

	if (options->quiet || options->record.command)
		return;
	tell_started = true;
	cli_say("sampling %s; Ctrl-C ends it", quality->event);
}

static void show_quality(const struct options *options, const struct recorded *recorded)
{
	struct quality_view view = {
		.quality = &recorded->profile.quality,
		.profile = &recorded->profile,
		.width = term_columns(STDERR_FILENO),
		.colour = term_colour(STDERR_FILENO),
		.utf8 = term_utf8(),
	};
	bool large = recorded->file_bytes >= 1000 * 1000;

	if (options->quiet)
		return;
	quality_view_text(&view, stderr);
	cli_say("wrote %s (%.1f %s); see it with: wick report%s%s", recorded->path,
		(double)recorded->file_bytes / (large ? 1e6 : 1e3), large ? "MB" : "kB",
		options->record.output ? " " : "",
		options->record.output ? options->record.output : "");
}

/* The command's own status counts first; --strict speaks where the command succeeded. */
static int exit_status(const struct options *options, const struct recorded *recorded)
{
	struct error why = {.text = ""};
	int verdict;

	if (recorded->exit_status > 0)
		return recorded->exit_status;
	if (!options->strict)
		return 0;
	verdict = quality_verdict(&recorded->profile.quality,
		options->min_coverage < 0 ? 0.90 : options->min_coverage,
		options->max_lost < 0 ? 0.01 : options->max_lost, &why);
	if (verdict)
		cli_say("--strict: %s", why.text);
	return verdict;
}

static int targets_check(const struct options *options)
{
	const struct record_options *record = &options->record;
	uint32_t kinds = !!record->command + !!record->pid_count + !!record->tid_count +
			 !!record->system_wide + !!record->cgroup + !!record->wait_name;

	if (options->record.frequency_hz && options->record.period) {
		cli_say("-F and -c exclude each other: a rate, or a fixed number of events");
		return -EXIT_USAGE;
	}
	if (kinds == 1)
		return 0;
	if (kinds)
		cli_say("a command, -p and -t exclude each other: choose one");
	else
		cli_say("what shall be recorded? A command, or -p PID; see `wick record "
			"--help`");
	return -EXIT_USAGE;
}

static int record_main(int argc, char **argv)
{
	struct options options = {.min_coverage = -1,
		.max_lost = -1,
		.record.signal_fd = -1,
		.record.embed_ns = RECORD_EMBED_NS,
		.record.compression_level = ZSTD_LEVEL_DEFAULT};
	cleanup_close int signal_fd = -1;
	struct error err = {.text = ""};
	struct recorded recorded;
	struct fetching fetching;
	sigset_t stop, blocked, before;
	int operands, rc, status;

	rc = cli_parse(&cli_record, argc, argv, &options, &operands);
	if (rc)
		return rc < 0 ? -rc : cli_finish_stdout();
	options.record.command = operands ? argv + 1 : NULL;
	rc = targets_check(&options);
	if (rc < 0)
		return -rc;
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	sigaddset(&stop, SIGUSR2);
	blocked = stop;
	sigaddset(&blocked, SIGPIPE); /* nobody reads our messages: the recording goes on */
	sigaddset(&blocked, SIGXFSZ); /* the file may not grow: write() says so */
	sigprocmask(SIG_BLOCK, &blocked, &before);
	signal_fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
	options.record.signal_fd = signal_fd;
	options.record.command_mask = &before;
	options.record.own_argv = argv;
	options.record.started = on_started;
	options.record.ctx = &options;
	fetching_init(&fetching, options.debuginfod_s, signal_fd);
	options.record.downloads = &fetching.options;
	rc = record_run(&options.record, &recorded, &err);
	fetching_done(&fetching);
	if (rc < 0) {
		cli_say("%s", err.text[0] ? err.text : strerror(-rc));
		status = recorded.command_failed ? recorded.exit_status : EXIT_FAILED;
	} else {
		show_quality(&options, &recorded);
		status = exit_status(&options, &recorded);
	}
	recorded_done(&recorded);
	arena_done(&options.arena);
	return status;
}
