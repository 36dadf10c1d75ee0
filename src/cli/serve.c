/*
 * libmicrohttpd answers in a thread of its own while this one waits for a signal. Only the
 * loopback address is bound, and only requests that were addressed to it by name are answered:
 * a foreign web page whose name was made to resolve to 127.0.0.1 gets nothing.
 */
#include "cli/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct server {
	struct MHD_Response *page, *refusal;
	uint16_t port;
};

static bool is_ours(const struct server *server, struct MHD_Connection *connection)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	const char *host =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	char want[64];

	for (size_t i = 0; host && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(want, sizeof(want), "%s:%u", names[i], server->port);
		if (!strcmp(host, want) || (server->port == 80 && !strcmp(host, names[i])))
			return true;
	}
	return false;
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_bytes,
	void **request)
{
	struct server *server = ctx;
	unsigned status = MHD_HTTP_OK;

	(void)version;
	(void)upload;
	(void)request;
	*upload_bytes = 0;
	if (!is_ours(server, connection))
		status = MHD_HTTP_FORBIDDEN;
	else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		status = MHD_HTTP_METHOD_NOT_ALLOWED;
	else if (strcmp(url, "/") != 0)
		status = MHD_HTTP_NOT_FOUND;
	return MHD_queue_response(
		connection, status, status == MHD_HTTP_OK ? server->page : server->refusal);
}

static int start(
	struct server *server, uint16_t port, struct MHD_Daemon **ret_daemon, struct error *err)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const union MHD_DaemonInfo *info;
	struct MHD_Daemon *daemon;

	errno = 0;
	daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, answer,
		server, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&here,
		MHD_OPTION_CONNECTION_LIMIT, 64u, MHD_OPTION_END);
	if (!daemon)
		return error_set(err, errno ? -errno : -EADDRINUSE,
			"port %u of 127.0.0.1 cannot be served: %s; --http 0 takes a free one",
			port, strerror(errno ? errno : EADDRINUSE));
	info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
	server->port = info && info->port ? info->port : port;
	*ret_daemon = daemon;
	return 0;
}

int serve_page(const void *page, size_t len, uint16_t port,
	void (*ready)(void *ctx, uint16_t port), void *ctx, struct error *err)
{
	static char no[] = "no\n";
	struct server server = {.page = MHD_create_response_from_buffer(
					len, (void *)(uintptr_t)page, MHD_RESPMEM_PERSISTENT),
		.refusal = MHD_create_response_from_buffer(
			sizeof(no) - 1, no, MHD_RESPMEM_PERSISTENT)};
	struct MHD_Daemon *daemon = NULL;
	sigset_t ends, before;
	int rc, signal;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before); /* the daemon's thread inherits it */
	rc = server.page && server.refusal ? 0 : error_set(err, -ENOMEM, "out of memory");
	if (rc == 0) {
		MHD_add_response_header(
			server.page, MHD_HTTP_HEADER_CONTENT_TYPE, "text/html; charset=utf-8");
		MHD_add_response_header(server.page, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
		rc = start(&server, port, &daemon, err);
	}
	if (rc == 0) {
		ready(ctx, server.port);
		sigwait(&ends, &signal);
		MHD_stop_daemon(daemon);
	}
	if (server.page)
		MHD_destroy_response(server.page);
	if (server.refusal)
		MHD_destroy_response(server.refusal);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}
