#include "session/control.h"

#include "base/cleanup.h"
#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int fifo_open(const char *path, size_t len, int *ret_fd, struct error *err)
{
	char name[1024];
	struct stat st;

	if (!len || len >= sizeof(name))
		return error_set(err, -EINVAL, "--control fifo: the name is empty or too long");
	memcpy(name, path, len);
	name[len] = '\0';
	/* Read and write: it never waits for the other side, nor sees its end. */
	*ret_fd = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (*ret_fd < 0)
		return error_set(err, -errno, "--control fifo %s: %s (make it with mkfifo)",
			name, strerror(errno));
	if (fstat(*ret_fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return error_set(err, -EINVAL, "--control fifo %s: it is no fifo", name);
	return 0;
}

static int fd_take(const char *text, size_t len, int *ret_fd, struct error *err)
{
	uint64_t fd;

	if (parse_u64(text, len, &fd) < 0 || fd > INT32_MAX || fcntl((int)fd, F_GETFD) < 0)
		return error_set(
			err, -EBADF, "--control fd:%.*s: no open descriptor", (int)len, text);
	*ret_fd = (int)fd;
	fcntl(*ret_fd, F_SETFD, FD_CLOEXEC);
	fcntl(*ret_fd, F_SETFL, fcntl(*ret_fd, F_GETFL) | O_NONBLOCK);
	return 0;
}

int control_open(struct control *control, const char *spec, struct error *err)
{
	int (*open_one)(const char *, size_t, int *, struct error *) = NULL;
	const char *names;
	size_t len;
	int rc;

	*control = (struct control){.ctl_fd = -1, .ack_fd = -1};
	if (!strncmp(spec, "fifo:", 5))
		open_one = fifo_open;
	else if (!strncmp(spec, "fd:", 3))
		open_one = fd_take;
	else
		return error_set(err, -EINVAL,
			"--control %.60s: want fifo:CTL[,ACK] or fd:CTL[,ACK]", spec);
	names = strchr(spec, ':') + 1;
	len = strcspn(names, ",");
	rc = open_one(names, len, &control->ctl_fd, err);
	if (rc == 0 && names[len])
		rc = open_one(names + len + 1, strlen(names + len + 1), &control->ack_fd, err);
	if (rc < 0)
		control_done(control);
	return rc;
}

void control_done(struct control *control)
{
	if (control->ctl_fd >= 0)
		close(control->ctl_fd);
	if (control->ack_fd >= 0)
		close(control->ack_fd);
	*control = (struct control){.ctl_fd = -1, .ack_fd = -1};
}

static enum control_word word_of(const char *line)
{
	static const char *const words[] = {
		[CONTROL_ENABLE] = "enable",
		[CONTROL_DISABLE] = "disable",
		[CONTROL_STOP] = "stop",
		[CONTROL_PING] = "ping",
	};

	for (size_t i = CONTROL_ENABLE; i < ARRAY_LEN(words); i++)
		if (!strcmp(line, words[i]))
			return (enum control_word)i;
	return CONTROL_UNKNOWN;
}

enum control_word control_next(struct control *control)
{
	char byte;

	while (control->ctl_fd >= 0 && read(control->ctl_fd, &byte, 1) == 1) {
		if (byte != '\n' && byte != '\0') {
			/* A line too long is no word of ours; its rest is dropped with it. */
			if (control->len < sizeof(control->line) - 1)
				control->line[control->len++] = byte;
			continue;
		}
		control->line[control->len] = '\0';
		control->len = 0;
		if (control->line[0])
			return word_of(control->line);
	}
	return CONTROL_NONE;
}

void control_ack(const struct control *control)
{
	if (control->ack_fd >= 0)
		fd_write_all(control->ack_fd, "ack\n", 4);
}
