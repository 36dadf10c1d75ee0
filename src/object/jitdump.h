/*
 * jitdumps: what JIT compilers write into jit-PID.dump while they run (in the kernel's tree:
 * tools/perf/Documentation/jitdump-specification.txt). Every function, when and where it was
 * loaded, moved or overwritten, with its lines where the compiler tells them:
 *
 *     | magic version header-size machine pad pid time flags |
 *     | DEBUG_INFO size time | code address, rows: address line discriminator file |
 *     | LOAD size time | pid tid vma address size index | name | code bytes |
 *     | MOVE size time | pid tid vma old address, new address, size index |  ...
 *
 * Addresses are used again: a function lived from its record until another one was put over it.
 */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JITDUMP_CODES_MAX = 8 << 20, JITDUMP_ROWS_MAX = 32 << 20 };

#define JITDUMP_BYTES_MAX (1ull << 32)

struct jit_row {
	uint64_t offset;  /* from here on, into the function */
	const char *file; /* in the caller's bytes */
	uint32_t line;
	uint32_t column; /* what the format calls a discriminator; 0: not told */
};

struct jit_code {
	uint64_t addr, size;
	uint64_t start_ns, end_ns; /* end: UINT64_MAX, it stayed */
	uint64_t key;	  /* where its bytes stand in the file; of a moved one: beyond it */
	uint64_t index;	  /* the compiler's own number */
	const char *name; /* in the caller's bytes */
	uint32_t first_row, row_count;
};

struct jitdump {
	uint32_t version, pid, machine;
	uint64_t time_ns; /* of the header */
	bool swapped;	  /* of the other byte order */
	bool arch_time;	  /* the times are of a clock of the CPU's own, not CLOCK_MONOTONIC */
	bool closed;	  /* the compiler said that this is all */
	bool cut;	  /* the last record is torn, or of an absurd size */
	bool full;	  /* a limit was met */
	uint64_t loads, moves, debug_infos, unwinding_infos, bad_records, unknown_records;
	struct jit_code *codes; /* in the order of the file */
	struct jit_row *rows;
	uint32_t code_count, code_cap, row_count, row_cap;
	struct hash_index by_index;
};

/*
 * The bytes must stay while the names are used. 0; -EBADMSG: no jitdump; -ENOTSUP: of a version
 * that is not known (1 and 2 are); -ENOMEM.
 */
int jitdump_parse(const void *bytes, size_t len, struct jitdump *ret_dump);
void jitdump_done(struct jitdump *dump);

/* True for ".../jit-1234.dump", also where " (deleted)" stands behind it. */
bool jitdump_is_name(const char *path);
