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
 *     spans      n, n of (kind, start, length, thread + 1 or 0), us since the start; kinds:
 *                0 lost, 1 throttled
 *     code       n functions, each: function, address, samples, weight, note (string)
 *                lines n, n files, n lines, n texts + 1 (0: not here), n samples, n weights
 *                instructions n, n sizes, n texts, n lines + 1 (0: none), n samples, n weights
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

struct viewer_line {
	const char *file, *text; /* text NULL: the source is not here */
	uint32_t line;
	uint64_t samples, weight;
};

struct viewer_instruction {
	const char *text;
	uint32_t size;
	uint32_t line; /* index into the lines; PROFILE_NONE: of none */
	uint64_t samples, weight;
};

/* Where samples stopped in a function. */
struct viewer_code {
	uint32_t function; /* of the profile */
	uint64_t address;
	const char *note; /* what is missing, or NULL */
	uint64_t samples, weight;
	const struct viewer_line *lines;
	const struct viewer_instruction *instructions;
	uint32_t line_count, instruction_count;
};

/* What is shown of one recording; the texts may be NULL. */
struct viewer_data {
	const struct profile *profile;
	const char *file, *host, *command;
	const struct viewer_sentence *sentences;
	uint32_t sentence_count;
	const struct viewer_code *code; /* hottest first */
	uint32_t code_count;
};

/* The bytes above, not compressed. 0, -ENOMEM, or -ENOSPC (more nodes than the limit). */
int viewer_data_pack(const struct viewer_data *data, struct strbuf *ret_bytes);

/* The whole page. 0, or a negative errno with the sentence; the stream stays open. */
int viewer_write(const struct viewer_data *data, uint32_t count, FILE *out, struct error *err);
