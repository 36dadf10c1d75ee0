#include "cli/fetching.h"

#include "cli/command.h"

#include <poll.h>
#include <unistd.h>

int fetching_set(const char *value, uint32_t *ret_limit_s, struct error *err)
{
	uint64_t seconds = DOWNLOADS_DEFAULT_S;
	int rc = value && *value ? cli_number(value, 1, 3600, &seconds, err) : 0;

	if (rc == 0)
		*ret_limit_s = (uint32_t)seconds;
	return rc;
}

static bool fetching_tick(void *ctx, uint32_t files_left, uint64_t bytes)
{
	struct fetching *fetching = ctx;
	struct pollfd stop = {.fd = fetching->stop_fd, .events = POLLIN};
	time_t now = time(NULL);

	if (now != fetching->shown && isatty(STDERR_FILENO)) {
		fetching->shown = now;
		fprintf(stderr, "\rdebuginfod: %u files to go, %.1f MB so far; Ctrl-C: %s ",
			files_left, (double)bytes / 1e6,
			fetching->stop_fd >= 0 ? "without them" : "give up");
	}
	return stop.fd >= 0 && poll(&stop, 1, 0) > 0;
}

void fetching_init(struct fetching *fetching, uint32_t limit_s, int stop_fd)
{
	*fetching = (struct fetching){.stop_fd = stop_fd};
	fetching->options = (struct downloads_options){
		.limit_s = limit_s, .progress = fetching_tick, .ctx = fetching};
}

void fetching_done(const struct fetching *fetching)
{
	if (fetching->shown)
		fputs("\r\033[K", stderr);
}
