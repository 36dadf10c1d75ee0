/* Opening files whose names come from a recording: anything may stand there by now. */
#pragma once

/*
 * Opens `path` below `root` ("" or NULL: the real root) for reading, if it is a regular file; a
 * FIFO or a device is not even opened, only looked at (-ENOEXEC). Absolute symbolic links
 * inside `root` stay inside. A descriptor, or a negative errno.
 */
int open_regular(const char *root, const char *path);
