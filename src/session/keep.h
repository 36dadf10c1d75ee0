/*
 * Keeps what names will need at the end of a recording: the files of the modules that were
 * sampled, and the folders where JIT compilers leave their maps, held open from the first
 * sample on. So a process that is gone by then, a deleted program, another mount namespace or a
 * chroot take no names away.
 */
#pragma once

#include "proc/pins.h"
#include "proc/proc.h"
#include "profile/profile.h"
#include "symbolize/symbolize.h"
#include "target/target.h"

#include <stdint.h>

enum { KEEP_FILES_MOST = 4096, KEEP_FOLDERS_MOST = 256 };

/* The /tmp of a process that runs code without a file. */
struct keep_folder {
	int32_t pid;
	struct map_folder where;
};

struct keep {
	const struct proc *proc;
	const struct target *target;
	struct pins pins; /* by the profile's module */
	struct keep_folder folders[KEEP_FOLDERS_MOST];
	uint32_t folder_count;
	uint64_t refused; /* files and folders beyond the limits */
};

void keep_init(struct keep *keep, const struct proc *proc, const struct target *target);
void keep_done(struct keep *keep); /* takes a zeroed struct, too */

/* For apply_options.module_seen: called when a module gets its first frame. */
void keep_module(void *ctx, const struct dso *dso, uint32_t module);

/* To be called now and then: opens the maps that have appeared, before their writers remove
 * them. */
void keep_refresh(struct keep *keep);

/* The module's file, which stays ours, or -1: symbolizer_options.pinned_fd. */
int keep_fd(const struct keep *keep, uint32_t module);

/* The folder of a process, or NULL. */
const struct keep_folder *keep_folder(const struct keep *keep, int32_t pid);
