/* How: dlopen() of the names that distributions give it, and dlsym() of each function. */
#include "symbolize/curl_library.h"

#include "base/cleanup.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* A function's address, as POSIX has it: through the bytes of the pointer. */
static bool find(void *handle, const char *name, void *ret_function)
{
	void *address = dlsym(handle, name);

	memcpy(ret_function, &address, sizeof(address));
	return address != NULL;
}

int curl_library_open(struct curl_library *ret_curl, struct error *err)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	struct curl_library c = {.handle = NULL};

	for (size_t i = 0; i < ARRAY_LEN(names) && !c.handle; i++)
		c.handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!c.handle)
		return error_set(err, -ELIBACC,
			"nothing was fetched: libcurl is not installed (Debian's package is "
			"libcurl4)");
	if (!find(c.handle, "curl_global_init", &c.global_init) ||
		!find(c.handle, "curl_easy_init", &c.easy_init) ||
		!find(c.handle, "curl_easy_reset", &c.easy_reset) ||
		!find(c.handle, "curl_easy_cleanup", &c.easy_cleanup) ||
		!find(c.handle, "curl_easy_setopt", &c.easy_setopt) ||
		!find(c.handle, "curl_easy_getinfo", &c.easy_getinfo) ||
		!find(c.handle, "curl_easy_strerror", &c.easy_strerror) ||
		!find(c.handle, "curl_multi_init", &c.multi_init) ||
		!find(c.handle, "curl_multi_cleanup", &c.multi_cleanup) ||
		!find(c.handle, "curl_multi_add_handle", &c.multi_add_handle) ||
		!find(c.handle, "curl_multi_remove_handle", &c.multi_remove_handle) ||
		!find(c.handle, "curl_multi_perform", &c.multi_perform) ||
		!find(c.handle, "curl_multi_poll", &c.multi_poll) ||
		!find(c.handle, "curl_multi_info_read", &c.multi_info_read) ||
		c.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return error_set(err, -ELIBACC,
			"nothing was fetched: the libcurl that is installed is too old (7.66 "
			"is the first that will do)");
	*ret_curl = c;
	return 0;
}
