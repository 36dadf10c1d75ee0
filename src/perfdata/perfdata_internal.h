/* What the files of this room share; perfdata.h is the border. */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "perfdata/perfdata.h"
#include "perfdata/syncer.h"

#include <stdint.h>

#define PERFDATA_MAGIC	     0x32454c4946524550ull /* "PERFILE2", little-endian */
#define PERFDATA_MAGIC_1     0x454c494646524550ull /* "PERFFILE" */
#define PERFDATA_HEADER_SIZE 104
#define PERFDATA_PIPE_SIZE   16
#define PERFDATA_ALIGN	     64 /* strings and file names are padded to this (perf's NAME_ALIGN) */

/* Feature bits (enum in tools/perf/util/header.h). Those without a name here are skipped. */
enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CPUDESC = 8,
	FEATURE_CPUID = 9,
	FEATURE_TOTAL_MEM = 10,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_CLOCKID = 23,
	FEATURE_COMPRESSED = 27,
	FEATURE_CLOCK_DATA = 29,
	FEATURE_BITS = 256,
};

/* A BUILD_ID entry whose misc has this bit says in byte 20 of the id how long the id is. */
#define MISC_BUILD_ID_SIZE (1u << 15)

/* Limits of what a file may make us allocate; each is also checked against the bytes there are.
 */
#define LIMIT_EVENTS	65536u
#define LIMIT_IDS	(1u << 23)
#define LIMIT_BUILD_IDS (1u << 20)
#define LIMIT_CMDLINE	65536u
#define LIMIT_FEATURE	(256u << 20)

/* ---- source.c: a window over a file or a stream */
struct source {
	int fd;
	bool seekable; /* read by pread() at `next`; else by read() */
	uint8_t *buf;
	size_t at, len; /* what is not yet used: buf[at .. len) */
	uint64_t next;	/* where the next read goes on */
	uint64_t end;	/* nothing is read behind this byte */
	bool ended;	/* the file or the stream has no more */
};

int source_init(struct source *source, int fd, bool seekable);
void source_done(struct source *source);
void source_seek(struct source *source, uint64_t offset, uint64_t end);
/* Reads until `need` bytes (at most 64 KiB) are in the window, or the source ends. */
int source_need(struct source *source, size_t need);
/* Goes on behind `len` bytes; how many there really were. */
int source_skip(struct source *source, uint64_t len, uint64_t *ret_skipped);

static inline size_t source_left(const struct source *source)
{
	return source->len - source->at;
}

static inline uint64_t source_offset(const struct source *source)
{
	return source->next - source_left(source);
}

/* ---- event_table.c */
struct event_id {
	uint64_t id;
	uint32_t event;
};

struct event_table {
	struct perfdata_event *events;
	uint32_t count, cap;
	struct event_id *ids;
	uint32_t id_count, id_cap;
	struct hash_index index;
};

/* Adds an event from its attr and its ids as they stand in the file. -EBADMSG, -ENOSPC,
 * -ENOMEM. */
int event_table_add(struct event_table *table, struct bytes attr, struct bytes ids);
struct perfdata_event *event_table_find(struct event_table *table, uint64_t id);
void event_table_done(struct event_table *table);
int event_set_name(struct perfdata_event *event, const void *name, size_t len);
void events_free(struct perfdata_event *events, uint32_t count);

/* ---- features_read.c */
struct feature_reader {
	struct perfdata_features features;
	struct event_table *events; /* EVENT_DESC and EVENT_UPDATE bring names */
	uint32_t build_id_cap;
	uint32_t bad; /* sections that could not be decoded */
};

/* Takes the body of one section in. 0 or -ENOMEM; a section that is no good is counted. */
int feature_take(struct feature_reader *reader, uint32_t bit, struct bytes body);
/* The next piece of a section of our own. */
int feature_take_piece(struct feature_reader *reader, uint32_t bit, struct bytes piece);
/* One BUILD_ID entry, header included. 0, -EBADMSG, -ENOMEM. */
int feature_take_build_id(struct feature_reader *reader, struct bytes entry);

/* ---- pipe.c: records that are no events */
enum record_kind {
	RECORD_PASS,   /* the caller's */
	RECORD_TAKEN,  /* taken into the info */
	RECORD_SKIP,   /* of no use here; counted */
	RECORD_PACKED, /* COMPRESSED: to be opened */
};

enum record_kind record_kind(uint32_t type);
/* Takes a HEADER_ATTR, HEADER_FEATURE, HEADER_BUILD_ID or EVENT_UPDATE record in. */
int pipe_take(struct event_table *events, struct feature_reader *features, struct bytes record);
/* How many bytes stand behind the record that do not belong to its size. */
uint64_t pipe_payload(struct bytes record);

/* ---- decompress.c */
struct unpacker;

int unpacker_new(struct unpacker **ret_unpacker, const char *path, struct error *err);
void unpacker_free(struct unpacker *unpacker);
/* Lends the body of a COMPRESSED record that stands at `offset`, until it is used up. */
void unpacker_feed(struct unpacker *unpacker, const void *bytes, size_t len, uint64_t offset);
/* The next whole record's size, 0 when more must be fed, or -EBADMSG. Valid until the next
 * call. */
int unpacker_next(struct unpacker *unpacker, const uint8_t **ret_record);
uint64_t unpacker_offset(const struct unpacker *unpacker);
/* Bytes of a record whose end was not fed. */
size_t unpacker_rest(const struct unpacker *unpacker);

/* ---- reader.c */
struct perfdata_reader {
	struct source source;
	int fd;
	bool close_fd;
	char *path;
	uint64_t file_bytes;
	uint64_t declared_end; /* of the data, as the header says; UINT64_MAX for a pipe */
	struct event_table events;
	struct feature_reader features;
	struct unpacker *unpacker;
	bool unpacking;
	bool finished;
	struct perfdata_info info;
};

void reader_sync_info(struct perfdata_reader *reader);

/* ---- packer.c */
#define PACKER_PIECE 64000 /* bytes of records that go into one COMPRESSED record */

struct packer;

/* -ENOTSUP without zstd, -EINVAL for a level that it has not. */
int packer_new(int level, struct packer **ret_packer);
void packer_free(struct packer *packer);
/* At most PACKER_PIECE bytes into a COMPRESSED record: its size, or a negative errno. */
int packer_pack(
	struct packer *packer, const void *bytes, size_t len, const uint8_t **ret_record);
void packer_describe(
	const struct packer *packer, int level, struct perfdata_features *features);

/* ---- features_write.c */
/* Sections that are in the file already, with what they say. */
struct section_cache {
	struct {
		uint64_t offset;
		size_t len;
		uint8_t *bytes;
	} of[FEATURE_BITS];
};

void section_cache_done(struct section_cache *cache);

/* What to encode, and where it will stand. */
struct encode_options {
	const struct perfdata_features *features;
	const struct perfdata_event *events;
	uint32_t event_count;
	uint64_t base;		     /* the byte of the file where the table begins */
	struct section_cache *cache; /* what is unchanged is not written again */
};

/* The body of one section; nothing where it is not known. */
void feature_encode(
	const struct encode_options *options, uint32_t bit, struct strbuf *ret_body);

/*
 * Encodes the feature table and the sections behind it; `ret_bits` says which there are. The
 * cache takes them as written: section_cache_done() when that fails. 0 or -ENOMEM.
 */
int features_encode(
	const struct encode_options *options, uint64_t ret_bits[4], struct strbuf *ret_bytes);
/* How many bytes of the attrs are in use: what the oldest reader that can know them expects. */
uint32_t attrs_used_bytes(const struct perfdata_event *events, uint32_t count);

/* ---- writer.c */
#define WRITER_BUFFER (256 << 10)

struct perfdata_writer {
	int fd;
	char *path;
	bool regular; /* and no device like /dev/null */
	bool pipe;    /* the pipe format is written */
	bool can_reserve;
	uint32_t room;	     /* how much is reserved ahead: see writer.c */
	uint64_t size_limit; /* RLIMIT_FSIZE; UINT64_MAX: none */
	uint64_t reserved_to;
	struct perfdata_event *events;
	uint32_t event_count;
	uint32_t attr_bytes;
	uint64_t attrs_offset, data_offset;
	uint64_t data_bytes;	/* that are in the file */
	uint64_t checked_bytes; /* of them, when the last checkpoint was made */
	uint64_t filler_at; /* where the filler of the last checkpoint stands; 0: there is none
			     */
	uint64_t trailer_bytes; /* that stand behind it */
	uint64_t dead_bytes;	/* the same until data is written behind them, then 0 */
	struct section_cache sections;
	bool round_open;       /* something was written since the last FINISHED_ROUND */
	int failed;	       /* the first errno; nothing is taken any more */
	struct packer *packer; /* NULL: records are written as they are */
	int level;
	struct syncer *syncer; /* NULL before the first checkpoint */
	size_t used;
	uint8_t buf[WRITER_BUFFER];
};

int writer_header(struct perfdata_writer *writer, uint64_t data_bytes, const uint64_t bits[4]);
/* Writes out what is buffered. */
int writer_flush(struct perfdata_writer *writer, struct error *err);
/* Remembers the first failure, and says it. */
int writer_fail(struct perfdata_writer *writer, int rc, struct error *err);
/* Is this the errno of a full disk, a quota, a limit? */
bool writer_no_room(int rc);

/* ---- pipe_write.c */
/*
 * perf warns of features in a pipe whose numbers it does not know. Ours travel in pieces, in
 * records of a type that it ignores, HEADER_EVENT_TYPE:
 *
 *     header | "WICKSECT" | u32 bit | u32 bytes | bytes, padded to 8
 */
#define PIPE_SECTION_MAGIC 0x544345534b434957ull

int pipe_write_start(struct perfdata_writer *writer);
int pipe_write_end(struct perfdata_writer *writer, const struct perfdata_features *features);
