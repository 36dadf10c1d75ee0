/*
 * The mappings of one process: a sorted, disjoint array that forked processes share until one
 * of them changes it. Inside the room only.
 */
#pragma once

#include "target/target.h"

struct maps *maps_get(struct maps *maps); /* one more reference; NULL stays NULL */
void maps_put(struct maps *maps);	  /* one less; the last one frees. NULL is fine */

/*
 * Puts a mapping (start < end) over whatever was there. *maps may be NULL (none yet) and is
 * replaced by a copy when it is shared. 0, -ENOMEM or -ENOSPC; on failure nothing changed.
 */
int maps_insert(struct maps **maps, const struct mapping *mapping);

const struct mapping *maps_find(struct maps *maps, uint64_t addr);
