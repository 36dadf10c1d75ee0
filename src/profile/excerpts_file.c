/*
 * The layout is that of docs/FORMATS.md. The code stands behind all tables, in one piece, so
 * that like is close to like for the packing.
 */
#include "profile/excerpts.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "profile/names_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CODE_MAGIC   "wick-code "
#define CODE_VERSION "1\n"

/* ---- out */

struct writer {
	const struct excerpts *excerpts;
	const struct profile *profile;
	struct strbuf strings, body;
	uint32_t *string_numbers, *module_numbers; /* in the file, + 1; 0: not met */
	uint32_t string_count, module_count;
	uint32_t *order; /* excerpts by module and address */
	uint32_t count;
};

static void writer_done(struct writer *w)
{
	strbuf_done(&w->strings);
	strbuf_done(&w->body);
	free(w->string_numbers);
	free(w->module_numbers);
	free(w->order);
}

static void put_string(struct writer *w, uint32_t id)
{
	const char *text = profile_text(w->profile, id);

	if (*text && !w->string_numbers[id]) {
		w->string_numbers[id] = ++w->string_count;
		names_put(&w->strings, strlen(text));
		strbuf_puts(&w->strings, text);
	}
	names_put(&w->body, *text ? w->string_numbers[id] : 0);
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct writer *w = ctx;
	const struct excerpt *x = &w->excerpts->at[*(const uint32_t *)a];
	const struct excerpt *y = &w->excerpts->at[*(const uint32_t *)b];

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int choose(struct writer *w)
{
	w->order = calloc(w->excerpts->count + 1u, sizeof(*w->order));
	w->string_numbers = calloc(w->profile->strings.count + 1u, sizeof(uint32_t));
	w->module_numbers = calloc(w->profile->module_count + 1u, sizeof(uint32_t));
	if (!w->order || !w->string_numbers || !w->module_numbers)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->excerpts->count; i++)
		if (w->excerpts->at[i].size)
			w->order[w->count++] = i;
	qsort_r(w->order, w->count, sizeof(*w->order), compare, w);
	for (uint32_t i = 0; i < w->count; i++) {
		uint32_t module = w->excerpts->at[w->order[i]].module;

		if (!w->module_numbers[module])
			w->module_numbers[module] = ++w->module_count;
	}
	return 0;
}

/* In the order of their numbers, which is that of the excerpts. */
static void put_modules(struct writer *w)
{
	uint32_t put = 0;

	names_put(&w->body, w->module_count);
	for (uint32_t i = 0; i < w->count; i++) {
		uint32_t id = w->excerpts->at[w->order[i]].module;
		const struct module *module = &w->profile->modules[id];

		if (w->module_numbers[id] <= put)
			continue;
		put++;
		names_put(&w->body, module->kind);
		put_string(w, module->path);
		names_put(&w->body, module->build_id_bytes);
		strbuf_add(&w->body, module->build_id, module->build_id_bytes);
		names_put(&w->body, module->ino);
		names_put(&w->body, (uint32_t)module->pid);
	}
}

static void put_rows(struct writer *w, const struct excerpt *excerpt)
{
	const struct code_row *rows = w->excerpts->rows + excerpt->first_row;
	uint64_t offset = 0, line = 0;

	names_put(&w->body, excerpt->row_count);
	for (uint32_t i = 0; i < excerpt->row_count; i++) {
		names_put(&w->body, rows[i].offset - offset);
		put_string(w, rows[i].file);
		names_put(&w->body, names_fold((int64_t)(rows[i].line - line)));
		offset = rows[i].offset;
		line = rows[i].line;
	}
}

static void put_excerpts(struct writer *w)
{
	uint32_t last = 0;
	uint64_t addr = 0;

	names_put(&w->body, w->count);
	for (uint32_t i = 0; i < w->count; i++) {
		const struct excerpt *excerpt = &w->excerpts->at[w->order[i]];
		uint32_t number = w->module_numbers[excerpt->module] - 1;

		names_put(&w->body, number - last);
		if (number != last)
			addr = 0;
		names_put(&w->body, excerpt->addr - addr);
		names_put(&w->body, names_fold((int64_t)(excerpt->vaddr - excerpt->addr)));
		names_put(&w->body, excerpt->machine);
		names_put(&w->body, excerpt->size);
		put_rows(w, excerpt);
		last = number;
		addr = excerpt->addr;
	}
	for (uint32_t i = 0; i < w->count; i++) {
		const struct excerpt *excerpt = &w->excerpts->at[w->order[i]];

		strbuf_add(&w->body, w->excerpts->bytes + excerpt->first_byte, excerpt->size);
	}
}

int excerpts_write(const struct excerpts *excerpts, const struct profile *profile,
	struct strbuf *ret_bytes)
{
	cleanup_with(writer_done) struct writer w = {.excerpts = excerpts, .profile = profile};
	cleanup_with(strbuf_done) struct strbuf plain = {0};
	int rc = choose(&w);

	strbuf_reset(ret_bytes);
	if (rc < 0 || !w.count)
		return rc;
	put_modules(&w);
	put_excerpts(&w);
	names_put(&plain, w.string_count);
	strbuf_add(&plain, w.strings.text, w.strings.len);
	strbuf_add(&plain, w.body.text, w.body.len);
	if (plain.failed || w.strings.failed || w.body.failed)
		return -ENOMEM;
	if (plain.len > NAMES_BYTES_MAX)
		return -EFBIG;
	strbuf_puts(ret_bytes, CODE_MAGIC CODE_VERSION);
	return names_pack(&plain, ret_bytes);
}

/* ---- in */

struct reader {
	struct bytes b;
	struct profile *profile;
	struct excerpts *excerpts;
	uint32_t *strings, *modules; /* the profile's ids by the numbers in the file */
	uint32_t string_count, module_count;
};

static void reader_done(struct reader *r)
{
	free(r->strings);
	free(r->modules);
}

static uint64_t take_below(struct reader *r, uint64_t limit)
{
	uint64_t value = bytes_uleb(&r->b);

	if (value < limit)
		return value;
	r->b.bad = true;
	return 0;
}

/* How many entries follow: no more than there are bytes for. */
static uint32_t take_count(struct reader *r, uint32_t least)
{
	return (uint32_t)take_below(r, bytes_left(&r->b) / least + 1);
}

static int read_strings(struct reader *r)
{
	int rc = 0;

	r->string_count = take_count(r, 2);
	r->strings = calloc(r->string_count + 1u, sizeof(*r->strings));
	if (!r->strings)
		return -ENOMEM;
	for (uint32_t i = 1; rc == 0 && !r->b.bad && i <= r->string_count; i++) {
		uint64_t len = bytes_uleb(&r->b);
		const uint8_t *text = bytes_take(&r->b, len);

		if (text)
			rc = strings_add(&r->profile->strings, (const char *)text, (size_t)len,
				&r->strings[i]);
	}
	return rc;
}

static uint32_t take_string(struct reader *r)
{
	return r->strings[take_below(r, r->string_count + 1ull)];
}

static int read_module(struct reader *r, uint32_t *ret_id)
{
	struct module key = {.kind = (enum module_kind)take_below(r, MODULE_MARKER)};
	const uint8_t *id;

	key.path = take_string(r);
	key.build_id_bytes = (uint8_t)take_below(r, sizeof(key.build_id) + 1);
	id = bytes_take(&r->b, key.build_id_bytes);
	if (id)
		memcpy(key.build_id, id, key.build_id_bytes);
	key.ino = bytes_uleb(&r->b);
	key.pid = (int32_t)take_below(r, 1ull << 32);
	return r->b.bad ? 0 : profile_module(r->profile, &key, ret_id);
}

static int read_modules(struct reader *r)
{
	int rc = 0;

	r->module_count = take_count(r, 5);
	r->modules = calloc(r->module_count + 1u, sizeof(*r->modules));
	if (!r->modules)
		return -ENOMEM;
	for (uint32_t i = 0; rc == 0 && !r->b.bad && i < r->module_count; i++)
		rc = read_module(r, &r->modules[i]);
	return rc;
}

static int read_rows(struct reader *r, uint32_t size)
{
	uint32_t count = take_count(r, 3);
	struct code_row row = {.offset = 0};
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && !r->b.bad && i < count; i++) {
		uint64_t step = take_below(r, size);

		row.offset += step;
		row.file = take_string(r);
		row.line += (uint32_t)names_unfold(bytes_uleb(&r->b));
		if (row.offset >= size)
			r->b.bad = true;
		if (!r->b.bad)
			rc = excerpts_add_row(r->excerpts, &row);
	}
	return rc;
}

/* The code stands behind them all: until it is read, the bytes are zeros. */
static int read_excerpts(struct reader *r, uint32_t *ret_count)
{
	uint32_t count = take_count(r, 6), number = 0;
	cleanup_free uint8_t *zeros = NULL;
	uint64_t addr = 0, left = bytes_left(&r->b);
	int rc = 0;

	if (count && !r->module_count)
		r->b.bad = true;
	for (uint32_t i = 0; rc == 0 && !r->b.bad && i < count; i++) {
		uint32_t further = (uint32_t)take_below(r, r->module_count - number);
		struct excerpt excerpt = {.module = r->modules[number += further]};

		addr = (further ? 0 : addr) + bytes_uleb(&r->b);
		excerpt.addr = addr;
		excerpt.brought = true;
		excerpt.vaddr = addr + (uint64_t)names_unfold(bytes_uleb(&r->b));
		excerpt.machine = (uint16_t)take_below(r, 1 << 16);
		excerpt.size = (uint32_t)take_below(r, left + 1);
		if (!excerpt.size)
			r->b.bad = true;
		left -= excerpt.size;
		if (!zeros)
			zeros = calloc(left + excerpt.size + 1, 1);
		if (!zeros)
			return -ENOMEM;
		if (!r->b.bad)
			rc = excerpts_add(r->excerpts, &excerpt, zeros);
		if (rc == 0 && !r->b.bad)
			rc = read_rows(r, excerpt.size);
	}
	*ret_count = count;
	return rc;
}

static int read_all(struct reader *r)
{
	uint32_t first = r->excerpts->count, first_byte = r->excerpts->byte_count, count = 0;
	const uint8_t *code;
	int rc = read_strings(r);

	if (rc == 0 && !r->b.bad)
		rc = read_modules(r);
	if (rc == 0 && !r->b.bad)
		rc = read_excerpts(r, &count);
	if (rc == 0 && !r->b.bad) {
		uint32_t len = r->excerpts->byte_count - first_byte;

		code = bytes_take(&r->b, len);
		if (code && len)
			memcpy(r->excerpts->bytes + first_byte, code, len);
	}
	if (rc == 0 && r->b.bad)
		rc = -EBADMSG;
	if (rc < 0) {
		if (first < r->excerpts->count)
			r->excerpts->row_count = r->excerpts->at[first].first_row;
		r->excerpts->count = first;
		r->excerpts->byte_count = first_byte;
	}
	return rc == -ENOSPC ? -EBADMSG : rc;
}

static int say(struct error *err, int rc)
{
	if (rc == -ENOTSUP)
		return error_set(err, rc,
			"the code in this file is of a version or packing that this wick does "
			"not know, and was left out; a newer wick reads it");
	if (rc == -EBADMSG)
		return error_set(err, rc, "the code in this file is damaged and was left out");
	return error_set(err, rc, "out of memory while reading the code in this file");
}

int excerpts_read(const void *bytes, size_t len, struct profile *profile,
	struct excerpts *excerpts, struct error *err)
{
	static const char magic[] = CODE_MAGIC, start[] = CODE_MAGIC CODE_VERSION;
	cleanup_with(reader_done) struct reader r = {.profile = profile, .excerpts = excerpts};
	cleanup_with(strbuf_done) struct strbuf plain = {0};
	int rc;

	if (len < sizeof(start) - 1 || memcmp(bytes, magic, sizeof(magic) - 1) != 0)
		return say(err, -EBADMSG);
	if (memcmp(bytes, start, sizeof(start) - 1) != 0)
		return say(err, -ENOTSUP);
	rc = names_unpack(
		(const char *)bytes + sizeof(start) - 1, len - (sizeof(start) - 1), &plain);
	if (rc == 0) {
		r.b = bytes_of(strbuf_text(&plain), plain.len);
		rc = read_all(&r);
	}
	return rc < 0 ? say(err, rc) : 0;
}
