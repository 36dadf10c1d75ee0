#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int array_reserve(void *array, uint32_t *cap, uint64_t need, size_t item_bytes, uint64_t limit)
{
	uint64_t want = *cap ? *cap : 16;
	void *old, *grown;

	if (need <= *cap)
		return 0;
	if (need > limit || need > UINT32_MAX)
		return -ENOSPC;
	while (want < need)
		want += want / 2 + 8;
	if (want > limit)
		want = limit;
	if (want > UINT32_MAX)
		want = UINT32_MAX;
	memcpy(&old, array, sizeof(old));
	grown = reallocarray(old, want, item_bytes);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*cap = (uint32_t)want;
	return 0;
}
