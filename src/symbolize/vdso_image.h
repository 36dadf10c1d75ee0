/* The bytes of a process's vdso: kernel code mapped into every process, a whole ELF file. */
#pragma once

#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

struct vdso_image {
	void *bytes; /* free() */
	size_t len;
};

/*
 * A copy of the vdso of module->pid (`live`; needs the right to read its memory), else of this
 * process's own, if it is as large as the recorded one: a 32-bit process has another. False:
 * none.
 */
bool vdso_image_read(const struct module *module, bool live, struct vdso_image *ret_image);
