/* Long function names fitted into few columns so that what tells them apart stays. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Appends `name` (safe text, see printable.h) in at most `columns` columns:
 *
 *     std::vector<int, std::allocator<int> >::push_back(int const&)
 *     std::vector<...>::push_back(int const&)      templates first
 *     std::vector<...>::push_back(...)             then arguments
 *     std::vector<...>::push_back
 *     std::vec..::push_back                        then the middle; the end says more than the
 * start
 */
void shorten_add(struct strbuf *out, const char *name, size_t columns, bool utf8);

/* The same, cut in the middle only: for file and thread names. */
void shorten_middle(struct strbuf *out, const char *text, size_t columns, bool utf8);
