/*
 * perf.data containers, in and out: the file format and the pipe format
 * (tools/perf/Documentation/perf.data-file-format.txt in the kernel's tree).
 *
 *     | header | attrs + ids | data: records ... | feature table | features ... |
 *
 * Records pass through as bytes; features are structs. The recorder's own sections use feature
 * bits that perf skips (PERFDATA_FEATURE_*).
 */
#pragma once

#include "abi/perf_abi.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	PERFDATA_FEATURE_QUALITY = 240, /* quality_write()'s text */
	PERFDATA_FEATURE_NAMES = 241,	/* names of the sampled frames */
	PERFDATA_FEATURE_CODE = 242,	/* code of the hot functions */
};

/* One event: its attr (zero-extended to our size), its ids, its name as perf prints it. */
struct perfdata_event {
	struct perf_event_attr attr;
	uint64_t *ids;
	uint32_t id_count;
	char *name; /* "cpu-clock:u"; "" when the file does not say (see perfdata_event_name) */
};

struct perfdata_build_id {
	int32_t pid;
	uint16_t misc; /* PERF_RECORD_MISC_KERNEL or _USER */
	uint8_t bytes[20];
	uint8_t len;
	char *filename;
};

/* What the header's sections say; NULL or 0 where the section is not there. All owned here. */
struct perfdata_features {
	char *hostname, *osrelease, *version, *arch, *cpudesc, *cpuid;
	uint32_t nrcpus_online, nrcpus_available;
	uint64_t total_mem_kb;
	char **cmdline;
	uint32_t cmdline_count;
	struct perfdata_build_id *build_ids;
	uint32_t build_id_count;
	uint64_t first_sample_ns, last_sample_ns;
	uint64_t clockid_res_ns; /* CLOCKID */
	bool has_clock_data;	 /* CLOCK_DATA */
	uint32_t clockid;
	uint64_t wall_clock_ns, clockid_ns;			   /* read at the same moment */
	uint32_t comp_type, comp_level, comp_ratio, comp_mmap_len; /* COMPRESSED */
	void *quality; /* PERFDATA_FEATURE_QUALITY */
	size_t quality_bytes;
	void *names; /* PERFDATA_FEATURE_NAMES */
	size_t names_bytes;
	void *code; /* PERFDATA_FEATURE_CODE */
	size_t code_bytes;
};

void perfdata_features_done(struct perfdata_features *features);

/* ---- reading */

struct perfdata_reader;

struct perfdata_info {
	const struct perfdata_event *events; /* may grow while a pipe-format file is read */
	uint32_t event_count;
	const struct perfdata_features *features; /* of a pipe: complete at its end */
	bool is_pipe;
	bool was_killed; /* data.size was 0: the recorder did not finish; sized by the file's
			    end */
	bool volatile_records; /* records are valid until the next call only: so for every file
				  now */
	uint64_t truncated_at; /* UINT64_MAX; else the byte at which the data ends too early */
	bool damaged; /* truncated_at is no end of the file: the record there has an impossible
			 size */
	uint32_t bad_sections; /* of the header: cut or damaged, left out */
	uint64_t
		skipped_records; /* types that perf.data may hold and that are of no use here */
};

/* "-" reads standard input. A sentence for what is no perf.data, or of the other byte order. */
int perfdata_open(const char *path, struct perfdata_reader **ret_reader, struct error *err);
void perfdata_close(struct perfdata_reader *reader);
const struct perfdata_info *perfdata_info(const struct perfdata_reader *reader);

/*
 * The next record in the file's order: its size, 0 at the end of the data (also of cut data:
 * see truncated_at, which is no error: what was there has been read), or a negative errno with
 * a sentence. Records of the kernel's types and FINISHED_ROUND come out; COMPRESSED ones are
 * opened, pipe headers (attr, feature, build id, event update) are taken into the info;
 * AUXTRACE data is skipped. ret_offset (may be NULL): where it stands, for messages.
 */
int perfdata_next(struct perfdata_reader *reader, const void **ret_record, uint64_t *ret_offset,
	struct error *err);

/* The name of an event, from the file or made from the attr: "cycles", "cpu-clock:u", "r1a8".
 */
void perfdata_event_name(const struct perfdata_event *event, char *ret_name, size_t len);

/* ---- writing */

struct perfdata_writer;

struct perfdata_writer_options {
	const char *path;		     /* mode 0600; an old file is kept as path.old */
	const struct perfdata_event *events; /* copied */
	uint32_t event_count;
	int32_t owner_uid, owner_gid; /* -1: leave (SUDO_UID and SUDO_GID else) */
	int compression_level;	      /* of zstd; 0: none. -ENOTSUP where it is not built in */
};

/*
 * Into what cannot seek ("-" is standard output) the pipe format is written: the features
 * follow the data there. The caller decides about SIGPIPE; a reader that is gone is -EPIPE,
 * like a full disk. -EINVAL for a terminal.
 */
int perfdata_create(const struct perfdata_writer_options *options,
	struct perfdata_writer **ret_writer, struct error *err);

/* Appends whole records, buffered (256 KiB). A full disk: -ENOSPC once, what was written stays.
 */
int perfdata_write(
	struct perfdata_writer *writer, const void *records, size_t len, struct error *err);
/* Appends FINISHED_ROUND where something was written since the last one. */
int perfdata_write_round(struct perfdata_writer *writer, struct error *err);
uint64_t perfdata_bytes(const struct perfdata_writer *writer); /* of data, so far */
/* The file's size, with all that is not data; of a pipe as perfdata_bytes(). */
uint64_t perfdata_file_bytes(const struct perfdata_writer *writer);

/*
 * Makes what was written so far a file that wick and perf open, should the recorder be killed
 * from now on: once a second, say. Costs a few hundred bytes and what has changed of the
 * features. 0, also where nothing was written since the last one; a failure is as in
 * perfdata_write(). A thread then puts it on the disk (syncer.h), for the power cut.
 */
int perfdata_checkpoint(struct perfdata_writer *writer,
	const struct perfdata_features *features, struct error *err);

/* Flushes, writes the features and the final header. The writer is still to be freed. */
int perfdata_finish(struct perfdata_writer *writer, const struct perfdata_features *features,
	struct error *err);
void perfdata_writer_free(struct perfdata_writer *writer);
