/* The interactive page: one recording, or two that are compared, with the words about them. */
#pragma once

#include "base/error.h"
#include "session/load.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct page_recording {
	const struct loaded *loaded;
	const char *file;    /* its name, as it is shown */
	const char *sysroot; /* put before the paths of sources; NULL: none */
	bool no_source;	     /* source lines stay out of the page */
};

/* One or two. 0, or a negative errno with the sentence. */
int page_write(
	const struct page_recording *recordings, uint32_t count, FILE *out, struct error *err);
