/*
 * Split DWARF: a program keeps a skeleton of each unit; the unit itself stands in a .dwo file
 * of its own, or with all others in one .dwp package, found there by its 64-bit id.
 *
 * libdw finds .dwo files by itself, but in no other root, on no other path, not compressed by
 * zstd, and opens whatever stands under the name; .dwp it does not find at all. So a unit is
 * read here and handed to libdw as a file in memory.
 */
#pragma once

#include "object/debug_image.h"
#include "object/debug_info.h"

#include <stdint.h>

struct debug_package; /* an open .dwp */

/* The package's index. NULL for a NULL or unusable file, which must stay open. */
struct debug_package *debug_package_open(const struct elf *dwp);
void debug_package_close(struct debug_package *package);

/* A unit of the package, as the image of a .dwo file. 0, -ENOENT, -EBADMSG, -EFBIG, -ENOMEM. */
int debug_package_unit(
	const struct debug_package *package, uint64_t unit_id, struct debug_image *ret_image);

/* The image of a .dwo file. The same errors. */
int debug_dwo_load(int fd, struct debug_image *ret_image);
