/*
 * libcurl, loaded at run time: only who fetches files needs it, and with all that it brings
 * along it would take longer to load than wick itself. Its interface has been the same since
 * libcurl.so.4; what is used here is of 7.66 (2019) and older.
 */
#pragma once

#include "base/error.h"

#include <curl/curl.h>

struct curl_library {
	void *handle;
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *easy_init;
	__typeof__(curl_easy_reset) *easy_reset;
	__typeof__(curl_easy_cleanup) *easy_cleanup;
	__typeof__(curl_easy_setopt) *easy_setopt;
	__typeof__(curl_easy_getinfo) *easy_getinfo;
	__typeof__(curl_easy_strerror) *easy_strerror;
	__typeof__(curl_multi_init) *multi_init;
	__typeof__(curl_multi_cleanup) *multi_cleanup;
	__typeof__(curl_multi_add_handle) *multi_add_handle;
	__typeof__(curl_multi_remove_handle) *multi_remove_handle;
	__typeof__(curl_multi_perform) *multi_perform;
	__typeof__(curl_multi_poll) *multi_poll;
	__typeof__(curl_multi_info_read) *multi_info_read;
};

/* 0, or -ELIBACC and a sentence. What was loaded stays in the process. */
int curl_library_open(struct curl_library *ret_curl, struct error *err);
