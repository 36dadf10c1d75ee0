/* Built without libcurl's header. */
#include "symbolize/download.h"

#include <errno.h>

int download_all(const char *servers, uint32_t limit_ms, const struct download_source *source,
	struct error *err)
{
	(void)servers, (void)limit_ms, (void)source;
	return error_set(err, -EOPNOTSUPP,
		"nothing was fetched: this wick was built without libcurl "
		"(libcurl4-openssl-dev)");
}
