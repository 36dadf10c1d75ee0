/* See json_out.h. Numbers are printed with the digits that bring them back (shares: six). */
#include "view/json_out.h"

#include "formats/escape.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void text_out(FILE *out, const char *text)
{
	putc('"', out);
	while (*text) {
		uint32_t c;
		size_t n = utf8_next(text, &c);

		if (c == UINT32_MAX)
			fputs("\xef\xbf\xbd", out);
		else if (c == '"' || c == '\\')
			fprintf(out, "\\%c", (char)c);
		else if (c == '\n')
			fputs("\\n", out);
		else if (c == '\t')
			fputs("\\t", out);
		else if (code_is_plain(c))
			fwrite(text, 1, n, out);
		else if (c >= 0x10000)
			fprintf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
				0xdc00 + ((c - 0x10000) & 0x3ff));
		else
			fprintf(out, "\\u%04x", c);
		text += n;
	}
	putc('"', out);
}

static void begin(struct json_out *json, const char *key)
{
	uint64_t level = (uint64_t)1 << json->depth;

	if (json->has_items & level)
		putc(',', json->out);
	if (json->depth > 0 && !(json->compact & level)) {
		putc('\n', json->out);
		for (unsigned i = 0; i < json->depth; i++)
			fputs("  ", json->out);
	} else if (json->has_items & level) {
		putc(' ', json->out);
	}
	json->has_items |= level;
	if (key) {
		text_out(json->out, key);
		fputs(": ", json->out);
	}
}

static void open_with(struct json_out *json, const char *key, char bracket, bool compact)
{
	uint64_t level;

	begin(json, key);
	putc(bracket, json->out);
	compact |= (json->compact >> json->depth) & 1;
	json->depth++;
	level = (uint64_t)1 << json->depth;
	json->has_items &= ~level;
	json->compact = compact ? json->compact | level : json->compact & ~level;
}

void json_open(struct json_out *json, const char *key, char bracket)
{
	open_with(json, key, bracket, false);
}

void json_open_compact(struct json_out *json, const char *key, char bracket)
{
	open_with(json, key, bracket, true);
}

void json_close(struct json_out *json, char bracket)
{
	uint64_t level = (uint64_t)1 << json->depth;
	bool broken = (json->has_items & level) && !(json->compact & level);

	json->depth--;
	if (broken) {
		putc('\n', json->out);
		for (unsigned i = 0; i < json->depth; i++)
			fputs("  ", json->out);
	}
	putc(bracket, json->out);
	if (json->depth == 0)
		putc('\n', json->out);
}

void json_string(struct json_out *json, const char *key, const char *value)
{
	begin(json, key);
	text_out(json->out, value);
}

void json_u64(struct json_out *json, const char *key, uint64_t value)
{
	begin(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void json_i64(struct json_out *json, const char *key, int64_t value)
{
	begin(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void json_double(struct json_out *json, const char *key, double value)
{
	char text[32];

	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	begin(json, key);
	snprintf(text, sizeof(text), "%.6g", value);
	for (char *p = text; *p; p++) /* a locale's decimal comma */
		putc(strchr("0123456789+-e", *p) ? *p : '.', json->out);
}

void json_bool(struct json_out *json, const char *key, bool value)
{
	begin(json, key);
	fputs(value ? "true" : "false", json->out);
}

void json_null(struct json_out *json, const char *key)
{
	begin(json, key);
	fputs("null", json->out);
}
