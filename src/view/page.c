/* Puts the quality block's sentences and the recording's circumstances beside the profile. */
#include "view/page.h"

#include "base/cleanup.h"
#include "formats/viewer_data.h"
#include "view/page_code.h"
#include "view/quality_view.h"

#include <errno.h>

struct words {
	struct quality_lines lines;
	struct viewer_sentence *sentences;
	struct strbuf command;
	struct page_code code;
};

static void words_done(struct words *words)
{
	page_code_done(&words->code);
	quality_lines_done(&words->lines);
	free(words->sentences);
	strbuf_done(&words->command);
}

static void words_pair_done(struct words (*words)[VIEWER_PROFILES_MAX])
{
	for (uint32_t i = 0; i < VIEWER_PROFILES_MAX; i++)
		words_done(&(*words)[i]);
}

static int words_make(const struct loaded *loaded, struct words *words)
{
	const struct quality_view view = {.quality = &loaded->profile.quality,
		.profile = &loaded->profile,
		.notes = loaded->notes,
		.note_count = loaded->note_count,
		.utf8 = true};
	int rc = quality_lines_make(&words->lines, &view);

	if (rc < 0)
		return rc;
	words->sentences = calloc((size_t)words->lines.count + 1, sizeof(*words->sentences));
	if (!words->sentences)
		return -ENOMEM;
	for (uint32_t i = 0; i < words->lines.count; i++) {
		const struct quality_line *line = &words->lines.lines[i];

		words->sentences[i] = (struct viewer_sentence){
			(uint32_t)line->level, line->about, strbuf_text(&line->text)};
	}
	for (uint32_t i = 0; i < loaded->cmdline_count; i++)
		strbuf_printf(&words->command, "%s%s", i ? " " : "", loaded->cmdline[i]);
	return words->command.failed ? -ENOMEM : 0;
}

int page_write(
	const struct page_recording *recordings, uint32_t count, FILE *out, struct error *err)
{
	cleanup_with(words_pair_done) struct words words[VIEWER_PROFILES_MAX] = {0};
	struct viewer_data data[VIEWER_PROFILES_MAX] = {0};

	count = count > VIEWER_PROFILES_MAX ? VIEWER_PROFILES_MAX : count;
	for (uint32_t i = 0; i < count; i++) {
		const struct loaded *loaded = recordings[i].loaded;

		/* Two that are compared have no code: which of the two would it be? */
		if (words_make(loaded, &words[i]) < 0 ||
			(count == 1 &&
				page_code_make(&words[i].code, loaded, recordings[i].sysroot,
					recordings[i].no_source) < 0))
			return error_set(err, -ENOMEM, "writing the page: out of memory");
		data[i] = (struct viewer_data){.profile = &loaded->profile,
			.file = recordings[i].file,
			.host = loaded->hostname,
			.command = strbuf_text(&words[i].command),
			.sentences = words[i].sentences,
			.sentence_count = words[i].lines.count,
			.code = words[i].code.at,
			.code_count = words[i].code.count};
	}
	return viewer_write(data, count, out, err);
}
