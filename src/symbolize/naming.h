/*
 * Functions for a profile, from linkage names: each linkage name is demangled once, however
 * many functions and frames have it.
 */
#pragma once

#include "base/strbuf.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct naming {
	bool no_demangle;
	uint32_t
		*readable; /* string id + 1 by the linkage name's string id; 0: not known yet */
	uint32_t count, cap;
	struct strbuf text;
};

/*
 * What a function is added with. `name` is how it reads where that does not follow from the
 * linkage name (NULL otherwise); one of the two is given.
 */
struct naming_key {
	const char *linkage_name, *name;
	uint64_t addr, size;
};

/* 0, or -ENOMEM or -ENOSPC. */
int naming_function(struct naming *naming, struct profile *profile, uint32_t module,
	const struct naming_key *key, uint32_t *ret_function);
void naming_done(struct naming *naming);
