/* What x86-64 code does to its frame: arch->code_frame(). */
#pragma once

#include "unwind/arch/arch.h"

bool x86_code_frame(const struct code_view *view, struct code_result *ret_result);

/* arch->call_enters(); the view's addresses are run-time ones. */
bool x86_call_enters(const struct code_view *view, const uint8_t *bytes, size_t len,
	uint64_t addr, uint64_t lo, uint64_t hi);
