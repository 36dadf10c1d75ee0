/*
 * JSON written as it goes: commas and indentation are kept by a stack of bits, so that the
 * writer of a report cannot get them wrong. Strings are escaped, bytes that are no UTF-8 become
 * U+FFFD, and invisible or direction-changing characters are written as \u escapes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
	FILE *out;
	unsigned depth;		     /* at most 63 */
	uint64_t has_items, compact; /* a bit a level */
};

/* `key` is NULL inside arrays and at the top. */
void json_open(struct json_out *json, const char *key, char bracket);	      /* '{' or '[' */
void json_open_compact(struct json_out *json, const char *key, char bracket); /* on one line */
void json_close(struct json_out *json, char bracket);			      /* '}' or ']' */
void json_string(struct json_out *json, const char *key, const char *value);
void json_u64(struct json_out *json, const char *key, uint64_t value);
void json_i64(struct json_out *json, const char *key, int64_t value);
void json_double(struct json_out *json, const char *key, double value); /* no number: null */
void json_bool(struct json_out *json, const char *key, bool value);
void json_null(struct json_out *json, const char *key);
