/*
 * A page that stands alone: the viewer (viewer/, built to viewer.html) with one profile in it,
 * or two to be compared.
 *
 * The viewer's file has a marker where the data belong; each profile stands there as base64 of
 * a zlib stream of these bytes (viewer/src/decode.ts reads them), numbers being LEB128 and
 * tables being columns, so that they compress:
 *
 *     "wickview1\n"
 *     strings    n, n lengths, the texts          all of the below are indexes into them
 *     title      event, file, host, command       strings
 *     events     n, n names, n flags              1: weights are ns, 2: shown with the first
 * one sentences  n, n levels, n abouts, n texts   how good it is; levels: info, good, warn, bad
 *     modules    n, n kinds, n paths              kinds as in enum module_kind
 *     functions  n, n names, n modules
 *     places     n, n functions, n files, n lines (1 more when inlined: line * 2 + inlined)
 *     nodes      n, n parents (own index - parent's; 0: a root), n places
 *     threads    n, n pids, n tids, n comms
 *     spans      n, n kinds, n starts, n lengths  us since the start; kinds: 0 lost
 *     samples    n, the start in us, then n times (us), threads, events, nodes + 1 (0: no
 * stack) and weights, each as the difference from the one before, zigzag "end\n"
 *
 * Inlined functions are nodes of their own. Pure.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "profile/profile.h"

#include <stdint.h>
#include <stdio.h>

enum { VIEWER_PROFILES_MAX = 2, VIEWER_NODE_LIMIT = 16 << 20 };

struct viewer_sentence {
	uint32_t level;
	const char *about, *text;
};

/* What is shown of one recording; the texts may be NULL. */
struct viewer_data {
	const struct profile *profile;
	const char *file, *host, *command;
	const struct viewer_sentence *sentences;
	uint32_t sentence_count;
};

/* The bytes above, not compressed. 0, -ENOMEM, or -ENOSPC (more nodes than the limit). */
int viewer_data_pack(const struct viewer_data *data, struct strbuf *ret_bytes);

/* The whole page. 0, or a negative errno with the sentence; the stream stays open. */
int viewer_write(const struct viewer_data *data, uint32_t count, FILE *out, struct error *err);
