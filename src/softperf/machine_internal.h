/* Between machine.c (what happens) and machine_text.c (what the lines say). */
#pragma once

#include "softperf/drivers/armv8_pmuv3.h"
#include "softperf/machine.h"

enum { WORDS_MAX = 16, WORD_BYTES = 1024, SYMBOLS_MAX = 4096, LOOPS_MAX = 4 };

/* One line, cut into words. */
struct words {
	uint32_t line, count;
	const char *at[WORDS_MAX];
	char text[2 * WORD_BYTES];
};

struct symbol {
	char name[64];
	uint64_t addr, size;
};

struct loop {
	size_t offset; /* of the line behind `repeat` */
	uint32_t line;
	uint64_t left;
};

struct reader {
	const char *text;
	size_t len, at;
	uint32_t line;
};

/* What samples copy of a task's stack; see machine_memory.c. */
struct memory {
	uint64_t copy_bytes; /* attr.sample_stack_user; 0: the kernel walks the chains itself */
	uint64_t frame_bytes;
	uint64_t short_bytes; /* no more can be read; UINT64_MAX: all */
	uint64_t changed; /* the frame from which on the bytes are others; UINT64_MAX: none */
};

struct machine {
	struct reader reader;
	struct core *core;
	struct core_options options;
	struct armv8_node pmu;
	bool has_pmu;
	struct memory memory;
	size_t pages;
	bool overwrite;
	int32_t record_pid; /* 0: whole CPUs */
	bool on_exec;
	struct machine_event events[MACHINE_EVENTS_MAX];
	uint32_t event_count;
	int fds[MACHINE_EVENTS_MAX][CORE_CPUS_MAX];
	struct {
		int32_t pid;
		char comm[16];
	} processes[64]; /* that are there before the start */
	uint32_t process_count;
	struct symbol *symbols; /* SYMBOLS_MAX */
	uint32_t symbol_count;
	struct loop loops[LOOPS_MAX];
	uint32_t loop_count;
	uint64_t steps;
	bool reader_off;
	uint64_t wakeups;
	int (*drain)(void *ctx);
	void *ctx;
	struct error *err;
};

/* The next line that is not empty: 1; 0: the end; -EINVAL: too long, too many words. */
int words_next(struct reader *reader, struct words *ret_words, struct error *err);
int words_fail(const struct words *words, struct error *err, const char *what);

int word_number(const struct words *words, uint32_t i, uint64_t most, uint64_t *ret_value,
	struct error *err);
int word_time(const struct words *words, uint32_t i, uint64_t *ret_ns, struct error *err);
/* "main;work;leaf", outermost first, into addresses, leaf first: the callers' are return
 * addresses. */
int word_chain(const struct machine *machine, const struct words *words, uint32_t i,
	uint64_t *ret_chain, uint32_t *ret_depth, struct error *err);

/* ---- machine_memory.c: struct core_memory's, ctx is the machine */

enum { MACHINE_FRAME_BYTES = 64 };
#define MACHINE_REGS ((1ull << 33) - 1) /* of aarch64: x0 to x30, sp, pc */

uint64_t memory_reg(void *ctx, int cpu, unsigned reg);
size_t memory_stack(void *ctx, int cpu, void *to, size_t len);
/* stack BYTES [FRAME_BYTES]; torn short BYTES | changed FRAME | off */
int memory_setup(struct machine *machine, const struct words *words, struct error *err);
int memory_torn(struct machine *machine, const struct words *words, struct error *err);

/* A line before `start`. */
int machine_setup(struct machine *machine, const struct words *words, struct error *err);
