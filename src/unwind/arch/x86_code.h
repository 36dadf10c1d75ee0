/* What x86-64 code does to its frame: arch->code_frame(). */
#pragma once

#include "unwind/arch/arch.h"

bool x86_code_frame(const struct code_view *view, struct code_result *ret_result);
