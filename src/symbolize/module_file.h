/*
 * Finds the ELF file that a module was mapped from, and its separate debug file. Only a file
 * that is proved to be the one (build id, else inode) is handed out; without either, the path
 * is all there is.
 */
#pragma once

#include "object/elf.h"
#include "symbolize/symbolize.h"

struct module_file {
	struct elf elf;
	int fd;		/* owned; -1: borrowed from the recorder, or none */
	char path[512]; /* of a debug file, below its root; "" where it did not fit */
	char root[320]; /* what stands before paths of this file's world: "", a sysroot,
			   "/proc/7/root" */
};

/*
 * MODULE_NAMED when *ret_file is open (whatever symbols it may have), else why there is none:
 * MODULE_FILE_MISSING, _CHANGED or _BROKEN.
 */
enum module_outcome module_file_open(const struct symbolizer_options *options,
	const struct profile *profile, uint32_t module, struct module_file *ret_file);

/*
 * The debug file of a stripped one: by build id in the .build-id folders of `debug_dir` and
 * /usr/lib/debug, then by .gnu_debuglink beside the file, in .debug/ and in those two; at last
 * in what debuginfod clients fetched. It must have the same build id; without one, the CRC of
 * the link. True and *ret_file, or false.
 */
bool module_debug_file_open(const struct symbolizer_options *options,
	const struct module_file *file, const char *path, struct module_file *ret_file);

/*
 * What the .gnu_debugaltlink of a debug file names (dwz puts there what several files share),
 * proved by its build id.
 */
bool module_alt_file_open(const struct symbolizer_options *options,
	const struct module_file *file, struct module_file *ret_file);

/* The build id in a .gnu_debugaltlink; false: there is none. */
bool module_alt_id(const struct module_file *file, uint8_t ret_id[20], uint8_t *ret_bytes);

/* Takes a zeroed struct too. */
void module_file_close(struct module_file *file);
