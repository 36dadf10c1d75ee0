/*
 * A function's samples are those whose leaf frame lies in it, whatever is inlined there: the
 * last line of the frame is the function that was called, and it has the code. They are chosen
 * by their samples, then read in the order of their modules, so that each file is opened once.
 */
#include "session/gather.h"

#include "base/cleanup.h"
#include "symbolize/module_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- which functions */

struct choice {
	uint32_t function,
		code; /* of the profile, or of the codes; the other is PROFILE_NONE */
	uint32_t module;
	uint64_t addr, size;
	uint64_t samples;
};

struct choices {
	struct choice *at;
	uint32_t count;
};

static uint32_t called_function(const struct profile *profile, uint32_t frame)
{
	const struct frame *at = &profile->frames[frame];

	return at->line_count ? profile->lines[at->first_line + at->line_count - 1].function
			      : PROFILE_NONE;
}

static int hottest_first(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return (x->code > y->code) - (x->code < y->code);
}

static bool is_hot(const struct gather *gather, const struct choice *choice)
{
	return choice->samples >= GATHER_SAMPLES &&
	       choice->samples * GATHER_PART >= gather->self->all;
}

/*
 * Code that lay at one address one after the other is not told apart here: all of it gets the
 * samples.
 */
static void count_codes(const struct gather *gather, uint32_t frame, struct choice *of_codes)
{
	const struct frame *at = &gather->profile->frames[frame];
	const struct module *module = &gather->profile->modules[at->module];
	const struct code *code;
	struct codes_walk walk = {0};

	if (!gather->codes || module->kind != MODULE_ANON)
		return;
	while ((code = codes_each(gather->codes, module->pid, at->addr, &walk)))
		of_codes[code - gather->codes->at].samples += gather->self->of[frame];
}

static void count_samples(const struct gather *gather, struct choice *choices)
{
	const struct profile *profile = gather->profile;

	for (uint32_t i = 0; i < profile->frame_count && i < gather->self->count; i++) {
		uint32_t function = called_function(profile, i);

		if (function < profile->function_count)
			choices[function].samples += gather->self->of[i];
		else if (gather->self->of[i])
			count_codes(gather, i, choices + profile->function_count);
	}
}

/* The module that such code will have when names are given: the dump. */
static int code_module(const struct gather *gather, const struct code *code, uint32_t *ret)
{
	struct module key = {.kind = MODULE_ANON, .pid = code->pid};
	int rc = profile_string(
		gather->profile, strings_get(&gather->codes->strings, code->path), &key.path);

	return rc < 0 ? rc : profile_module(gather->profile, &key, ret);
}

/* The functions of the profile that are asked for, put together at the front of `choices`. */
static uint32_t list_functions(const struct gather *gather, struct choice *choices)
{
	const struct profile *profile = gather->profile;
	uint32_t n = 0;

	for (uint32_t i = 0; i < profile->function_count; i++) {
		const struct function *function = &profile->functions[i];

		if (gather->wants ? gather->wants(gather->ctx, profile, i)
				  : is_hot(gather, &choices[i]))
			choices[n++] = (struct choice){.function = i,
				.code = PROFILE_NONE,
				.module = function->module,
				.addr = function->addr,
				.size = function->size,
				.samples = choices[i].samples};
	}
	return n;
}

/* The hot functions of the codes, behind those; `counted` has their samples. */
static int list_codes(const struct gather *gather, const struct choice *counted,
	struct choice *choices, uint32_t *count)
{
	const struct codes *codes = gather->codes;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && codes && i < codes->count; i++) {
		struct choice it = {.function = PROFILE_NONE,
			.code = i,
			.addr = codes->at[i].key,
			.size = codes->at[i].size,
			.samples = counted[i].samples};

		if (gather->wants || !is_hot(gather, &it))
			continue;
		rc = code_module(gather, &codes->at[i], &it.module);
		choices[(*count)++] = it;
	}
	return rc;
}

/* All that are asked for, hottest first. 0 or -ENOMEM. */
static int list(const struct gather *gather, struct choices *ret_choices)
{
	uint32_t functions = gather->profile->function_count;
	uint32_t codes = gather->codes ? gather->codes->count : 0;
	struct choice *choices = calloc((size_t)functions + codes + 1, sizeof(*choices));
	int rc;

	*ret_choices = (struct choices){choices, 0};
	if (!choices)
		return -ENOMEM;
	count_samples(gather, choices);
	ret_choices->count = list_functions(gather, choices);
	rc = list_codes(gather, choices + functions, choices, &ret_choices->count);
	qsort(choices, ret_choices->count, sizeof(*choices), hottest_first);
	return rc;
}

/* Cuts the list where what a recording may carry is full. */
static void limit(
	const struct gather *gather, const struct excerpts *excerpts, struct choices *choices)
{
	uint64_t bytes = excerpts->byte_count, has = excerpts->count;
	uint32_t n = 0;

	for (uint32_t i = 0; i < choices->count; i++) {
		const struct choice *it = &choices->at[i];

		if (excerpts_find(excerpts, it->module, it->addr))
			continue;
		if (!gather->wants &&
			(it->size > GATHER_FUNCTION_BYTES || bytes + it->size > GATHER_BYTES ||
				has + n >= GATHER_FUNCTIONS))
			continue;
		bytes += it->size;
		choices->at[n++] = *it;
	}
	choices->count = n;
}

/* ---- their code */

struct add {
	const struct gather *gather;
	struct excerpts *excerpts;
	struct code_reader reader;
};

static int add_row(void *ctx, uint64_t offset, const char *file, uint32_t line)
{
	struct add *add = ctx;
	struct code_row row = {.offset = offset, .line = line};
	int rc = file ? profile_string(add->gather->profile, file, &row.file) : 0;

	return rc < 0 ? rc : excerpts_add_row(add->excerpts, &row);
}

static const char *no_code(enum module_outcome outcome)
{
	if (outcome == MODULE_HIDDEN)
		return "the kernel's code is not kept";
	if (outcome == MODULE_NO_FILE)
		return "it was compiled while the program ran; only a jitdump keeps such code";
	return module_outcome_text(outcome);
}

static int add_without(struct add *add, const struct choice *it, const char *why)
{
	struct excerpt excerpt = {.module = it->module, .addr = it->addr, .why = why};

	/* What a recording carries is code. */
	return add->gather->wants ? excerpts_add(add->excerpts, &excerpt, NULL) : 0;
}

/* The lines that the dump told; the table has those of the sampled addresses. */
static int add_code_rows(struct add *add, const struct choice *it)
{
	const struct codes *codes = add->gather->codes;
	const struct code *code;
	int rc = 0;

	if (it->code == PROFILE_NONE)
		return 0;
	code = &codes->at[it->code];
	for (uint32_t i = 0; rc == 0 && i < code->row_count; i++) {
		const struct code_row *row = &codes->rows[code->first_row + i];

		rc = add_row(
			add, row->offset, strings_get(&codes->strings, row->file), row->line);
	}
	return rc;
}

static int add_jit(struct add *add, const struct choice *it, struct excerpt *excerpt)
{
	cleanup_free uint8_t *bytes = NULL;
	const struct gather *gather = add->gather;
	int rc = gather->jit ? jit_code(gather->jit, gather->profile, it->module, it->addr,
				       excerpt->size, &bytes, &excerpt->machine)
			     : -ENOENT;

	if (rc == -ENOENT)
		return add_without(add, it, no_code(MODULE_NO_FILE));
	if (rc == 0)
		rc = excerpts_add(add->excerpts, excerpt, bytes);
	return rc < 0 ? rc : add_code_rows(add, it);
}

static int add_file(struct add *add, const struct choice *it, struct excerpt *excerpt)
{
	cleanup_with(module_code_done) struct module_code code = {.machine = 0};
	struct profile *profile = add->gather->profile;
	enum module_outcome outcome = code_reader_get(
		&add->reader, profile, it->module, it->addr, excerpt->size, &code);
	int rc;

	if (outcome != MODULE_NAMED)
		return add_without(add, it, no_code(outcome));
	excerpt->vaddr = code.vaddr;
	excerpt->machine = code.machine;
	rc = excerpts_add(add->excerpts, excerpt, code.bytes.bytes);
	return rc < 0 ? rc
		      : symbolizer_lines(add->gather->symbolizer, profile, it->module, it->addr,
				excerpt->size, add_row, add);
}

static int add_one(struct add *add, const struct choice *it)
{
	struct excerpt excerpt = {.module = it->module,
		.addr = it->addr,
		.vaddr = it->addr,
		.size = (uint32_t)it->size};

	if (!it->size || it->size > EXCERPT_BYTES_MAX)
		return add_without(add, it, "the size of the function is not known");
	if (add->gather->profile->modules[it->module].kind == MODULE_ANON)
		return add_jit(add, it, &excerpt);
	return add_file(add, it, &excerpt);
}

static int by_module(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

int gather_code(const struct gather *gather, struct excerpts *excerpts)
{
	struct add add = {.gather = gather, .excerpts = excerpts};
	struct choices choices;
	int rc = list(gather, &choices);

	if (rc == 0)
		limit(gather, excerpts, &choices);
	if (rc == 0)
		qsort(choices.at, choices.count, sizeof(*choices.at), by_module);
	code_reader_init(&add.reader, symbolizer_options(gather->symbolizer));
	for (uint32_t i = 0; rc == 0 && i < choices.count; i++)
		rc = add_one(&add, &choices.at[i]);
	code_reader_done(&add.reader);
	free(choices.at);
	return rc == -ENOSPC ? 0 : rc;
}
