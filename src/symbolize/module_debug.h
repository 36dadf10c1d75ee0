/*
 * The debug information of a module: out of its own file, or of its separate debug file, with
 * what belongs to that (the file that dwz shares).
 */
#pragma once

#include "object/debug_info.h"
#include "symbolize/symbolize.h"

enum { DEBUG_FROM_MAX = 512 };

struct module_debug {
	struct debug_info *info;
	char from[DEBUG_FROM_MAX]; /* where it came from: the path of the file */
};

/* 0 and *ret_debug; -ENOENT: there is none; -ENOMEM; else why it cannot be read. */
int module_debug_open(const struct symbolizer_options *options, const struct profile *profile,
	uint32_t module, struct module_debug *ret_debug);
void module_debug_close(struct module_debug *debug);
