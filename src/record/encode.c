/*
 * Every kernel record but SAMPLE, and the frame around all of them: the header is written last,
 * when the size is known. Bodies are as decode.c reads them, trailers as layout.c draws them.
 */
#include "record/encode.h"

#include "record/fields.h"
#include "record/out.h"

#include <errno.h>

/* The largest size that fits header.size and is a multiple of 8. */
#define RECORD_BYTES_MAX (PERF_RECORD_SIZE_MAX & ~7u)

static void encode_name(const struct wick_name *name, struct out *o)
{
	out_bytes(o, name->text, name->len);
	out_bytes(o, "", 1);
	out_pad(o, name->len + 1ull);
}

static bool has_build_id(const struct wick_record *record)
{
	return record->type == PERF_RECORD_MMAP2 &&
	       (record->mmap.build_id_bytes || (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID));
}

static void encode_identity(const struct wick_record *record, struct out *o)
{
	const struct wick_record_mmap *mmap = &record->mmap;

	if (!has_build_id(record)) {
		out_pair(o, mmap->maj, mmap->min);
		out_u64(o, mmap->ino);
		out_u64(o, mmap->ino_generation);
		return;
	}
	if (mmap->build_id_bytes > sizeof(mmap->build_id))
		o->invalid = true;
	out_bytes(o, &mmap->build_id_bytes, 1);
	out_bytes(o, "\0\0", 3); /* reserved */
	out_bytes(o, mmap->build_id, sizeof(mmap->build_id));
}

static void encode_mmap(const struct wick_record *record, struct out *o)
{
	const struct wick_record_mmap *mmap = &record->mmap;

	out_pair(o, mmap->pid, mmap->tid);
	out_u64(o, mmap->addr);
	out_u64(o, mmap->len);
	out_u64(o, mmap->pgoff);
	if (record->type == PERF_RECORD_MMAP2) {
		encode_identity(record, o);
		out_pair(o, mmap->prot, mmap->flags);
	}
	encode_name(&mmap->filename, o);
}

static void encode_task(const struct wick_record_task *task, struct out *o)
{
	out_pair(o, task->pid, task->ppid);
	out_pair(o, task->tid, task->ptid);
	out_u64(o, task->time);
}

static void encode_namespaces(const struct wick_record_namespaces *namespaces, struct out *o)
{
	out_pair(o, namespaces->pid, namespaces->tid);
	out_u64(o, namespaces->n);
	out_words(o, namespaces->links.bytes, namespaces->n, 2);
}

static void encode_ksymbol(const struct wick_record_ksymbol *ksymbol, struct out *o)
{
	out_u64(o, ksymbol->addr);
	out_u32(o, ksymbol->len);
	out_u16(o, ksymbol->ksym_type);
	out_u16(o, ksymbol->flags);
	encode_name(&ksymbol->name, o);
}

static void encode_text_poke(const struct wick_record_text_poke *poke, struct out *o)
{
	uint64_t len = (uint64_t)poke->old_len + poke->new_len;

	out_u64(o, poke->addr);
	out_u16(o, poke->old_len);
	out_u16(o, poke->new_len);
	out_bytes(o, poke->bytes, len);
	out_pad(o, 4 + len);
}

static bool encode_bookkeeping(
	const struct wick_layout *layout, const struct wick_record *record, struct out *o)
{
	switch (record->type) {
	case PERF_RECORD_LOST:
		out_u64(o, record->lost.id);
		out_u64(o, record->lost.lost);
		return true;
	case PERF_RECORD_LOST_SAMPLES:
		out_u64(o, record->lost.lost);
		return true;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		out_u64(o, record->throttle.time);
		out_u64(o, record->throttle.id);
		out_u64(o, record->throttle.stream_id);
		return true;
	case PERF_RECORD_READ:
		out_pair(o, record->read.pid, record->read.tid);
		read_encode(layout, &record->read.values, o);
		return true;
	case PERF_RECORD_AUX:
		out_u64(o, record->aux.offset);
		out_u64(o, record->aux.size);
		out_u64(o, record->aux.flags);
		return true;
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		out_u64(o, record->aux_output_hw_id);
		return true;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		out_u64(o, record->deferred.cookie);
		out_counted_words(o, &record->deferred.callchain);
		return true;
	default:
		return false;
	}
}

static bool encode_sideband(const struct wick_record *record, struct out *o)
{
	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		encode_mmap(record, o);
		return true;
	case PERF_RECORD_COMM:
		out_pair(o, record->comm.pid, record->comm.tid);
		encode_name(&record->comm.name, o);
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		encode_task(&record->task, o);
		return true;
	case PERF_RECORD_ITRACE_START:
		out_pair(o, record->itrace_start.pid, record->itrace_start.tid);
		return true;
	case PERF_RECORD_SWITCH:
		return true;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		out_pair(o, record->sched.pid, record->sched.tid);
		return true;
	case PERF_RECORD_NAMESPACES:
		encode_namespaces(&record->namespaces, o);
		return true;
	case PERF_RECORD_KSYMBOL:
		encode_ksymbol(&record->ksymbol, o);
		return true;
	case PERF_RECORD_BPF_EVENT:
		out_u16(o, record->bpf.bpf_type);
		out_u16(o, record->bpf.flags);
		out_u32(o, record->bpf.prog_id);
		out_bytes(o, record->bpf.tag, 8);
		return true;
	case PERF_RECORD_CGROUP:
		out_u64(o, record->cgroup.id);
		encode_name(&record->cgroup.path, o);
		return true;
	case PERF_RECORD_TEXT_POKE:
		encode_text_poke(&record->text_poke, o);
		return true;
	default:
		return false;
	}
}

static void encode_trailer(uint64_t type, const struct wick_sample_id *id, struct out *o)
{
	if (type & PERF_SAMPLE_TID)
		out_pair(o, id->pid, id->tid);
	if (type & PERF_SAMPLE_TIME)
		out_u64(o, id->time);
	if (type & PERF_SAMPLE_ID)
		out_u64(o, id->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		out_u64(o, id->stream_id);
	if (type & PERF_SAMPLE_CPU)
		out_pair(o, id->cpu, id->cpu_reserved);
	if (type & PERF_SAMPLE_IDENTIFIER)
		out_u64(o, id->id);
}

int record_encode(const struct wick_layout *layout, const struct wick_record *record, void *buf,
	size_t cap)
{
	bool no_limit = cap >= RECORD_BYTES_MAX;
	struct perf_event_header header = {.type = record->type, .misc = record->misc};
	uint8_t *start = buf;
	struct out o = {.at = start, .end = start + (no_limit ? RECORD_BYTES_MAX : cap)};

	out_bytes(&o, &header, sizeof(header));
	if (record->type == PERF_RECORD_SAMPLE) {
		sample_encode(layout, record, &o);
	} else {
		if (!encode_sideband(record, &o) && !encode_bookkeeping(layout, record, &o))
			return -EINVAL;
		if (layout->sample_id_all)
			encode_trailer(layout->sample_type, &record->id, &o);
	}
	if (o.invalid)
		return -EINVAL;
	if (o.full)
		return no_limit ? -EINVAL : -ENOSPC;
	if (has_build_id(record))
		header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	header.size = (uint16_t)(o.at - start);
	memcpy(start, &header, sizeof(header));
	return header.size;
}
