/* Built without libdw: no file has debug information. */
#include "object/debug_info.h"

#include <errno.h>

int debug_info_open(const struct debug_files *files, struct debug_info **ret_info)
{
	(void)files;
	(void)ret_info;
	return -EOPNOTSUPP;
}

void debug_info_close(struct debug_info *info)
{
	(void)info;
}

int debug_info_find(
	struct debug_info *info, uint64_t vaddr, const struct debug_step **ret_steps)
{
	(void)info;
	(void)vaddr;
	(void)ret_steps;
	return 0;
}

bool debug_info_is_walked(const struct debug_info *info, uint64_t vaddr)
{
	(void)info;
	(void)vaddr;
	return true;
}

uint64_t debug_info_bytes(const struct debug_info *info)
{
	(void)info;
	return 0;
}

int debug_info_lines(struct debug_info *info, uint64_t start, uint64_t end,
	int (*row)(void *ctx, const struct debug_line *line), void *ctx)
{
	(void)info, (void)start, (void)end, (void)row, (void)ctx;
	return 0;
}
