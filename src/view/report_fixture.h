/*
 * A small profile with known sums, for tests of reports:
 *
 *     100 samples of 10 ms:   main work leaf 40      main work 20        main 5
 *                             main rec rec leaf 30   main [unknown] 5
 */
#pragma once

#include "view/report.h"

#define TICK_NS 10000000

uint32_t add_module(struct profile *profile, enum module_kind kind, const char *path);
/* A frame with these functions, innermost first, NULL at the end; none: it has no name. */
uint32_t add_frame(struct profile *profile, uint32_t module, uint64_t addr, ...);
/* `n` samples on a stack of these frames, from the root. */
void add_samples(struct profile *profile, uint32_t thread, uint32_t n, uint32_t depth,
	const uint32_t *frames);
void quality_from_samples(struct profile *profile);

struct small {
	struct profile profile;
	uint32_t app, lib, main_thread, worker;
	uint32_t main, work, rec, leaf, unknown;
};

void small_init(struct small *it);
/* The report as text; the caller frees it. */
char *report(const struct profile *profile, const struct report_options *options);
/* What stands behind the block: from the first empty line on. */
const char *body(const char *text);
struct report_options defaults(void);
void expect_body(const struct profile *profile, const struct report_options *options,
	const char *expected);
