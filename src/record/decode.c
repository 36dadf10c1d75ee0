/*
 * Every kernel record but SAMPLE: a body of fixed fields with at most one thing of variable
 * size at its end, then the trailer (layout.c).
 *
 *     | header 8 | body .................. | trailer |
 *       type misc size                      <- trailer_bytes, 0 without sample_id_all
 *
 * The body is read with the bounds of the body, so that a string cannot run into the trailer.
 * Formats: the comments of enum perf_event_type in include/uapi/linux/perf_event.h.
 */
#include "record/fields.h"

#include <errno.h>

#define BUILD_ID_MAX   20
#define BUILD_ID_WHOLE 16 /* md5, uuid; sha1 has 20 */

static void decode_name(struct bytes *b, struct wick_name *name)
{
	const char *text = bytes_str(b);

	name->text = text ? text : "";
	name->len = text ? (uint32_t)strlen(text) : 0;
}

static void decode_pair(struct bytes *b, uint32_t *first, uint32_t *second)
{
	*first = bytes_u32(b);
	*second = bytes_u32(b);
}

/*
 * The 24 bytes of an MMAP2: a build id, or device and inode? The kernel (6.18 at least) writes
 * the bit of one recorder's event into the records of the next one's, which may not have asked
 * for build ids: the first byte is that of a device number then. Recordings that got their
 * build ids later ("perf inject") have whole ones.
 */
static bool has_build_id(
	const struct wick_layout *layout, const struct wick_record *record, struct bytes b)
{
	uint8_t len = bytes_u8(&b);
	bool padded = !(bytes_u8(&b) | bytes_u16(&b));

	if (!(record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		return false;
	return layout->build_ids || (padded && len >= BUILD_ID_WHOLE && len <= BUILD_ID_MAX);
}

static void decode_identity(
	const struct wick_layout *layout, struct wick_record *record, struct bytes *b)
{
	struct wick_record_mmap *mmap = &record->mmap;
	const uint8_t *id;

	if (!has_build_id(layout, record, *b)) {
		record->misc &= (uint16_t)~PERF_RECORD_MISC_MMAP_BUILD_ID;
		decode_pair(b, &mmap->maj, &mmap->min);
		mmap->ino = bytes_u64(b);
		mmap->ino_generation = bytes_u64(b);
		mmap->has_inode = true;
		return;
	}
	mmap->build_id_bytes = bytes_u8(b);
	bytes_skip(b, 3);
	id = bytes_take(b, BUILD_ID_MAX);
	if (!id || mmap->build_id_bytes > BUILD_ID_MAX) {
		mmap->build_id_bytes = 0;
		b->bad = true;
		return;
	}
	memcpy(mmap->build_id, id, mmap->build_id_bytes);
}

static void decode_mmap(
	const struct wick_layout *layout, struct wick_record *record, struct bytes *b)
{
	struct wick_record_mmap *mmap = &record->mmap;

	decode_pair(b, &mmap->pid, &mmap->tid);
	mmap->addr = bytes_u64(b);
	mmap->len = bytes_u64(b);
	mmap->pgoff = bytes_u64(b);
	if (record->type == PERF_RECORD_MMAP2) {
		decode_identity(layout, record, b);
		decode_pair(b, &mmap->prot, &mmap->flags);
	}
	decode_name(b, &mmap->filename);
}

static void decode_task(struct wick_record_task *task, struct bytes *b)
{
	decode_pair(b, &task->pid, &task->ppid);
	decode_pair(b, &task->tid, &task->ptid);
	task->time = bytes_u64(b);
}

static void decode_namespaces(struct wick_record_namespaces *namespaces, struct bytes *b)
{
	uint64_t n;

	decode_pair(b, &namespaces->pid, &namespaces->tid);
	n = bytes_u64(b);
	namespaces->links.bytes = words_take(b, n, 2);
	if (b->bad)
		return;
	namespaces->n = n;
	namespaces->links.n = n * 2;
}

static void decode_ksymbol(struct wick_record_ksymbol *ksymbol, struct bytes *b)
{
	ksymbol->addr = bytes_u64(b);
	ksymbol->len = bytes_u32(b);
	ksymbol->ksym_type = bytes_u16(b);
	ksymbol->flags = bytes_u16(b);
	decode_name(b, &ksymbol->name);
}

static void decode_bpf(struct wick_record_bpf *bpf, struct bytes *b)
{
	bpf->bpf_type = bytes_u16(b);
	bpf->flags = bytes_u16(b);
	bpf->prog_id = bytes_u32(b);
	bpf->tag = bytes_take(b, 8);
}

static void decode_text_poke(struct wick_record_text_poke *poke, struct bytes *b)
{
	poke->addr = bytes_u64(b);
	poke->old_len = bytes_u16(b);
	poke->new_len = bytes_u16(b);
	poke->bytes = bytes_take(b, (uint64_t)poke->old_len + poke->new_len);
}

/* The records about the profiling itself: losses, throttling, counts, AUX areas. */
static bool decode_bookkeeping(
	const struct wick_layout *layout, struct wick_record *record, struct bytes *b)
{
	switch (record->type) {
	case PERF_RECORD_LOST:
		record->lost.id = bytes_u64(b);
		record->lost.lost = bytes_u64(b);
		return true;
	case PERF_RECORD_LOST_SAMPLES:
		record->lost.lost = bytes_u64(b);
		return true;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		record->throttle.time = bytes_u64(b);
		record->throttle.id = bytes_u64(b);
		record->throttle.stream_id = bytes_u64(b);
		return true;
	case PERF_RECORD_READ:
		decode_pair(b, &record->read.pid, &record->read.tid);
		read_decode(layout, b, &record->read.values);
		return true;
	case PERF_RECORD_AUX:
		record->aux.offset = bytes_u64(b);
		record->aux.size = bytes_u64(b);
		record->aux.flags = bytes_u64(b);
		return true;
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		record->aux_output_hw_id = bytes_u64(b);
		return true;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		record->deferred.cookie = bytes_u64(b);
		counted_words(b, &record->deferred.callchain);
		return true;
	default:
		return false;
	}
}

/* The records about what runs: tasks, mappings, kernel symbols. */
static bool decode_sideband(
	const struct wick_layout *layout, struct wick_record *record, struct bytes *b)
{
	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		decode_mmap(layout, record, b);
		return true;
	case PERF_RECORD_COMM:
		decode_pair(b, &record->comm.pid, &record->comm.tid);
		decode_name(b, &record->comm.name);
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		decode_task(&record->task, b);
		return true;
	case PERF_RECORD_ITRACE_START:
		decode_pair(b, &record->itrace_start.pid, &record->itrace_start.tid);
		return true;
	case PERF_RECORD_SWITCH:
		return true;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		decode_pair(b, &record->sched.pid, &record->sched.tid);
		return true;
	case PERF_RECORD_NAMESPACES:
		decode_namespaces(&record->namespaces, b);
		return true;
	case PERF_RECORD_KSYMBOL:
		decode_ksymbol(&record->ksymbol, b);
		return true;
	case PERF_RECORD_BPF_EVENT:
		decode_bpf(&record->bpf, b);
		return true;
	case PERF_RECORD_CGROUP:
		record->cgroup.id = bytes_u64(b);
		decode_name(b, &record->cgroup.path);
		return true;
	case PERF_RECORD_TEXT_POKE:
		decode_text_poke(&record->text_poke, b);
		return true;
	default:
		return false;
	}
}

static void decode_trailer(uint64_t type, struct bytes b, struct wick_sample_id *id)
{
	id->have = type & TRAILER_BITS;
	if (type & PERF_SAMPLE_TID)
		decode_pair(&b, &id->pid, &id->tid);
	if (type & PERF_SAMPLE_TIME)
		id->time = bytes_u64(&b);
	if (type & PERF_SAMPLE_ID)
		id->id = bytes_u64(&b);
	if (type & PERF_SAMPLE_STREAM_ID)
		id->stream_id = bytes_u64(&b);
	if (type & PERF_SAMPLE_CPU)
		decode_pair(&b, &id->cpu, &id->cpu_reserved);
	if (type & PERF_SAMPLE_IDENTIFIER)
		id->id = bytes_u64(&b);
}

int wick_record_decode(const struct wick_layout *layout, const void *bytes, size_t len,
	struct wick_record *ret_record)
{
	const uint8_t *start = bytes;
	struct perf_event_header header;
	size_t body_end;
	struct bytes b;

	if (len < sizeof(header))
		return -EBADMSG;
	memcpy(&header, start, sizeof(header));
	if (header.size < sizeof(header) || header.size > len)
		return -EBADMSG;
	memset(ret_record, 0, sizeof(*ret_record));
	ret_record->type = header.type;
	ret_record->misc = header.misc;
	ret_record->size = header.size;
	b = bytes_of(start + sizeof(header), header.size - sizeof(header));
	if (header.type == PERF_RECORD_SAMPLE) {
		sample_decode(layout, &b, ret_record);
		return b.bad ? -EBADMSG : header.size;
	}
	if (header.type == 0 || header.type >= PERF_RECORD_MAX)
		return -ENOTSUP;
	if (bytes_left(&b) < layout->trailer_bytes)
		return -EBADMSG;
	body_end = header.size - layout->trailer_bytes;
	b.end = start + body_end;
	if (!decode_sideband(layout, ret_record, &b) &&
		!decode_bookkeeping(layout, ret_record, &b))
		return -ENOTSUP;
	if (layout->trailer_bytes)
		decode_trailer(layout->sample_type,
			bytes_of(start + body_end, layout->trailer_bytes), &ret_record->id);
	return b.bad ? -EBADMSG : header.size;
}
