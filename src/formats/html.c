/*
 * A page that stands alone: how good the profile is, line by line, and below it the flame graph
 * of svg.c, put in as it is.
 */
#include "formats/export.h"

#include "base/cleanup.h"
#include "formats/escape.h"
#include "formats/plain_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char page_head[] =
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" "
	"content=\"light dark\">\n<title>wick: flame graph</title>\n<style>\n"
	"body{margin:16px;font:14px system-ui,sans-serif;background:#fff;color:#222}\n"
	"h1{font-size:18px;margin:0 0 8px}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:0 0 16px}\n"
	"dt{color:#666}\ndd{margin:0}\ndd.bad{font-weight:bold}\ndd.bad::before{content:'"
	"\\26a0 '}\n"
	"@media "
	"(prefers-color-scheme:dark){body{background:#16181c;color:#e8e8e8}dt{color:#a0a0a0}}"
	"\n</style>\n</head>\n<body>\n<h1>wick: where the time went</h1>\n<dl>\n";

struct page {
	const struct quality *quality;
	struct strbuf out, value;
};

static void page_done(struct page *page)
{
	strbuf_done(&page->out);
	strbuf_done(&page->value);
}

/* One line of the list; its text stands in page->value, which becomes empty again. */
static void put_row(struct page *page, const char *label, bool bad)
{
	strbuf_printf(&page->out, "<dt>%s</dt><dd%s>", label, bad ? " class=\"bad\"" : "");
	escape_xml(&page->out, strbuf_text(&page->value), 1000);
	strbuf_puts(&page->out, "</dd>\n");
	strbuf_reset(&page->value);
}

static void put_source(struct page *page, const struct profile *profile)
{
	const struct quality *q = page->quality;

	strbuf_puts(&page->value, text_event(profile));
	if (q->source != SOURCE_UNKNOWN)
		strbuf_printf(&page->value, ", %s", quality_source_name(q->source));
	if (q->why_event[0])
		strbuf_printf(&page->value, " (%s)", q->why_event);
	put_row(page, "event", false);
	text_count(&page->value, profile->sample_count);
	if (q->wall_ns != QUALITY_UNKNOWN) {
		strbuf_puts(&page->value, " in ");
		text_time(&page->value, q->wall_ns);
	}
	put_row(page, "samples", !profile->sample_count);
}

static void put_time(struct page *page)
{
	const struct quality *q = page->quality;
	double cpus, hidden;

	if (quality_on_cpu(q, &cpus)) {
		strbuf_printf(&page->value, "%.1f %% of the wall time", cpus * 100);
		if (q->cpu_ns != QUALITY_UNKNOWN) {
			strbuf_puts(&page->value, ", ");
			text_time(&page->value, q->cpu_ns);
		}
		put_row(page, "on CPU", false);
	}
	if (quality_hidden(q, &hidden)) {
		strbuf_printf(&page->value,
			"%.1f %% of the CPU time was in the kernel, which this "
			"mode cannot see",
			hidden * 100);
		put_row(page, "hidden", hidden > 0.2);
	}
}

static void put_coverage(struct page *page)
{
	const struct quality *q = page->quality;
	double share, by_clock;

	if (quality_coverage(q, &share)) {
		strbuf_printf(&page->value, "%.1f %% of what can be seen", share * 100);
		if (quality_coverage_clock(q, &by_clock))
			strbuf_printf(&page->value, "; %.1f %% by %s", by_clock * 100,
				q->cpu_clock_name[0] ? q->cpu_clock_name : "another clock");
		put_row(page, "coverage", share < 0.9);
		return;
	}
	strbuf_puts(&page->value, quality_too_short(q) ? "too short to tell" : "unknown");
	put_row(page, "coverage", false);
}

static void put_losses(struct page *page)
{
	const struct quality *q = page->quality;
	uint64_t lost;
	double share;

	if (quality_lost(q, &lost, &share)) {
		text_count(&page->value, lost);
		strbuf_printf(&page->value, " (%.2f %%)", share * 100);
		put_row(page, "lost", share > 0.01);
	}
	if (q->throttled) {
		text_count(&page->value, q->throttled);
		strbuf_puts(&page->value, " times, the kernel slowed the sampling down");
		put_row(page, "throttled", true);
	}
	if (quality_complete(q, &share)) {
		strbuf_printf(&page->value, "%.1f %%", share * 100);
		put_row(page, "complete stacks", false);
	}
}

static void put_notes(struct page *page)
{
	const char *note = page->quality->notes;

	while (*note) {
		size_t len = strcspn(note, "\n");

		if (len) {
			strbuf_add(&page->value, note, len);
			put_row(page, "note", false);
		}
		note += len + (note[len] == '\n');
	}
}

int html_write(const struct profile *profile, FILE *out, struct error *err)
{
	cleanup_with(page_done) struct page page = {.quality = &profile->quality};
	int rc;

	put_source(&page, profile);
	put_time(&page);
	put_coverage(&page);
	put_losses(&page);
	put_notes(&page);
	if (page.out.failed || page.value.failed)
		return error_set(err, -ENOMEM, "writing the page: out of memory");
	fputs(page_head, out);
	fputs(strbuf_text(&page.out), out);
	fputs("</dl>\n", out);
	rc = svg_write(profile, out, err);
	if (rc < 0)
		return rc;
	fputs("</body>\n</html>\n", out);
	return export_finish(out, err);
}
