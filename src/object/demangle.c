/*
 * How: libiberty's callback interface hands the text over piece by piece. When the limit is
 * passed the callback leaves by longjmp, because libiberty has no other way to be stopped: a
 * name of a hundred bytes can stand for gigabytes (each substitution doubles the one before).
 * At that point libiberty holds its working memory on the stack, so nothing is lost but, in a
 * Rust name with punycode, one small buffer.
 *
 * libiberty refuses names of more than 1,024 bytes as long as its recursion limit is on. Longer
 * ones, which are rare, are demangled without it by a thread that lives for that one name and
 * has a stack (BIG_STACK) that the deepest nesting of DEMANGLE_IN_MAX bytes fits in: about
 * eight calls of 100 to 200 bytes for each byte of the name, and 64 bytes of working memory.
 */
#include "object/demangle.h"

#include "config.h"

#include <string.h>

#if HAVE_LIBIBERTY

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

/* What libiberty takes with its limit on, and the stack for what it does not. */
enum { SHORT_MAX = 1000, BIG_STACK = 64 << 20 };

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

static bool demangle_here(const char *name, struct strbuf *out, int more_options)
{
	struct sink sink = {.out = out, .start = out->len};
	int options = DMGL_PARAMS | DMGL_ANSI | more_options;

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

struct long_name {
	const char *name;
	struct strbuf *out;
	bool ok;
};

static void *long_name_run(void *arg)
{
	struct long_name *job = arg;

	job->ok = demangle_here(job->name, job->out, DMGL_NO_RECURSE_LIMIT);
	return NULL;
}

static bool demangle_long(const char *name, struct strbuf *out)
{
	struct long_name job = {name, out, false};
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int r = -1;

	if (pthread_attr_init(&attr) != 0)
		return false;
	sigfillset(&all); /* signals are the caller's */
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (!pthread_attr_setstacksize(&attr, BIG_STACK))
		r = pthread_create(&thread, &attr, long_name_run, &job);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return !r && !pthread_join(thread, NULL) && job.ok;
}

static bool demangle_into(const char *name, struct strbuf *out)
{
	return strnlen(name, SHORT_MAX + 1) <= SHORT_MAX ? demangle_here(name, out, 0)
							 : demangle_long(name, out);
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
