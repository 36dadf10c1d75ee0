/*
 * Which events there are, and which can be sampled here: every one is tried by opening it as a
 * recording would, on the calling thread.
 */
#pragma once

#include "perf/spec.h"

#include <stdint.h>

enum list_kind { LIST_HARDWARE, LIST_SOFTWARE, LIST_CACHE, LIST_PMU, LIST_TRACEPOINT };
enum { LIST_KINDS = LIST_TRACEPOINT + 1 };

enum list_state {
	LIST_WORKS,
	LIST_USER_ONLY,	  /* the kernel's part is refused */
	LIST_UNTRIED,	  /* it exists; see list_tracepoints() */
	LIST_REFUSED,	  /* it exists, and may not be used */
	LIST_COUNTS_ONLY, /* it cannot interrupt: a count, but no samples */
	LIST_UNSUPPORTED, /* not on this machine */
};

struct list_event {
	const char *name;	  /* as spec_parse() takes it; valid during the call */
	const char *alias, *what; /* may be NULL */
	enum list_kind kind;
	enum list_state state;
	int code; /* the negative errno behind a state that is not LIST_WORKS */
};

/* A negative answer ends the listing and is returned. */
typedef int (*list_event_fn)(void *ctx, const struct list_event *event);

/* Where to look; tests have trees of their own. */
struct list_roots {
	const char *pmus;	 /* PMU_SYSFS */
	const char *tracepoints; /* tracefs' events/; NULL: it is not mounted */
};

/* The roots of the running system. */
void list_roots_find(struct list_roots *ret_roots);

/* Does a name match? Part of it, or the whole when the pattern has *, ? or [. NULL: all. */
bool list_matches(const char *pattern, const char *name);

/* The trial itself; fills in the state and the code. */
void list_try(struct list_event *event);

/* The named events (hardware, software, cache) that match by name or alias. */
int list_named(const char *pattern, list_event_fn visit, void *ctx);

/* The named events of the PMUs: "cpu/cache-misses/". */
int list_pmu_events(
	const struct list_roots *roots, const char *pattern, list_event_fn visit, void *ctx);

struct list_field {
	const char *pmu, *field, *format; /* "cpu", "umask", "config:8-15" */
	uint32_t type;			  /* the PMU's */
};

typedef int (*list_field_fn)(void *ctx, const struct list_field *field);

/* The fields of each PMU's format/, PMU by PMU; those whose PMU or field matches. */
int list_pmu_fields(
	const struct list_roots *roots, const char *pattern, list_field_fn visit, void *ctx);

typedef int (*list_subsystem_fn)(void *ctx, const char *subsystem, uint32_t events);

/* Tracepoints: how many a subsystem has, none of them tried; -EACCES: only root may look. */
int list_subsystems(const struct list_roots *roots, list_subsystem_fn visit, void *ctx);

/*
 * Those whose "subsystem:event" matches. The first `trials` are tried, the others exist: the
 * kernel takes some 30 ms to close a tracepoint, and there are thousands.
 */
int list_tracepoints(const struct list_roots *roots, const char *pattern, uint32_t trials,
	list_event_fn visit, void *ctx);
