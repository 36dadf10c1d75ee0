/*
 * How: libiberty's callback interface hands the text over piece by piece. When the limit is
 * passed the callback leaves by longjmp, because libiberty has no other way to be stopped: a
 * name of a hundred bytes can stand for gigabytes (each substitution doubles the one before).
 * At that point libiberty holds its working memory on the stack, so nothing is lost but, in a
 * Rust name with punycode, one small buffer.
 *
 * libiberty refuses names of more than 1,024 bytes as long as its recursion limit is on, and it
 * stays on.
 */
#include "object/demangle.h"

#include "config.h"

#include <string.h>

#if HAVE_LIBIBERTY

#include <libiberty/demangle.h>
#include <setjmp.h>

struct sink {
	struct strbuf *out;
	size_t start;
	jmp_buf too_long;
};

static void sink_add(const char *text, size_t len, void *ctx)
{
	struct sink *sink = ctx;

	if (!len)
		return;
	if (len > DEMANGLE_OUT_MAX - (sink->out->len - sink->start))
		longjmp(sink->too_long, 1);
	strbuf_add(sink->out, text, len);
}

static bool demangle_into(const char *name, struct strbuf *out)
{
	struct sink sink = {.out = out, .start = out->len};
	int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(sink.too_long))
		return false;
	/* Rust first: a legacy Rust name is a C++ name too. */
	if (rust_demangle_callback(name, options, sink_add, &sink))
		return true;
	if (out->len != sink.start) {
		out->len = sink.start; /* what a failed attempt left */
		out->text[out->len] = '\0';
	}
	return name[1] != 'R' && cplus_demangle_v3_callback(name, options, sink_add, &sink);
}

#else

static bool demangle_into(const char *name, struct strbuf *out)
{
	(void)name, (void)out;
	return false;
}

#endif

bool demangle(const char *linkage_name, struct strbuf *ret_name)
{
	size_t start = ret_name->len;

	if (linkage_name[0] == '_' && (linkage_name[1] == 'Z' || linkage_name[1] == 'R') &&
		strnlen(linkage_name, DEMANGLE_IN_MAX + 1) <= DEMANGLE_IN_MAX) {
		if (demangle_into(linkage_name, ret_name) && ret_name->len > start)
			return true;
		if (ret_name->len != start) {
			ret_name->len = start;
			ret_name->text[start] = '\0';
		}
	}
	strbuf_puts(ret_name, linkage_name);
	return false;
}
