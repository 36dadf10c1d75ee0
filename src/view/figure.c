/* Three significant digits are enough to compare two numbers, and few enough to read a column.
 */
#include "view/figure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *figure_thousands(uint64_t n, char buf[FIGURE_BYTES])
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	char *p = buf;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return buf;
}

/* Three digits of `value` (below 1,000 once it is rounded) and its unit. */
static const char *three_digits(double value, const char *unit, char buf[FIGURE_BYTES])
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(buf, FIGURE_BYTES, "%.*f %s", decimals, value, unit);
	return buf;
}

const char *figure_time(uint64_t ns, char buf[FIGURE_BYTES])
{
	uint64_t seconds = ns / 1000000000;

	if (ns == 0)
		return strcpy(buf, "0");
	if (ns < 1000)
		snprintf(buf, FIGURE_BYTES, "%" PRIu64 " ns", ns);
	else if (ns < 999500)
		return three_digits((double)ns / 1e3, "us", buf);
	else if (ns < 999500000)
		return three_digits((double)ns / 1e6, "ms", buf);
	else if (seconds < 100)
		return three_digits((double)ns / 1e9, "s", buf);
	else if (seconds < 3600)
		snprintf(buf, FIGURE_BYTES, "%" PRIu64 " min %" PRIu64 " s", seconds / 60,
			seconds % 60);
	else
		snprintf(buf, FIGURE_BYTES, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600,
			seconds / 60 % 60);
	return buf;
}

const char *figure_count(uint64_t n, char buf[FIGURE_BYTES])
{
	static const char *const units[] = {"k", "M", "G", "T", "P", "E"};
	double value = (double)n;
	int unit = -1;

	if (n < 1000) {
		snprintf(buf, FIGURE_BYTES, "%" PRIu64, n);
		return buf;
	}
	while (value >= 999.5 && unit < 5) {
		value /= 1000;
		unit++;
	}
	return three_digits(value, units[unit < 0 ? 0 : unit], buf);
}

const char *figure_percent(double share, char buf[FIGURE_BYTES])
{
	double percent = share * 100;

	if (!(percent > 0))
		return strcpy(buf, "0 %");
	if (percent < 0.05)
		return strcpy(buf, "<0.1 %");
	if (percent >= 99.95 && percent < 100.05)
		return strcpy(buf, "100 %");
	snprintf(buf, FIGURE_BYTES, percent < 999.95 ? "%.1f %%" : "%.0f %%",
		percent < 1e9 ? percent : 1e9);
	return buf;
}

const char *figure_weight(uint64_t weight, bool is_ns, char buf[FIGURE_BYTES])
{
	return is_ns ? figure_time(weight, buf) : figure_count(weight, buf);
}

double figure_share(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}
