/* The CPUs by number, and their code as bytes of a file. */
#include "unwind/arch/arch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

const struct arch *arch_of(enum unwind_arch arch)
{
	switch (arch) {
	case UNWIND_X86_64:
		return &arch_x86_64;
	case UNWIND_AARCH64:
		return &arch_aarch64;
	}
	return NULL;
}

bool code_is_start(const struct code_view *view, uint64_t at)
{
	uint32_t lo = 0, hi = view->start_count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (view->starts[mid] < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < view->start_count && view->starts[lo] == at;
}

size_t code_read(const struct elf *elf, uint64_t vaddr, void *ret_bytes, size_t len)
{
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *s = &elf->segments[i];
		uint64_t inside = vaddr - s->vaddr, left;
		ssize_t got;

		if (!s->exec || vaddr < s->vaddr || inside >= s->file_bytes ||
			s->foff > elf->file_bytes || inside >= elf->file_bytes - s->foff)
			continue;
		left = s->file_bytes - inside;
		if (left > elf->file_bytes - s->foff - inside)
			left = elf->file_bytes - s->foff - inside;
		if (len > left)
			len = (size_t)left;
		if (elf->image) {
			memcpy(ret_bytes, elf->image + s->foff + inside, len);
			return len;
		}
		do
			got = pread(elf->fd, ret_bytes, len, (off_t)(s->foff + inside));
		while (got < 0 && errno == EINTR);
		return got < 0 ? 0 : (size_t)got;
	}
	return 0;
}
