/*
 * The stored half of the quality as text:
 *
 *     wick-quality 1
 *     event cpu-clock:u
 *     source kernel-user-only
 *     wall_ns 10000123456
 *     notes first sentence\nsecond sentence
 *
 * One table names the keys and where their values live; writing and reading both walk it. What
 * is unknown or empty is left out. In texts a backslash is doubled, a newline is \n and every
 * other control character \xHH, so a value never leaves its line.
 */
#include "profile/quality.h"

#include "base/cleanup.h"
#include "base/fileio.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char magic[] = "wick-quality 1";

enum field_kind {
	FIELD_TEXT,
	FIELD_NUMBER,
	FIELD_STATUS,
	FIELD_BOOL,
	FIELD_SOURCE,
	FIELD_SCOPE
};

struct field {
	const char *key;
	enum field_kind kind;
	size_t offset, bytes;
};

#define FIELD(kind, name)                                                                      \
	{                                                                                      \
#name, kind, offsetof(struct quality, name),                                   \
			sizeof(((struct quality *)0)->name)                                    \
	}

static const struct field fields[] = {
	FIELD(FIELD_TEXT, event),
	FIELD(FIELD_TEXT, why_event),
	FIELD(FIELD_TEXT, clock),
	FIELD(FIELD_SOURCE, source),
	FIELD(FIELD_SCOPE, scope),
	FIELD(FIELD_BOOL, weight_is_ns),
	FIELD(FIELD_NUMBER, frequency_hz),
	FIELD(FIELD_NUMBER, period),
	FIELD(FIELD_NUMBER, wall_ns),
	FIELD(FIELD_NUMBER, event_count),
	FIELD(FIELD_NUMBER, cpu_ns),
	FIELD(FIELD_TEXT, cpu_clock_name),
	FIELD(FIELD_NUMBER, user_ns),
	FIELD(FIELD_NUMBER, kernel_ns),
	FIELD(FIELD_NUMBER, lost_read),
	FIELD(FIELD_NUMBER, ring_pages),
	FIELD(FIELD_NUMBER, ring_pages_asked),
	FIELD(FIELD_NUMBER, coverage_events),
	FIELD(FIELD_NUMBER, targets),
	FIELD(FIELD_NUMBER, copy_bytes),
	FIELD(FIELD_NUMBER, first_stack_ns),
	FIELD(FIELD_NUMBER, behind_ns),
	FIELD(FIELD_NUMBER, behind_times),
	FIELD(FIELD_NUMBER, by_pointers),
	FIELD(FIELD_STATUS, exit_status),
	FIELD(FIELD_BOOL, interrupted),
	FIELD(FIELD_BOOL, unfinished),
	FIELD(FIELD_BOOL, scaled),
	FIELD(FIELD_TEXT, notes),
};

/* Counted from the records, and so not stored. */
#define COUNTED(name)                                                                          \
	{                                                                                      \
#name, FIELD_NUMBER, offsetof(struct quality, name), sizeof(uint64_t)          \
	}

static const struct field counted[] = {
	COUNTED(samples),
	COUNTED(period_sum),
	COUNTED(lost),
	COUNTED(lost_records),
	COUNTED(first_loss_ns),
	COUNTED(last_loss_ns),
	COUNTED(throttled),
	COUNTED(throttled_ns),
	COUNTED(unknown_records),
	COUNTED(bad_records),
	COUNTED(out_of_order),
	COUNTED(user_frames),
	COUNTED(unnamed_frames),
	COUNTED(first_ns),
	COUNTED(last_ns),
	COUNTED(truncated_at),
};

static const char *const source_keys[] = {
	[SOURCE_UNKNOWN] = "unknown",
	[SOURCE_KERNEL] = "kernel",
	[SOURCE_KERNEL_USER_ONLY] = "kernel-user-only",
	[SOURCE_AGENT] = "agent",
	[SOURCE_PTRACE] = "ptrace",
	[SOURCE_SIM] = "sim",
};

static const char *const scope_keys[] = {
	[SCOPE_UNKNOWN] = "unknown",
	[SCOPE_INHERIT] = "inherit",
	[SCOPE_CGROUP] = "cgroup",
	[SCOPE_SYSTEM] = "system",
};

const char *quality_source_key(enum quality_source source)
{
	return source_keys[(unsigned)source < ARRAY_LEN(source_keys) ? source : SOURCE_UNKNOWN];
}

const char *quality_scope_key(enum quality_scope scope)
{
	return scope_keys[(unsigned)scope < ARRAY_LEN(scope_keys) ? scope : SCOPE_UNKNOWN];
}

static void tell_numbers(const struct quality *quality, const struct field *table, size_t count,
	quality_number_fn tell, void *ctx)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value;

		if (table[i].kind != FIELD_NUMBER)
			continue;
		memcpy(&value, (const char *)quality + table[i].offset, sizeof(value));
		tell(ctx, table[i].key, value);
	}
}

void quality_numbers(const struct quality *quality, quality_number_fn tell, void *ctx)
{
	tell_numbers(quality, fields, ARRAY_LEN(fields), tell, ctx);
	tell_numbers(quality, counted, ARRAY_LEN(counted), tell, ctx);
}

static void *field_at(struct quality *quality, const struct field *field)
{
	return (char *)quality + field->offset;
}

void quality_note(struct quality *quality, const char *sentence)
{
	size_t used = strlen(quality->notes), cap = sizeof(quality->notes);

	snprintf(quality->notes + used, cap - used, "%s%s", used ? "\n" : "", sentence);
}

/* Only the numbers of the first half, and those of the second that counting cannot start at 0.
 */
void quality_init(struct quality *quality)
{
	*quality = (struct quality){.exit_status = -1};
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		uint64_t unknown = QUALITY_UNKNOWN;

		if (fields[i].kind == FIELD_NUMBER)
			memcpy(field_at(quality, &fields[i]), &unknown, sizeof(unknown));
	}
	quality->first_loss_ns = quality->last_loss_ns = QUALITY_UNKNOWN;
	quality->first_ns = quality->last_ns = QUALITY_UNKNOWN;
	quality->truncated_at = QUALITY_UNKNOWN;
}

static void write_escaped(struct strbuf *out, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p == '\\')
			strbuf_puts(out, "\\\\");
		else if (*p == '\n')
			strbuf_puts(out, "\\n");
		else if (*p < 0x20 || *p == 0x7f)
			strbuf_printf(out, "\\x%02x", *p);
		else
			strbuf_putc(out, (char)*p);
	}
}

static void write_field(struct strbuf *out, const struct field *field, const void *at)
{
	int32_t status;
	uint64_t number;
	unsigned int word;
	bool yes;

	switch (field->kind) {
	case FIELD_TEXT:
		if (!*(const char *)at)
			return;
		strbuf_printf(out, "%s ", field->key);
		write_escaped(out, at);
		strbuf_putc(out, '\n');
		return;
	case FIELD_NUMBER:
		memcpy(&number, at, sizeof(number));
		if (number != QUALITY_UNKNOWN)
			strbuf_printf(out, "%s %llu\n", field->key, (unsigned long long)number);
		return;
	case FIELD_STATUS:
		memcpy(&status, at, sizeof(status));
		if (status >= 0)
			strbuf_printf(out, "%s %d\n", field->key, status);
		return;
	case FIELD_BOOL:
		memcpy(&yes, at, sizeof(yes));
		strbuf_printf(out, "%s %d\n", field->key, yes);
		return;
	case FIELD_SOURCE:
		memcpy(&word, at, sizeof(word));
		if (word && word < ARRAY_LEN(source_keys))
			strbuf_printf(out, "%s %s\n", field->key, source_keys[word]);
		return;
	case FIELD_SCOPE:
		memcpy(&word, at, sizeof(word));
		if (word && word < ARRAY_LEN(scope_keys))
			strbuf_printf(out, "%s %s\n", field->key, scope_keys[word]);
		return;
	}
}

void quality_write(const struct quality *quality, struct strbuf *ret_text)
{
	strbuf_printf(ret_text, "%s\n", magic);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		write_field(ret_text, &fields[i], (const char *)quality + fields[i].offset);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* What stands behind a backslash; the number of bytes taken, or 0: no escape of ours. */
static size_t unescape(const char *text, size_t len, char *ret_c)
{
	if (len >= 1 && (text[0] == '\\' || text[0] == 'n')) {
		*ret_c = text[0] == 'n' ? '\n' : '\\';
		return 1;
	}
	if (len >= 3 && text[0] == 'x' && hex_digit(text[1]) >= 0 && hex_digit(text[2]) >= 0) {
		*ret_c = (char)(hex_digit(text[1]) << 4 | hex_digit(text[2]));
		return *ret_c ? 3 : 0;
	}
	return 0;
}

/* A text that is longer than its field is cut; a newer writer may have longer ones. */
static int read_text(const char *value, size_t len, char *out, size_t out_bytes)
{
	size_t used = 0;

	for (size_t i = 0; i < len; i++) {
		char c = value[i];

		if (c == '\\') {
			size_t taken = unescape(value + i + 1, len - i - 1, &c);

			if (!taken)
				return -EBADMSG;
			i += taken;
		} else if ((unsigned char)c < 0x20) {
			return -EBADMSG;
		}
		if (used < out_bytes - 1)
			out[used++] = c;
	}
	out[used] = '\0';
	return 0;
}

/* A word that a newer writer may know and we do not reads as 0, "unknown". */
static unsigned int read_word(const char *value, size_t len, const char *const *words, size_t n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (strlen(words[i]) == len && !memcmp(words[i], value, len))
			return i;
	}
	return 0;
}

static int read_field(const struct field *field, const char *value, size_t len, void *at)
{
	uint64_t number = QUALITY_UNKNOWN;
	unsigned int word;
	int32_t status;
	bool yes;

	if (field->kind == FIELD_TEXT)
		return read_text(value, len, at, field->bytes);
	if (field->kind == FIELD_SOURCE || field->kind == FIELD_SCOPE) {
		word = field->kind == FIELD_SOURCE
			       ? read_word(value, len, source_keys, ARRAY_LEN(source_keys))
			       : read_word(value, len, scope_keys, ARRAY_LEN(scope_keys));
		memcpy(at, &word, sizeof(word));
		return 0;
	}
	if (field->kind == FIELD_NUMBER && len == 7 && !memcmp(value, "unknown", 7)) {
		memcpy(at, &number, sizeof(number));
		return 0;
	}
	if (parse_u64(value, len, &number) < 0)
		return -EBADMSG;
	if (field->kind == FIELD_NUMBER) {
		memcpy(at, &number, sizeof(number));
		return 0;
	}
	if (number > (field->kind == FIELD_BOOL ? 1 : INT32_MAX))
		return -EBADMSG;
	status = (int32_t)number;
	yes = number;
	memcpy(at, field->kind == FIELD_BOOL ? (void *)&yes : (void *)&status, field->bytes);
	return 0;
}

static int read_line(struct quality *quality, const char *line, size_t len, int line_number,
	struct error *err)
{
	const char *space = memchr(line, ' ', len);
	size_t key_len = space ? (size_t)(space - line) : len;
	const char *value = space ? space + 1 : line + len;
	size_t value_len = (size_t)(line + len - value);

	if (!len)
		return 0;
	if (memchr(line, '\0', len))
		return error_set(err, -EBADMSG, "the quality section: line %d holds a NUL byte",
			line_number);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct field *field = &fields[i];

		if (strlen(field->key) != key_len || memcmp(field->key, line, key_len) != 0)
			continue;
		if (read_field(field, value, value_len, field_at(quality, field)) < 0)
			return error_set(err, -EBADMSG,
				"the quality section: line %d has no good value for %s",
				line_number, field->key);
		return 0;
	}
	return 0;
}

/* The counted half stays; on failure all of it. */
static void keep_counted(struct quality *read, const struct quality *old)
{
	struct quality stored = *read;

	*read = *old;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		memcpy(field_at(read, &fields[i]), field_at(&stored, &fields[i]),
			fields[i].bytes);
}

int quality_read(struct quality *quality, const char *text, size_t len, struct error *err)
{
	const char *end = text + len;
	struct quality read;
	int line_number = 0;

	quality_init(&read);
	while (text < end || !line_number) {
		const char *newline = len ? memchr(text, '\n', (size_t)(end - text)) : NULL;
		size_t line_len = (size_t)((newline ? newline : end) - text);
		int rc;

		if (!line_number++) {
			if (line_len != sizeof(magic) - 1 || memcmp(text, magic, line_len) != 0)
				return error_set(err, -EBADMSG,
					"the quality section does not begin with \"%s\": "
					"damaged, or written by a newer wick",
					magic);
		} else {
			rc = read_line(&read, text, line_len, line_number, err);
			if (rc < 0)
				return rc;
		}
		text = newline ? newline + 1 : end;
	}
	keep_counted(&read, quality);
	*quality = read;
	return 0;
}

const char *quality_stop_name(enum stack_stop stop)
{
	static const char *const names[] = {
		[STOP_ROOT] = "root reached",
		[STOP_NO_USER] = "no user part is owed",
		[STOP_NO_CHAIN] = "the kernel gave no user frames",
		[STOP_NOT_ROOT] = "the frame-pointer chain broke off",
		[STOP_TRUNCATED_KERNEL] = "cut at the kernel's depth limit",
		[STOP_COPY_EXHAUSTED] = "the copied piece of the stack ended",
		[STOP_NO_CFI] = "no unwind information",
		[STOP_BAD_CFI] = "damaged unwind information",
		[STOP_UNREADABLE] = "memory could not be read",
		[STOP_DEPTH] = "cut at wick's depth limit",
		[STOP_LATE] = "root reached, completed late",
		[STOP_BEHIND] = "cut short to keep up",
		[STOP_NO_COPY] = "nothing of the stack could be copied",
		[STOP_SWITCHED] = "root of Go's system stack reached",
	};

	return (size_t)stop < ARRAY_LEN(names) ? names[stop] : "unknown";
}

const char *quality_source_name(enum quality_source source)
{
	static const char *const names[] = {
		[SOURCE_UNKNOWN] = "unknown",
		[SOURCE_KERNEL] = "kernel perf events",
		[SOURCE_KERNEL_USER_ONLY] = "kernel perf events, user mode only",
		[SOURCE_AGENT] = "agent inside the target",
		[SOURCE_PTRACE] = "stop and look (ptrace)",
		[SOURCE_SIM] = "simulated kernel",
	};

	return (size_t)source < ARRAY_LEN(names) ? names[source] : "unknown";
}
