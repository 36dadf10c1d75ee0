/*
 * How: the module's own file has .debug_info, or the debug file that belongs to it has. All are
 * closed again when the sections are in memory.
 */
#include "symbolize/module_debug.h"

#include "object/debug_image.h"
#include "symbolize/module_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int source_open(const struct symbolizer_options *options, const struct profile *profile,
	uint32_t module, struct module_file *ret_file)
{
	const char *path = profile_text(profile, profile->modules[module].path);
	struct module_file file = {.fd = -1, .elf.fd = -1}, debug = {.fd = -1, .elf.fd = -1};

	if (module_file_open(options, profile, module, &file) != MODULE_NAMED)
		return -ENOENT;
	if (debug_image_possible(&file.elf)) {
		*ret_file = file;
		return 0;
	}
	if (module_debug_file_open(options, &file, path, &debug) &&
		debug_image_possible(&debug.elf)) {
		module_file_close(&file);
		*ret_file = debug;
		return 0;
	}
	module_file_close(&debug);
	module_file_close(&file);
	return -ENOENT;
}

int module_debug_open(const struct symbolizer_options *options, const struct profile *profile,
	uint32_t module, struct module_debug *ret_debug)
{
	cleanup_with(module_file_close) struct module_file file = {.fd = -1, .elf.fd = -1};
	cleanup_with(module_file_close) struct module_file alt = {.fd = -1, .elf.fd = -1};
	struct debug_files files = {.elf = &file.elf};
	int r = source_open(options, profile, module, &file);

	if (r < 0)
		return r;
	if (module_alt_file_open(options, &file, &alt))
		files.alt = &alt.elf;
	r = debug_info_open(&files, &ret_debug->info);
	if (r < 0)
		return r;
	snprintf(ret_debug->from, sizeof(ret_debug->from), "%s", file.path);
	return 0;
}

void module_debug_close(struct module_debug *debug)
{
	debug_info_close(debug->info);
	debug->info = NULL;
}
