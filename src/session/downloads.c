/* How: symbolize/debuginfod.h does it; here it gets its places, and its numbers become a
 * sentence. */
#include "session/downloads.h"

#include "symbolize/debuginfod.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* *ret_base: the folder of the user in which it lies; NULL: it was named itself. */
static void find(char ret_dir[DOWNLOADS_DIR_ROOM], const char **ret_base)
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
	const char *cache = getenv("XDG_CACHE_HOME");
	struct stat st;
	int len;

	home = home ? home : "";
	*ret_base = own && own[0] ? NULL : home;
	if (!*ret_base) {
		len = snprintf(ret_dir, DOWNLOADS_DIR_ROOM, "%s", own);
	} else {
		len = snprintf(
			ret_dir, DOWNLOADS_DIR_ROOM, "%s/.debuginfod_client_cache", home);
		if (stat(ret_dir, &st) < 0) {
			*ret_base = cache && cache[0] ? cache : home;
			len = snprintf(ret_dir, DOWNLOADS_DIR_ROOM, "%s%s/debuginfod_client",
				*ret_base, *ret_base == home ? "/.cache" : "");
		}
	}
	if (len >= DOWNLOADS_DIR_ROOM || ret_dir[0] != '/' || (*ret_base && !**ret_base))
		ret_dir[0] = '\0';
}

const char *downloads_dir(char ret_dir[DOWNLOADS_DIR_ROOM])
{
	const char *base;

	find(ret_dir, &base);
	return ret_dir;
}

/* Under sudo the home may be another's: nothing of root's is left there. */
static int may_keep(struct error *err)
{
	char dir[DOWNLOADS_DIR_ROOM];
	const char *base;
	struct stat st;

	find(dir, &base);
	if (!dir[0] || !base || (!stat(base, &st) && st.st_uid == geteuid()))
		return 0;
	return error_set(err, -EACCES,
		"nothing was fetched: %s is not there, or another user's, so no files are kept "
		"in it; set $DEBUGINFOD_CACHE_PATH",
		base);
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
	if (may_keep(&err) < 0 || debuginfod_fetch(symbolizer_options(symbolizer), profile,
					  &fetch, &result, &err) < 0)
		say(options, err.text, &profile->quality);
	else if (result.wanted)
		say_result(options, &result, &profile->quality);
	if (result.fetched)
		symbolizer_forget_files(symbolizer);
}
