/*
 * Call frame information of code that was compiled while the program ran: what the
 * UNWINDING_INFO records of a jitdump say about the functions that follow them. The dump may
 * still be growing: it is read on from where the last reading ended.
 *
 *     | UNWINDING_INFO size time | data bytes, header bytes, mapped bytes | data |
 *     | LOAD size time | pid tid vma address size index | name | code bytes |
 *
 * The data are an .eh_frame with its .eh_frame_hdr before it (as the format has it) or behind
 * it (as V8 and perf have it). It lies behind the function's code, whose size is rounded up
 * to 8, and its pointers count from there; where the header gives an address, it lies at that
 * one, and may speak of all functions up to the next UNWINDING_INFO.
 */
#pragma once

#include "object/cfi.h"

#include <stdint.h>

enum { JITCFI_FUNCTIONS_MAX = 4 << 20, JITCFI_NODES_MAX = 16 << 20 };

struct jitcfi;

/* `fd` stays the caller's and must stay open. 0 or -ENOMEM. */
int jitcfi_new(int fd, struct jitcfi **ret_jitcfi);
void jitcfi_free(struct jitcfi *jitcfi); /* NULL is fine */

/*
 * Reads what was appended meanwhile; a record that is not whole yet waits. So many records a
 * call that a recorder can afford it between two samples; the next call goes on. 0 or -ENOMEM.
 */
int jitcfi_update(struct jitcfi *jitcfi);

/* EM_* of the code; 0: not known, or no dump. */
uint16_t jitcfi_machine(const struct jitcfi *jitcfi);

/* Functions that have call frame information. */
uint32_t jitcfi_count(const struct jitcfi *jitcfi);

/*
 * The row for a run-time address, as it was at that time (UINT64_MAX: now). 0; -ENOENT: there
 * is none; -EBADMSG: it is damaged; -ENOMEM. The row is valid until the next call.
 */
int jitcfi_find(
	struct jitcfi *jitcfi, uint64_t addr, uint64_t time_ns, struct cfi_row *ret_row);
