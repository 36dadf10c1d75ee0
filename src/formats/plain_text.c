#include "formats/plain_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void text_count(struct strbuf *out, uint64_t count)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, count);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			strbuf_putc(out, ',');
		strbuf_putc(out, digits[i]);
	}
}

/* Three digits are enough to compare. */
static void put_scaled(struct strbuf *out, double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	strbuf_printf(out, "%.*f %s", decimals, value, unit);
}

void text_time(struct strbuf *out, uint64_t ns)
{
	if (ns >= 1000000000)
		put_scaled(out, (double)ns / 1e9, "s");
	else if (ns >= 1000000)
		put_scaled(out, (double)ns / 1e6, "ms");
	else
		put_scaled(out, (double)ns / 1e3, "us");
}

const char *text_event(const struct profile *profile)
{
	if (profile->event_count)
		return profile_text(profile, profile->events[0].name);
	return profile->quality.event[0] ? profile->quality.event : "samples";
}

void text_headline(
	const struct profile *profile, uint64_t samples, uint64_t weight, struct strbuf *out)
{
	double share;

	strbuf_puts(out, text_event(profile));
	strbuf_puts(out, ": ");
	text_count(out, samples);
	strbuf_puts(out, samples == 1 ? " sample" : " samples");
	if (profile->event_count && profile->events[0].weight_is_ns) {
		strbuf_puts(out, ", ");
		text_time(out, weight);
	}
	if (quality_coverage(&profile->quality, &share))
		strbuf_printf(out, ", coverage %.1f %%", share * 100);
	else if (quality_too_short(&profile->quality))
		strbuf_puts(out, ", too short to tell the coverage");
	else
		strbuf_puts(out, ", coverage unknown");
	if (quality_hidden(&profile->quality, &share))
		strbuf_printf(out, ", kernel time hidden (%.0f %%)", share * 100);
}
