/*
 * The widths are those of perf's process_event() and sample__fprintf_callchain(): the thread in
 * 5 columns, the time in 12, the period in 10, event names as wide as the longest, addresses
 * in 16. Names are printed as they are, but for control characters, which would let a name
 * write lines of its own.
 *
 * Most of a recording's lines are those of a few frames, over and over: their text is kept, and
 * a sample is its first line and copies. What is kept is bounded; past that it is made anew.
 */
#include "formats/script.h"

#include "base/array.h"
#include "formats/escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	WRITE_BYTES = 256 << 10,
	LINES_MAX = 64 << 20, /* of text that is kept */
	PLACES_MAX = 16 << 20,
	NUMBER_ROOM = 24,
};

struct script_place {
	uint32_t at, len; /* in `lines`; len 0: not made yet */
};

static void put_number(
	struct strbuf *out, uint64_t value, unsigned base, unsigned width, char fill)
{
	char digits[NUMBER_ROOM];
	unsigned n = NUMBER_ROOM;

	do {
		digits[--n] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	while (NUMBER_ROOM - n < width && n)
		digits[--n] = fill;
	strbuf_add(out, digits + n, NUMBER_ROOM - n);
}

static void put_name(struct strbuf *out, const char *name)
{
	const unsigned char *p = (const unsigned char *)name;

	while (*p >= 0x20 && *p < 0x7f)
		p++;
	if (*p)
		escape_line(out, name, 0, 0);
	else
		strbuf_puts(out, name);
}

static int event_width(const struct profile *profile)
{
	size_t width = 0;

	for (uint32_t i = 0; i < profile->event_count; i++) {
		size_t len = strlen(profile_text(profile, profile->events[i].name));

		width = len > width ? len : width;
	}
	return width < 1000 ? (int)width : 1000;
}

static void put_module(
	struct strbuf *out, const struct profile *profile, const struct frame *frame)
{
	const struct module *module = &profile->modules[frame->module];
	const char *path = profile_text(profile, module->path);

	if (module->kind == MODULE_KERNEL && *path != '/')
		path = strncmp(path, "[guest.", 7) ? "[kernel.kallsyms]"
						   : "[guest.kernel.kallsyms]";
	else if (module->kind == MODULE_MARKER || !*path)
		path = "[unknown]";
	strbuf_puts(out, " (");
	put_name(out, path);
	strbuf_putc(out, ')');
}

/* On a line of its own, with perf's two blanks before it. */
static void put_srcline(
	struct script *script, const struct profile *profile, const struct line *line)
{
	const char *file = profile_text(profile, line->file), *slash = strrchr(file, '/');

	if (!line->file || !line->line)
		return;
	strbuf_puts(&script->lines, "\n  ");
	put_name(&script->lines, slash && slash[1] && !script->full_paths ? slash + 1 : file);
	strbuf_putc(&script->lines, ':');
	put_number(&script->lines, line->line, 10, 1, ' ');
}

/* The inlined functions share the address and the offset of the one that was called. */
static void put_frame(struct script *script, const struct profile *profile, uint32_t id)
{
	struct strbuf *out = &script->lines;
	const struct frame *frame = &profile->frames[id];
	bool named = frame_is_named(profile, id);
	uint32_t lines = named ? frame->line_count : 1;
	const struct function *called = NULL;

	if (named)
		called = &profile->functions[profile->lines[frame->first_line + lines - 1]
						     .function];
	for (uint32_t i = 0; i < lines; i++) {
		strbuf_putc(out, '\t');
		put_number(out, frame->marker ? 0 : frame->addr, 16, 16, ' ');
		strbuf_putc(out, ' ');
		put_name(
			out, named || frame->marker ? frame_name(profile, id, i) : "[unknown]");
		if (called && frame->addr >= called->addr) {
			strbuf_puts(out, "+0x");
			put_number(out, frame->addr - called->addr, 16, 1, ' ');
		}
		if (i + 1 == lines)
			put_module(out, profile, frame);
		if (script->srcline && named)
			put_srcline(script, profile, &profile->lines[frame->first_line + i]);
		strbuf_puts(out, i + 1 < lines ? " (inlined)\n" : "\n");
	}
}

void script_init(struct script *script, FILE *out)
{
	*script = (struct script){.out = out};
}

static int place_of(struct script *script, const struct profile *profile, uint32_t frame,
	struct script_place *ret_place)
{
	uint32_t had = script->places_cap;
	int rc = array_reserve(&script->places, &script->places_cap, frame + 1ull,
		sizeof(*script->places), PLACES_MAX);

	if (rc < 0)
		return rc;
	memset(script->places + had, 0, (script->places_cap - had) * sizeof(*script->places));
	if (script->lines.len > LINES_MAX) {
		strbuf_reset(&script->lines);
		memset(script->places, 0, script->places_cap * sizeof(*script->places));
	}
	if (!script->places[frame].len) {
		size_t at = script->lines.len;

		put_frame(script, profile, frame);
		if (script->lines.failed)
			return -ENOMEM;
		script->places[frame] =
			(struct script_place){(uint32_t)at, (uint32_t)(script->lines.len - at)};
	}
	*ret_place = script->places[frame];
	return 0;
}

static void put_head(
	struct script *script, const struct profile *profile, const struct sample *sample)
{
	const struct profile_thread *thread = &profile->threads[sample->thread];
	const char *event = profile_text(profile, profile->events[sample->event].name);
	struct strbuf *out = &script->text;
	int pad;

	if (script->event_count != profile->event_count) {
		script->event_width = event_width(profile);
		script->event_count = profile->event_count;
	}
	if (thread->comm) {
		put_name(out, profile_text(profile, thread->comm));
		strbuf_putc(out, ' ');
	} else { /* nobody told its name */
		strbuf_printf(out, ":%d ", thread->tid);
	}
	if (thread->tid >= 0)
		put_number(out, (uint64_t)thread->tid, 10, 5, ' ');
	else
		strbuf_printf(out, "%5d", thread->tid);
	strbuf_putc(out, ' ');
	if (sample->cpu != PROFILE_NO_CPU) {
		strbuf_putc(out, '[');
		put_number(out, sample->cpu, 10, 3, '0');
		strbuf_puts(out, "] ");
	}
	put_number(out, sample->time_ns / 1000000000, 10, 5, ' ');
	strbuf_putc(out, '.');
	put_number(out, sample->time_ns % 1000000000 / 1000, 10, 6, '0');
	strbuf_puts(out, ": ");
	put_number(out, sample->weight, 10, 10, ' ');
	strbuf_putc(out, ' ');
	pad = script->event_width - (int)strnlen(event, 1000);
	for (; pad > 0; pad--)
		strbuf_putc(out, ' ');
	put_name(out, event);
	strbuf_puts(out, ": \n");
}

static int flush(struct script *script)
{
	size_t len = script->text.len;

	if (script->text.failed)
		return -ENOMEM;
	if (len && fwrite(script->text.text, 1, len, script->out) != len)
		return -EIO;
	strbuf_reset(&script->text);
	return 0;
}

int script_sample(
	struct script *script, const struct profile *profile, const struct sample *sample)
{
	put_head(script, profile, sample);
	for (uint32_t at = sample->stack; at != PROFILE_NONE; at = profile->stacks[at].parent) {
		struct script_place place;
		int rc = place_of(script, profile, profile->stacks[at].frame, &place);

		if (rc < 0)
			return rc;
		strbuf_add(&script->text, script->lines.text + place.at, place.len);
	}
	strbuf_putc(&script->text, '\n');
	return script->text.len < WRITE_BYTES ? 0 : flush(script);
}

int script_done(struct script *script)
{
	int rc = flush(script);

	strbuf_done(&script->text);
	strbuf_done(&script->lines);
	free(script->places);
	*script = (struct script){0};
	return rc;
}
