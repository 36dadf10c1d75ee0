/*
 * Growing plain arrays: a pointer, a count and a capacity that the caller owns. Every array has
 * a limit; at the limit -ENOSPC comes back and the caller counts and says it.
 */
#pragma once

#include <stdint.h>
#include <stddef.h>

/*
 * Makes room for `need` items of `item_bytes` each in *array (a pointer to the pointer; free()
 * it). 0; -ENOSPC past `limit` items; -ENOMEM. On failure the array is as it was.
 */
int array_reserve(void *array, uint32_t *cap, uint64_t need, size_t item_bytes, uint64_t limit);
