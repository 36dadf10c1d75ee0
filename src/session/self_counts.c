#include "session/self_counts.h"

#include "base/array.h"

#include <stdlib.h>

enum { FRAMES_MOST = 1 << 28 };

void self_counts_done(struct self_counts *self)
{
	free(self->of);
	*self = (struct self_counts){0};
}

int self_counts_add(struct self_counts *self, uint32_t frame)
{
	int rc = array_reserve(
		&self->of, &self->cap, (uint64_t)frame + 1, sizeof(*self->of), FRAMES_MOST);

	if (rc < 0)
		return rc;
	while (self->count <= frame)
		self->of[self->count++] = 0;
	self->of[frame]++;
	self->all++;
	return 0;
}

int self_counts_of(struct self_counts *ret_self, const struct profile *profile)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < profile->sample_count; i++) {
		uint32_t stack = profile->samples[i].stack;

		if (stack < profile->stack_count)
			rc = self_counts_add(ret_self, profile->stacks[stack].frame);
	}
	return rc;
}
