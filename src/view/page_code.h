/* The hot functions of a recording as the page shows them. */
#pragma once

#include "base/arena.h"
#include "formats/viewer_data.h"
#include "session/load.h"
#include "view/source_file.h"

#include <stdbool.h>

/* What a page holds at most: its code is a few hundred kilobytes of it, packed. */
enum { PAGE_FUNCTIONS = 100, PAGE_INSTRUCTIONS = 60000 };

/* A zeroed struct is empty. All texts live in the arena. */
struct page_code {
	struct viewer_code *at;
	uint32_t count;
	struct arena arena;
};

void page_code_done(struct page_code *code);

/* Sources are read below `sysroot` (NULL: where they are), unless `no_source`. 0 or -ENOMEM. */
int page_code_make(struct page_code *ret_code, const struct loaded *loaded, const char *sysroot,
	bool no_source);
