/* Files that commands write beside what they read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * May a command that reads `inputs` (NULL and "-" are none) write `path`? Not where that is one
 * of them, or would push one aside as path.old. 0, or EXIT_FAILED after the sentence.
 */
int output_check(const char *path, const char *const *inputs, uint32_t count);

/*
 * The same, and opens it. With `keep` a file of that name becomes path.old, as `wick record`
 * does it. 0 and *ret_out, or EXIT_FAILED after the sentence.
 */
int output_open(
	const char *path, const char *const *inputs, uint32_t count, bool keep, FILE **ret_out);
