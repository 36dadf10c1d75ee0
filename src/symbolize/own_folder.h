/* A folder for what is remembered from one run to the next. */
#pragma once

#include <stdbool.h>

/*
 * Makes the folder, and the one above it, where they are missing. False: it cannot be made, or
 * is another user's. What lies above those two is not looked at: that no folder of root's is
 * left in the home of whoever called sudo is the caller's business.
 */
bool own_folder_make(const char *dir);
