/*
 * Where in a function samples stopped: its instructions and its source lines, each with its
 * samples. Made of a profile and of the code that came with it or was found (excerpts).
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "object/disasm.h"
#include "profile/excerpts.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* Samples that stopped at one address of a function. */
struct annotate_hit {
	uint32_t function, frame;
	uint64_t addr;
	uint64_t samples, weight;
};

/* All of a profile, by function and address; of the first event and those that count alike. */
struct annotate_hits {
	struct annotate_hit *at;
	uint32_t count;
	uint64_t samples, weight; /* of all, also of what has no function */
};

int annotate_hits_make(struct annotate_hits *hits, const struct profile *profile);
void annotate_hits_done(struct annotate_hits *hits);

/* The hits of one function: where they begin, and how many there are. */
const struct annotate_hit *annotate_hits_of(
	const struct annotate_hits *hits, uint32_t function, uint32_t *ret_count);

struct annotated_line {
	uint32_t file, line; /* file: a string of the profile */
	uint64_t samples, weight;
};

struct annotated_instruction {
	uint64_t vaddr;	       /* as the file's symbols count */
	uint32_t offset, size; /* in the function; size 0: there is no code, only samples */
	uint32_t text;	       /* where it stands in `texts`; NUL-terminated */
	uint32_t line;	       /* in `lines`; PROFILE_NONE: of no line */
	bool decoded;
	uint64_t samples, weight;
};

struct annotation {
	uint32_t function;
	const struct excerpt *excerpt; /* NULL: there is no code */
	const char *why;	       /* then: why, or NULL */
	bool known_machine;	       /* the instructions are text, not numbers */
	bool cut;		       /* there are more instructions than these */
	uint64_t samples, weight;
	struct annotated_line *lines;		    /* by file, then line */
	struct annotated_instruction *instructions; /* by address */
	uint32_t line_count, instruction_count, instruction_cap;
	struct strbuf texts;
};

/* No function has so many; what is disassembled at once stays below it. */
enum { ANNOTATION_INSTRUCTIONS_MAX = 1 << 20 };

/* 0 or -ENOMEM. At most the first `most` instructions. The excerpts must outlive it. */
int annotation_make(struct annotation *annotation, const struct profile *profile,
	const struct excerpts *excerpts, const struct annotate_hits *hits, uint32_t function,
	enum disasm_syntax syntax, uint32_t most);
void annotation_done(struct annotation *annotation);

static inline const char *annotation_text(
	const struct annotation *annotation, const struct annotated_instruction *instruction)
{
	return strbuf_text(&annotation->texts) + instruction->text;
}

/*
 * The functions that a word means: as label_find() does, or those of one module where
 * "libfoo.so:word" is given. *ret_wanted: a flag for each function of the profile, to be freed.
 * 0; -ENOENT (also for what is only ever inlined: the sentence says into what); -EINVAL,
 * -ENOMEM.
 */
int annotate_find(
	const struct profile *profile, const char *word, bool **ret_wanted, struct error *err);
