/*
 * Names for what was read. The file's own come first: they are those of the programs as they
 * were then. What they lack the programs' files may have, where these are here; what is still
 * lacking is said.
 */
#include "session/load_internal.h"

#include "session/resolve.h"

#include <errno.h>
#include <stdio.h>

static bool shows_better(const struct load_options *options)
{
	return options->debug_dir || load_fetches(options);
}

/*
 * The file's own names come first: they are those of the programs as they were then. Unless the
 * user shows where better ones are.
 */
static int names_first(struct load *load, uint32_t frame)
{
	return load->names && !shows_better(load->options) &&
			       !names_has_less(load->names, &load->out->profile, frame)
		       ? names_frame(load->names, &load->out->profile, frame)
		       : 0;
}

/* Names that came with the file are whole; less may be wanted. */
static void names_as_asked(struct load *load, uint32_t frame)
{
	struct profile *profile = &load->out->profile;
	struct frame *it = &profile->frames[frame];

	if (load->options->no_inlines && it->line_count) {
		it->first_line += it->line_count - 1u;
		it->line_count = 1;
		profile->lines[it->first_line].line = 0;
	}
	for (uint32_t i = 0; load->options->no_demangle && i < it->line_count; i++) {
		struct function *function =
			&profile->functions[profile->lines[it->first_line + i].function];

		if (*profile_text(profile, function->linkage_name))
			function->name = function->linkage_name;
	}
}

static int frame_resolve(struct load *load, uint32_t frame)
{
	int rc = names_first(load, frame);

	if (rc >= 0)
		rc = symbolize_frame(load->symbolizer, &load->out->profile, frame);
	if (rc >= 0 && load->names)
		rc = names_frame(load->names, &load->out->profile, frame);
	names_as_asked(load, frame);
	return rc < 0 ? rc : 0;
}

bool load_is_root(void *ctx, struct profile *profile, uint32_t frame)
{
	struct load *load = ctx;

	const struct frame *at = &profile->frames[frame];
	const char *name = NULL;

	if (names_first(load, frame) < 0)
		return false;
	if (load->names && !at->line_count && profile->modules[at->module].kind != MODULE_ANON)
		name = names_symbol(load->names, profile, frame, &load->text);
	if (name)
		return resolve_is_root_name(name);
	return resolve_is_root(load->symbolizer, profile, frame);
}

int load_resolve_new(struct load *load)
{
	for (; load->frames_named < load->out->profile.frame_count; load->frames_named++) {
		int rc = frame_resolve(load, load->frames_named);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Names that cannot be read are done without, and that is said. */
int load_names(struct load *load)
{
	const struct perfdata_features *features = load->info->features;
	struct error why = {.text = ""};
	int rc;

	if (!features || !features->names_bytes || load->names || load->options->no_names)
		return 0;
	rc = names_read(features->names, features->names_bytes, &load->names, &why);
	if (rc == 0) {
		names_choose(
			load->names, load->options->no_inlines, load->options->no_demangle);
		jit_bring(&load->jit, names_codes(load->names));
	}
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	quality_note(&load->out->profile.quality, why.text);
	return 0;
}

/* Of a file that is not here the recorder knows more: it was stripped, say. */
static const char *why_then(struct load *load, uint32_t module, const char *why)
{
	uint8_t then = names_outcome(load->names, &load->out->profile, module);
	enum module_outcome now = symbolizer_outcome(load->symbolizer, module);

	if (then == now || (now != MODULE_FILE_MISSING && now != MODULE_NO_FILE))
		return why;
	return then && then < MODULE_OUTCOMES ? module_outcome_text((enum module_outcome)then)
					      : why;
}

static void notes_from_recorder(struct load *load)
{
	struct loaded *out = load->out;

	for (uint32_t i = 0; i < out->note_count; i++) {
		uint32_t module = out->notes[i].module;

		if (out->notes[i].why)
			out->notes[i].why = why_then(load, module, out->notes[i].why);
	}
}

/* The same for the table of all modules, and where their lines came from then. */
static int namings_from_recorder(struct load *load)
{
	struct profile *profile = &load->out->profile;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < load->out->naming_count; i++) {
		struct module_naming *it = &load->out->namings[i];

		it->why = why_then(load, it->module, it->why);
		if (!it->debug_file)
			rc = names_debug_file(
				load->names, profile, it->module, &it->debug_file);
	}
	return rc;
}

/* Where the file's names are less than there was, and the programs are not here either. */
static void note_less(struct load *load)
{
	struct profile *profile = &load->out->profile;
	uint32_t less = 0;
	char text[256];

	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct frame *frame = &profile->frames[i];

		less += frame->line_count == 1 && !profile->lines[frame->first_line].line &&
			!symbolizer_debug_file(load->symbolizer, frame->module)[0] &&
			frame_is_named(profile, i) && names_has_less(load->names, profile, i);
	}
	if (!less)
		return;
	snprintf(text, sizeof(text),
		"inlined functions and lines of %u of %u addresses are not in the file: their "
		"time was over when it was written (--embed-time); where it was recorded, wick "
		"export -o FILE.data adds them",
		less, profile->frame_count);
	quality_note(&profile->quality, text);
}

/* The file's own names, then what the programs' files say, then what is left of the file's. */
static int resolve_frames(struct load *load)
{
	struct profile *profile = &load->out->profile;
	uint32_t count = profile->frame_count;
	int rc = 0;

	for (uint32_t i = 0; rc >= 0 && i < count; i++)
		rc = names_first(load, i);
	if (rc >= 0)
		rc = symbolize_all(load->symbolizer, profile, NULL, NULL);
	for (uint32_t i = 0; rc >= 0 && load->names && i < count; i++)
		rc = names_frame(load->names, profile, i);
	if (rc >= 0)
		rc = resolve_all(load->symbolizer, profile, NULL, NULL);
	for (uint32_t i = 0; i < count; i++)
		names_as_asked(load, i);
	if (rc >= 0 && load->names && !load->options->no_inlines)
		note_less(load);
	return rc;
}

int load_resolve(struct load *load)
{
	struct loaded *out = load->out;
	int rc = resolve_frames(load);

	if (rc == 0)
		rc = resolve_notes(load->symbolizer, &out->profile, &out->notes);
	if (rc > 0)
		out->note_count = (uint32_t)rc;
	if (rc > 0 && load->names)
		notes_from_recorder(load);
	if (rc >= 0)
		rc = resolve_namings(load->symbolizer, &out->profile, &out->namings);
	if (rc > 0)
		out->naming_count = (uint32_t)rc;
	if (rc > 0 && load->names)
		rc = namings_from_recorder(load);
	return rc < 0 ? rc : 0;
}
