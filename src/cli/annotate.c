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
		"still are.",
	.options = annotate_table,
	.run = annotate_main,
};

/* Which functions are meant, found out when the first is asked about. */
struct choice {
	const char *word;
	bool *wanted;
	bool asked;
	int rc;
	struct error err;
};

static int choose(struct choice *choice, const struct profile *profile)
{
	if (!choice->asked)
		choice->rc =
			annotate_find(profile, choice->word, &choice->wanted, &choice->err);
	choice->asked = true;
	return choice->rc;
}

static bool is_wanted(void *ctx, const struct profile *profile, uint32_t function)
{
	struct choice *choice = ctx;

	return choose(choice, profile) == 0 && choice->wanted[function];
}

struct annotations {
	struct annotate_hits hits;
	struct annotation *at;
	uint32_t count, left_out;
};

static void annotations_done(struct annotations *all)
{
	for (uint32_t i = 0; i < all->count; i++)
		annotation_done(&all->at[i]);
	free(all->at);
	annotate_hits_done(&all->hits);
}

static int hottest_first(const void *a, const void *b)
{
	const struct annotation *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->function > y->function) - (x->function < y->function);
}

/* Where several are meant, those in which nothing stopped are left out. */
static void leave_out_cold(struct annotations *all)
{
	uint32_t kept = 0;

	qsort(all->at, all->count, sizeof(*all->at), hottest_first);
	while (kept < all->count && kept < FUNCTIONS_MOST && (!kept || all->at[kept].samples))
		kept++;
	for (uint32_t i = kept; i < all->count; i++)
		annotation_done(&all->at[i]);
	all->left_out = all->count - kept;
	all->count = kept;
}

static int annotations_make(struct annotations *all, const struct loaded *loaded,
	const struct choice *choice, enum disasm_syntax syntax)
{
	const struct profile *profile = &loaded->profile;
	int rc = annotate_hits_make(&all->hits, profile);

	all->at = calloc((size_t)profile->function_count + 1, sizeof(*all->at));
	if (!all->at)
		return -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < profile->function_count; i++) {
		if (!choice->wanted[i])
			continue;
		rc = annotation_make(&all->at[all->count], profile, &loaded->excerpts,
			&all->hits, i, syntax);
		all->count += rc == 0;
	}
	leave_out_cold(all);
	return rc;
}

static int show(
	const struct loaded *loaded, const struct choice *choice, const struct options *options)
{
	cleanup_with(annotations_done) struct annotations all = {.count = 0};
	cleanup_with(source_files_done) struct source_files sources = {
		.root = options->input.sysroot};
	struct annotate_view view = {.profile = &loaded->profile,
		.excerpts = &loaded->excerpts,
		.hits = &all.hits,
		.sources = options->no_source ? NULL : &sources,
		.limit = options->limit,
		.colour = term_colour(STDOUT_FILENO),
		.utf8 = term_utf8()};
	int rc = annotations_make(&all, loaded, choice, options->syntax);

	view.at = all.at;
	view.count = all.count;
	if (rc == 0)
		rc = options->json ? annotate_view_json(&view, stdout)
				   : annotate_view_text(&view, stdout);
	if (rc < 0)
		return cli_fail("out of memory while annotating");
	if (all.left_out)
		cli_say("%u more functions are called so, in which fewer samples or none "
			"stopped; MODULE:FUNCTION chooses",
			all.left_out);
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
	struct choice choice = {.word = NULL};
	struct load_options load = {.code = true, .wants_code = is_wanted, .code_ctx = &choice};
	int operands, status;
	int rc = cli_parse(&cli_annotate, argc, argv, &options, &operands);

	if (rc)
		return rc < 0 ? -rc : cli_finish_stdout();
	status = take_operands(&options, operands, argv);
	if (status)
		return status;
	choice.word = options.function;
	status = input_load(&options.input, &load, &loaded);
	if (!status && choose(&choice, &loaded.profile) < 0)
		status = cli_fail("%s", choice.err.text);
	if (!status && loaded.code_error.text[0])
		cli_say("%s: %s", options.input.path, loaded.code_error.text);
	if (!status)
		status = show(&loaded, &choice, &options);
	free(choice.wanted);
	return status;
}
