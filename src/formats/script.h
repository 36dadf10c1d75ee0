/*
 * Samples as `perf script` (6.1) prints them, so that what folds perf's text folds ours:
 *
 *     a  4211  1581.161088:    1001001 cpu-clock:u:
 *                 1217 inl+0x17 (inlined)
 *                 1217 leaf+0x17 (/usr/bin/a)
 *                 1238 mid+0x8 (/usr/bin/a)
 *
 * and an empty line. The number behind the command is the thread's; "[cpu]" stands only where
 * the recording has the CPU (PROFILE_NO_CPU). A frame's address is the file offset in files, as
 * perf shows it with call chains, and the run-time address in the kernel and in anonymous code.
 */
#pragma once

#include "profile/profile.h"

#include <stdio.h>

/* The caller asks ferror(). */
void script_sample(FILE *out, const struct profile *profile, const struct sample *sample);
