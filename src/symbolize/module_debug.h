/*
 * The debug information of a module: out of its own file, or of its separate debug file, with
 * what belongs to that: the file that dwz shares, .dwo files, a .dwp package.
 */
#pragma once

#include "object/debug_info.h"
#include "symbolize/module_file.h"
#include "symbolize/symbolize.h"

struct module_debug {
	struct debug_info *info;
	struct module_file package; /* open as long as info is */
	struct debug_finder finder;
	char root[sizeof(((struct module_file *)0)->root)];
	char from[sizeof(((struct module_file *)0)->path)]; /* the path of the file */
};

/*
 * 0 and *ret_debug, which must stay where it is; -ENOENT: there is none; -EFBIG: more than
 * `bytes_max` (0: no limit); -ENOMEM; else why it cannot be read.
 */
int module_debug_open(const struct symbolizer_options *options, const struct profile *profile,
	uint32_t module, uint64_t bytes_max, struct module_debug *ret_debug);

/* Is there any? */
bool module_debug_exists(const struct symbolizer_options *options,
	const struct profile *profile, uint32_t module);

void module_debug_close(struct module_debug *debug); /* takes a zeroed one */
