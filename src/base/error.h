/*
 * One sentence for the user, written by whoever detected the fault.
 *
 * A fallible function returns 0 or more, or a negative errno, and takes a `struct error *` that
 * the caller lends (NULL: the caller does not want the sentence). The sentence names the
 * object, the cause and the remedy:
 *
 *     "perf.data: ends in the middle of a record at byte 8192 (the recorder was killed?); ..."
 */
#pragma once

struct error {
	char text[512];
};

/* Writes the sentence, cut at the end of the buffer, and returns `code` as it is. */
__attribute__((format(printf, 3, 4))) int error_set(
	struct error *err, int code, const char *fmt, ...);
