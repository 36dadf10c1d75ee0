/* How: the FDEs of .eh_frame, without their rules; the file is closed again at once. */
#include "symbolize/function_ranges.h"

#include "base/cleanup.h"
#include "symbolize/module_file.h"

#include <errno.h>
#include <stdlib.h>

enum { EH_FRAME_MAX = 256 << 20 };

void function_ranges_done(struct function_ranges *ranges)
{
	free(ranges->at);
	*ranges = (struct function_ranges){.at = NULL};
}

int function_ranges_load(struct function_ranges *ranges,
	const struct symbolizer_options *options, const struct profile *profile,
	uint32_t module)
{
	cleanup_with(module_file_close) struct module_file file = {.fd = -1, .elf.fd = -1};
	struct cfi *cfi;
	int n;

	if (ranges->tried)
		return 0;
	ranges->tried = true;
	if (module_file_open(options, profile, module, &file) != MODULE_NAMED)
		return 0;
	n = cfi_open(&file.elf, EH_FRAME_MAX, &cfi);
	if (n < 0)
		return n == -ENOMEM ? n : 0;
	n = cfi_ranges(cfi, &ranges->at);
	cfi_free(cfi);
	ranges->count = n > 0 ? (uint32_t)n : 0;
	return n < 0 ? n : 0;
}

const struct cfi_range *function_ranges_find(
	const struct function_ranges *ranges, uint64_t vaddr)
{
	uint32_t lo = 0, hi = ranges->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (ranges->at[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && vaddr < ranges->at[lo - 1].end ? &ranges->at[lo - 1] : NULL;
}
