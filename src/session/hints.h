/* What a profile cannot show, and the way to see it: sentences for the quality's notes. */
#pragma once

#include "profile/profile.h"

/* 0 or -ENOMEM. The frames have their names by now. */
int hints_add(struct profile *profile);
