/* How: symbolize/debuginfod.h does it; here it gets its places, and its numbers become a
 * sentence. */
#include "session/downloads.h"

#include "symbolize/debuginfod.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

const char *downloads_dir(char ret_dir[DOWNLOADS_DIR_ROOM])
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
	const char *cache = getenv("XDG_CACHE_HOME");
	struct stat st;
	int len;

	if (own && own[0]) {
		len = snprintf(ret_dir, DOWNLOADS_DIR_ROOM, "%s", own);
	} else {
		len = snprintf(ret_dir, DOWNLOADS_DIR_ROOM, "%s/.debuginfod_client_cache",
			home ? home : "");
		if (stat(ret_dir, &st) < 0)
			len = cache && cache[0] ? snprintf(ret_dir, DOWNLOADS_DIR_ROOM,
							  "%s/debuginfod_client", cache)
						: snprintf(ret_dir, DOWNLOADS_DIR_ROOM,
							  "%s/.cache/debuginfod_client",
							  home ? home : "");
	}
	if (len >= DOWNLOADS_DIR_ROOM || ret_dir[0] != '/')
		ret_dir[0] = '\0';
	return ret_dir;
}

static void part(struct strbuf *text, uint32_t count, const char *what)
{
	if (count)
		strbuf_printf(text, ", %u %s", count, what);
}

static void say(
	const struct downloads_options *options, const char *sentence, struct quality *quality)
{
	if (options->say)
		options->say(options->ctx, sentence);
	else
		quality_note(quality, sentence);
}

static void say_result(const struct downloads_options *options,
	const struct debuginfod_result *result, struct quality *quality)
{
	struct strbuf text = {0};

	strbuf_printf(&text, "debuginfod: %u of %u files fetched (%.1f MB)", result->fetched,
		result->wanted, (double)result->bytes / 1e6);
	part(&text, result->unknown, "not known to the servers");
	part(&text, result->refused, "refused: other files than asked for, or damaged");
	part(&text, result->late, "not there in time");
	if (result->late)
		strbuf_printf(&text, " (--debuginfod=SECONDS; it was %u)", options->limit_s);
	part(&text, result->failed, "failed");
	if (result->failed)
		strbuf_printf(&text, " (%s)", result->why);
	if (!text.failed)
		say(options, strbuf_text(&text), quality);
	strbuf_done(&text);
}

void downloads_run(const struct downloads_options *options, struct symbolizer *symbolizer,
	struct profile *profile)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	struct debuginfod_options fetch = {.servers = servers ? servers : "",
		.limit_s = options->limit_s,
		.progress = options->progress,
		.ctx = options->ctx};
	struct debuginfod_result result = {.wanted = 0};
	struct error err = {.text = ""};

	if (!options->limit_s)
		return;
	if (debuginfod_fetch(symbolizer_options(symbolizer), profile, &fetch, &result, &err) <
		0)
		say(options, err.text, &profile->quality);
	else if (result.wanted)
		say_result(options, &result, &profile->quality);
	if (result.fetched)
		symbolizer_forget_files(symbolizer);
}
