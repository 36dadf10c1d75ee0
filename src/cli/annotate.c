/* wick annotate: where in a function the time went, by source line and by instruction. */
#include "base/cleanup.h"
#include "cli/input.h"
#include "view/annotate_view.h"
#include "view/term.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS_MOST = 20 };

struct options {
	struct input input;
	const char *function;
	enum disasm_syntax syntax;
	uint32_t limit;
	bool json, no_source;
};

CLI_SET_TEXT(set_symbol, struct options, function)

static int set_syntax(void *ctx, const char *value, struct error *err)
{
	struct options *options = ctx;

	if (strcmp(value, "intel") != 0 && strcmp(value, "att") != 0)
		return error_set(err, -EINVAL, "'%.40s' is not intel or att", value);
	options->syntax = value[0] == 'a' ? DISASM_ATT : DISASM_INTEL;
	return 0;
}

static int set_format(void *ctx, const char *value, struct error *err)
{
	if (strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
		return error_set(err, -EINVAL, "'%.40s' is not text or json", value);
	((struct options *)ctx)->json = value[0] == 'j';
	return 0;
}

CLI_SET_FLAG(set_no_source, struct options, no_source)

static int set_limit(void *ctx, const char *value, struct error *err)
{
	uint64_t limit;
	int rc = cli_number(value, 0, UINT32_MAX - 1, &limit, err);

	if (rc == 0)
		((struct options *)ctx)->limit = (uint32_t)limit;
	return rc;
}

static const struct cli_option annotate_table[] = {
	INPUT_FILE_OPTION,
	{'s', "symbol", "FUNCTION", "the same as FUNCTION without the option", set_symbol},
	{'M', "disassembler-style", "STYLE", "of x86 instructions: intel (default) or att",
		set_syntax},
	{0, "no-source", NULL, "instructions only", set_no_source},
	{0, "format", "FORMAT", "text or json", set_format},
	{0, "limit", "N", "only the N hottest instructions and lines; default 0: all",
		set_limit},
	INPUT_NAME_OPTIONS,
	{0, NULL, NULL, NULL, NULL},
};

static int annotate_main(int argc, char **argv);

const struct cli_command cli_annotate = {
	.name = "annotate",
	.summary = "source lines and instructions of a function with their share",
	.synopsis = "[options] FUNCTION [FILE]",
	.description =
		"Prints where in a function samples stopped: by source line, and by "
		"instruction. "
		"FUNCTION is a whole name, a name without its arguments, a part of one, or "
		"/regex/; with a module's name and a colon before it, only of that module. "
		"Percent are shares of the function's own samples; an instruction that waits "
		"for the one before it is often the one that is charged. The code comes out of "
		"the recording, else out of the program's file; sources are read where they "
		"still are, and only from files that are called as sources are (main.c, "
		"lib.rs).",
	.options = annotate_table,
	.run = annotate_main,
};

/*
 * Which functions are meant, found out when the first is asked about: of many only the hottest,
 * and those in which nothing stopped only where there is no other.
 */
struct choice {
	const char *word;
	struct annotate_hits hits;
	bool *wanted; /* by function */
	struct chosen {
		uint32_t function;
		uint64_t samples, weight;
	} at[FUNCTIONS_MOST];
	uint32_t count, left_out;
	bool asked;
	int rc;
	struct error err;
};

static void choice_done(struct choice *choice)
{
	annotate_hits_done(&choice->hits);
	free(choice->wanted);
}

static bool is_hotter(const struct chosen *x, const struct chosen *y)
{
	return x->weight != y->weight ? x->weight > y->weight : x->samples > y->samples;
}

/* Puts it where it belongs among the hottest; the last one falls out. */
static void choice_add(struct choice *choice, struct chosen it)
{
	uint32_t place = choice->count;

	while (place > 0 && is_hotter(&it, &choice->at[place - 1]))
		place--;
	if (choice->count == FUNCTIONS_MOST)
		choice->left_out++;
	else
		choice->count++;
	if (place == FUNCTIONS_MOST)
		return;
	memmove(&choice->at[place + 1], &choice->at[place],
		(choice->count - 1 - place) * sizeof(it));
	choice->at[place] = it;
}

static struct chosen chosen_of(const struct choice *choice, uint32_t function)
{
	struct chosen it = {.function = function};
	uint32_t count;
	const struct annotate_hit *hits = annotate_hits_of(&choice->hits, function, &count);

	for (uint32_t i = 0; i < count; i++) {
		it.samples += hits[i].samples;
		it.weight += hits[i].weight;
	}
	return it;
}

static int choose(struct choice *choice, const struct profile *profile)
{
	int rc = annotate_find(profile, choice->word, &choice->wanted, &choice->err);

	if (rc == 0)
		rc = annotate_hits_make(&choice->hits, profile);
	for (uint32_t i = 0; rc == 0 && i < profile->function_count; i++)
		if (choice->wanted[i])
			choice_add(choice, chosen_of(choice, i));
	for (; choice->count > 1 && !choice->at[choice->count - 1].samples; choice->count--)
		choice->left_out++;
	if (rc == -ENOMEM)
		error_set(&choice->err, rc, "out of memory while looking for the function");
	return rc;
}

static int choice_make(struct choice *choice, const struct profile *profile)
{
	if (!choice->asked)
		choice->rc = choose(choice, profile);
	choice->asked = true;
	return choice->rc;
}

static bool is_chosen(void *ctx, const struct profile *profile, uint32_t function)
{
	struct choice *choice = ctx;
	bool found = false;

	for (uint32_t i = 0; choice_make(choice, profile) == 0 && i < choice->count; i++)
		found |= choice->at[i].function == function;
	return found;
}

struct annotations {
	struct annotation at[FUNCTIONS_MOST];
	uint32_t count;
};

static void annotations_done(struct annotations *all)
{
	for (uint32_t i = 0; i < all->count; i++)
		annotation_done(&all->at[i]);
}

static int show(
	const struct loaded *loaded, const struct choice *choice, const struct options *options)
{
	cleanup_with(annotations_done) struct annotations all = {.count = 0};
	cleanup_with(source_files_done) struct source_files sources = {
		.root = options->input.sysroot};
	struct annotate_view view = {.profile = &loaded->profile,
		.excerpts = &loaded->excerpts,
		.hits = &choice->hits,
		.at = all.at,
		.sources = options->no_source ? NULL : &sources,
		.limit = options->limit,
		.colour = term_colour(STDOUT_FILENO),
		.utf8 = term_utf8()};
	uint32_t left = ANNOTATION_INSTRUCTIONS_MAX;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < choice->count; i++) {
		rc = annotation_make(&all.at[i], &loaded->profile, &loaded->excerpts,
			&choice->hits, choice->at[i].function, options->syntax, left);
		left -= all.at[i].instruction_count;
		all.count += rc == 0;
	}
	view.count = all.count;
	if (rc == 0)
		rc = options->json ? annotate_view_json(&view, stdout)
				   : annotate_view_text(&view, stdout);
	if (rc < 0)
		return cli_fail("out of memory while annotating");
	if (choice->left_out)
		cli_say("%u more functions are called so, in which fewer samples or none "
			"stopped; MODULE:FUNCTION chooses",
			choice->left_out);
	return cli_finish_stdout();
}

/* FUNCTION [FILE], or only [FILE] behind --symbol. 0 or an exit status. */
static int take_operands(struct options *options, int operands, char **argv)
{
	int first = 1;

	if (!options->function && operands) {
		options->function = argv[first++];
		operands--;
	}
	if (!options->function || !*options->function) {
		cli_say("which function? `wick report` lists them; see `wick annotate --help`");
		return EXIT_USAGE;
	}
	return -input_operands(&options->input, &cli_annotate, operands, argv + first - 1);
}

static int annotate_main(int argc, char **argv)
{
	cleanup_with(loaded_done) struct loaded loaded = {.note_count = 0};
	struct options options = {.function = NULL};
	cleanup_with(choice_done) struct choice choice = {.word = NULL};
	struct load_options load = {.code = true, .wants_code = is_chosen, .code_ctx = &choice};
	int operands, status;
	int rc = cli_parse(&cli_annotate, argc, argv, &options, &operands);

	if (rc)
		return rc < 0 ? -rc : cli_finish_stdout();
	status = take_operands(&options, operands, argv);
	if (status)
		return status;
	choice.word = options.function;
	status = input_load(&options.input, &load, &loaded);
	if (!status && choice_make(&choice, &loaded.profile) < 0)
		status = cli_fail("%s", choice.err.text);
	if (!status && loaded.code_error.text[0])
		cli_say("%s: %s", options.input.path, loaded.code_error.text);
	if (!status)
		status = show(&loaded, &choice, &options);
	return status;
}
