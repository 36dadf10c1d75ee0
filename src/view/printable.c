/*
 * What is unsafe and how it is written is decided in formats/escape.h; here are the terminal's
 * matters. The widths are ours and not wcwidth()'s because the library must not depend on which
 * locale the program has set; the ranges are Unicode's EastAsianWidth W and F, and the common
 * non-spacing marks.
 */
#include "view/printable.h"

#include "formats/escape.h"

struct range {
	uint32_t first, last;
};

static const struct range wide[] = {
	{0x1100, 0x115f},
	{0x231a, 0x231b},
	{0x2329, 0x232a},
	{0x23e9, 0x23ec},
	{0x25fd, 0x25fe},
	{0x2614, 0x2615},
	{0x2648, 0x2653},
	{0x26a1, 0x26a1},
	{0x2705, 0x2705},
	{0x270a, 0x270b},
	{0x2728, 0x2728},
	{0x274c, 0x274c},
	{0x2753, 0x2755},
	{0x2795, 0x2797},
	{0x2b1b, 0x2b1c},
	{0x2b50, 0x2b50},
	{0x2e80, 0x303e},
	{0x3041, 0x4dbf},
	{0x4e00, 0xa4cf},
	{0xa960, 0xa97f},
	{0xac00, 0xd7a3},
	{0xf900, 0xfaff},
	{0xfe10, 0xfe19},
	{0xfe30, 0xfe6f},
	{0xff00, 0xff60},
	{0xffe0, 0xffe6},
	{0x16fe0, 0x18aff},
	{0x1b000, 0x1b2ff},
	{0x1f004, 0x1f004},
	{0x1f0cf, 0x1f0cf},
	{0x1f18e, 0x1f18e},
	{0x1f191, 0x1f19a},
	{0x1f200, 0x1f320},
	{0x1f32d, 0x1f64f},
	{0x1f680, 0x1f6ff},
	{0x1f7e0, 0x1f7eb},
	{0x1f90c, 0x1f9ff},
	{0x1fa70, 0x1faff},
	{0x20000, 0x3fffd},
};

static const struct range combining[] = {
	{0x0300, 0x036f},
	{0x0483, 0x0489},
	{0x0591, 0x05bd},
	{0x0610, 0x061a},
	{0x064b, 0x065f},
	{0x0670, 0x0670},
	{0x06d6, 0x06dc},
	{0x093a, 0x093a},
	{0x093c, 0x093c},
	{0x0941, 0x0948},
	{0x0e31, 0x0e31},
	{0x0e34, 0x0e3a},
	{0x0e47, 0x0e4e},
	{0x1ab0, 0x1aff},
	{0x1dc0, 0x1dff},
	{0x20d0, 0x20ff},
	{0xfe00, 0xfe0f},
	{0xfe20, 0xfe2f},
	{0xe0100, 0xe01ef},
};

static bool in_ranges(const struct range *ranges, size_t n, uint32_t c)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c > ranges[mid].last)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && c >= ranges[low].first;
}

unsigned char_columns(uint32_t c)
{
	if (c < 0x300 || c == UINT32_MAX)
		return 1;
	if (in_ranges(combining, sizeof(combining) / sizeof(combining[0]), c))
		return 0;
	return in_ranges(wide, sizeof(wide) / sizeof(wide[0]), c) ? 2 : 1;
}

void printable_add(struct strbuf *out, const char *text, bool utf8)
{
	struct strbuf safe = {0};

	escape_line(&safe, text, '\0', '\0');
	out->failed |= safe.failed;
	if (utf8) {
		strbuf_add(out, strbuf_text(&safe), safe.len);
		strbuf_done(&safe);
		return;
	}
	for (const char *p = strbuf_text(&safe); *p;) {
		uint32_t c;
		size_t n = utf8_next(p, &c);

		if (c < 0x80)
			strbuf_putc(out, (char)c);
		else
			strbuf_printf(out, "\\u%04x", c);
		p += n;
	}
	strbuf_done(&safe);
}

size_t printable_columns(const char *text)
{
	size_t columns = 0;
	uint32_t c;

	while (*text) {
		text += utf8_next(text, &c);
		columns += char_columns(c);
	}
	return columns;
}
