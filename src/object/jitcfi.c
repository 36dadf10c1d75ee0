/*
 * Memory is cut into buckets of BUCKET bytes. Each has a list of the functions that ever lay in
 * it, the newest first, so the first one that covers an address and is not younger than the
 * sample is the one that ran:
 *
 *     by_bucket --> bucket --> node --> node --> ...      node --> function --> data
 *
 * Only places in the file are kept; the data are read when an address asks, and some of them
 * stay, with their index.
 */
#include "object/jitcfi.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "object/cfi_internal.h"
#include "object/jitdump_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	BUCKET = 1024,
	SIZE_MAX_CODE = 16 << 20,  /* of one function */
	DATA_MAX = 1 << 20,	   /* of one record */
	RECORDS_AT_ONCE = 1 << 16, /* read in one call */
	WALK_MOST = 4096,	   /* functions that lay at one place */
	SLOTS = 64,
	HEAD_MAX = 64, /* the fixed part of the longest record */
	HDR_MAX = 16,  /* what is read of an .eh_frame_hdr */
};

#define NONE UINT32_MAX

struct data {
	uint64_t foff, len;
	uint64_t vaddr;
};

struct function {
	uint64_t addr, size, index;
	uint64_t load_addr; /* where it was when its data were written */
	uint64_t start_ns, end_ns;
	uint32_t data; /* NONE: it has none */
};

struct node {
	uint32_t function, next;
};

struct bucket {
	uint64_t key;
	uint32_t head;
};

/* An UNWINDING_INFO that waits for its function. */
struct pending {
	bool there, absolute;
	struct data data;  /* vaddr: of the header; or, absolute, of the .eh_frame */
	uint64_t distance; /* not absolute: from the data's place to the .eh_frame */
	uint32_t known;	   /* absolute: it stands in `datas` already; else NONE */
};

struct slot {
	uint32_t data_plus_1;
	uint8_t *bytes;
	struct cfi *cfi;
};

struct jitcfi {
	int fd;
	bool has_header, ended, swap, arch_time;
	uint16_t machine;
	uint64_t at; /* everything before was read */
	struct pending pending;
	struct function *functions;
	struct data *datas;
	struct node *nodes;
	struct bucket *buckets;
	uint32_t function_count, function_cap, data_count, data_cap;
	uint32_t node_count, node_cap, bucket_count, bucket_cap;
	uint32_t with_data;
	struct hash_index by_bucket;
	struct slot slots[SLOTS];
};

int jitcfi_new(int fd, struct jitcfi **ret_jitcfi)
{
	struct jitcfi *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->fd = fd;
	*ret_jitcfi = j;
	return 0;
}

static void slot_clear(struct slot *slot)
{
	cfi_free(slot->cfi);
	free(slot->bytes);
	*slot = (struct slot){.data_plus_1 = 0};
}

void jitcfi_free(struct jitcfi *jitcfi)
{
	if (!jitcfi)
		return;
	for (unsigned i = 0; i < SLOTS; i++)
		slot_clear(&jitcfi->slots[i]);
	free(jitcfi->functions);
	free(jitcfi->datas);
	free(jitcfi->nodes);
	free(jitcfi->buckets);
	hash_done(&jitcfi->by_bucket);
	free(jitcfi);
}

uint16_t jitcfi_machine(const struct jitcfi *jitcfi)
{
	return jitcfi->machine;
}

uint32_t jitcfi_count(const struct jitcfi *jitcfi)
{
	return jitcfi->with_data;
}

/* ---- reading */

static bool read_at(const struct jitcfi *j, uint64_t foff, void *bytes, size_t len)
{
	return fd_pread_all(j->fd, bytes, len, (off_t)foff) == (int64_t)len;
}

static uint32_t bucket_find(const struct jitcfi *j, uint64_t key)
{
	struct hash_probe probe = hash_probe(&j->by_bucket, hash_u64(key));
	uint32_t id;

	while (hash_next(&j->by_bucket, &probe, &id))
		if (j->buckets[id].key == key)
			return id;
	return NONE;
}

static int node_add(struct jitcfi *j, uint64_t key, uint32_t function)
{
	uint32_t bucket = bucket_find(j, key);
	int rc = array_reserve(&j->nodes, &j->node_cap, j->node_count + 1ull, sizeof(*j->nodes),
		JITCFI_NODES_MAX);

	if (rc == 0 && bucket == NONE) {
		rc = array_reserve(&j->buckets, &j->bucket_cap, j->bucket_count + 1ull,
			sizeof(*j->buckets), JITCFI_NODES_MAX);
		if (rc == 0)
			rc = hash_add(&j->by_bucket, hash_u64(key), j->bucket_count);
		if (rc == 0) {
			bucket = j->bucket_count++;
			j->buckets[bucket] = (struct bucket){key, NONE};
		}
	}
	if (rc < 0)
		return rc;
	j->nodes[j->node_count] = (struct node){function, j->buckets[bucket].head};
	j->buckets[bucket].head = j->node_count++;
	return 0;
}

static int function_add(struct jitcfi *j, const struct function *function)
{
	uint64_t last = function->addr + function->size - 1;
	int rc;

	if (!function->size || function->size > SIZE_MAX_CODE || last < function->addr)
		return 0; /* nonsense */
	rc = array_reserve(&j->functions, &j->function_cap, j->function_count + 1ull,
		sizeof(*j->functions), JITCFI_FUNCTIONS_MAX);
	if (rc < 0)
		return rc;
	j->functions[j->function_count++] = *function;
	j->with_data += function->data != NONE;
	for (uint64_t key = function->addr / BUCKET; rc == 0 && key <= last / BUCKET; key++)
		rc = node_add(j, key, j->function_count - 1);
	return rc;
}

/* The newest function for which `fits` holds in the bucket of an address, or NULL. */
static struct function *function_find(const struct jitcfi *j, uint64_t addr,
	bool (*fits)(const struct function *function, uint64_t addr, uint64_t with),
	uint64_t with)
{
	uint32_t bucket = bucket_find(j, addr / BUCKET);
	uint32_t node = bucket == NONE ? NONE : j->buckets[bucket].head;

	for (unsigned i = 0; node != NONE && i < WALK_MOST; node = j->nodes[node].next, i++) {
		struct function *function = &j->functions[j->nodes[node].function];

		if (fits(function, addr, with))
			return function;
	}
	return NULL;
}

/* Gives a function what waits for it. */
static int data_take(struct jitcfi *j, const struct function *function, uint32_t *ret_data)
{
	struct pending *p = &j->pending;
	struct data data = p->data;
	uint64_t code_bytes = (function->size + 7) / 8 * 8;
	int rc;

	*ret_data = p->there ? p->known : NONE;
	if (!p->there || p->known != NONE)
		return 0;
	rc = array_reserve(&j->datas, &j->data_cap, j->data_count + 1ull, sizeof(*j->datas),
		JITCFI_FUNCTIONS_MAX);
	if (rc < 0)
		return rc;
	if (!p->absolute)
		data.vaddr = function->addr + code_bytes + p->distance;
	j->datas[j->data_count] = data;
	*ret_data = j->data_count++;
	p->known = *ret_data;
	p->there = p->absolute;
	return 0;
}

static int read_load(struct jitcfi *j, struct bytes *b, uint64_t time_ns)
{
	struct function function = {.start_ns = time_ns, .end_ns = UINT64_MAX};
	int rc;

	bytes_skip(b, 16); /* pid, tid, vma */
	function.addr = function.load_addr = bytes_u64(b);
	function.size = bytes_u64(b);
	function.index = bytes_u64(b);
	if (b->bad)
		return 0;
	rc = data_take(j, &function, &function.data);
	return rc < 0 ? rc : function_add(j, &function);
}

static bool is_the_one(const struct function *function, uint64_t addr, uint64_t index)
{
	return function->addr == addr && function->index == index;
}

static int read_move(struct jitcfi *j, struct bytes *b, uint64_t time_ns)
{
	struct function *old, moved;
	uint64_t from, to, size;

	bytes_skip(b, 16);
	from = bytes_u64(b);
	to = bytes_u64(b);
	size = bytes_u64(b);
	old = function_find(j, from, is_the_one, bytes_u64(b));
	if (b->bad || !old)
		return 0;
	if (old->end_ns > time_ns)
		old->end_ns = time_ns;
	moved = *old;
	moved.addr = to;
	moved.size = size;
	moved.start_ns = time_ns;
	moved.end_ns = UINT64_MAX;
	return function_add(j, &moved);
}

/*
 * The header stands first where it looks like one: no .eh_frame begins with the bytes of an
 * entry that is one byte long. What it says of where the .eh_frame lies is an address, or (the
 * section's own place counts as 0 here) a distance.
 */
static void pending_header(struct pending *p, const struct jitcfi *j, const uint8_t *bytes,
	size_t len, uint64_t hdr_bytes)
{
	struct cfi_section hdr = {
		.blob = {.bytes = bytes, .len = len}, .is64 = true, .swap = j->swap};
	struct bytes b = bytes_of(bytes, len);
	uint64_t said;
	uint8_t enc;

	p->data.len -= hdr_bytes;
	if (len < 4 || bytes[0] != 1 || hdr_bytes < 4)
		return; /* it stands behind */
	p->data.foff += hdr_bytes;
	p->distance = hdr_bytes;
	b.swap = j->swap;
	bytes_skip(&b, 1);
	enc = bytes_u8(&b);
	bytes_skip(&b, 2);
	if (enc == PE_OMIT || (enc & PE_INDIRECT))
		return;
	said = cfi_pointer(&hdr, &b, enc, 8, 0, NULL);
	if (b.bad || !said)
		return;
	if ((enc & 0x70) == PE_ABSPTR) {
		p->absolute = true;
		p->data.vaddr = said;
	} else {
		p->distance = said;
	}
}

static void read_unwinding(struct jitcfi *j, struct bytes *b, uint64_t foff, uint64_t room)
{
	uint64_t bytes = bytes_u64(b), hdr_bytes = bytes_u64(b);
	uint8_t head[HDR_MAX];
	size_t len = bytes < sizeof(head) ? (size_t)bytes : sizeof(head);

	j->pending = (struct pending){.known = NONE};
	if (b->bad || bytes > room || bytes > DATA_MAX || hdr_bytes >= bytes ||
		!read_at(j, foff, head, len))
		return;
	j->pending.there = true;
	j->pending.data = (struct data){.foff = foff, .len = bytes};
	pending_header(&j->pending, j, head, len, hdr_bytes);
}

static int read_record(struct jitcfi *j, const uint8_t *head, size_t head_len, uint64_t bytes)
{
	struct bytes b = bytes_of(head, head_len);
	uint64_t time_ns;
	uint32_t id;

	b.swap = j->swap;
	id = bytes_u32(&b);
	bytes_skip(&b, 4);
	time_ns = bytes_u64(&b);
	if (j->arch_time) /* of another clock: what was written last counts */
		time_ns = 0;
	switch (id) {
	case JITDUMP_LOAD:
		return read_load(j, &b, time_ns);
	case JITDUMP_MOVE:
		return read_move(j, &b, time_ns);
	case JITDUMP_UNWINDING_INFO:
		read_unwinding(j, &b, j->at + JITDUMP_PREFIX_SIZE + 24,
			bytes - JITDUMP_PREFIX_SIZE - (bytes < 40 ? 0 : 24));
		return 0;
	case JITDUMP_CLOSE:
		j->ended = true;
		return 0;
	default:
		return 0;
	}
}

static void read_header(struct jitcfi *j, uint64_t file_bytes)
{
	uint8_t head[JITDUMP_HEADER_SIZE];
	struct bytes b = bytes_of(head, sizeof(head));
	uint32_t magic, version, size;

	if (file_bytes < sizeof(head) || !read_at(j, 0, head, sizeof(head)))
		return; /* not written yet */
	magic = bytes_u32(&b);
	b.swap = j->swap = magic == __builtin_bswap32(JITDUMP_MAGIC);
	version = bytes_u32(&b);
	size = bytes_u32(&b);
	j->machine = (uint16_t)bytes_u32(&b);
	bytes_skip(&b, 4 + 4 + 8);
	j->arch_time = bytes_u64(&b) & JITDUMP_FLAG_ARCH_TIME;
	j->has_header = true;
	j->at = size;
	j->ended = (magic != JITDUMP_MAGIC && !j->swap) || (version != 1 && version != 2) ||
		   size < JITDUMP_HEADER_SIZE;
}

int jitcfi_update(struct jitcfi *jitcfi)
{
	struct jitcfi *j = jitcfi;
	uint8_t head[HEAD_MAX];
	struct stat st;
	uint64_t end;
	int rc = 0;

	if (j->ended || fstat(j->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	end = (uint64_t)st.st_size;
	if (!j->has_header)
		read_header(j, end);
	for (uint32_t records = 0;
		records < RECORDS_AT_ONCE && rc == 0 && j->has_header && !j->ended &&
		j->at <= end && end - j->at >= JITDUMP_PREFIX_SIZE;
		records++) {
		size_t len = end - j->at < HEAD_MAX ? (size_t)(end - j->at) : HEAD_MAX;
		uint32_t bytes;

		if (!read_at(j, j->at, head, len))
			return 0; /* cut meanwhile */
		memcpy(&bytes, head + 4, sizeof(bytes));
		bytes = j->swap ? __builtin_bswap32(bytes) : bytes;
		if (bytes < JITDUMP_PREFIX_SIZE)
			j->ended = true; /* damaged: nothing behind it can be found */
		if (j->ended || bytes > end - j->at)
			break;
		rc = read_record(j, head, len < bytes ? len : bytes, bytes);
		j->at += bytes;
	}
	j->ended |= rc == -ENOSPC;
	return rc == -ENOSPC ? 0 : rc;
}

/* ---- looking up */

static bool lay_there(const struct function *function, uint64_t addr, uint64_t time_ns)
{
	return addr - function->addr < function->size && function->start_ns <= time_ns &&
	       (time_ns < function->end_ns || function->end_ns == UINT64_MAX);
}

/* The data of a function, read and opened; NULL: they cannot be had (any more). */
static struct cfi *data_open(struct jitcfi *j, uint32_t id)
{
	const struct data *data = &j->datas[id];
	struct slot *slot = &j->slots[id % SLOTS];
	struct cfi_bare bare = {
		.len = data->len, .vaddr = data->vaddr, .machine = j->machine, .swap = j->swap};

	if (slot->data_plus_1 == id + 1)
		return slot->cfi;
	slot_clear(slot);
	slot->bytes = malloc(data->len);
	bare.bytes = slot->bytes;
	if (!slot->bytes || !read_at(j, data->foff, slot->bytes, data->len) ||
		cfi_open_bare(&bare, &slot->cfi) < 0) {
		slot_clear(slot);
		return NULL;
	}
	slot->data_plus_1 = id + 1;
	return slot->cfi;
}

int jitcfi_find(struct jitcfi *jitcfi, uint64_t addr, uint64_t time_ns, struct cfi_row *ret_row)
{
	struct function *function = function_find(jitcfi, addr, lay_there, time_ns);
	struct cfi *cfi =
		function && function->data != NONE ? data_open(jitcfi, function->data) : NULL;

	if (!cfi)
		return -ENOENT;
	return cfi_find(cfi, addr - function->addr + function->load_addr, ret_row);
}
