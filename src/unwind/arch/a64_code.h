/* What AArch64 code does to its frame: arch->code_frame(). */
#pragma once

#include "unwind/arch/arch.h"

bool a64_code_frame(const struct code_view *view, struct code_result *ret_result);

/* arch->call_enters(); the view's addresses are run-time ones. */
bool a64_call_enters(const struct code_view *view, const uint8_t *bytes, size_t len,
	uint64_t addr, uint64_t lo, uint64_t hi);
