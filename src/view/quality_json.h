/* The honest block inside another JSON document. */
#pragma once

#include "view/json_out.h"
#include "view/quality_view.h"

/* Writes the block's members into the object that is open. 0 or -ENOMEM. */
int quality_json_members(struct json_out *json, const struct quality_view *view);
