/*
 * Candidates come from the table of names, from sysfs and from tracefs. Each is parsed by
 * spec_parse(), which `-e` uses too, and opened with the attr bits that decide whether it can
 * be sampled; so what is shown as working is what a recording takes.
 *
 * Directories are read whole and sorted: the listing has the same order everywhere.
 */
#include "perf/listing.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "perf/event_names.h"
#include "perf/pmu.h"
#include "wick/perf_event.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { PMUS_MAX = 1024, ENTRIES_MAX = 1 << 20, NAME_BYTES = 384 };

void list_roots_find(struct list_roots *ret_roots)
{
	static const char *const tracefs[] = {
		"/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"};

	*ret_roots = (struct list_roots){.pmus = PMU_SYSFS};
	for (size_t i = 0; i < ARRAY_LEN(tracefs) && !ret_roots->tracepoints; i++) {
		cleanup_close int dir = open(tracefs[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (dir >= 0 || errno == EACCES)
			ret_roots->tracepoints = tracefs[i];
	}
}

bool list_matches(const char *pattern, const char *name)
{
	if (!pattern || !*pattern)
		return true;
	if (!name)
		return false;
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, name, 0) == 0;
	return strcasestr(name, pattern) != NULL;
}

/* ---- trying */

static int sample_open(const struct event_spec *spec, bool sampling)
{
	struct perf_event_attr attr;
	int fd;

	spec_attr(spec, &attr);
	attr.flags |= ATTR_DISABLED;
	if (sampling && spec->default_period) {
		attr.sample_period = spec->default_period;
	} else if (sampling) {
		attr.sample_period = 1; /* a frequency */
		attr.flags |= ATTR_FREQ;
	}
	attr.sample_type = sampling ? PERF_SAMPLE_IP | PERF_SAMPLE_TID : 0;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		perf_close(fd);
	return fd < 0 ? fd : 0;
}

static bool is_refusal(int code)
{
	return code == -EACCES || code == -EPERM || code == -ENOSYS;
}

void list_try(struct list_event *event)
{
	struct event_spec spec, user;

	event->code = spec_parse(event->name, &spec, NULL);
	event->state = LIST_UNSUPPORTED;
	if (event->code < 0)
		return;
	event->code = sample_open(&spec, true);
	if (!event->code) {
		event->state = LIST_WORKS;
		return;
	}
	if (is_refusal(event->code)) {
		user = spec;
		user.exclude_kernel = true;
		event->state = spec.type != PERF_TYPE_TRACEPOINT && !sample_open(&user, true)
				       ? LIST_USER_ONLY
				       : LIST_REFUSED;
		return;
	}
	if (event->code == -EINVAL || event->code == -EOPNOTSUPP)
		event->state =
			sample_open(&spec, false) == 0 ? LIST_COUNTS_ONLY : LIST_UNSUPPORTED;
}

/* ---- names */

static enum list_kind kind_of(uint32_t type)
{
	return type == PERF_TYPE_HARDWARE   ? LIST_HARDWARE
	       : type == PERF_TYPE_HW_CACHE ? LIST_CACHE
					    : LIST_SOFTWARE;
}

int list_named(const char *pattern, list_event_fn visit, void *ctx)
{
	for (uint32_t i = 0; i < event_name_count; i++) {
		const struct event_name *name = &event_names[i];
		struct list_event event = {.name = name->name,
			.alias = name->alias,
			.what = name->what,
			.kind = kind_of(name->type)};
		int rc;

		if (!list_matches(pattern, name->name) &&
			(!name->alias || !list_matches(pattern, name->alias)))
			continue;
		list_try(&event);
		rc = visit(ctx, &event);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- directories */

struct entries {
	struct arena arena;
	const char **names;
	uint32_t count, cap;
};

static void entries_done(struct entries *entries)
{
	arena_done(&entries->arena);
	free(entries->names);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What is in a directory, hidden names left out, sorted. 0; -ENOENT, -EACCES, -ENOMEM. */
static int entries_read(const char *path, struct entries *entries)
{
	DIR *dir = opendir(path);
	int rc = 0;

	if (!dir)
		return -errno;
	for (struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		rc = array_reserve(&entries->names, &entries->cap, entries->count + 1ull,
			sizeof(*entries->names), ENTRIES_MAX);
		if (rc < 0)
			break;
		entries->names[entries->count] =
			arena_strndup(&entries->arena, entry->d_name, strlen(entry->d_name));
		rc = entries->names[entries->count] ? 0 : -ENOMEM;
		entries->count += rc == 0;
	}
	closedir(dir);
	if (entries->count)
		qsort(entries->names, entries->count, sizeof(*entries->names), by_name);
	return rc == -ENOSPC ? 0 : rc;
}

static int join(char *buf, const char *a, const char *b, const char *c)
{
	int len = snprintf(buf, NAME_BYTES, "%s/%s%s%s", a, b, c ? "/" : "", c ? c : "");

	return len < NAME_BYTES ? 0 : -ENAMETOOLONG;
}

/* ---- PMUs */

static int pmu_events(
	const char *root, const char *pmu, const char *pattern, list_event_fn visit, void *ctx)
{
	cleanup_with(entries_done) struct entries events = {.count = 0};
	char path[NAME_BYTES], name[NAME_BYTES];
	int rc = 0;

	if (join(path, root, pmu, "events") < 0 || entries_read(path, &events) < 0)
		return 0; /* most PMUs name no events */
	for (uint32_t i = 0; rc >= 0 && i < events.count; i++) {
		struct list_event event = {.name = name, .kind = LIST_PMU};

		/* energy-pkg.unit and energy-pkg.scale describe energy-pkg */
		if (strchr(events.names[i], '.') ||
			snprintf(name, sizeof(name), "%s/%s/", pmu, events.names[i]) >=
				(int)sizeof(name) ||
			!list_matches(pattern, name))
			continue;
		list_try(&event);
		rc = visit(ctx, &event);
	}
	return rc;
}

int list_pmu_events(
	const struct list_roots *roots, const char *pattern, list_event_fn visit, void *ctx)
{
	cleanup_with(entries_done) struct entries pmus = {.count = 0};
	int rc = entries_read(roots->pmus, &pmus);

	for (uint32_t i = 0; rc >= 0 && i < pmus.count; i++)
		rc = pmu_events(roots->pmus, pmus.names[i], pattern, visit, ctx);
	return rc;
}

static int pmu_fields(const char *root, const struct pmu *pmu, const char *pattern,
	list_field_fn visit, void *ctx)
{
	cleanup_with(entries_done) struct entries fields = {.count = 0};
	char path[NAME_BYTES];
	int rc = 0;

	if (join(path, root, pmu->name, "format") < 0 || entries_read(path, &fields) < 0)
		return 0;
	for (uint32_t i = 0; rc >= 0 && i < fields.count; i++) {
		cleanup_with(strbuf_done) struct strbuf text = {0};
		struct list_field field = {
			.pmu = pmu->name, .field = fields.names[i], .type = pmu->type};
		char file[NAME_BYTES];

		if ((!list_matches(pattern, pmu->name) &&
			    !list_matches(pattern, field.field)) ||
			join(file, path, field.field, NULL) < 0 ||
			file_read(AT_FDCWD, file, 4096, &text) < 0)
			continue;
		if (text.len && text.text[text.len - 1] == '\n')
			text.text[--text.len] = '\0';
		field.format = strbuf_text(&text);
		rc = visit(ctx, &field);
	}
	return rc;
}

static int by_pmu_name(const void *a, const void *b)
{
	return strcmp(((const struct pmu *)a)->name, ((const struct pmu *)b)->name);
}

int list_pmu_fields(
	const struct list_roots *roots, const char *pattern, list_field_fn visit, void *ctx)
{
	cleanup_free struct pmu *pmus = calloc(PMUS_MAX, sizeof(*pmus));
	int rc = 0, n;

	if (!pmus)
		return -ENOMEM;
	n = pmu_list(roots->pmus, pmus, PMUS_MAX);
	if (n < 0)
		return n;
	qsort(pmus, (size_t)n, sizeof(*pmus), by_pmu_name);
	for (int i = 0; rc >= 0 && i < n; i++)
		rc = pmu_fields(roots->pmus, &pmus[i], pattern, visit, ctx);
	return rc;
}

/* ---- tracepoints */

/* An event is a directory that has an id; "enable", "filter" and "format" are files. */
static bool is_tracepoint(const char *root, const char *subsystem, const char *event)
{
	char folder[NAME_BYTES], path[NAME_BYTES];

	return join(folder, root, subsystem, event) == 0 &&
	       join(path, folder, "id", NULL) == 0 && access(path, F_OK) == 0;
}

int list_subsystems(const struct list_roots *roots, list_subsystem_fn visit, void *ctx)
{
	cleanup_with(entries_done) struct entries subsystems = {.count = 0};
	int rc = roots->tracepoints ? entries_read(roots->tracepoints, &subsystems) : -ENOENT;

	for (uint32_t i = 0; rc >= 0 && i < subsystems.count; i++) {
		cleanup_with(entries_done) struct entries events = {.count = 0};
		char path[NAME_BYTES];
		uint32_t n = 0;

		if (join(path, roots->tracepoints, subsystems.names[i], NULL) < 0 ||
			entries_read(path, &events) < 0)
			continue; /* a file beside the directories */
		for (uint32_t k = 0; k < events.count; k++)
			n += is_tracepoint(
				roots->tracepoints, subsystems.names[i], events.names[k]);
		if (n)
			rc = visit(ctx, subsystems.names[i], n);
	}
	return rc;
}

struct tracepoints {
	const char *root, *pattern;
	uint32_t trials; /* left */
	list_event_fn visit;
	void *ctx;
};

static void tracepoint_try(struct tracepoints *all, struct list_event *event)
{
	struct event_spec spec;

	if (all->trials) {
		all->trials--;
		list_try(event);
		return;
	}
	event->code = spec_parse(event->name, &spec, NULL);
	event->state = event->code < 0 ? LIST_UNSUPPORTED : LIST_UNTRIED;
}

static int subsystem_events(struct tracepoints *all, const char *subsystem)
{
	cleanup_with(entries_done) struct entries events = {.count = 0};
	char path[NAME_BYTES], name[NAME_BYTES];
	int rc = 0;

	if (join(path, all->root, subsystem, NULL) < 0 || entries_read(path, &events) < 0)
		return 0;
	for (uint32_t i = 0; rc >= 0 && i < events.count; i++) {
		struct list_event event = {.name = name, .kind = LIST_TRACEPOINT};

		if (snprintf(name, sizeof(name), "%s:%s", subsystem, events.names[i]) >=
				(int)sizeof(name) ||
			!list_matches(all->pattern, name) ||
			!is_tracepoint(all->root, subsystem, events.names[i]))
			continue;
		tracepoint_try(all, &event);
		rc = all->visit(all->ctx, &event);
	}
	return rc;
}

int list_tracepoints(const struct list_roots *roots, const char *pattern, uint32_t trials,
	list_event_fn visit, void *ctx)
{
	cleanup_with(entries_done) struct entries subsystems = {.count = 0};
	struct tracepoints all = {roots->tracepoints, pattern, trials, visit, ctx};
	int rc = all.root ? entries_read(all.root, &subsystems) : -ENOENT;

	for (uint32_t i = 0; rc >= 0 && i < subsystems.count; i++)
		rc = subsystem_events(&all, subsystems.names[i]);
	return rc;
}
