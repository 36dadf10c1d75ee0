/*
 * Growing text. A zeroed struct is an empty buffer. When memory is out the text stays as it was
 * and `failed` is set for good: write everything, ask once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct strbuf {
	char *text; /* NULL while empty; else NUL-terminated */
	size_t len, cap;
	bool failed;
};

void strbuf_done(struct strbuf *buf);
void strbuf_reset(struct strbuf *buf);		      /* empties, keeps the memory */
bool strbuf_reserve(struct strbuf *buf, size_t more); /* room for `more` bytes and a NUL */
void strbuf_add(struct strbuf *buf, const void *bytes, size_t len);
void strbuf_puts(struct strbuf *buf, const char *text);
void strbuf_putc(struct strbuf *buf, char c);
__attribute__((format(printf, 2, 3))) void strbuf_printf(
	struct strbuf *buf, const char *fmt, ...);

/* The text, never NULL. */
const char *strbuf_text(const struct strbuf *buf);
