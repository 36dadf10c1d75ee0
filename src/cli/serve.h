/* One page by HTTP, from this machine to this machine. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Serves `page` (which stays the caller's) on 127.0.0.1 until SIGINT, SIGTERM or SIGHUP; port 0
 * takes a free one. `ready` is told the port once connections are taken. 0, or a negative errno
 * with the sentence.
 */
int serve_page(const void *page, size_t len, uint16_t port,
	void (*ready)(void *ctx, uint16_t port), void *ctx, struct error *err);
