/*
 * perf.data files that others recorded, against what is known about them (see INDEX.md of the
 * fixtures): the number of SAMPLE records, the build ids that the header lists, and how many
 * records of each type there are. Files that were damaged on purpose must be survived.
 *
 * Skips aloud (exit 77) where the fixtures are not there: WICK_FIXTURES, else
 * ../shared/fixtures beside the source root (WICK_SOURCE_ROOT, else the current directory).
 */
#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/strbuf.h"
#include "config.h"
#include "perfdata/perfdata.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

enum { SKIP = 77, MAX_TYPE = 128 };

static char fixtures[4096];
static unsigned failures, checks;

struct counts {
	uint64_t of_type[MAX_TYPE];
	uint64_t records;
	int rc;
};

#define CHECK(what, name, ...)                                                                 \
	do {                                                                                   \
		checks++;                                                                      \
		if (!(what)) {                                                                 \
			failures++;                                                            \
			printf("FAIL %s: ", name);                                             \
			printf(__VA_ARGS__);                                                   \
			printf("\n");                                                          \
		}                                                                              \
	} while (0)

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static struct counts count_records(struct perfdata_reader *reader, struct error *err)
{
	struct counts counts = {0};
	const void *record;

	while ((counts.rc = perfdata_next(reader, &record, NULL, err)) > 0) {
		struct perf_event_header header;

		memcpy(&header, record, sizeof(header));
		counts.records++;
		if (header.type < MAX_TYPE)
			counts.of_type[header.type]++;
	}
	return counts;
}

/* ---- goldens */

static int gunzip(const char *path, struct strbuf *ret_text)
{
	gzFile file = gzopen(path, "rb");
	char block[65536];
	int got;

	if (!file)
		return -ENOENT;
	while ((got = gzread(file, block, sizeof(block))) > 0)
		strbuf_add(ret_text, block, (size_t)got);
	gzclose(file);
	return got < 0 ? -EIO : 0;
}

/* quipper's dump has "  header {\n    type: N\n" once an event. */
static void check_types(const char *name, const struct counts *counts)
{
	static const char mark[] = "  header {\n    type: ";
	cleanup_with(strbuf_done) struct strbuf text = {0};
	uint64_t want[MAX_TYPE] = {0};
	char path[8192];
	const char *p;

	snprintf(path, sizeof(path), "%s/%s.pb_text.gz", fixtures, name);
	if (gunzip(path, &text) < 0)
		return;
	for (p = strbuf_text(&text); (p = strstr(p, mark)); p++) {
		uint64_t type;
		const char *number = p + strlen(mark);

		if (parse_u64(number, strcspn(number, "\n"), &type) == 0 && type < MAX_TYPE)
			want[type]++;
	}
	/* quipper drops mappings of no use to it, and what it does not know: there may be more.
	 */
	for (int type = 0; type < PERF_RECORD_USER_TYPE_START; type++)
		CHECK(counts->of_type[type] >= want[type] &&
				(counts->of_type[type] == want[type] ||
					type == PERF_RECORD_MMAP ||
					type == PERF_RECORD_BPF_EVENT),
			name, "type %d: %" PRIu64 " records, the golden has %" PRIu64, type,
			counts->of_type[type], want[type]);
}

static void format_id(const struct perfdata_build_id *id, char ret_text[41])
{
	for (size_t i = 0; i < sizeof(id->bytes); i++)
		snprintf(ret_text + 2 * i, 3, "%02x", id->bytes[i]);
}

/* Each line: 40 digits, a space, the file's name. Ids shorter than 20 bytes are padded with 0.
 */
static void check_build_ids(const char *name, const struct perfdata_features *features)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	char path[8192];
	uint32_t lines = 0, found = 0;

	snprintf(path, sizeof(path), "%s/%s.buildids", fixtures, name);
	if (file_read(AT_FDCWD, path, 1 << 20, &text) < 0)
		return;
	for (char *line = text.text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (line[0] == ' ')
			continue; /* not from the header: a file without an id */
		lines++;
		for (uint32_t i = 0; i < features->build_id_count; i++) {
			char id[41];

			format_id(&features->build_ids[i], id);
			if (strncmp(line, id, 40) == 0 &&
				strcmp(line + 41, features->build_ids[i].filename) == 0) {
				found++;
				break;
			}
		}
	}
	CHECK(lines == found, name, "%u of %u build ids are right", found, lines);
}

/* ---- one file */

static void check_file(const char *name, const char *want_samples)
{
	struct perfdata_reader *reader = NULL;
	struct error err = {""};
	const struct perfdata_info *info;
	struct counts counts;
	uint64_t want;
	char path[8192];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", fixtures, name);
	rc = perfdata_open(path, &reader, &err);
	if (rc < 0) {
		CHECK(parse_u64(want_samples, strlen(want_samples), &want) < 0, name,
			"is not read: %s", err.text);
		CHECK(strstr(err.text, path) == err.text, name,
			"the error does not name the file");
		return;
	}
	info = perfdata_info(reader);
	counts = count_records(reader, &err);
	printf("%-60.60s %u events, %" PRIu64 " records, %" PRIu64 " samples%s%s%s\n",
		strrchr(name, '/') + 1, info->event_count, counts.records,
		counts.of_type[PERF_RECORD_SAMPLE],
		info->truncated_at == UINT64_MAX ? "" : ", cut", counts.rc < 0 ? ": " : "",
		counts.rc < 0 ? err.text : "");
	if (parse_u64(want_samples, strlen(want_samples), &want) == 0) {
		CHECK(counts.of_type[PERF_RECORD_SAMPLE] == want, name,
			"%" PRIu64 " samples, known are %" PRIu64,
			counts.of_type[PERF_RECORD_SAMPLE], want);
		CHECK(counts.rc == 0 && info->truncated_at == UINT64_MAX, name, "%s", err.text);
		CHECK(info->bad_sections == 0, name, "%u bad sections", info->bad_sections);
		CHECK(info->event_count > 0, name, "no events");
	}
	check_types(name, &counts);
	check_build_ids(name, info->features);
	perfdata_close(reader);
}

/* Compressed ones, counted by an independent walk over `zstd -d` of what their records hold. */
static void check_compressed(
	const char *name, uint64_t samples, const char *event, uint64_t truncated_at)
{
#if HAVE_ZSTD
	struct perfdata_reader *reader = NULL;
	struct error err = {""};
	struct counts counts;
	char path[8192], got[128];

	snprintf(path, sizeof(path), "%s/mstange__linux-perf-data/tests/fixtures/%s", fixtures,
		name);
	if (perfdata_open(path, &reader, &err) < 0) {
		CHECK(false, name, "%s", err.text);
		return;
	}
	counts = count_records(reader, &err);
	CHECK(counts.rc == 0, name, "%s", err.text);
	CHECK(perfdata_info(reader)->truncated_at == truncated_at, name, "ends elsewhere");
	CHECK(counts.of_type[PERF_RECORD_SAMPLE] == samples, name,
		"%" PRIu64 " samples, known are %" PRIu64, counts.of_type[PERF_RECORD_SAMPLE],
		samples);
	CHECK(counts.of_type[PERF_RECORD_MMAP2] > 0, name, "no MMAP2");
	perfdata_event_name(&perfdata_info(reader)->events[0], got, sizeof(got));
	CHECK(strcmp(got, event) == 0, name, "the event is %s, not %s", got, event);
	perfdata_close(reader);
#else
	(void)truncated_at;
	printf("SKIP %s: built without zstd (%" PRIu64 " samples of %s)\n", name, samples,
		event);
#endif
}

/* INDEX.md: | file | bytes | perf 6.1 | perf samples | walk | */
static void check_index(char *index)
{
	for (char *line = index, *next; line && *line; line = next) {
		char *cells[6] = {0};
		size_t n = 0;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (strncmp(line, "| ", 2) != 0)
			continue;
		for (char *save = NULL, *cell = strtok_r(line, "|", &save); cell && n < 6;
			cell = strtok_r(NULL, "|", &save), n++)
			cells[n] = cell;
		if (n < 5 || !strchr(cells[0], '/'))
			continue;
		for (size_t i = 0; i < n; i++) {
			cells[i] += strspn(cells[i], " ");
			cells[i][strcspn(cells[i], " ")] = '\0';
		}
		if (strstr(cells[0], "data") && !strstr(cells[0], "proto") &&
			!ends_with(cells[0], ".gz") && !ends_with(cells[0], ".buildids"))
			check_file(cells[0], cells[4]);
		else if (strstr(cells[0], "/corpus/"))
			check_file(cells[0], "-");
	}
}

int main(void)
{
	const char *env = getenv("WICK_FIXTURES"), *root = getenv("WICK_SOURCE_ROOT");
	cleanup_with(strbuf_done) struct strbuf index = {0};
	char path[8192];

	if (env)
		snprintf(fixtures, sizeof(fixtures), "%s", env);
	else
		snprintf(
			fixtures, sizeof(fixtures), "%s/../shared/fixtures", root ? root : ".");
	snprintf(path, sizeof(path), "%s/INDEX.md", fixtures);
	if (file_read(AT_FDCWD, path, 1 << 20, &index) < 0) {
		printf("SKIPPED: no fixtures at %s (set WICK_FIXTURES)\n", fixtures);
		return SKIP;
	}
	check_index(index.text);
	check_compressed("sleep.compressed.data", 8, "cycles:P", UINT64_MAX);
	check_compressed("sleep.compressed.pipe.data", 8, "cycles:P", UINT64_MAX);
	check_compressed("sleep.compressed2.data", 7, "cycles:Pu", UINT64_MAX);
	/* perf's last words were recorded with the pipe. */
	check_compressed("sleep.compressed2.pipe.data", 7, "cycles:P", 31808);
	check_compressed("fibo.compressed2.pipe.data", 547, "cycles:P", UINT64_MAX);
	printf("%u checks, %u failed\n", checks, failures);
	return failures || checks < 100 ? 1 : 0;
}
