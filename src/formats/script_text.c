/*
 * The widths are those of perf's process_event() and sample__fprintf_callchain(): the thread in
 * 5 columns, the time in 12, the period in 10, event names as wide as the longest, addresses
 * in 16. Names are printed as they are, but for control characters, which would let a name
 * write lines of its own.
 */
#include "formats/script.h"

#include "base/cleanup.h"
#include "formats/escape.h"

#include <inttypes.h>
#include <string.h>

/* Straight to the stream where nothing has to be escaped, which is nearly always. */
static void put_name(FILE *out, const char *name)
{
	cleanup_with(strbuf_done) struct strbuf safe = {0};
	const unsigned char *p = (const unsigned char *)name;

	while (*p >= 0x20 && *p < 0x7f)
		p++;
	if (!*p) {
		fputs(name, out);
		return;
	}
	escape_line(&safe, name, 0, 0);
	fputs(strbuf_text(&safe), out);
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

static void put_module(FILE *out, const struct profile *profile, const struct frame *frame)
{
	const struct module *module = &profile->modules[frame->module];
	const char *path = profile_text(profile, module->path);

	if (module->kind == MODULE_KERNEL && *path != '/')
		path = strncmp(path, "[guest.", 7) ? "[kernel.kallsyms]"
						   : "[guest.kernel.kallsyms]";
	else if (module->kind == MODULE_MARKER || !*path)
		path = "[unknown]";
	fputs(" (", out);
	put_name(out, path);
	fputs(")\n", out);
}

/* The inlined functions share the address and the offset of the one that was called. */
static void put_frame(FILE *out, const struct profile *profile, uint32_t id)
{
	const struct frame *frame = &profile->frames[id];
	uint32_t lines = frame->line_count ? frame->line_count : 1;
	const struct function *called = NULL;

	if (frame->line_count)
		called = &profile->functions[profile->lines[frame->first_line + lines - 1]
						     .function];
	for (uint32_t i = 0; i < lines; i++) {
		fprintf(out, "\t%16" PRIx64 " ", frame->marker ? 0 : frame->addr);
		put_name(out, frame_name(profile, id, i));
		if (called && frame->addr >= called->addr)
			fprintf(out, "+0x%" PRIx64, frame->addr - called->addr);
		if (i + 1 < lines)
			fputs(" (inlined)\n", out);
		else
			put_module(out, profile, frame);
	}
}

void script_sample(FILE *out, const struct profile *profile, const struct sample *sample)
{
	const struct profile_thread *thread = &profile->threads[sample->thread];
	const char *event = profile_text(profile, profile->events[sample->event].name);
	char time[40];

	if (thread->comm)
		put_name(out, profile_text(profile, thread->comm));
	else /* nobody told its name */
		fprintf(out, ":%d", thread->tid);
	fprintf(out, " %5d ", thread->tid);
	if (sample->cpu != PROFILE_NO_CPU)
		fprintf(out, "[%03u] ", sample->cpu);
	snprintf(time, sizeof(time), "%" PRIu64 ".%06" PRIu64, sample->time_ns / 1000000000,
		sample->time_ns % 1000000000 / 1000);
	fprintf(out, "%12s: %10" PRIu64 " %*s", time, sample->weight,
		event_width(profile) - (int)strnlen(event, 1000), "");
	put_name(out, event);
	fputs(": \n", out);
	for (uint32_t at = sample->stack; at != PROFILE_NONE; at = profile->stacks[at].parent)
		put_frame(out, profile, profile->stacks[at].frame);
	fputc('\n', out);
}
