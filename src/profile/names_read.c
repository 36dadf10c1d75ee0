/*
 * How: the bytes are checked once, from front to back, and become tables of their own, in the
 * file's order, which is that of modules and addresses. A profile's module is looked up among
 * them by a hash of its path when its first frame asks, a frame then by bisection.
 */
#include "profile/names_internal.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct text {
	uint32_t start, len; /* in `plain` */
	uint32_t profile_id_plus_1;
};

struct module_in {
	enum module_kind kind;
	uint32_t path;
	uint8_t build_id[20];
	uint8_t build_id_bytes, outcome;
	uint32_t debug_file;
	uint64_t ino;
	int32_t pid;
	uint32_t first_frame, frame_count;
};

struct function_in {
	uint64_t addr, size;
	uint32_t module, name, linkage_name;
	uint32_t profile_id_plus_1;
};

struct frame_in {
	uint64_t addr;
	uint32_t first_line;
	uint16_t line_count;
	bool caller;
};

struct names {
	struct strbuf plain;
	struct text *texts; /* from 1 on */
	struct module_in *modules;
	struct function_in *functions;
	struct frame_in *frames;
	struct line *lines; /* ids of this file */
	uint32_t text_count, module_count, function_count, frame_count, line_count, line_cap;
	struct codes codes;
	bool no_inlines, no_demangle;
	bool has_less; /* of some module */
	struct hash_index by_path;
	uint32_t *known; /* by the profile's module: ours + 1, NOT_KNOWN; 0: not asked */
	uint32_t known_count, known_cap;
};

enum { NOT_KNOWN = UINT32_MAX };

void names_free(struct names *names)
{
	if (!names)
		return;
	strbuf_done(&names->plain);
	free(names->texts);
	free(names->modules);
	free(names->functions);
	free(names->frames);
	free(names->lines);
	free(names->known);
	codes_done(&names->codes);
	hash_done(&names->by_path);
	free(names);
}

/* ---- reading */

/*
 * How many entries follow: no more than there are bytes for, at `least` bytes each. Room for
 * one more, so that an empty table is one.
 */
static uint32_t take_count(struct bytes *b, size_t least, size_t entry_bytes, void *ret_array)
{
	uint64_t count = bytes_uleb(b);
	void *array;

	if (b->bad || count > bytes_left(b) / least) {
		b->bad = true;
		return 0;
	}
	array = calloc(count + 1, entry_bytes);
	memcpy(ret_array, &array, sizeof(array));
	return array ? (uint32_t)count : 0;
}

static uint32_t take_below(struct bytes *b, uint64_t limit)
{
	uint64_t value = bytes_uleb(b);

	if (value < limit)
		return (uint32_t)value;
	b->bad = true;
	return 0;
}

static uint32_t take_text(const struct names *names, struct bytes *b)
{
	return take_below(b, names->text_count + 1ull);
}

static int read_texts(struct names *names, struct bytes *b)
{
	names->text_count = take_count(b, 2, sizeof(*names->texts), &names->texts);
	if (b->bad)
		return -EBADMSG;
	if (!names->texts)
		return -ENOMEM;
	for (uint32_t i = 1; i <= names->text_count; i++) {
		uint64_t len = bytes_uleb(b);
		const uint8_t *text = bytes_take(b, len);

		if (!text || memchr(text, '\0', len))
			return -EBADMSG;
		names->texts[i].start = (uint32_t)(text - (uint8_t *)names->plain.text);
		names->texts[i].len = (uint32_t)len;
	}
	return 0;
}

static void read_module(const struct names *names, struct bytes *b, struct module_in *module)
{
	const uint8_t *id;

	module->kind = (enum module_kind)take_below(b, MODULE_MARKER);
	module->path = take_text(names, b);
	module->build_id_bytes = (uint8_t)take_below(b, sizeof(module->build_id) + 1);
	id = bytes_take(b, module->build_id_bytes);
	if (id)
		memcpy(module->build_id, id, module->build_id_bytes);
	module->ino = bytes_uleb(b);
	module->pid = (int32_t)take_below(b, 1ull << 32);
	module->outcome = (uint8_t)take_below(b, 256);
}

static uint32_t path_hash(const char *text, size_t len)
{
	return hash_bytes(text, len);
}

static int read_modules(struct names *names, struct bytes *b)
{
	names->module_count = take_count(b, 6, sizeof(*names->modules), &names->modules);
	if (b->bad)
		return -EBADMSG;
	if (!names->modules)
		return -ENOMEM;
	for (uint32_t i = 0; i < names->module_count; i++) {
		struct module_in *module = &names->modules[i];
		const struct text *path;
		int rc;

		read_module(names, b, module);
		names->has_less |= (module->outcome & NAMES_LEFT) != 0;
		path = &names->texts[module->path];
		rc = hash_add(&names->by_path,
			path_hash(names->plain.text + path->start, path->len), i);
		if (rc < 0)
			return rc;
	}
	return b->bad ? -EBADMSG : 0;
}

struct place {
	uint32_t module;
	uint64_t addr;
};

/* False: there is no such module, or the addresses run over. */
static bool take_place(const struct names *names, struct bytes *b, struct place *place)
{
	uint32_t further = take_below(b, (uint64_t)names->module_count - place->module);

	if (further)
		*place = (struct place){place->module + further, 0};
	if (__builtin_add_overflow(place->addr, bytes_uleb(b), &place->addr))
		b->bad = true;
	return !b->bad;
}

static int read_functions(struct names *names, struct bytes *b)
{
	struct place place = {0, 0};

	names->function_count = take_count(b, 5, sizeof(*names->functions), &names->functions);
	if (b->bad || (names->function_count && !names->module_count))
		return -EBADMSG;
	if (!names->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < names->function_count; i++) {
		struct function_in *function = &names->functions[i];
		uint32_t linkage;

		if (!take_place(names, b, &place))
			return -EBADMSG;
		function->module = place.module;
		function->addr = place.addr;
		function->size = bytes_uleb(b);
		function->name = take_text(names, b);
		linkage = take_below(b, names->text_count + 2ull);
		function->linkage_name = linkage ? linkage - 1 : function->name;
		names->has_less |= !b->bad && !names->texts[function->linkage_name].len;
	}
	return b->bad ? -EBADMSG : 0;
}

static int read_lines(
	struct names *names, struct bytes *b, struct frame_in *frame, int64_t *last_function)
{
	int rc = array_reserve(&names->lines, &names->line_cap,
		(uint64_t)names->line_count + frame->line_count, sizeof(*names->lines),
		UINT32_MAX);

	if (rc < 0)
		return rc == -ENOSPC ? -EBADMSG : rc;
	frame->first_line = names->line_count;
	for (uint32_t i = 0; i < frame->line_count; i++) {
		struct line *line = &names->lines[names->line_count++];
		int64_t step = names_unfold(bytes_uleb(b));

		if (step > (int64_t)names->function_count ||
			step < -(int64_t)names->function_count)
			return -EBADMSG;
		*last_function += step;
		if (*last_function < 0 || *last_function >= names->function_count)
			return -EBADMSG;
		line->function = (uint32_t)*last_function;
		line->file = take_text(names, b);
		line->line = take_below(b, 1ull << 32);
		line->column = 0;
		if (b->bad)
			return -EBADMSG;
	}
	return 0;
}

static int read_frames(struct names *names, struct bytes *b)
{
	struct place place = {0, 0};
	int64_t last_function = 0;
	int rc = 0;

	names->frame_count = take_count(b, 3, sizeof(*names->frames), &names->frames);
	if (b->bad || (names->frame_count && !names->module_count))
		return -EBADMSG;
	if (!names->frames)
		return -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < names->frame_count; i++) {
		struct frame_in *frame = &names->frames[i];
		uint64_t lines;

		if (!take_place(names, b, &place))
			return -EBADMSG;
		lines = take_below(b, 1 << 17);
		frame->addr = place.addr;
		frame->caller = lines & 1;
		frame->line_count = (uint16_t)(lines >> 1);
		if (!names->modules[place.module].frame_count++)
			names->modules[place.module].first_frame = i;
		rc = read_lines(names, b, frame, &last_function);
	}
	return rc;
}

static uint32_t code_text(struct names *names, struct bytes *b, int *rc)
{
	const struct text *text = &names->texts[take_text(names, b)];
	uint32_t id = 0;

	if (*rc == 0)
		*rc = strings_add(
			&names->codes.strings, names->plain.text + text->start, text->len, &id);
	return id;
}

static int read_rows(struct names *names, struct bytes *b)
{
	uint64_t count = bytes_uleb(b);
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && !b->bad && i < count; i++) {
		struct code_row row = {.offset = bytes_uleb(b)};

		row.file = code_text(names, b, &rc);
		row.line = take_below(b, 1ull << 32);
		if (rc == 0 && !b->bad)
			rc = codes_add_row(&names->codes, &row);
	}
	return rc;
}

static int read_codes(struct names *names, struct bytes *b)
{
	uint64_t count = bytes_uleb(b), key = 0, ns = 0;
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && !b->bad && i < count; i++) {
		struct code code = {.pid = (int32_t)take_below(b, 1ull << 32)};

		code.path = code_text(names, b, &rc);
		code.name = code_text(names, b, &rc);
		code.key = key += (uint64_t)names_unfold(bytes_uleb(b));
		code.addr = bytes_uleb(b);
		code.size = bytes_uleb(b);
		code.start_ns = ns += (uint64_t)names_unfold(bytes_uleb(b));
		code.end_ns = code.start_ns + bytes_uleb(b);
		if (rc == 0 && !b->bad)
			rc = codes_add(&names->codes, &code);
		if (rc == 0)
			rc = read_rows(names, b);
	}
	return rc < 0 && rc != -ENOMEM ? -EBADMSG : rc < 0 ? rc : b->bad ? -EBADMSG : 0;
}

/* Files of before end here, and have none of this. */
static int read_additions(struct names *names, struct bytes *b)
{
	if (!bytes_left(b))
		return 0;
	for (uint32_t i = 0; i < names->line_count; i++)
		names->lines[i].column = take_below(b, 1ull << 32);
	for (uint32_t i = 0; i < names->codes.row_count; i++)
		names->codes.rows[i].column = take_below(b, 1ull << 32);
	for (uint32_t i = 0; i < names->module_count; i++)
		names->modules[i].debug_file = take_text(names, b);
	return b->bad ? -EBADMSG : 0;
}

static int read_all(struct names *names)
{
	struct bytes b = bytes_of(names->plain.text, names->plain.len);
	int rc = read_texts(names, &b);

	if (rc == 0)
		rc = read_modules(names, &b);
	if (rc == 0)
		rc = read_functions(names, &b);
	if (rc == 0)
		rc = read_frames(names, &b);
	if (rc == 0)
		rc = read_codes(names, &b);
	return rc == 0 ? read_additions(names, &b) : rc;
}

static int say(struct error *err, int rc)
{
	if (rc == -ENOTSUP)
		return error_set(err, rc,
			"the names in this file are of a version or packing that this wick "
			"does "
			"not know, and were left out; a newer wick reads them");
	if (rc == -EBADMSG)
		return error_set(
			err, rc, "the names in this file are damaged and were left out");
	return error_set(err, rc, "out of memory while reading the names in this file");
}

int names_read(const void *bytes, size_t len, struct names **ret_names, struct error *err)
{
	static const char magic[] = NAMES_MAGIC, start[] = NAMES_MAGIC NAMES_VERSION;
	struct names *names;
	int rc;

	if (len < sizeof(start) - 1 || memcmp(bytes, magic, sizeof(magic) - 1) != 0)
		return say(err, -EBADMSG);
	if (memcmp(bytes, start, sizeof(start) - 1) != 0)
		return say(err, -ENOTSUP);
	names = calloc(1, sizeof(*names));
	if (!names)
		return say(err, -ENOMEM);
	rc = names_unpack((const char *)bytes + sizeof(start) - 1, len - (sizeof(start) - 1),
		&names->plain);
	if (rc == 0)
		rc = read_all(names);
	if (rc < 0) {
		names_free(names);
		return say(err, rc);
	}
	*ret_names = names;
	return 0;
}

/* ---- giving names */

static bool module_is(const struct names *names, const struct module_in *in,
	const struct module *module, const char *path)
{
	const struct text *text = &names->texts[in->path];

	return in->kind == module->kind && in->ino == module->ino &&
	       in->build_id_bytes == module->build_id_bytes &&
	       !memcmp(in->build_id, module->build_id, in->build_id_bytes) &&
	       (in->kind != MODULE_ANON || in->pid == module->pid) &&
	       strlen(path) == text->len &&
	       !memcmp(names->plain.text + text->start, path, text->len);
}

/* Our module for a profile's, or NOT_KNOWN. */
static uint32_t module_find(
	const struct names *names, const struct profile *profile, uint32_t id)
{
	const struct module *module = &profile->modules[id];
	const char *path = profile_text(profile, module->path);
	struct hash_probe probe = hash_probe(&names->by_path, path_hash(path, strlen(path)));
	uint32_t found;

	while (hash_next(&names->by_path, &probe, &found))
		if (module_is(names, &names->modules[found], module, path))
			return found;
	return NOT_KNOWN;
}

static uint32_t module_known(struct names *names, const struct profile *profile, uint32_t id)
{
	if (array_reserve(&names->known, &names->known_cap, (uint64_t)id + 1,
		    sizeof(*names->known), UINT32_MAX) < 0)
		return module_find(names, profile, id);
	while (names->known_count <= id)
		names->known[names->known_count++] = 0;
	if (!names->known[id]) {
		uint32_t found = module_find(names, profile, id);

		names->known[id] = found == NOT_KNOWN ? NOT_KNOWN : found + 1;
	}
	return names->known[id] == NOT_KNOWN ? NOT_KNOWN : names->known[id] - 1;
}

static const struct frame_in *frame_find(
	const struct names *names, const struct module_in *module, const struct frame *frame)
{
	const struct frame_in *at = names->frames + module->first_frame;
	uint32_t low = 0, high = module->frame_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct frame_in *in = &at[middle];

		if (in->addr < frame->addr ||
			(in->addr == frame->addr && !in->caller && frame->caller))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == module->frame_count || at[low].addr != frame->addr ||
		at[low].caller != frame->caller)
		return NULL;
	return &at[low];
}

static int text_id(struct names *names, struct profile *profile, uint32_t number, uint32_t *ret)
{
	struct text *text = &names->texts[number];
	int rc = 0;

	if (!number) {
		*ret = 0;
		return 0;
	}
	if (!text->profile_id_plus_1) {
		rc = strings_add(
			&profile->strings, names->plain.text + text->start, text->len, ret);
		if (rc < 0)
			return rc;
		text->profile_id_plus_1 = *ret + 1;
	}
	*ret = text->profile_id_plus_1 - 1;
	return 0;
}

/* A function may lie in a module that no record of the profile has named; it is the frame's
 * then. */
static int function_id(struct names *names, struct profile *profile, uint32_t module,
	uint32_t number, uint32_t *ret)
{
	struct function_in *in = &names->functions[number];
	struct function key = {.module = module, .addr = in->addr, .size = in->size};
	int rc = 0;

	if (!in->profile_id_plus_1) {
		rc = text_id(names, profile, in->name, &key.name);
		if (rc == 0)
			rc = text_id(names, profile, in->linkage_name, &key.linkage_name);
		if (names->no_demangle && names->texts[in->linkage_name].len)
			key.name = key.linkage_name;
		if (rc == 0)
			rc = profile_function(profile, &key, ret);
		if (rc < 0)
			return rc;
		in->profile_id_plus_1 = *ret + 1;
	}
	*ret = in->profile_id_plus_1 - 1;
	return 0;
}

static int line_make(struct names *names, struct profile *profile, uint32_t module,
	const struct line *in, struct line *line)
{
	int rc = function_id(names, profile, module, in->function, &line->function);

	if (rc < 0 || names->no_inlines)
		return rc;
	line->line = in->line;
	line->column = in->column;
	return text_id(names, profile, in->file, &line->file);
}

void names_choose(struct names *names, bool no_inlines, bool no_demangle)
{
	names->no_inlines = no_inlines;
	names->no_demangle = no_demangle;
}

/* The frame as the file has it, if it has lines; or NULL. */
static const struct frame_in *frame_known(struct names *names, const struct profile *profile,
	uint32_t frame, uint32_t *ret_module)
{
	const struct frame *at = &profile->frames[frame];
	const struct frame_in *in = NULL;

	if (profile->modules[at->module].kind == MODULE_MARKER)
		return NULL;
	*ret_module = module_known(names, profile, at->module);
	if (*ret_module != NOT_KNOWN)
		in = frame_find(names, &names->modules[*ret_module], at);
	return in && in->line_count ? in : NULL;
}

bool names_has_less(struct names *names, const struct profile *profile, uint32_t frame)
{
	const struct frame_in *in;
	const struct line *line;
	uint32_t module;

	if (!names->has_less)
		return false;
	in = frame_known(names, profile, frame, &module);
	if (!in || in->line_count != 1)
		return false;
	line = &names->lines[in->first_line];
	return (names->modules[module].outcome & NAMES_LEFT && !line->line) ||
	       !names->texts[names->functions[line->function].linkage_name].len;
}

const char *names_symbol(
	struct names *names, const struct profile *profile, uint32_t frame, struct strbuf *room)
{
	uint32_t module;
	const struct frame_in *in = frame_known(names, profile, frame, &module);
	const struct function_in *function;
	const struct text *text;

	if (!in)
		return NULL;
	function =
		&names->functions[names->lines[in->first_line + in->line_count - 1].function];
	text = &names->texts[function->linkage_name];
	strbuf_reset(room);
	strbuf_add(room, names->plain.text + text->start, text->len);
	return strbuf_text(room);
}

int names_frame(struct names *names, struct profile *profile, uint32_t frame)
{
	const struct frame *at = &profile->frames[frame];
	const struct frame_in *in;
	cleanup_free struct line *lines = NULL;
	uint32_t module, skip;
	int rc = 0;

	if (at->line_count)
		return 0;
	in = frame_known(names, profile, frame, &module);
	if (!in)
		return 0;
	lines = calloc(in->line_count, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	/* The function that was called comes last. */
	skip = names->no_inlines ? in->line_count - 1u : 0;
	for (uint32_t i = skip; rc == 0 && i < in->line_count; i++)
		rc = line_make(names, profile, at->module, &names->lines[in->first_line + i],
			&lines[i - skip]);
	if (rc == 0)
		rc = profile_resolve(profile, frame, lines, in->line_count - skip);
	return rc < 0 ? rc : 1;
}

uint8_t names_outcome(struct names *names, const struct profile *profile, uint32_t module)
{
	uint32_t known = module_known(names, profile, module);

	return known == NOT_KNOWN ? 0 : names->modules[known].outcome & ~NAMES_LEFT;
}

int names_debug_file(
	struct names *names, struct profile *profile, uint32_t module, uint32_t *ret_string)
{
	uint32_t known = module_known(names, profile, module);

	*ret_string = 0;
	return known == NOT_KNOWN
		       ? 0
		       : text_id(names, profile, names->modules[known].debug_file, ret_string);
}

bool names_has_file(const struct names *names, const char *path, uint64_t ino)
{
	const struct module wanted = {.kind = MODULE_FILE, .ino = ino};
	struct hash_probe probe = hash_probe(&names->by_path, path_hash(path, strlen(path)));
	uint32_t found;

	while (hash_next(&names->by_path, &probe, &found))
		if (module_is(names, &names->modules[found], &wanted, path))
			return true;
	return false;
}

struct codes *names_codes(struct names *names)
{
	return &names->codes;
}

uint32_t names_count(const struct names *names)
{
	return names->frame_count;
}
