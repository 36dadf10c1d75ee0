/* A folder for what is remembered from one run to the next. */
#pragma once

#include <stdbool.h>

/*
 * Makes the folder, and the one above it, where they are missing. False: it cannot be made, or
 * is another user's (under sudo the home may be: nothing of root's is left there).
 */
bool own_folder_make(const char *dir);
