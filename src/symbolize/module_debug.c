/*
 * How: the module's own file has .debug_info, or the debug file that belongs to it has. They
 * are closed again when the sections are in memory; a package is read unit by unit and stays
 * open.
 */
#include "symbolize/module_debug.h"

#include "object/debug_image.h"
#include "symbolize/open_regular.h"

#include <errno.h>
#include <limits.h>
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

/* Units that are files of their own: where the compiler put them, or beside the program. */
static int unit_open(void *ctx, const char *comp_dir, const char *name)
{
	const struct module_debug *debug = ctx;
	const char *base = strrchr(name, '/'), *slash = strrchr(debug->from, '/');
	char path[PATH_MAX];
	int fd = -ENOENT;

	if (name[0] == '/')
		fd = open_regular(debug->root, name);
	else if (comp_dir[0] == '/' &&
		 snprintf(path, sizeof(path), "%s/%s", comp_dir, name) < (int)sizeof(path))
		fd = open_regular(debug->root, path);
	if (fd >= 0 || !slash)
		return fd;
	for (int whole = 1; whole >= 0 && fd < 0; whole--)
		if (snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - debug->from),
			    debug->from, whole || !base ? name : base + 1) < (int)sizeof(path))
			fd = open_regular(debug->root, path);
	return fd;
}

/* "prog.dwp" beside the program. Units are found in it by their ids, which proves it. */
static void package_open(
	const char *root, const char *module_path, struct module_file *ret_package)
{
	struct module_file package = {.fd = -1, .elf.fd = -1};
	char path[PATH_MAX];

	if (module_path[0] != '/' ||
		snprintf(path, sizeof(path), "%s.dwp", module_path) >= (int)sizeof(path))
		return;
	package.fd = open_regular(root, path);
	if (package.fd >= 0 && !elf_open_fd(package.fd, &package.elf, NULL))
		*ret_package = package;
	else
		module_file_close(&package);
}

bool module_debug_exists(const struct symbolizer_options *options,
	const struct profile *profile, uint32_t module)
{
	cleanup_with(module_file_close) struct module_file file = {.fd = -1, .elf.fd = -1};

	return source_open(options, profile, module, &file) == 0;
}

int module_debug_open(const struct symbolizer_options *options, const struct profile *profile,
	uint32_t module, uint64_t bytes_max, struct module_debug *ret_debug)
{
	cleanup_with(module_file_close) struct module_file file = {.fd = -1, .elf.fd = -1};
	cleanup_with(module_file_close) struct module_file alt = {.fd = -1, .elf.fd = -1};
	struct debug_files files = {
		.elf = &file.elf, .finder = &ret_debug->finder, .bytes_max = bytes_max};
	const char *path = profile_text(profile, profile->modules[module].path);
	int r = source_open(options, profile, module, &file);

	*ret_debug = (struct module_debug){
		.package = {.fd = -1, .elf.fd = -1}, .finder = {unit_open, ret_debug}};
	if (r < 0)
		return r;
	snprintf(ret_debug->root, sizeof(ret_debug->root), "%s", file.root);
	snprintf(ret_debug->from, sizeof(ret_debug->from), "%s",
		file.path[0] ? file.path : path);
	if (module_alt_file_open(options, &file, &alt))
		files.alt = &alt.elf;
	package_open(file.root, path, &ret_debug->package);
	if (ret_debug->package.fd >= 0)
		files.dwp = &ret_debug->package.elf;
	r = debug_info_open(&files, &ret_debug->info);
	if (r < 0)
		module_debug_close(ret_debug);
	return r;
}

void module_debug_close(struct module_debug *debug)
{
	if (!debug->info && !debug->finder.open)
		return;
	debug_info_close(debug->info);
	module_file_close(&debug->package);
	debug->info = NULL;
	debug->finder.open = NULL;
}
