#include "view/srcline.h"

#include <string.h>

void srcline_add(struct strbuf *out, const char *file, uint32_t line, uint32_t column)
{
	if (!*file || !line)
		return;
	strbuf_printf(out, "%s:%u", file, line);
	if (column)
		strbuf_printf(out, ":%u", column);
}

const char *srcline_short(const char *srcline)
{
	const char *slash = strrchr(srcline, '/');

	return slash && slash[1] ? slash + 1 : srcline;
}
