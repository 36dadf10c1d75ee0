/*
 * The sections of the header: hostname, command line, build ids, names of the events, ...
 *
 * A section is bytes of a known length with a layout of its own; strings are a u32 length and
 * that many bytes, padded with NULs. The same bodies stand in a file's feature sections and in
 * a pipe's HEADER_FEATURE records. A section that does not decode is counted and left out: the
 * records can be used without it.
 *
 * Layouts: tools/perf/util/header.c in the kernel's tree (write_*), which is right where its
 * documentation is not: NRCPUS is available, then online; TOTAL_MEM is in kB.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void cmdline_free(struct perfdata_features *features)
{
	for (uint32_t i = 0; i < features->cmdline_count; i++)
		free(features->cmdline[i]);
	free(features->cmdline);
	features->cmdline = NULL;
	features->cmdline_count = 0;
}

void perfdata_features_done(struct perfdata_features *features)
{
	free(features->hostname);
	free(features->osrelease);
	free(features->version);
	free(features->arch);
	free(features->cpudesc);
	free(features->cpuid);
	cmdline_free(features);
	for (uint32_t i = 0; i < features->build_id_count; i++)
		free(features->build_ids[i].filename);
	free(features->build_ids);
	free(features->quality);
	free(features->names);
	free(features->code);
	*features = (struct perfdata_features){0};
}

/* A length and that many bytes, in place; NULL when they are not there. */
static const char *take_string(struct bytes *b, size_t *ret_len)
{
	uint32_t len = bytes_u32(b);
	const uint8_t *text = bytes_take(b, len);

	*ret_len = text ? strnlen((const char *)text, len) : 0;
	return (const char *)text;
}

static int read_string(struct bytes *b, char **ret_text)
{
	size_t len;
	const char *text = take_string(b, &len);
	char *copy;

	if (!text)
		return -EBADMSG;
	copy = strndup(text, len);
	if (!copy)
		return -ENOMEM;
	free(*ret_text);
	*ret_text = copy;
	return 0;
}

static int read_cmdline(struct perfdata_features *features, struct bytes *b)
{
	uint32_t count = bytes_u32(b);
	char **words;
	int rc = 0;

	/* Each word has at least its length. */
	if (b->bad || count > LIMIT_CMDLINE || count > bytes_left(b) / sizeof(uint32_t))
		return -EBADMSG;
	words = calloc(count ? count : 1, sizeof(*words));
	if (!words)
		return -ENOMEM;
	cmdline_free(features);
	features->cmdline = words;
	while (features->cmdline_count < count && rc == 0) {
		rc = read_string(b, &words[features->cmdline_count]);
		if (rc == 0)
			features->cmdline_count++;
	}
	return rc;
}

/*
 * The event that an entry of EVENT_DESC speaks of: by one of its ids; where it has none, by its
 * place, if what is there is of the same type.
 */
static struct perfdata_event *described_event(
	struct event_table *events, uint32_t place, struct bytes attr, struct bytes ids)
{
	struct perfdata_event *event = NULL;
	uint32_t type = bytes_u32(&attr);
	uint64_t config;

	while (!event && bytes_left(&ids) >= sizeof(uint64_t))
		event = event_table_find(events, bytes_u64(&ids));
	bytes_u32(&attr);
	config = bytes_u64(&attr);
	if (event || attr.bad || place >= events->count)
		return event;
	event = &events->events[place];
	return event->attr.type == type && event->attr.config == config ? event : NULL;
}

static int read_event_desc(struct event_table *events, struct bytes *b)
{
	uint32_t count = bytes_u32(b), attr_bytes = bytes_u32(b);

	if (b->bad || attr_bytes < 16 || count > bytes_left(b) / attr_bytes)
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *attr = bytes_take(b, attr_bytes);
		uint32_t id_count = bytes_u32(b);
		size_t name_len, ids_len = (size_t)id_count * sizeof(uint64_t);
		const char *name = take_string(b, &name_len);
		const uint8_t *ids = bytes_take(b, ids_len);
		struct perfdata_event *event;

		if (b->bad)
			return -EBADMSG;
		event = described_event(
			events, i, bytes_of(attr, attr_bytes), bytes_of(ids, ids_len));
		if (event && name_len && event_set_name(event, name, name_len) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 *     header | pid | build_id[20] size reserved[3] | file name, padded with NULs
 *
 * Before Linux 5.13 there was no size: an id was 20 bytes, or shorter with zeros behind it.
 * Before 2.6.33 there was no pid either; the name then stands 4 bytes earlier.
 */
static int read_build_id(struct perfdata_build_id *build_id, struct bytes b)
{
	enum { ID_FIELD = 24 };
	struct perf_event_header header = {bytes_u32(&b), bytes_u16(&b), bytes_u16(&b)};
	const uint8_t *pid = bytes_take(&b, sizeof(int32_t)), *id = bytes_take(&b, ID_FIELD),
		      *name;
	size_t name_room = bytes_left(&b);

	name = bytes_take(&b, name_room);
	if (b.bad)
		return -EBADMSG;
	if (name_room >= 13 && memcmp(name, "nel.kallsyms]", 13) == 0) {
		id = pid;
		name -= 4;
		name_room += 4;
		pid = NULL;
	}
	*build_id = (struct perfdata_build_id){
		.pid = -1, .misc = header.misc & PERF_RECORD_MISC_CPUMODE_MASK};
	if (pid)
		memcpy(&build_id->pid, pid, sizeof(build_id->pid));
	memcpy(build_id->bytes, id, sizeof(build_id->bytes));
	build_id->len = sizeof(build_id->bytes);
	if (header.misc & MISC_BUILD_ID_SIZE && id[20] <= sizeof(build_id->bytes))
		build_id->len = id[20];
	else
		while (build_id->len && !build_id->bytes[build_id->len - 1])
			build_id->len--;
	memset(build_id->bytes + build_id->len, 0, sizeof(build_id->bytes) - build_id->len);
	build_id->filename = strndup((const char *)name, name_room);
	return build_id->filename ? 0 : -ENOMEM;
}

int feature_take_build_id(struct feature_reader *reader, struct bytes entry)
{
	struct perfdata_features *features = &reader->features;
	struct perfdata_build_id build_id;
	int rc = array_reserve(&features->build_ids, &reader->build_id_cap,
		(uint64_t)features->build_id_count + 1, sizeof(*features->build_ids),
		LIMIT_BUILD_IDS);

	if (rc == 0)
		rc = read_build_id(&build_id, entry);
	if (rc == 0)
		features->build_ids[features->build_id_count++] = build_id;
	return rc == -ENOSPC ? -EBADMSG : rc;
}

static int read_build_ids(struct feature_reader *reader, struct bytes *b)
{
	while (bytes_left(b)) {
		struct bytes peek = *b;
		const uint8_t *entry;
		uint16_t size;
		int rc;

		bytes_skip(&peek, 6);
		size = bytes_u16(&peek);
		entry = bytes_take(b, size);
		if (peek.bad || !entry || size < sizeof(struct perf_event_header))
			return -EBADMSG;
		rc = feature_take_build_id(reader, bytes_of(entry, size));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int add_blob(struct bytes *b, void **blob, size_t *blob_len)
{
	size_t len = bytes_left(b);
	uint8_t *longer;

	if (len > LIMIT_FEATURE - *blob_len)
		return -EBADMSG;
	longer = realloc(*blob, *blob_len + len + 1);
	if (!longer)
		return -ENOMEM;
	if (len)
		memcpy(longer + *blob_len, bytes_take(b, len), len);
	*blob = longer;
	*blob_len += len;
	return 0;
}

int feature_take_piece(struct feature_reader *reader, uint32_t bit, struct bytes piece)
{
	struct perfdata_features *f = &reader->features;

	switch (bit) {
	case PERFDATA_FEATURE_QUALITY:
		return add_blob(&piece, &f->quality, &f->quality_bytes);
	case PERFDATA_FEATURE_NAMES:
		return add_blob(&piece, &f->names, &f->names_bytes);
	case PERFDATA_FEATURE_CODE:
		return add_blob(&piece, &f->code, &f->code_bytes);
	default:
		return 0;
	}
}

/* Sections of a few numbers. */
static int read_numbers(struct perfdata_features *out, uint32_t bit, struct bytes *b)
{
	struct perfdata_features f = *out;

	switch (bit) {
	case FEATURE_NRCPUS:
		f.nrcpus_available = bytes_u32(b);
		f.nrcpus_online = bytes_u32(b);
		break;
	case FEATURE_TOTAL_MEM:
		f.total_mem_kb = bytes_u64(b);
		break;
	case FEATURE_SAMPLE_TIME:
		f.first_sample_ns = bytes_u64(b);
		f.last_sample_ns = bytes_u64(b);
		break;
	case FEATURE_CLOCKID:
		f.clockid_res_ns = bytes_u64(b);
		break;
	case FEATURE_COMPRESSED:
		bytes_u32(b); /* version */
		f.comp_type = bytes_u32(b);
		f.comp_level = bytes_u32(b);
		f.comp_ratio = bytes_u32(b);
		f.comp_mmap_len = bytes_u32(b);
		break;
	case FEATURE_CLOCK_DATA:
		if (bytes_u32(b) != 1) /* version */
			return -EBADMSG;
		f.clockid = bytes_u32(b);
		f.wall_clock_ns = bytes_u64(b);
		f.clockid_ns = bytes_u64(b);
		f.has_clock_data = true;
		break;
	default:
		return 0; /* not of interest */
	}
	if (b->bad)
		return -EBADMSG;
	*out = f;
	return 0;
}

static int take(struct feature_reader *reader, uint32_t bit, struct bytes *b)
{
	struct perfdata_features *f = &reader->features;

	switch (bit) {
	case FEATURE_BUILD_ID:
		return read_build_ids(reader, b);
	case FEATURE_HOSTNAME:
		return read_string(b, &f->hostname);
	case FEATURE_OSRELEASE:
		return read_string(b, &f->osrelease);
	case FEATURE_VERSION:
		return read_string(b, &f->version);
	case FEATURE_ARCH:
		return read_string(b, &f->arch);
	case FEATURE_CPUDESC:
		return read_string(b, &f->cpudesc);
	case FEATURE_CPUID:
		return read_string(b, &f->cpuid);
	case FEATURE_CMDLINE:
		return read_cmdline(f, b);
	case FEATURE_EVENT_DESC:
		return read_event_desc(reader->events, b);
	case PERFDATA_FEATURE_QUALITY:
		f->quality_bytes = 0;
		return feature_take_piece(reader, bit, *b);
	case PERFDATA_FEATURE_NAMES:
		f->names_bytes = 0;
		return feature_take_piece(reader, bit, *b);
	case PERFDATA_FEATURE_CODE:
		f->code_bytes = 0;
		return feature_take_piece(reader, bit, *b);
	default:
		return read_numbers(f, bit, b);
	}
}

int feature_take(struct feature_reader *reader, uint32_t bit, struct bytes body)
{
	/* perf writes an empty section for what it could not find out. */
	int rc = bytes_left(&body) ? take(reader, bit, &body) : 0;

	if (rc == -EBADMSG) {
		reader->bad++;
		rc = 0;
	}
	return rc;
}
