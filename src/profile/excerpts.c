/* A small table: few hundred functions, searched from front to back. */
#include "profile/excerpts.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void excerpts_done(struct excerpts *excerpts)
{
	free(excerpts->at);
	free(excerpts->bytes);
	free(excerpts->rows);
	*excerpts = (struct excerpts){0};
}

int excerpts_add(struct excerpts *excerpts, const struct excerpt *excerpt, const void *bytes)
{
	struct excerpt *added;
	int rc = array_reserve(&excerpts->at, &excerpts->cap, (uint64_t)excerpts->count + 1,
		sizeof(*excerpts->at), EXCERPTS_MAX);

	if (rc == 0)
		rc = array_reserve(&excerpts->bytes, &excerpts->byte_cap,
			(uint64_t)excerpts->byte_count + excerpt->size, 1, EXCERPT_BYTES_MAX);
	if (rc < 0)
		return rc;
	added = &excerpts->at[excerpts->count++];
	*added = *excerpt;
	added->first_byte = excerpts->byte_count;
	added->first_row = excerpts->row_count;
	added->row_count = 0;
	if (added->size)
		memcpy(excerpts->bytes + excerpts->byte_count, bytes, added->size);
	excerpts->byte_count += added->size;
	return 0;
}

int excerpts_add_row(struct excerpts *excerpts, const struct code_row *row)
{
	int rc;

	if (!excerpts->count)
		return -EINVAL;
	rc = array_reserve(&excerpts->rows, &excerpts->row_cap,
		(uint64_t)excerpts->row_count + 1, sizeof(*excerpts->rows), EXCERPT_ROWS_MAX);
	if (rc < 0)
		return rc;
	excerpts->rows[excerpts->row_count++] = *row;
	excerpts->at[excerpts->count - 1].row_count++;
	return 0;
}

const struct excerpt *excerpts_find(
	const struct excerpts *excerpts, uint32_t module, uint64_t addr)
{
	for (uint32_t i = 0; i < excerpts->count; i++)
		if (excerpts->at[i].addr == addr && excerpts->at[i].module == module)
			return &excerpts->at[i];
	return NULL;
}

const struct code_row *excerpt_row(
	const struct excerpts *excerpts, const struct excerpt *excerpt, uint64_t offset)
{
	const struct code_row *rows = excerpts->rows + excerpt->first_row;
	uint32_t low = 0, high = excerpt->row_count;

	while (low < high) { /* the first one behind the offset */
		uint32_t middle = low + (high - low) / 2;

		if (rows[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low && rows[low - 1].line ? &rows[low - 1] : NULL;
}
