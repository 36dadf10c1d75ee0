/*
 * wick_record_decode() over any bytes.
 *
 *     input:  sample_type 4 | read_format 1 | branch bits 1 | flags 1 | 0 | regs_user 4 |
 * regs_intr 4 | records
 *
 * Checked: every pointer of a decoded record lies inside it with its length; the quick look-ups
 * agree with the decoder; and what is decoded, encoded and decoded again is the same.
 */
#include "abi/perf_abi.h"
#include "base/bytes.h"
#include "record/encode.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct span {
	const uint8_t *start, *end;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void inside(struct span span, const void *bytes, uint64_t len)
{
	const uint8_t *start = bytes;

	if (!len)
		return;
	must(start >= span.start && start <= span.end && len <= (uint64_t)(span.end - start));
}

static void words_inside(struct span span, struct wick_words words, unsigned entry_words)
{
	must(words.n <= 8192);
	inside(span, words.bytes, words.n * entry_words * 8);
}

static void read_inside(struct span span, const struct wick_read *read)
{
	must(read->n <= 8192);
	inside(span, read->values, read->n * read->entry_words * 8);
	must(read->id_word <= read->entry_words && read->lost_word <= read->entry_words);
}

static void name_inside(struct span span, const struct wick_name *name)
{
	inside(span, name->text, name->len + 1ull);
	must(strlen(name->text) == name->len);
}

static void sample_inside(struct span span, const struct wick_sample *sample)
{
	read_inside(span, &sample->read);
	words_inside(span, sample->callchain, 1);
	inside(span, sample->raw, sample->raw_bytes);
	words_inside(span, sample->branches, 3);
	words_inside(span, sample->branch_counters, 1);
	words_inside(span, sample->regs_user.values, 1);
	words_inside(span, sample->regs_intr.values, 1);
	must(sample->stack_bytes <= sample->stack_asked);
	inside(span, sample->stack, sample->stack_asked);
	inside(span, sample->aux, sample->aux_bytes);
}

static void record_inside(struct span span, const struct wick_record *record)
{
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		sample_inside(span, &record->sample);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		must(record->mmap.build_id_bytes <= sizeof(record->mmap.build_id));
		name_inside(span, &record->mmap.filename);
		break;
	case PERF_RECORD_COMM:
		name_inside(span, &record->comm.name);
		break;
	case PERF_RECORD_KSYMBOL:
		name_inside(span, &record->ksymbol.name);
		break;
	case PERF_RECORD_CGROUP:
		name_inside(span, &record->cgroup.path);
		break;
	case PERF_RECORD_READ:
		read_inside(span, &record->read.values);
		break;
	case PERF_RECORD_NAMESPACES:
		words_inside(span, record->namespaces.links, 1);
		break;
	case PERF_RECORD_BPF_EVENT:
		inside(span, record->bpf.tag, 8);
		break;
	case PERF_RECORD_TEXT_POKE:
		inside(span, record->text_poke.bytes,
			(uint64_t)record->text_poke.old_len + record->text_poke.new_len);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		words_inside(span, record->deferred.callchain, 1);
		break;
	default:
		break;
	}
}

/* decode, encode, decode, encode: the two encodings are equal. */
static void roundtrip(const struct wick_layout *layout, const struct wick_record *record)
{
	static uint8_t once[65536], twice[65536];
	struct wick_record again;
	int size = record_encode(layout, record, once, sizeof(once));

	/* Padding may push a record of nearly the largest size over it. */
	if (size < 0) {
		must(record->size > 65500);
		return;
	}
	must(wick_record_decode(layout, once, (size_t)size, &again) == size);
	must(record_encode(layout, &again, twice, sizeof(twice)) == size);
	must(memcmp(once, twice, (size_t)size) == 0);
	must(again.type == record->type && again.id.time == record->id.time);
}

static void fuzz_records(const struct wick_layout *layout, const uint8_t *data, size_t size)
{
	struct wick_record record;

	while (size >= sizeof(struct perf_event_header)) {
		int rc = wick_record_decode(layout, data, size, &record);

		if (rc > 0) {
			must((size_t)rc <= size);
			record_inside((struct span){data, data + rc}, &record);
			must(wick_record_time(layout, data) == record.id.time);
			must(wick_record_type_name(record.type)[0] != '?');
			roundtrip(layout, &record);
		} else if (data[6] | data[7] << 8) {
			rc = data[6] | data[7] << 8;
		} else {
			return;
		}
		if ((size_t)rc > size)
			return;
		data += rc;
		size -= (size_t)rc;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);
	struct perf_event_attr attr = {.size = sizeof(attr)};
	struct wick_layout layout;
	uint8_t *copy;

	attr.sample_type = bytes_u32(&b) & (PERF_SAMPLE_MAX - 1);
	attr.read_format = bytes_u8(&b) & 31;
	attr.branch_sample_type = (uint64_t)bytes_u8(&b) << 12;
	attr.flags = bytes_u8(&b) & 1 ? ATTR_SAMPLE_ID_ALL : 0;
	bytes_skip(&b, 1);
	attr.sample_regs_user = bytes_u32(&b);
	attr.sample_regs_intr = bytes_u32(&b);
	if (b.bad || wick_layout_init(&layout, &attr) < 0)
		return 0;
	/* A block of its own, so that ASan sees a read behind the last record. */
	copy = malloc(bytes_left(&b) ? bytes_left(&b) : 1);
	if (!copy)
		return 0;
	memcpy(copy, b.at, bytes_left(&b));
	fuzz_records(&layout, copy, bytes_left(&b));
	free(copy);
	return 0;
}
