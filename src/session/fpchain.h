/*
 * The user part of a chain by frame pointers alone, out of the copied stack: what the kernel
 * would have given, at a small part of what unwinding costs. It misses the caller of every
 * function without a frame of its own, and ends where the register holds something else.
 */
#pragma once

#include "unwind/unwind.h"

/* Addresses, leaf first; at most `cap`. How many. */
uint32_t fpchain_follow(const struct unwind_input *input, uint64_t *ret_addrs, uint32_t cap);
