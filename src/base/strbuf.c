#include "base/strbuf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void strbuf_done(struct strbuf *buf)
{
	free(buf->text);
	*buf = (struct strbuf){0};
}

void strbuf_reset(struct strbuf *buf)
{
	buf->len = 0;
	if (buf->text)
		buf->text[0] = '\0';
}

bool strbuf_reserve(struct strbuf *buf, size_t more)
{
	size_t need = buf->len + more + 1, cap = buf->cap ? buf->cap : 64;
	char *grown;

	if (buf->failed || more > SIZE_MAX / 4) {
		buf->failed = true;
		return false;
	}
	if (need <= buf->cap)
		return true;
	while (cap < need)
		cap *= 2;
	grown = realloc(buf->text, cap);
	if (!grown) {
		buf->failed = true;
		return false;
	}
	buf->text = grown;
	buf->cap = cap;
	return true;
}

void strbuf_add(struct strbuf *buf, const void *bytes, size_t len)
{
	if (!len || !strbuf_reserve(buf, len))
		return;
	memcpy(buf->text + buf->len, bytes, len);
	buf->len += len;
	buf->text[buf->len] = '\0';
}

void strbuf_puts(struct strbuf *buf, const char *text)
{
	strbuf_add(buf, text, strlen(text));
}

void strbuf_putc(struct strbuf *buf, char c)
{
	strbuf_add(buf, &c, 1);
}

void strbuf_printf(struct strbuf *buf, const char *fmt, ...)
{
	va_list ap;
	int len;

	if (!strbuf_reserve(buf, 128))
		return;
	va_start(ap, fmt);
	len = vsnprintf(buf->text + buf->len, buf->cap - buf->len, fmt, ap);
	va_end(ap);
	if (len < 0)
		len = 0;
	if ((size_t)len >= buf->cap - buf->len) {
		buf->text[buf->len] = '\0';
		if (!strbuf_reserve(buf, (size_t)len))
			return;
		va_start(ap, fmt);
		vsnprintf(buf->text + buf->len, buf->cap - buf->len, fmt, ap);
		va_end(ap);
	}
	buf->len += (size_t)len;
}

const char *strbuf_text(const struct strbuf *buf)
{
	return buf->text ? buf->text : "";
}
