/* Whole files and whole writes, with short reads, EINTR and absurd sizes dealt with. */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * Appends the file's bytes, at most `limit` (a longer file: -EFBIG). `dirfd` as openat(). Works
 * for /proc and sysfs, whose sizes are 0. 0 or a negative errno; nothing is appended then.
 */
int file_read(int dirfd, const char *path, size_t limit, struct strbuf *ret_text);

/* The same for one number ("997\n"). -EINVAL when the file holds something else. */
int file_read_number(int dirfd, const char *path, int64_t *ret_value);

/* Writes all of it, or a negative errno. */
int fd_write_all(int fd, const void *bytes, size_t len);
int fd_pwrite_all(int fd, const void *bytes, size_t len, off_t offset);

/* What is there of [offset, offset + len): fewer bytes only where the file ends. Or a negative
 * errno. */
int64_t fd_pread_all(int fd, void *ret_bytes, size_t len, off_t offset);

/*
 * A decimal or 0x number that is the whole of `len` bytes of text; strict, unlike strtoull.
 * 0, -EINVAL or -ERANGE.
 */
int parse_u64(const char *text, size_t len, uint64_t *ret_value);
