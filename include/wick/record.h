/*
 * PERF_RECORD_*: bytes into structs, by the attr of the event that wrote them.
 *
 * Which fields a SAMPLE has, and which trailer the other records carry, is decided by attr bits
 * (perf_event_open(2)); a `wick_layout` is those bits with the offsets worked out. Decoding
 * copies nothing: strings and arrays point into the record and live as long as it does.
 *
 * Records need no alignment. Pure functions, any thread.
 */
#ifndef WICK_RECORD_H
#define WICK_RECORD_H

#include <wick/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct perf_event_attr;

/* What decides how an event's records look. Offsets count from the record's first byte. */
struct wick_layout {
	uint64_t sample_type; /* PERF_SAMPLE_* */
	uint64_t read_format; /* PERF_FORMAT_* */
	uint64_t branch_sample_type;
	uint64_t regs_user, regs_intr;		  /* register masks */
	uint64_t fixed_period;			  /* of samples that carry none; 0: not known */
	uint16_t fixed_bytes;			  /* of a SAMPLE's fields of fixed places */
	uint8_t regs_user_count, regs_intr_count; /* bits set in the masks */
	bool sample_id_all;			  /* the other records carry a trailer */
	bool build_ids;				  /* MMAP2 was asked to have build ids */
	uint16_t trailer_bytes;			  /* its size */
	/* Fixed places in a SAMPLE; 0: not there. */
	uint16_t ip_off, tid_off, time_off, id_off, cpu_off, period_off;
	/* Places in the trailer, counted back from the record's end; 0: not there. */
	uint16_t back_tid, back_time, back_id, back_cpu;
};

/* -EINVAL: sample_type or read_format bits that nobody knows (their size is unknown, too). */
WICK_API int wick_layout_init(struct wick_layout *layout, const struct perf_event_attr *attr);

/* Who and when; `have` holds the PERF_SAMPLE_* bits of the fields that are there. */
struct wick_sample_id {
	uint64_t have;
	uint64_t time; /* ns, in the event's clock */
	uint64_t id;   /* of the event (PERF_SAMPLE_ID or IDENTIFIER) */
	uint64_t stream_id;
	uint32_t pid, tid; /* -1: the task is gone */
	uint32_t cpu;
	uint32_t cpu_reserved; /* beside cpu: 0 from the kernel; wick\'s own files keep a
				  stack\'s stop here */
};

/* An unaligned array of 64-bit words inside the record. */
struct wick_words {
	const void *bytes;
	uint64_t n;
};

static inline uint64_t wick_word(struct wick_words words, uint64_t i)
{
	uint64_t value;

	memcpy(&value, (const unsigned char *)words.bytes + i * 8, sizeof(value));
	return value;
}

/*
 * PERF_SAMPLE_READ and PERF_RECORD_READ: n entries of entry_words words. Word 0 of an entry is
 * the value; where the id and the lost count stand depends on the format (without
 * PERF_FORMAT_GROUP the times stand in between), so take them with wick_read_value(), _id() and
 * _lost().
 */
struct wick_read {
	uint64_t time_enabled, time_running; /* ns; 0 where read_format has them not */
	uint64_t n;			     /* entries: 1, or the group's */
	const void *values;
	uint32_t entry_words;
	uint8_t id_word, lost_word;
	bool has_id, has_lost;
};

static inline uint64_t wick_read_word(const struct wick_read *read, uint64_t i, uint32_t word)
{
	return wick_word((struct wick_words){read->values, 0}, i * read->entry_words + word);
}

static inline uint64_t wick_read_value(const struct wick_read *read, uint64_t i)
{
	return wick_read_word(read, i, 0);
}

/* 0 when the format has no ids; likewise for the lost count. */
static inline uint64_t wick_read_id(const struct wick_read *read, uint64_t i)
{
	return read->has_id ? wick_read_word(read, i, read->id_word) : 0;
}

static inline uint64_t wick_read_lost(const struct wick_read *read, uint64_t i)
{
	return read->has_lost ? wick_read_word(read, i, read->lost_word) : 0;
}

struct wick_regs {
	uint64_t abi; /* PERF_SAMPLE_REGS_ABI_*; NONE: no registers follow */
	uint64_t mask;
	struct wick_words values; /* popcount(mask), lowest bit first */
};

struct wick_sample {
	/* pid, tid, time, id, stream_id and cpu are in wick_record.id */
	uint64_t ip, addr;
	uint64_t period; /* the attr's where PERF_SAMPLE_PERIOD is not set; 0: not known */
	struct wick_read read;
	struct wick_words callchain; /* with PERF_CONTEXT_* markers */
	const void *raw;
	uint32_t raw_bytes;
	uint64_t branch_hw_index;
	struct wick_words branches; /* three words each: from, to, flags */
	struct wick_words branch_counters;
	struct wick_regs regs_user, regs_intr;
	const void *stack;    /* the copied piece of the user stack */
	uint64_t stack_bytes; /* really copied (dyn_size) */
	uint64_t stack_asked; /* reserved in the record */
	uint64_t weight;      /* with WEIGHT_STRUCT: var1_dw | var2_w << 32 | var3_w << 48 */
	uint64_t data_src, transaction, phys_addr, cgroup;
	uint64_t data_page_size, code_page_size;
	const void *aux;
	uint64_t aux_bytes;
};

/* A string of a record, NUL-terminated inside it. */
struct wick_name {
	const char *text;
	uint32_t len;
};

struct wick_record_mmap { /* MMAP and MMAP2 */
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min; /* MMAP2 without a build id */
	uint64_t ino, ino_generation;
	uint32_t prot, flags; /* MMAP2 */
	bool has_inode;
	uint8_t build_id[20];
	uint8_t build_id_bytes; /* 0: none */
	struct wick_name filename;
};

struct wick_record_task { /* FORK and EXIT */
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct wick_record_namespaces {
	uint32_t pid, tid;
	uint64_t n;
	struct wick_words links; /* two words each: dev, inode */
};

struct wick_record_ksymbol {
	uint64_t addr;
	uint32_t len;
	uint16_t ksym_type, flags;
	struct wick_name name;
};

struct wick_record_bpf {
	uint16_t bpf_type, flags;
	uint32_t prog_id;
	const void *tag; /* 8 bytes */
};

struct wick_record_text_poke {
	uint64_t addr;
	uint16_t old_len, new_len;
	const void *bytes; /* the old ones, then the new ones */
};

struct wick_record {
	uint32_t type;
	uint16_t misc;
	uint16_t size;
	struct wick_sample_id id; /* of a SAMPLE's fields, else of the trailer */
	union {
		struct wick_sample sample;
		struct wick_record_mmap mmap;
		struct {
			uint32_t pid, tid;
			struct wick_name name;
		} comm;
		struct wick_record_task task;
		struct {
			uint64_t id, lost;
		} lost; /* LOST; LOST_SAMPLES has no id */
		struct {
			uint64_t time, id, stream_id;
		} throttle; /* THROTTLE and UNTHROTTLE */
		struct {
			uint32_t pid, tid;
			struct wick_read values;
		} read;
		struct {
			uint64_t offset, size, flags;
		} aux;
		struct {
			uint32_t pid, tid;
		} itrace_start;
		struct {
			uint32_t pid, tid; /* SWITCH_CPU_WIDE: the other side */
		} sched;
		struct wick_record_namespaces namespaces;
		struct wick_record_ksymbol ksymbol;
		struct wick_record_bpf bpf;
		struct {
			uint64_t id;
			struct wick_name path;
		} cgroup;
		struct wick_record_text_poke text_poke;
		uint64_t aux_output_hw_id;
		struct {
			uint64_t cookie;
			struct wick_words callchain;
		} deferred;
	};
};

/*
 * Decodes one record of at most `len` bytes. Returns its size; -EBADMSG when the record is cut,
 * lies about a length inside it, or has a string without an end; -ENOTSUP for a type that is
 * not the kernel's (perf.data's own, or newer than this library): type, misc and size are set
 * then, so that it can be skipped and counted.
 */
WICK_API int wick_record_decode(const struct wick_layout *layout, const void *record,
	size_t len, struct wick_record *ret_record);

/* The time of a record without decoding it; 0 when it has none. The record is whole. */
WICK_API uint64_t wick_record_time(const struct wick_layout *layout, const void *record);

/* The event id of a record without decoding it; 0 when it has none. */
WICK_API uint64_t wick_record_id(const struct wick_layout *layout, const void *record);

/* "SAMPLE", "MMAP2", ...; "?" for an unknown type. */
WICK_API const char *wick_record_type_name(uint32_t type);

#ifdef __cplusplus
}
#endif
#endif
