/*
 * The sections of the header, as they stand behind the data:
 *
 *     base: | offset size | offset size | ... |  section  | section | ...
 *             one for each bit that is set       in the same order
 *
 * perf reads the table in the order of the bits, so the encoders stand in that order too.
 * Sections that nothing is known about are left out.
 */
#include "perfdata/perfdata_internal.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct encode {
	const struct perfdata_features *features;
	const struct perfdata_event *events;
	uint32_t event_count;
	struct strbuf *out;
};

static void put_u32(struct strbuf *out, uint32_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void put_u64(struct strbuf *out, uint64_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void put_padded(struct strbuf *out, const char *text, size_t len, size_t padded)
{
	static const char zeros[PERFDATA_ALIGN];

	strbuf_add(out, text, len);
	strbuf_add(out, zeros, padded - len);
}

/* Text with its NUL, rounded up as perf does. */
static size_t padded_len(const char *text)
{
	return (strlen(text) + PERFDATA_ALIGN) & ~(size_t)(PERFDATA_ALIGN - 1);
}

static void put_string(struct strbuf *out, const char *text)
{
	size_t padded = padded_len(text);

	put_u32(out, (uint32_t)padded);
	put_padded(out, text, strlen(text), padded);
}

static void put_if(struct strbuf *out, const char *text)
{
	if (text)
		put_string(out, text);
}

static void put_blob(struct strbuf *out, const void *bytes, size_t len)
{
	if (len)
		strbuf_add(out, bytes, len);
}

/* Linux 5.13's layout, see read_build_id(). */
static void put_build_ids(struct encode *e)
{
	enum { FIXED = 36, NAME_MAX_BYTES = 4096 };

	for (uint32_t i = 0; i < e->features->build_id_count; i++) {
		const struct perfdata_build_id *id = &e->features->build_ids[i];
		const char *name = id->filename ? id->filename : "";
		size_t padded = padded_len(name);
		struct perf_event_header header = {
			.type = PERF_RECORD_HEADER_BUILD_ID,
			.misc = id->misc | MISC_BUILD_ID_SIZE,
			.size = (uint16_t)(FIXED + padded),
		};
		uint8_t fixed[24] = {0};

		if (padded > NAME_MAX_BYTES || id->len > sizeof(id->bytes))
			continue;
		memcpy(fixed, id->bytes, id->len);
		fixed[sizeof(id->bytes)] = id->len;
		strbuf_add(e->out, &header, sizeof(header));
		strbuf_add(e->out, &id->pid, sizeof(id->pid));
		strbuf_add(e->out, fixed, sizeof(fixed));
		put_padded(e->out, name, strlen(name), padded);
	}
}

static void put_cmdline(struct encode *e)
{
	if (!e->features->cmdline_count)
		return;
	put_u32(e->out, e->features->cmdline_count);
	for (uint32_t i = 0; i < e->features->cmdline_count; i++)
		put_string(e->out, e->features->cmdline[i]);
}

static void put_event_desc(struct encode *e)
{
	uint32_t attr_bytes = attrs_used_bytes(e->events, e->event_count);

	put_u32(e->out, e->event_count);
	put_u32(e->out, attr_bytes);
	for (uint32_t i = 0; i < e->event_count; i++) {
		const struct perfdata_event *event = &e->events[i];
		struct perf_event_attr attr = event->attr;
		char name[256];

		attr.size = attr_bytes;
		perfdata_event_name(event, name, sizeof(name));
		strbuf_add(e->out, &attr, attr_bytes);
		put_u32(e->out, event->id_count);
		put_string(e->out, name);
		put_blob(e->out, event->ids, event->id_count * sizeof(*event->ids));
	}
}

static void put_numbers(struct encode *e, uint32_t bit)
{
	const struct perfdata_features *f = e->features;

	switch (bit) {
	case FEATURE_NRCPUS:
		if (f->nrcpus_available) {
			put_u32(e->out, f->nrcpus_available);
			put_u32(e->out, f->nrcpus_online);
		}
		break;
	case FEATURE_TOTAL_MEM:
		if (f->total_mem_kb)
			put_u64(e->out, f->total_mem_kb);
		break;
	case FEATURE_SAMPLE_TIME:
		if (f->last_sample_ns) {
			put_u64(e->out, f->first_sample_ns);
			put_u64(e->out, f->last_sample_ns);
		}
		break;
	case FEATURE_CLOCKID:
		if (f->clockid_res_ns)
			put_u64(e->out, f->clockid_res_ns);
		break;
	case FEATURE_COMPRESSED:
		if (f->comp_type) {
			put_u32(e->out, 1); /* version */
			put_u32(e->out, f->comp_type);
			put_u32(e->out, f->comp_level);
			put_u32(e->out, f->comp_ratio);
			put_u32(e->out, f->comp_mmap_len);
		}
		break;
	case FEATURE_CLOCK_DATA:
		if (f->has_clock_data) {
			put_u32(e->out, 1); /* version */
			put_u32(e->out, f->clockid);
			put_u64(e->out, f->wall_clock_ns);
			put_u64(e->out, f->clockid_ns);
		}
		break;
	default:
		break;
	}
}

static void put_section(struct encode *e, uint32_t bit)
{
	const struct perfdata_features *f = e->features;

	switch (bit) {
	case FEATURE_BUILD_ID:
		put_build_ids(e);
		break;
	case FEATURE_HOSTNAME:
		put_if(e->out, f->hostname);
		break;
	case FEATURE_OSRELEASE:
		put_if(e->out, f->osrelease);
		break;
	case FEATURE_VERSION:
		put_if(e->out, f->version);
		break;
	case FEATURE_ARCH:
		put_if(e->out, f->arch);
		break;
	case FEATURE_CPUDESC:
		put_if(e->out, f->cpudesc);
		break;
	case FEATURE_CPUID:
		put_if(e->out, f->cpuid);
		break;
	case FEATURE_CMDLINE:
		put_cmdline(e);
		break;
	case FEATURE_EVENT_DESC:
		put_event_desc(e);
		break;
	case PERFDATA_FEATURE_QUALITY:
		put_blob(e->out, f->quality, f->quality_bytes);
		break;
	case PERFDATA_FEATURE_NAMES:
		put_blob(e->out, f->names, f->names_bytes);
		break;
	case PERFDATA_FEATURE_CODE:
		put_blob(e->out, f->code, f->code_bytes);
		break;
	default:
		put_numbers(e, bit);
	}
}

uint32_t attrs_used_bytes(const struct perfdata_event *events, uint32_t count)
{
	static const uint8_t zeros[sizeof(struct perf_event_attr)];
	uint32_t bytes = PERF_ATTR_SIZE_VER5;

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *attr = (const uint8_t *)&events[i].attr;

		while (bytes < sizeof(zeros) &&
			memcmp(attr + bytes, zeros, sizeof(zeros) - bytes) != 0)
			bytes += 8;
	}
	return bytes;
}

void feature_encode(const struct encode_options *options, uint32_t bit, struct strbuf *ret_body)
{
	struct encode e = {options->features, options->events, options->event_count, ret_body};

	put_section(&e, bit);
}

void section_cache_done(struct section_cache *cache)
{
	for (uint32_t bit = 0; bit < FEATURE_BITS; bit++)
		free(cache->of[bit].bytes);
	*cache = (struct section_cache){0};
}

static bool is_cached(const struct section_cache *cache, uint32_t bit,
	const struct strbuf *body, size_t start)
{
	size_t len = body->len - start;

	return cache->of[bit].bytes && cache->of[bit].len == len &&
	       memcmp(cache->of[bit].bytes, body->text + start, len) == 0;
}

/* 0 or -ENOMEM. Until the table is placed, the offset counts from its end. */
static int cache_section(
	struct section_cache *cache, uint32_t bit, const struct strbuf *body, size_t start)
{
	size_t len = body->len - start;
	uint8_t *bytes = malloc(len);

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, body->text + start, len);
	free(cache->of[bit].bytes);
	cache->of[bit].bytes = bytes;
	cache->of[bit].len = len;
	cache->of[bit].offset = start;
	return 0;
}

int features_encode(
	const struct encode_options *options, uint64_t ret_bits[4], struct strbuf *ret_bytes)
{
	cleanup_with(strbuf_done) struct strbuf body = {0};
	struct encode e = {options->features, options->events, options->event_count, &body};
	struct section_cache *cache = options->cache;
	bool fresh[FEATURE_BITS] = {false};
	uint64_t bits[4] = {0}, count = 0;

	for (uint32_t bit = 0; bit < FEATURE_BITS; bit++) {
		size_t start = body.len;

		put_section(&e, bit);
		if (body.failed)
			return -ENOMEM;
		if (body.len == start)
			continue;
		bits[bit / 64] |= 1ull << bit % 64;
		count++;
		fresh[bit] = !is_cached(cache, bit, &body, start);
		if (!fresh[bit])
			body.len = start;
		else if (cache_section(cache, bit, &body, start) < 0)
			return -ENOMEM;
	}
	for (uint32_t bit = 0; bit < FEATURE_BITS; bit++) {
		if (!(bits[bit / 64] >> bit % 64 & 1))
			continue;
		if (fresh[bit])
			cache->of[bit].offset += options->base + count * 2 * sizeof(uint64_t);
		put_u64(ret_bytes, cache->of[bit].offset);
		put_u64(ret_bytes, cache->of[bit].len);
	}
	put_blob(ret_bytes, body.text, body.len);
	if (ret_bytes->failed)
		return -ENOMEM;
	memcpy(ret_bits, bits, sizeof(bits));
	return 0;
}
