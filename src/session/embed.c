#include "session/embed.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cache_dir(char ret_dir[CACHE_DIR_ROOM])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const char *base = cache && cache[0] == '/' ? cache : home;
	struct stat st;
	int len;

	ret_dir[0] = '\0';
	/* Under sudo the home may be another's: nothing of root's is left there. */
	if (!base || base[0] != '/' || stat(base, &st) < 0 || st.st_uid != geteuid())
		return ret_dir;
	len = snprintf(
		ret_dir, CACHE_DIR_ROOM, "%s%s/wick", base, base == cache ? "" : "/.cache");
	if (len >= CACHE_DIR_ROOM)
		ret_dir[0] = '\0';
	return ret_dir;
}

static const char *debug_file_of(void *ctx, uint32_t module)
{
	return symbolizer_debug_file(ctx, module);
}

static uint8_t outcome_of(void *ctx, uint32_t module)
{
	return (uint8_t)(symbolizer_outcome(ctx, module) |
			 (symbolizer_left(ctx, module) ? NAMES_LEFT : 0));
}

int embed_names(struct symbolizer *symbolizer, struct profile *profile,
	const struct codes *codes, const struct symbolize_budget *budget, uint32_t *ret_left,
	struct perfdata_features *features)
{
	struct names_source source = {.profile = profile,
		.outcome = outcome_of,
		.debug_file = debug_file_of,
		.ctx = symbolizer,
		.codes = codes};
	struct strbuf bytes = {0};
	int rc;

	*ret_left = 0;
	rc = budget ? symbolize_within(symbolizer, profile, budget, ret_left)
		    : symbolize_all(symbolizer, profile, NULL, NULL);
	if (rc == 0)
		rc = names_write(&source, &bytes);
	if (rc < 0) {
		strbuf_done(&bytes);
		return rc;
	}
	free(features->names);
	features->names = bytes.text;
	features->names_bytes = bytes.len;
	return 0;
}

int embed_code(const struct excerpts *excerpts, const struct profile *profile,
	struct perfdata_features *features)
{
	struct strbuf bytes = {0};
	int rc = excerpts_write(excerpts, profile, &bytes);

	if (rc < 0) {
		strbuf_done(&bytes);
		return rc;
	}
	free(features->code);
	features->code = bytes.text;
	features->code_bytes = bytes.len;
	return 0;
}

static void reader_close(struct perfdata_reader **reader)
{
	perfdata_close(*reader);
}

static void writer_free(struct perfdata_writer **writer)
{
	perfdata_writer_free(*writer);
}

static int copy_records(struct perfdata_reader *reader, struct perfdata_writer **writer,
	const char *to, struct error *err)
{
	const struct perfdata_info *info = perfdata_info(reader);
	struct perfdata_writer_options options = {.path = to, .owner_uid = -1, .owner_gid = -1};
	const void *record;
	int size, rc = 0;

	/* A pipe tells its events before the first record. */
	while (rc == 0 && (size = perfdata_next(reader, &record, NULL, err)) > 0) {
		if (!*writer) {
			options.events = info->events;
			options.event_count = info->event_count;
			options.compression_level =
				info->features ? info->features->comp_type : 0;
			rc = perfdata_create(&options, writer, err);
		}
		if (rc == 0)
			rc = perfdata_write(*writer, record, (size_t)size, err);
	}
	if (rc == 0 && size == 0 && !*writer)
		return error_set(err, -ENODATA, "there are no records to copy");
	return rc < 0 ? rc : size;
}

int embed_copy(const char *from, const char *to, struct symbolizer *symbolizer,
	struct profile *profile, const struct codes *codes, const struct excerpts *excerpts,
	struct error *err)
{
	struct perfdata_features named = {.names = NULL}, features = {.names = NULL};
	cleanup_with(reader_close) struct perfdata_reader *reader = NULL;
	cleanup_with(writer_free) struct perfdata_writer *writer = NULL;
	uint32_t left;
	int rc = embed_names(symbolizer, profile, codes, NULL, &left, &named);

	if (rc == 0)
		rc = embed_code(excerpts, profile, &named);
	if (rc < 0)
		return error_set(err, rc, "the names cannot be stored: %s", strerror(-rc));
	rc = perfdata_open(from, &reader, err);
	if (rc == 0)
		rc = copy_records(reader, &writer, to, err);
	if (rc == 0 && perfdata_info(reader)->features)
		features = *perfdata_info(reader)->features; /* lent */
	features.names = named.names;
	features.names_bytes = named.names_bytes;
	features.code = named.code;
	features.code_bytes = named.code_bytes;
	if (rc == 0)
		rc = perfdata_finish(writer, &features, err);
	perfdata_features_done(&named);
	return rc;
}
