/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#include "formats/escape.h"

#include <string.h>

size_t utf8_next(const char *text, uint32_t *ret_code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)text;
	size_t len = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	uint32_t code = len == 1 ? p[0] : p[0] & (0x7fu >> len);

	*ret_code = UINT32_MAX;
	if (p[0] >= 0xf8 || (p[0] >= 0x80 && p[0] < 0xc0))
		return 1;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 1;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 1;
	*ret_code = code;
	return len;
}

bool code_is_plain(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code > 0x10ffff)
		return false;
	/* soft hyphen, direction marks, zero-width and line separators, fillers, BOM, no
	 * characters */
	return code != 0xad && code != 0x61c && !(code >= 0x200b && code <= 0x200f) &&
	       !(code >= 0x2028 && code <= 0x202e) && !(code >= 0x2060 && code <= 0x206f) &&
	       code != 0xfeff && !(code >= 0xfff0 && code <= 0xfffb) &&
	       (code & 0xfffe) != 0xfffe && !(code >= 0xe0000 && code <= 0xe0fff);
}

/* What stands for a character that is not shown as it is. */
static void put_escaped(struct strbuf *out, unsigned char byte, uint32_t code)
{
	if (code == UINT32_MAX || code < 0x80)
		strbuf_printf(out, "\\x%02x", byte);
	else
		strbuf_printf(out, "\\u%04x", code);
}

void escape_xml(struct strbuf *out, const char *text, size_t limit)
{
	for (size_t n = 0; *text; n++) {
		uint32_t code;
		size_t len = utf8_next(text, &code);

		if (n == limit) {
			strbuf_puts(out, "\xe2\x80\xa6");
			return;
		}
		if (code == '&')
			strbuf_puts(out, "&amp;");
		else if (code == '<')
			strbuf_puts(out, "&lt;");
		else if (code == '>')
			strbuf_puts(out, "&gt;");
		else if (code == '"')
			strbuf_puts(out, "&quot;");
		else if (code == '\'')
			strbuf_puts(out, "&#39;");
		else if (code_is_plain(code))
			strbuf_add(out, text, len);
		else
			put_escaped(out, (unsigned char)*text, code);
		text += len;
	}
}

void escape_line(struct strbuf *out, const char *text, char avoid, char instead)
{
	while (*text) {
		uint32_t code;
		size_t len = utf8_next(text, &code);

		if (avoid && code == (unsigned char)avoid)
			strbuf_putc(out, instead);
		else if (code_is_plain(code))
			strbuf_add(out, text, len);
		else
			put_escaped(out, (unsigned char)*text, code);
		text += len;
	}
}
