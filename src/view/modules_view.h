/* The modules of a recording: how well their frames are named, and by what. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "session/resolve.h"
#include "view/json_out.h"
#include "view/report.h"

#include <stdint.h>
#include <stdio.h>

struct modules_view {
	const struct profile *profile;
	const struct module_naming *modules; /* most frames first */
	uint32_t count, limit;		     /* rows at most; 0: all */
	bool utf8;
};

/* 0 or -ENOMEM: then cells are missing. */
int modules_view_text(const struct modules_view *view, FILE *out);
int modules_view_markdown(const struct modules_view *view, FILE *out);
void modules_view_json(const struct modules_view *view, struct json_out *json);
