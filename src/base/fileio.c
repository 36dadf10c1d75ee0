#include "base/fileio.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

int file_read(int dirfd, const char *path, size_t limit, struct strbuf *ret_text)
{
	cleanup_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	size_t start = ret_text->len;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t got;

		if (!strbuf_reserve(ret_text, 4096)) {
			ret_text->len = start;
			return -ENOMEM;
		}
		got = read(
			fd, ret_text->text + ret_text->len, ret_text->cap - ret_text->len - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || ret_text->len - start + (size_t)got > limit) {
			int rc = got < 0 ? -errno : -EFBIG;

			ret_text->len = start;
			ret_text->text[start] = '\0';
			return rc;
		}
		ret_text->len += (size_t)got;
		ret_text->text[ret_text->len] = '\0';
		if (!got)
			return 0;
	}
}

int file_read_number(int dirfd, const char *path, int64_t *ret_value)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	const char *p;
	uint64_t value;
	int rc = file_read(dirfd, path, 4096, &text);

	if (rc < 0)
		return rc;
	p = strbuf_text(&text);
	rc = parse_u64(p + (*p == '-'), strcspn(p + (*p == '-'), "\n"), &value);
	if (rc < 0 || value > INT64_MAX)
		return -EINVAL;
	*ret_value = *p == '-' ? -(int64_t)value : (int64_t)value;
	return 0;
}

int fd_write_all(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		ssize_t put = write(fd, p, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -EIO;
		p += put;
		len -= (size_t)put;
	}
	return 0;
}

int fd_pwrite_all(int fd, const void *bytes, size_t len, off_t offset)
{
	const char *p = bytes;

	while (len) {
		ssize_t put = pwrite(fd, p, len, offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -EIO;
		p += put;
		offset += put;
		len -= (size_t)put;
	}
	return 0;
}

int64_t fd_pread_all(int fd, void *ret_bytes, size_t len, off_t offset)
{
	char *to = ret_bytes;
	size_t done = 0;

	while (done < len) {
		ssize_t got = pread(fd, to + done, len - done, offset + (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (int64_t)done;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

int parse_u64(const char *text, size_t len, uint64_t *ret_value)
{
	unsigned base = 10;
	uint64_t value = 0;

	if (len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
		len -= 2;
	}
	if (!len)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		unsigned digit = (unsigned)digit_value(text[i]);

		if (digit >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, digit, &value))
			return -ERANGE;
	}
	*ret_value = value;
	return 0;
}
