/*
 * Names as people read them: C++ (Itanium ABI) and Rust (legacy and v0), by libiberty.
 *
 * Names come from files, so they may be hostile: the length of a name, the depth of its nesting
 * and the length of what comes out are limited; beyond a limit the name stays as it is. Rust's
 * legacy hash
 * ("::h0123456789abcdef") is dropped. Built without libiberty every name stays as it is.
 */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>

enum {
	DEMANGLE_IN_MAX = 16 << 10,
	DEMANGLE_OUT_MAX = 64 << 10,
};

/* Appends the readable name, or `linkage_name` itself. True: it was demangled. */
bool demangle(const char *linkage_name, struct strbuf *ret_name);
