/*
 * For the unwinder's tests: runs a command, keeps the records of its samples (with user
 * registers and a piece of the stack) and mappings in memory, and replays them by time against
 * a target. Only the first layer, the record decoder and target/ take part.
 */
#pragma once

#include "object/elf.h"
#include "target/target.h"
#include "wick/record.h"

#include <stdbool.h>
#include <stdint.h>

typedef void (*collection_fn)(void *ctx, const struct wick_record *sample,
	const struct target *target, uint32_t process);

struct collect_options {
	char *const *argv;
	uint64_t hz;
	uint32_t stack_bytes;
	uint32_t samples_max; /* those behind are counted and thrown away */
	bool until_full;      /* the command ends when there are so many */
	bool user_only;
	/* Replays what came at every look at the rings, while the command runs. NULL: no. */
	collection_fn live;
	struct target *live_target;
	void *live_ctx;
	struct collection **live_collection; /* set before the first call */
	int quiet;			     /* the command's output goes to /dev/null */
};

struct collection;

/* Runs the command to its end, or until there is enough. 0, or a negative errno: -EACCES and
 * the like where perf events are not allowed. */
int collect(const struct collect_options *options, struct collection **ret_collection);
void collection_free(struct collection *collection);

uint32_t collection_samples(const struct collection *collection);
uint64_t collection_lost(const struct collection *collection);

/* Calls `fn` for every sample with the target as it was then. */
int collection_replay(
	struct collection *collection, struct target *target, collection_fn fn, void *ctx);

/*
 * In a live replay: the bytes that were read when the sample was taken out of the ring, from
 * [*ret_addr, + *ret_bytes); NULL: none.
 */
const void *collection_late(
	const struct collection *collection, uint64_t *ret_addr, uint64_t *ret_bytes);

/* Opens a dso's file by its path; the vdso is this process's own. For struct
 * unwinder_options. */
int collected_module_open(
	void *ctx, const struct target *target, uint32_t dso, struct elf *ret_elf);
void collected_module_close(void *ctx, uint32_t dso, struct elf *elf);

/* The bytes of this process's vdso; 0: none. */
size_t own_vdso(const void **ret_bytes);
