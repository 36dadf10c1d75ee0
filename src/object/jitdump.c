/*
 * Two passes. The first reads the records, in the file's order, which is that of their times;
 * a function's rows stand before it and wait for it. The second finds out how long each
 * function lived: all starts and ends are borders, two borders next to each other enclose a
 * cell, and each function takes its cells from whoever had them, who has ended by that.
 */
#include "object/jitdump.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "object/jitdump_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* What overlaps beyond reason costs this many steps, and then nothing ends any more. */
	STEPS_MOST = 64 << 20,
	V8_SHIFT = 0x40,
};

/* Moved functions have no bytes of their own: their keys begin here. */
#define MOVED_KEYS (1ull << 40)

struct reading {
	struct jitdump *dump;
	const uint8_t *start;
	uint64_t moved_key;
	/* Rows that wait for their function; its address. */
	uint32_t pending_first, pending_count;
	uint64_t pending_addr;
};

void jitdump_done(struct jitdump *dump)
{
	free(dump->codes);
	free(dump->rows);
	hash_done(&dump->by_index);
	*dump = (struct jitdump){0};
}

bool jitdump_is_name(const char *path)
{
	static const char deleted[] = " (deleted)";
	const char *name = strrchr(path, '/');
	size_t len, tail = sizeof(deleted) - 1;

	name = name ? name + 1 : path;
	len = strlen(name);
	if (len > tail && !strcmp(name + len - tail, deleted))
		len -= tail;
	if (len < sizeof("jit-1.dump") - 1 || strncmp(name, "jit-", 4) != 0 ||
		strncmp(name + len - 5, ".dump", 5) != 0)
		return false;
	for (size_t i = 4; i < len - 5; i++)
		if (name[i] < '0' || name[i] > '9')
			return false;
	return true;
}

static int read_header(struct jitdump *dump, struct bytes *b)
{
	uint32_t size, flags;
	uint32_t magic = bytes_u32(b);

	if (magic == __builtin_bswap32(JITDUMP_MAGIC))
		b->swap = dump->swapped = true;
	else if (magic != JITDUMP_MAGIC)
		return -EBADMSG;
	dump->version = bytes_u32(b);
	size = bytes_u32(b);
	dump->machine = bytes_u32(b);
	bytes_skip(b, 4);
	dump->pid = bytes_u32(b);
	dump->time_ns = bytes_u64(b);
	flags = (uint32_t)bytes_u64(b);
	dump->arch_time = flags & JITDUMP_FLAG_ARCH_TIME;
	if (b->bad || size < JITDUMP_HEADER_SIZE)
		return -EBADMSG;
	if (dump->version != 1 && dump->version != 2)
		return -ENOTSUP;
	bytes_skip(b, size - JITDUMP_HEADER_SIZE);
	return b->bad ? -EBADMSG : 0;
}

/* A limit is no error: what is there is good. */
static int room(struct jitdump *dump, int rc)
{
	if (rc == -ENOSPC)
		dump->full = true;
	return rc;
}

/* The newest function of that number at that address, or NULL. */
static struct jit_code *find_code(
	const struct jitdump *dump, uint64_t index, uint64_t addr, uint32_t *ret_id)
{
	struct hash_probe probe = hash_probe(&dump->by_index, hash_pair(index, addr));

	while (dump->code_count && hash_next(&dump->by_index, &probe, ret_id))
		if (dump->codes[*ret_id].index == index && dump->codes[*ret_id].addr == addr)
			return &dump->codes[*ret_id];
	return NULL;
}

static int add_code(struct jitdump *dump, const struct jit_code *code)
{
	uint32_t hash = hash_pair(code->index, code->addr), older;
	int rc = room(dump,
		array_reserve(&dump->codes, &dump->code_cap, (uint64_t)dump->code_count + 1,
			sizeof(*dump->codes), JITDUMP_CODES_MAX));

	if (rc == 0 && find_code(dump, code->index, code->addr, &older))
		hash_remove(&dump->by_index, hash, older);
	if (rc == 0)
		rc = hash_add(&dump->by_index, hash, dump->code_count);
	if (rc == 0)
		dump->codes[dump->code_count++] = *code;
	return rc;
}

/*
 * V8 writes its rows for the ELF file that perf will make of the function, with a header of 64
 * bytes before it, though the format says addresses.
 */
static bool is_v8(const char *name)
{
	static const char *const kinds[] = {
		"JS:", "LazyCompile:", "Function:", "Script:", "Eval:", "InterpretedFunction:"};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i])))
			return true;
	return false;
}

static int compare_rows(const void *a, const void *b)
{
	const struct jit_row *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The rows that waited become the function's: offsets in place of addresses, in order. */
static void take_rows(struct reading *r, struct jit_code *code)
{
	struct jit_row *rows;
	uint64_t shift = is_v8(code->name) ? V8_SHIFT : 0;
	uint32_t kept = 0;

	if (!r->pending_count || r->pending_addr != code->addr)
		return;
	rows = r->dump->rows + r->pending_first;
	for (uint32_t i = 0; i < r->pending_count; i++) {
		uint64_t offset = rows[i].offset - code->addr - shift;

		if (offset >= code->size)
			continue;
		rows[kept] = rows[i];
		rows[kept++].offset = offset;
	}
	qsort(rows, kept, sizeof(*rows), compare_rows);
	code->first_row = r->pending_first;
	code->row_count = kept;
	r->pending_count = 0;
}

static int read_load(struct reading *r, struct bytes *b, uint64_t time_ns)
{
	struct jit_code code = {.start_ns = time_ns, .end_ns = UINT64_MAX};
	const uint8_t *bytes;
	uint64_t end;

	bytes_skip(b, 16); /* pid, tid, vma */
	code.addr = bytes_u64(b);
	code.size = bytes_u64(b);
	code.index = bytes_u64(b);
	code.name = bytes_str(b);
	bytes = bytes_take(b, code.size);
	r->dump->loads++;
	if (!bytes || !code.size || __builtin_add_overflow(code.addr, code.size, &end)) {
		r->dump->bad_records++;
		return 0;
	}
	code.key = (uint64_t)(bytes - r->start);
	take_rows(r, &code);
	return add_code(r->dump, &code);
}

static int read_move(struct reading *r, struct bytes *b, uint64_t time_ns)
{
	struct jit_code moved = {.start_ns = time_ns, .end_ns = UINT64_MAX}, *old;
	struct jitdump *dump = r->dump;
	uint64_t old_addr, end;
	uint32_t id;

	bytes_skip(b, 16);
	old_addr = bytes_u64(b);
	moved.addr = bytes_u64(b);
	moved.size = bytes_u64(b);
	moved.index = bytes_u64(b);
	dump->moves++;
	old = find_code(dump, moved.index, old_addr, &id);
	if (b->bad || !old || !moved.size || moved.size > MOVED_KEYS ||
		r->moved_key > UINT64_MAX / 2 ||
		__builtin_add_overflow(moved.addr, moved.size, &end)) {
		dump->bad_records++;
		return 0;
	}
	if (old->end_ns > time_ns)
		old->end_ns = time_ns > old->start_ns ? time_ns : old->start_ns;
	moved.name = old->name;
	moved.first_row = old->first_row;
	moved.row_count = old->row_count;
	moved.key = r->moved_key;
	r->moved_key += moved.size;
	return add_code(dump, &moved);
}

/* A file name of 0xff and NUL says: the same as before. */
static const char *row_file(struct bytes *b, const char *before)
{
	const char *file = bytes_str(b);

	return file && (uint8_t)file[0] == 0xff && !file[1] ? before : file;
}

static int read_debug_info(struct reading *r, struct bytes *b)
{
	struct jitdump *dump = r->dump;
	const char *file = "";
	uint64_t addr = bytes_u64(b), count = bytes_u64(b);
	int rc = 0;

	dump->debug_infos++;
	r->pending_first = dump->row_count;
	r->pending_count = 0;
	r->pending_addr = addr;
	for (uint64_t i = 0; rc == 0 && i < count; i++) {
		struct jit_row row = {.offset = bytes_u64(b)};

		row.line = bytes_u32(b);
		row.column = bytes_u32(b);
		row.file = file = row_file(b, file);
		if (b->bad) {
			dump->bad_records++;
			return 0;
		}
		rc = room(dump, array_reserve(&dump->rows, &dump->row_cap,
					(uint64_t)dump->row_count + 1, sizeof(*dump->rows),
					JITDUMP_ROWS_MAX));
		if (rc == 0) {
			dump->rows[dump->row_count++] = row;
			r->pending_count++;
		}
	}
	return rc;
}

static int read_record(struct reading *r, uint32_t id, uint64_t time_ns, struct bytes *b)
{
	switch (id) {
	case JITDUMP_LOAD:
		return read_load(r, b, time_ns);
	case JITDUMP_MOVE:
		return read_move(r, b, time_ns);
	case JITDUMP_DEBUG_INFO:
		return read_debug_info(r, b);
	case JITDUMP_CLOSE:
		r->dump->closed = true;
		return 0;
	case JITDUMP_UNWINDING_INFO:
		r->dump->unwinding_infos++;
		return 0;
	default:
		r->dump->unknown_records++;
		return 0;
	}
}

static int read_records(struct reading *r, struct bytes *b)
{
	struct jitdump *dump = r->dump;
	int rc = 0;

	while (rc == 0 && !dump->closed && bytes_left(b)) {
		uint32_t id = bytes_u32(b), size = bytes_u32(b);
		uint64_t time_ns = bytes_u64(b);
		const uint8_t *body;
		struct bytes record;

		if (b->bad || size < JITDUMP_PREFIX_SIZE) {
			dump->cut = true;
			break;
		}
		body = bytes_take(b, size - JITDUMP_PREFIX_SIZE);
		if (!body) {
			dump->cut = true;
			break;
		}
		record = bytes_of(body, size - JITDUMP_PREFIX_SIZE);
		record.swap = b->swap;
		rc = read_record(r, id, time_ns, &record);
	}
	return rc == -ENOSPC ? 0 : rc;
}

/* ---- how long they lived */

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint32_t border_of(const uint64_t *borders, uint32_t count, uint64_t addr)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (borders[middle] < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t make_borders(const struct jitdump *dump, uint64_t *borders)
{
	uint32_t n = 0, kept = 0;

	for (uint32_t i = 0; i < dump->code_count; i++) {
		borders[n++] = dump->codes[i].addr;
		borders[n++] = dump->codes[i].addr + dump->codes[i].size;
	}
	qsort(borders, n, sizeof(*borders), compare_u64);
	for (uint32_t i = 0; i < n; i++)
		if (!i || borders[i] != borders[kept - 1])
			borders[kept++] = borders[i];
	return kept;
}

static int end_the_replaced(struct jitdump *dump)
{
	cleanup_free uint64_t *borders =
		reallocarray(NULL, dump->code_count + 1u, 2 * sizeof(*borders));
	cleanup_free uint32_t *owners = /* by cell: the function + 1 */
		calloc(dump->code_count + 1u, 2 * sizeof(*owners));
	uint64_t steps = 0;
	uint32_t count;

	if (!borders || !owners)
		return -ENOMEM;
	count = make_borders(dump, borders);
	for (uint32_t i = 0; i < dump->code_count && steps < STEPS_MOST; i++) {
		const struct jit_code *code = &dump->codes[i];
		uint32_t cell = border_of(borders, count, code->addr);

		for (; borders[cell] < code->addr + code->size; cell++, steps++) {
			struct jit_code *had =
				owners[cell] ? &dump->codes[owners[cell] - 1] : NULL;

			owners[cell] = i + 1;
			if (had && had->end_ns > code->start_ns)
				had->end_ns = code->start_ns > had->start_ns ? code->start_ns
									     : had->start_ns;
		}
	}
	return 0;
}

int jitdump_parse(const void *bytes, size_t len, struct jitdump *ret_dump)
{
	struct jitdump dump = {0};
	struct reading reading = {.dump = &dump, .start = bytes, .moved_key = MOVED_KEYS};
	struct bytes b = bytes_of(bytes, len);
	int rc = read_header(&dump, &b);

	if (rc == 0)
		rc = read_records(&reading, &b);
	if (rc == 0)
		rc = end_the_replaced(&dump);
	if (rc < 0) {
		jitdump_done(&dump);
		return rc;
	}
	*ret_dump = dump;
	return 0;
}
