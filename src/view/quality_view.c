/*
 * One function a measure; each adds the line or lines that it has to say, or none. The order is
 * the order of importance: is there anything, how much, does it cover what ran, what is hidden
 * or lost, how good are stacks and names, and what else there is to know.
 *
 *       Samples   4,934 in 5.01 s, none lost
 *     ! Kernel    kernel time is hidden (...): 40 % of the CPU time is not in this profile; ...
 *     |    |        `- text, wrapped at the width
 *     |    `- about
 *     `- '!' trust with care, '!!' do not trust
 */
#include "view/quality_lines.h"

#include "base/array.h"
#include "view/figure.h"
#include "view/label.h"
#include "view/printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX    1000
#define MODULES_MAX  5	  /* told by name */
#define MODULE_LEAST 0.01 /* of the frames, to be told */

/* Shares below which a measure is no longer good, and is bad. */
#define STACKS_GOOD   0.95
#define STACKS_BAD    0.50
#define NAMES_GOOD    0.95
#define STOPPED_LEAST 0.01 /* of the samples, in one module */
#define NAMES_BAD     0.50

struct strbuf *add_line(
	struct quality_lines *lines, enum quality_level level, const char *about)
{
	struct quality_line *line;

	if (array_reserve(&lines->lines, &lines->cap, (uint64_t)lines->count + 1, sizeof(*line),
		    LINES_MAX) < 0) {
		lines->failed = true;
		return NULL;
	}
	line = &lines->lines[lines->count++];
	*line = (struct quality_line){level, about, {0}};
	return &line->text;
}

void say(struct quality_lines *lines, enum quality_level level, const char *about,
	const char *fmt, ...)
{
	struct strbuf *text = add_line(lines, level, about);
	char buf[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);
	if (text)
		strbuf_puts(text, buf);
}

static bool buffer_was_limited(const struct quality *q)
{
	return known(q->ring_pages) && known(q->ring_pages_asked) &&
	       q->ring_pages < q->ring_pages_asked;
}

static void add_span(struct strbuf *text, uint64_t first_ns, uint64_t last_ns)
{
	char a[FIGURE_BYTES], b[FIGURE_BYTES];

	figure_time(first_ns, a);
	figure_time(last_ns, b);
	if (strcmp(a, b) == 0)
		strbuf_printf(text, " at %s", a);
	else
		strbuf_printf(text, " between %s and %s", a, b);
}

static void say_lost(struct quality_lines *lines, const struct quality *q)
{
	char n[FIGURE_BYTES], p[FIGURE_BYTES], a[FIGURE_BYTES], b[FIGURE_BYTES];
	struct strbuf *text;
	uint64_t lost = 0;
	double share = 0;

	if (quality_lost(q, &lost, &share) && lost > 0 && q->samples > 0) {
		text = add_line(lines, share > LOST_BAD ? LEVEL_BAD : LEVEL_WARN, "lost");
		if (!text)
			return;
		strbuf_printf(text, "%s samples (%s)", figure_thousands(lost, n),
			figure_percent(share, p));
		if (q->lost == 0)
			strbuf_puts(text, " at the very end, as the event's own count says");
		else if (known(q->first_loss_ns) && known(q->last_loss_ns))
			add_span(text, q->first_loss_ns, q->last_loss_ns);
		strbuf_puts(text, ": the buffer was full; ");
		if (buffer_was_limited(q))
			strbuf_puts(text, "a lower rate (-F) keeps them");
		else if (known(q->ring_pages) && q->ring_pages > 0 && q->ring_pages < 1u << 20)
			strbuf_printf(text,
				"a bigger one (-m %llu) or a lower rate (-F) keeps them",
				(unsigned long long)q->ring_pages * 4);
		else
			strbuf_puts(text, "a bigger one (-m) or a lower rate (-F) keeps them");
	}
	if (q->throttled > 0)
		say(lines, LEVEL_WARN, "throttled",
			"the kernel paused the event %s times%s%s, as sampling took too long "
			"(kernel.perf_cpu_time_max_percent): a lower rate (-F) avoids it",
			figure_thousands(q->throttled, n), q->throttled_ns ? ", in all " : "",
			q->throttled_ns ? figure_time(q->throttled_ns, a) : "");
	if (buffer_was_limited(q))
		say(lines, LEVEL_INFO, "buffer",
			"%s pages a CPU instead of %s: more is not allowed (RLIMIT_MEMLOCK, "
			"kernel.perf_event_mlock_kb)",
			figure_thousands(q->ring_pages, a),
			figure_thousands(q->ring_pages_asked, b));
}

static const char *stop_remedy(enum stack_stop stop)
{
	switch (stop) {
	case STOP_NOT_ROOT:
		return " (built without frame pointers? -fno-omit-frame-pointer)";
	case STOP_TRUNCATED_KERNEL:
		return " (sysctl kernel.perf_event_max_stack=1024)";
	case STOP_COPY_EXHAUSTED:
		return " (--stack-bytes copies more)";
	case STOP_NO_CFI:
		return " (debug symbols or frame pointers help)";
	case STOP_BEHIND:
		return " (a lower rate, -F, keeps them whole)";
	case STOP_NO_COPY:
		return " (its page was not in memory: swapped out, or a large frame not "
		       "touched yet; mlockall() keeps it there)";
	default:
		return "";
	}
}

static bool stop_is_fine(enum stack_stop stop)
{
	return stop == STOP_ROOT || stop == STOP_LATE || stop == STOP_SWITCHED ||
	       stop == STOP_NO_USER;
}

static void say_stacks(struct quality_lines *lines, const struct quality *q)
{
	uint64_t left[STOP_COUNT], owed = 0;
	char p[FIGURE_BYTES];
	struct strbuf *text;
	double share;

	if (q->samples == 0)
		return;
	if (!quality_complete(q, &share)) {
		say(lines, LEVEL_INFO, "stacks", "not applicable: no user stack was due");
		return;
	}
	text = add_line(lines,
		share < STACKS_BAD    ? LEVEL_BAD
		: share < STACKS_GOOD ? LEVEL_WARN
				      : LEVEL_GOOD,
		"stacks");
	if (!text)
		return;
	strbuf_printf(text, "%s complete", figure_percent(share, p));
	for (unsigned i = 0; i < STOP_COUNT; i++) {
		left[i] = stop_is_fine(i) ? 0 : q->stops[i];
		owed = add_saturating(owed, i == STOP_NO_USER ? 0 : q->stops[i]);
	}
	if (q->stops[STOP_LATE] > 0)
		strbuf_printf(text, " (%s completed late",
			figure_percent(figure_share(q->stops[STOP_LATE], owed), p));
	if (q->stops[STOP_SWITCHED] > 0)
		strbuf_printf(text, "%s%s on Go's system stack, without their goroutine",
			q->stops[STOP_LATE] > 0 ? ", " : " (",
			figure_percent(figure_share(q->stops[STOP_SWITCHED], owed), p));
	if (q->stops[STOP_LATE] > 0 || q->stops[STOP_SWITCHED] > 0)
		strbuf_putc(text, ')');
	for (unsigned told = 0; told < 3; told++) {
		unsigned most = 0;

		for (unsigned i = 1; i < STOP_COUNT; i++)
			most = left[i] > left[most] ? i : most;
		if (left[most] == 0)
			break;
		strbuf_printf(text, "%s %s %s%s", told ? "," : "; others end early:",
			figure_percent(figure_share(left[most], owed), p),
			quality_stop_name(most), stop_remedy(most));
		left[most] = 0;
	}
}

static void say_behind(struct quality_lines *lines, const struct quality *q)
{
	char n[FIGURE_BYTES], a[FIGURE_BYTES], p[FIGURE_BYTES];
	struct strbuf *text;

	if (!known(q->behind_ns) || !q->behind_ns || !q->stops[STOP_BEHIND])
		return;
	text = add_line(lines, LEVEL_WARN, "behind");
	if (!text)
		return;
	strbuf_printf(text, "the recorder could not keep up for %s: %s stacks were cut short",
		figure_time(q->behind_ns, a), figure_thousands(q->stops[STOP_BEHIND], n));
	if (known(q->by_pointers) && q->by_pointers)
		strbuf_printf(text, ", %s of them followed by frame pointers only",
			figure_thousands(q->by_pointers, p));
	strbuf_puts(text, "; a lower rate (-F) or a bigger buffer (-m) avoids it");
}

static bool in_kernel(const struct quality_view *view, const struct module_note *note)
{
	const struct profile *profile = view->profile;

	return profile && note->module < profile->module_count &&
	       (profile->modules[note->module].kind == MODULE_KERNEL ||
		       profile->modules[note->module].kind == MODULE_KMODULE);
}

/* A user module's share is one of all user frames, a kernel one's of its own frames. */
static double note_share(const struct quality_view *view, const struct module_note *note)
{
	return figure_share(note->unnamed,
		in_kernel(view, note) ? note->frames : view->quality->user_frames);
}

static void say_module(struct quality_lines *lines, const struct quality_view *view,
	const struct module_note *note)
{
	struct strbuf *text = add_line(lines, LEVEL_WARN, "names");
	char p[FIGURE_BYTES];

	if (!text)
		return;
	strbuf_printf(text, "%s %s ", figure_percent(note_share(view, note), p),
		in_kernel(view, note) ? "of the frames in" : "in");
	if (view->profile)
		printable_add(text, module_shown(view->profile, note->module), view->utf8);
	else
		strbuf_puts(text, "[unknown]");
	if (in_kernel(view, note))
		strbuf_puts(text, " have none");
	if (note->why && *note->why)
		strbuf_printf(text, ": %s", note->why);
}

/* The notes with the most unnamed frames, of the kernel's or of the user's modules. */
static void say_modules(struct quality_lines *lines, const struct quality_view *view,
	bool kernel, uint32_t most)
{
	uint32_t top[MODULES_MAX], tops = 0;

	for (uint32_t i = 0; i < view->note_count; i++) {
		const struct module_note *note = &view->notes[i];
		uint32_t at = tops;

		if (in_kernel(view, note) != kernel || note->unnamed == 0 ||
			note_share(view, note) < MODULE_LEAST)
			continue;
		if (tops < most)
			tops++;
		for (; at > 0 && note->unnamed > view->notes[top[at - 1]].unnamed; at--)
			if (at < most)
				top[at] = top[at - 1];
		if (at < most)
			top[at] = i;
	}
	for (uint32_t i = 0; i < tops; i++)
		say_module(lines, view, &view->notes[top[i]]);
}

static void say_names(struct quality_lines *lines, const struct quality_view *view)
{
	const struct quality *q = view->quality;
	char p[FIGURE_BYTES];
	double named;

	if (q->samples > 0 && q->user_frames > 0) {
		named = 1 - figure_share(q->unnamed_frames, q->user_frames);
		say(lines,
			named < NAMES_BAD    ? LEVEL_BAD
			: named < NAMES_GOOD ? LEVEL_WARN
					     : LEVEL_GOOD,
			"names", "%s of the user frames have a function name%s",
			figure_percent(named, p),
			named < NAMES_GOOD && view->note_count == 0
				? "; debug symbols of what shows as [unknown] bring more"
				: "");
		if (named < NAMES_GOOD)
			say_modules(lines, view, false, MODULES_MAX);
	}
	say_modules(lines, view, true, 1);
}

/* The modules in which most stacks ended early, where that is worth a line. */
static void say_stopped(struct quality_lines *lines, const struct quality_view *view)
{
	uint64_t below = UINT64_MAX;

	for (unsigned told = 0; told < 2; told++) {
		const struct module_note *most = NULL;
		char p[FIGURE_BYTES];
		struct strbuf *text;
		double share;

		for (uint32_t i = 0; i < view->note_count; i++)
			if (view->notes[i].stopped < below && view->notes[i].stopped_why &&
				(!most || view->notes[i].stopped > most->stopped))
				most = &view->notes[i];
		share = most ? figure_share(most->stopped, view->quality->samples) : 0;
		text = !most || share < STOPPED_LEAST ? NULL
						      : add_line(lines, LEVEL_WARN, "stacks");
		if (!text)
			return;
		strbuf_printf(text, "%s end in ", figure_percent(share, p));
		printable_add(text,
			view->profile ? module_shown(view->profile, most->module) : "[unknown]",
			view->utf8);
		strbuf_printf(text, ", mostly %s", most->stopped_why);
		below = most->stopped;
	}
}

static void say_file(struct quality_lines *lines, const struct quality_view *view)
{
	const struct quality *q = view->quality;
	char n[FIGURE_BYTES];

	if (known(q->truncated_at))
		say(lines, LEVEL_BAD, "file",
			"ends too early, at byte %s (was the recorder killed, or the disk "
			"full?): what came "
			"after is missing",
			figure_thousands(q->truncated_at, n));
	if (q->unfinished)
		say(lines, LEVEL_WARN, "file",
			"the recorder did not come to its end (killed?): this is what it had "
			"at "
			"its last checkpoint, at most a second earlier");
	if (q->bad_records > 0)
		say(lines, LEVEL_WARN, "file", "%s damaged records were skipped",
			figure_thousands(q->bad_records, n));
	if (q->unknown_records > 0)
		say(lines, LEVEL_INFO, "file",
			"%s records of a kind that wick does not know were skipped",
			figure_thousands(q->unknown_records, n));
	if (q->out_of_order > 0)
		say(lines, LEVEL_WARN, "file",
			"%s records came too late to be put in order: some frames may have the "
			"wrong module",
			figure_thousands(q->out_of_order, n));
	if (view->profile && view->profile->refused > 0)
		say(lines, LEVEL_WARN, "limits",
			"%s additions met a limit of wick's tables: "
			"the profile is not whole",
			figure_thousands(view->profile->refused, n));
}

static void say_notes(struct quality_lines *lines, const struct quality_view *view)
{
	const struct quality *q = view->quality;
	const char *at = q->notes, *end = q->notes + strnlen(q->notes, sizeof(q->notes));

	if (q->exit_status > 128)
		say(lines, LEVEL_WARN, "command", "was ended by signal %d",
			q->exit_status - 128);
	else if (q->exit_status > 0)
		say(lines, LEVEL_WARN, "command", "ended with status %d", q->exit_status);
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((newline ? newline : end) - at);

		if (len > 0) {
			struct strbuf *text = add_line(lines, LEVEL_INFO, "note");

			if (text)
				strbuf_add(text, at, len);
		}
		at += len + 1;
	}
}

/* Texts of the file (event names, notes) are made safe for the terminal here, once for all. */
static void make_safe(struct quality_line *line, bool utf8)
{
	struct strbuf safe = {0};

	printable_add(&safe, strbuf_text(&line->text), utf8);
	safe.failed |= line->text.failed;
	strbuf_done(&line->text);
	line->text = safe;
}

int quality_lines_make(struct quality_lines *lines, const struct quality_view *view)
{
	const struct quality *q = view->quality;

	*lines = (struct quality_lines){0};
	say_samples(lines, q);
	say_event(lines, view);
	say_cpu_time(lines, q);
	say_coverage(lines, q);
	say_hidden(lines, q);
	say_lost(lines, q);
	say_behind(lines, q);
	say_stacks(lines, q);
	say_stopped(lines, view);
	say_names(lines, view);
	say_file(lines, view);
	say_notes(lines, view);
	for (uint32_t i = 0; i < lines->count; i++) {
		make_safe(&lines->lines[i], view->utf8);
		lines->failed |= lines->lines[i].text.failed;
	}
	if (!lines->failed)
		return 0;
	quality_lines_done(lines);
	return -ENOMEM;
}

void quality_lines_done(struct quality_lines *lines)
{
	for (uint32_t i = 0; i < lines->count; i++)
		strbuf_done(&lines->lines[i].text);
	free(lines->lines);
	*lines = (struct quality_lines){0};
}
