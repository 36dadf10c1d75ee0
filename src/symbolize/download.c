/*
 * How: a fixed number of slots, each a transfer of libcurl's multi interface. A slot that is
 * free takes the next file; one whose server does not have the file goes on to the next server.
 * A server that cannot be reached, or was silent too often, is not asked any more, so one that
 * hangs costs its time-out once and not once a file.
 *
 *     next() --> slot --transfer--> came() --yes--> free
 *                 ^  |                  |
 *                 |  `--404, error      no
 *                 `---- next server <---'     none left: lost()
 */
#include "symbolize/download.h"

#include "base/cleanup.h"
#include "base/fileio.h"
#include "symbolize/curl_library.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 100, SILENCES_MAX = 3, URL_ROOM = 2048, HTTP_ERROR = 400 };

struct server {
	const char *url;
	size_t len;
	bool dead;
	uint32_t silences;
};

struct slot {
	CURL *easy;
	struct downloads *all;
	bool used, failed; /* failed: a server did something else than say no */
	uint32_t id, server;
	int fd;
	int64_t bytes; /* of this transfer */
	char path[256];
	char why[CURL_ERROR_SIZE];
};

struct downloads {
	struct curl_library curl;
	const struct download_source *source;
	CURLM *multi;
	struct server servers[DOWNLOAD_SERVERS_MAX];
	uint32_t server_count, used;
	struct slot slots[DOWNLOAD_AT_ONCE];
	uint64_t bytes; /* of all */
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Words that are no URL of HTTP are something for other clients ("ima:enforcing", "file://").
 */
static int servers_take(struct downloads *d, const char *text, struct error *err)
{
	while (*(text += strspn(text, " \t\n"))) {
		size_t len = strcspn(text, " \t\n");
		bool http =
			!strncasecmp(text, "http://", 7) || !strncasecmp(text, "https://", 8);
		struct server server = {.url = text, .len = len};

		while (server.len && text[server.len - 1] == '/')
			server.len--;
		if (http && server.len < URL_ROOM / 2 && d->server_count < DOWNLOAD_SERVERS_MAX)
			d->servers[d->server_count++] = server;
		text += len;
	}
	if (!d->server_count)
		return error_set(err, -ENOENT,
			"nothing was fetched: $DEBUGINFOD_URLS names no server "
			"(export DEBUGINFOD_URLS=https://debuginfod.elfutils.org/)");
	return 0;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *ctx)
{
	struct slot *slot = ctx;
	size_t len = size * count;

	slot->bytes += (int64_t)len;
	slot->all->bytes += len;
	if (slot->bytes > DOWNLOAD_BYTES_MAX) {
		snprintf(slot->why, sizeof(slot->why), "the file is absurdly large");
		return 0;
	}
	return fd_write_all(slot->fd, bytes, len) < 0 ? 0 : len;
}

/*
 * libcurl's default lets a redirection lead to ftp as well. Versions before 7.85 know only the
 * option that newer headers warn of: it is tried where the other is not known.
 */
static CURLcode redirections_set(__typeof__(curl_easy_setopt) *set, CURL *easy)
{
	const CURLoption old = (CURLoption)(CURLOPTTYPE_LONG + 182); /* REDIR_PROTOCOLS */
	CURLcode rc = CURLE_UNKNOWN_OPTION;

#if LIBCURL_VERSION_NUM >= 0x075500
	rc = set(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#endif
	return rc == CURLE_UNKNOWN_OPTION
		       ? set(easy, old, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS))
		       : rc;
}

static CURLcode transfer_set(struct downloads *d, struct slot *slot, const char *url)
{
	__typeof__(curl_easy_setopt) *set = d->curl.easy_setopt;
	CURL *easy = slot->easy;
	CURLcode rc = set(easy, CURLOPT_URL, url); /* copied */

	rc |= set(easy, CURLOPT_ERRORBUFFER, slot->why);
	rc |= set(easy, CURLOPT_PRIVATE, slot);
	rc |= set(easy, CURLOPT_WRITEFUNCTION, on_bytes);
	rc |= set(easy, CURLOPT_WRITEDATA, slot);
	rc |= set(easy, CURLOPT_FAILONERROR, 1L);
	rc |= set(easy, CURLOPT_FOLLOWLOCATION, 1L);
	rc |= redirections_set(set, easy);
	rc |= set(easy, CURLOPT_MAXREDIRS, 5L);
	rc |= set(easy, CURLOPT_NOSIGNAL, 1L);
	rc |= set(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)DOWNLOAD_CONNECT_MS);
	rc |= set(easy, CURLOPT_LOW_SPEED_LIMIT, 1000L);
	rc |= set(easy, CURLOPT_LOW_SPEED_TIME, (long)DOWNLOAD_SILENCE_S);
	rc |= set(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)DOWNLOAD_BYTES_MAX);
	rc |= set(easy, CURLOPT_USERAGENT, "wick/" WICK_VERSION);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Else who gives up waits for the thread that waits for a silent name server. The
	 * library that was loaded may be too old to know it. */
	(void)set(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
	return rc;
}

/* Asks the slot's server, or the next one that is alive. False: there is none. */
static bool slot_start(struct downloads *d, struct slot *slot)
{
	char url[URL_ROOM];

	for (; slot->server < d->server_count; slot->server++) {
		const struct server *server = &d->servers[slot->server];

		if (server->dead) {
			slot->failed = true;
			continue;
		}
		snprintf(
			url, sizeof(url), "%.*s/%s", (int)server->len, server->url, slot->path);
		d->curl.easy_reset(slot->easy);
		slot->bytes = 0;
		if (!ftruncate(slot->fd, 0) && !lseek(slot->fd, 0, SEEK_SET) &&
			transfer_set(d, slot, url) == CURLE_OK &&
			d->curl.multi_add_handle(d->multi, slot->easy) == CURLM_OK)
			return true;
		slot->failed = true;
	}
	return false;
}

static void slot_free(struct downloads *d, struct slot *slot)
{
	slot->used = false;
	d->used--;
}

static void slot_go_on(struct downloads *d, struct slot *slot)
{
	if (slot_start(d, slot))
		return;
	d->source->lost(d->source->ctx, slot->id,
		slot->failed ? DOWNLOAD_FAILED : DOWNLOAD_UNKNOWN, slot->why);
	slot_free(d, slot);
}

static void slots_fill(struct downloads *d)
{
	for (size_t i = 0; i < ARRAY_LEN(d->slots); i++) {
		struct slot *slot = &d->slots[i];

		/* A file that no server can be asked for leaves its slot free for the next. */
		while (!slot->used && d->source->next(d->source->ctx, slot->path,
					      sizeof(slot->path), &slot->fd, &slot->id)) {
			slot->used = true;
			slot->failed = false;
			slot->server = 0;
			slot->why[0] = '\0';
			d->used++;
			slot_go_on(d, slot);
		}
	}
}

static bool is_no(struct downloads *d, const struct slot *slot, CURLcode code)
{
	long status = 0;

	if (code != CURLE_HTTP_RETURNED_ERROR)
		return false;
	d->curl.easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
	return status == 404 || status == 410;
}

static void server_judge(struct server *server, const struct slot *slot, CURLcode code)
{
	if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
		server->dead = true;
	if (code == CURLE_OPERATION_TIMEDOUT && !slot->bytes &&
		++server->silences >= SILENCES_MAX)
		server->dead = true;
}

static void slot_finish(struct downloads *d, struct slot *slot, CURLcode code)
{
	d->curl.multi_remove_handle(d->multi, slot->easy);
	if (code == CURLE_OK && d->source->came(d->source->ctx, slot->id)) {
		slot_free(d, slot);
		return;
	}
	if (code == CURLE_OK)
		snprintf(slot->why, sizeof(slot->why), "it was another file");
	else if (!slot->why[0])
		snprintf(slot->why, sizeof(slot->why), "%s", d->curl.easy_strerror(code));
	slot->failed |= !is_no(d, slot, code);
	server_judge(&d->servers[slot->server], slot, code);
	slot->server++;
	slot_go_on(d, slot);
}

static void finished_take(struct downloads *d)
{
	const CURLMsg *message;
	int left;

	while ((message = d->curl.multi_info_read(d->multi, &left))) {
		CURLcode code = message->data.result;
		struct slot *slot = NULL;

		d->curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
		if (message->msg == CURLMSG_DONE && slot)
			slot_finish(d, slot, code);
	}
}

/* What is still on its way, and what was not begun. */
static void give_up(struct downloads *d)
{
	const struct download_source *source = d->source;
	struct slot *slot = &d->slots[0];

	for (size_t i = 0; i < ARRAY_LEN(d->slots); i++) {
		if (!d->slots[i].used)
			continue;
		d->curl.multi_remove_handle(d->multi, d->slots[i].easy);
		source->lost(source->ctx, d->slots[i].id, DOWNLOAD_LATE, "");
		slot_free(d, &d->slots[i]);
	}
	while (source->next(source->ctx, slot->path, sizeof(slot->path), &slot->fd, &slot->id))
		source->lost(source->ctx, slot->id, DOWNLOAD_LATE, "");
}

static void transfer(struct downloads *d, uint32_t limit_ms)
{
	uint64_t until = now_ms() + limit_ms;
	int running;

	for (;;) {
		slots_fill(d);
		if (!d->used)
			return;
		if (now_ms() >= until || d->source->tick(d->source->ctx, d->bytes) ||
			d->curl.multi_perform(d->multi, &running) != CURLM_OK)
			break;
		finished_take(d);
		if (running)
			d->curl.multi_poll(d->multi, NULL, 0, POLL_MS, NULL);
	}
	give_up(d);
}

int download_all(const char *servers, uint32_t limit_ms, const struct download_source *source,
	struct error *err)
{
	struct downloads d = {.source = source};
	int rc = servers_take(&d, servers, err);

	if (rc == 0)
		rc = curl_library_open(&d.curl, err);
	if (rc < 0)
		return rc;
	d.multi = d.curl.multi_init();
	for (size_t i = 0; i < ARRAY_LEN(d.slots); i++) {
		d.slots[i].all = &d;
		d.slots[i].easy = d.curl.easy_init();
		if (!d.slots[i].easy || !d.multi)
			rc = -ENOMEM;
	}
	if (rc == 0)
		transfer(&d, limit_ms);
	else
		error_set(err, rc, "nothing was fetched: out of memory");
	for (size_t i = 0; i < ARRAY_LEN(d.slots); i++)
		if (d.slots[i].easy)
			d.curl.easy_cleanup(d.slots[i].easy);
	if (d.multi)
		d.curl.multi_cleanup(d.multi);
	return rc;
}
