/*
 * PMUs of sysfs: each is a directory; `format/` says which bits of which config word a field
 * takes, and `events/` holds ready-made lists of terms, which are parsed like the user's own.
 */
#include "perf/pmu.h"

#include "base/cleanup.h"
#include "base/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { TERM_DEPTH_MAX = 4 };

static void read_line(int dirfd, const char *path, char *ret_text, size_t cap)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	size_t len;

	ret_text[0] = '\0';
	if (file_read(dirfd, path, 4096, &text) < 0)
		return;
	len = strcspn(strbuf_text(&text), "\n");
	if (len >= cap)
		return;
	memcpy(ret_text, strbuf_text(&text), len);
	ret_text[len] = '\0';
}

static int pmu_open(const char *root, const char *name)
{
	cleanup_close int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd;

	if (dir < 0)
		return -errno;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int pmu_read(const char *root, const char *name, struct pmu *ret_pmu)
{
	cleanup_close int dir = pmu_open(root, name);
	int64_t type;

	if (dir < 0 || strlen(name) >= sizeof(ret_pmu->name) ||
		file_read_number(dir, "type", &type) < 0 || type < 0 || type > UINT32_MAX)
		return -ENOENT;
	*ret_pmu = (struct pmu){.type = (uint32_t)type};
	memcpy(ret_pmu->name, name, strlen(name));
	read_line(dir, "cpus", ret_pmu->cpus, sizeof(ret_pmu->cpus));
	/* x86 calls them cpu, cpu_core, cpu_atom; ARM's list their CPUs and have cpu_cycles. */
	ret_pmu->is_core =
		!strcmp(name, "cpu") ||
		(ret_pmu->cpus[0] && (!faccessat(dir, "events/cpu-cycles", F_OK, 0) ||
					     !faccessat(dir, "events/cpu_cycles", F_OK, 0)));
	return 0;
}

int pmu_list(const char *root, struct pmu *ret_pmus, uint32_t cap)
{
	DIR *dir = opendir(root);
	uint32_t n = 0;

	if (!dir)
		return -errno;
	for (struct dirent *entry; n < cap && (entry = readdir(dir));)
		if (entry->d_name[0] != '.' && !pmu_read(root, entry->d_name, &ret_pmus[n]))
			n++;
	closedir(dir);
	return (int)n;
}

/* One range of a format: the low bits of *value go to bits lo..hi of the word, and are used up.
 */
static int place_bits(uint64_t *word, uint64_t *value, uint64_t lo, uint64_t hi)
{
	uint64_t width, mask;

	if (hi < lo || hi > 63)
		return -EINVAL;
	width = hi - lo + 1;
	mask = width == 64 ? UINT64_MAX : (1ull << width) - 1;
	*word = (*word & ~(mask << lo)) | (*value & mask) << lo;
	*value = width == 64 ? 0 : *value >> width;
	return 0;
}

/* "config1:0-7,32" and a value. -ERANGE: the value has more bits than the field. */
static int place_value(const char *format, uint64_t value, struct event_spec *spec)
{
	const char *colon = strchr(format, ':'), *p;
	uint64_t *word;

	if (!colon)
		return -EINVAL;
	if (!strncmp(format, "config1:", 8))
		word = &spec->config1;
	else if (!strncmp(format, "config2:", 8))
		word = &spec->config2;
	else if (!strncmp(format, "config:", 7))
		word = &spec->config;
	else
		return -EINVAL;
	for (p = colon + 1; *p;) {
		size_t len = strcspn(p, ","), dash = strcspn(p, ",-");
		uint64_t lo, hi;

		if (parse_u64(p, dash, &lo) < 0)
			return -EINVAL;
		hi = lo;
		if (dash < len && parse_u64(p + dash + 1, len - dash - 1, &hi) < 0)
			return -EINVAL;
		if (place_bits(word, &value, lo, hi) < 0)
			return -EINVAL;
		p += len + (p[len] == ',');
	}
	return value ? -ERANGE : 0;
}

struct term {
	const char *name;
	size_t name_len;
	bool has_value;
	uint64_t value;
};

static int path_of(char *buf, size_t cap, const char *dir, const struct term *term)
{
	size_t dir_len = strlen(dir);

	if (dir_len + term->name_len + 1 > cap || memchr(term->name, '/', term->name_len) ||
		term->name[0] == '.')
		return -EINVAL;
	memcpy(buf, dir, dir_len);
	memcpy(buf + dir_len, term->name, term->name_len);
	buf[dir_len + term->name_len] = '\0';
	return 0;
}

static int terms_parse(int dir, const char *text, size_t len, unsigned depth,
	struct event_spec *spec, struct error *err);

static int term_apply(int dir, const struct term *term, unsigned depth, struct event_spec *spec,
	struct error *err)
{
	char path[128], text[1024];
	int rc = -EINVAL;

	if (path_of(path, sizeof(path), "format/", term) == 0) {
		read_line(dir, path, text, sizeof(text));
		if (text[0])
			rc = place_value(text, term->has_value ? term->value : 1, spec);
		else if (!term->has_value && !path_of(path, sizeof(path), "events/", term)) {
			read_line(dir, path, text, sizeof(text));
			if (text[0])
				return terms_parse(
					dir, text, strlen(text), depth + 1, spec, err);
		}
	}
	if (rc == -ERANGE)
		return error_set(err, rc,
			"event term '%.*s': the value has more bits than the field",
			(int)term->name_len, term->name);
	if (rc < 0)
		return error_set(err, rc,
			"event term '%.*s': this PMU has no such field or event (see wick "
			"list)",
			(int)term->name_len, term->name);
	return 0;
}

static int terms_parse(int dir, const char *text, size_t len, unsigned depth,
	struct event_spec *spec, struct error *err)
{
	const char *p = text, *end = text + len;

	if (depth > TERM_DEPTH_MAX)
		return error_set(
			err, -EINVAL, "the PMU's named events refer to each other in a circle");
	while (p < end) {
		const char *comma = memchr(p, ',', (size_t)(end - p)),
			   *stop = comma ? comma : end;
		const char *eq = memchr(p, '=', (size_t)(stop - p));
		struct term term = {p, (size_t)((eq ? eq : stop) - p), eq != NULL, 0};
		int rc;

		if (!term.name_len ||
			(eq && parse_u64(eq + 1, (size_t)(stop - eq - 1), &term.value) < 0))
			return error_set(err, -EINVAL,
				"event term '%.*s': want field=number or a name",
				(int)(stop - p), p);
		rc = term_apply(dir, &term, depth, spec, err);
		if (rc < 0)
			return rc;
		p = comma ? comma + 1 : end;
	}
	return 0;
}

int pmu_parse(const char *root, const char *text, size_t len, struct event_spec *ret_spec,
	struct error *err)
{
	const char *slash = memchr(text, '/', len);
	struct event_spec spec = {0};
	char name[64];
	int64_t type;
	int rc;

	if (!slash || len < 3 || text[len - 1] != '/' || slash == text + len - 1 ||
		(size_t)(slash - text) >= sizeof(name))
		return error_set(err, -EINVAL, "event '%.*s': want pmu/field=value,.../",
			(int)len, text);
	memcpy(name, text, (size_t)(slash - text));
	name[slash - text] = '\0';
	cleanup_close int dir = pmu_open(root, name);

	if (dir < 0 || file_read_number(dir, "type", &type) < 0 || type < 0 ||
		type > UINT32_MAX)
		return error_set(err, -ENOENT,
			"event '%.*s': this machine has no PMU named %s (see wick list)",
			(int)len, text, name);
	spec.type = (uint32_t)type;
	read_line(dir, "cpus", spec.cpus, sizeof(spec.cpus));
	rc = terms_parse(dir, slash + 1, (size_t)(text + len - 1 - slash - 1), 0, &spec, err);
	if (rc < 0)
		return rc;
	*ret_spec = spec;
	return 0;
}
