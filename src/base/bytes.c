#include "base/bytes.h"

uint64_t bytes_uleb(struct bytes *b)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = bytes_u8(b);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		else if (byte & 0x7f)
			b->bad = true;
		if (b->bad || !(byte & 0x80))
			return b->bad ? 0 : value;
	}
}

int64_t bytes_sleb(struct bytes *b)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (;;) {
		uint8_t byte = bytes_u8(b);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (b->bad)
			return 0;
		if (byte & 0x80)
			continue;
		if (shift < 64 && (byte & 0x40))
			value |= ~(uint64_t)0 << shift;
		return (int64_t)value;
	}
}

const char *bytes_str(struct bytes *b)
{
	const uint8_t *nul = b->bad || b->at == b->end ? NULL : memchr(b->at, 0, bytes_left(b));

	if (!nul) {
		b->bad = true;
		return NULL;
	}
	return (const char *)bytes_take(b, (uint64_t)(nul - b->at) + 1);
}
