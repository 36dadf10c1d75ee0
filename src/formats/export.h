/*
 * Profiles written for other programs and for people: one table of exporters, found by the name
 * of the file they write.
 */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdio.h>

struct exporter {
	const char *name;	     /* "folded" */
	const char *const *suffixes; /* {".folded", ".collapsed", NULL} */
	const char *description;     /* one line for --help */
	/*
	 * 0, or a negative errno: -ENOMEM, or why the stream failed. The stream stays open and
	 * is flushed. An empty profile is written as a valid, empty picture.
	 */
	int (*write)(const struct profile *profile, FILE *out, struct error *err);
};

/* The exporter whose suffix ends `path`, NULL when there is none. */
const struct exporter *export_find(const char *path);

/* All, one after another; NULL behind the last. */
const struct exporter *export_at(size_t index);

/*
 * A picture shows one event: the first one, and every other that counts the same (the cycles of
 * each kind of core of a hybrid CPU). Whether a sample of that event takes part.
 */
bool export_keeps_event(const struct profile *profile, uint16_t event);

/* Flushes and tells whether everything went out: 0 or a negative errno and the sentence. */
int export_finish(FILE *out, struct error *err);

/* The exporters; see the file of each. */
int folded_write(const struct profile *profile, FILE *out, struct error *err);
int svg_write(const struct profile *profile, FILE *out, struct error *err);
