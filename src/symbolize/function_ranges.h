/*
 * Where the functions of a stripped file begin and end: its call frame information still tells.
 * That gives no names, but it tells one function from another.
 */
#pragma once

#include "object/cfi.h"
#include "symbolize/symbolize.h"

struct function_ranges {
	struct cfi_range *at; /* sorted by start */
	uint32_t count;
	bool tried;
};

void function_ranges_done(struct function_ranges *ranges); /* takes a zeroed struct, too */

/* Reads them at the first call, out of the file that was mapped. 0 or -ENOMEM. */
int function_ranges_load(struct function_ranges *ranges,
	const struct symbolizer_options *options, const struct profile *profile,
	uint32_t module);

/* The range that a vaddr lies in, or NULL. */
const struct cfi_range *function_ranges_find(
	const struct function_ranges *ranges, uint64_t vaddr);
