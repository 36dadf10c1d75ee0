/*
 * A frame of such code lies in a module of the dump's name, at the place of its bytes in the
 * dump: two functions that lay at the same address one after the other have two frames.
 */
#include "session/jit.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "object/demangle.h"
#include "object/jitdump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void jit_init(struct jit *jit)
{
	*jit = (struct jit){.dump_count = 0};
	jit->codes = &jit->own;
}

void jit_done(struct jit *jit)
{
	for (uint32_t i = 0; i < jit->dump_count; i++) {
		jitcfi_free(jit->dumps[i].frames);
		if (jit->dumps[i].fd >= 0)
			close(jit->dumps[i].fd);
	}
	codes_done(&jit->own);
	*jit = (struct jit){.dump_count = 0};
}

void jit_bring(struct jit *jit, struct codes *codes)
{
	if (!codes->count)
		return;
	jit->codes = codes;
	jit->brought = true;
}

/* A process that calls exec, and a pid that is used again, may have several. */
static bool has_dump(const struct jit *jit, int32_t pid, const char *path)
{
	for (uint32_t i = 0; i < jit->dump_count; i++)
		if (jit->dumps[i].pid == pid &&
			!strcmp(strings_get(&jit->own.strings, jit->dumps[i].path), path))
			return true;
	return false;
}

bool jit_wants(const struct jit *jit, int32_t pid, const char *path)
{
	return (!jit->brought || jit->unwinds) && jitdump_is_name(path) &&
	       !has_dump(jit, pid, path);
}

void jit_add(struct jit *jit, int32_t pid, const char *path, int fd)
{
	struct jit_dump dump = {.pid = pid, .fd = fd};

	if (fd < 0)
		return;
	if (jit->dump_count == JIT_DUMPS_MOST ||
		strings_add(&jit->own.strings, path, strlen(path), &dump.path) < 0) {
		jit->refused++;
		close(fd);
		return;
	}
	if (jit->unwinds)
		jitcfi_new(fd, &dump.frames); /* without memory: without */
	jit->dumps[jit->dump_count++] = dump;
}

/* ---- reading */

/* The addresses of the sampled frames that may be in such code, in order. */
struct wanted {
	uint64_t *addrs;
	uint32_t count;
	bool all;
};

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int make_wanted(const struct profile *sampled, int32_t pid, struct wanted *wanted)
{
	wanted->all = !sampled;
	if (!sampled)
		return 0;
	wanted->addrs = calloc(sampled->frame_count + 1u, sizeof(*wanted->addrs));
	if (!wanted->addrs)
		return -ENOMEM;
	for (uint32_t i = 0; i < sampled->frame_count; i++) {
		const struct module *module = &sampled->modules[sampled->frames[i].module];

		if (module->kind == MODULE_ANON && module->pid == pid)
			wanted->addrs[wanted->count++] = frame_lookup_addr(&sampled->frames[i]);
	}
	qsort(wanted->addrs, wanted->count, sizeof(*wanted->addrs), compare_u64);
	return 0;
}

/* The first wanted address that is not below `addr`. */
static uint32_t wanted_from(const struct wanted *wanted, uint64_t addr)
{
	uint32_t low = 0, high = wanted->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (wanted->addrs[middle] < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Does a sampled address lie in [addr, end)? */
static bool is_wanted(const struct wanted *wanted, uint64_t addr, uint64_t end)
{
	uint32_t at = wanted->all ? 0 : wanted_from(wanted, addr);

	return wanted->all || (at < wanted->count && wanted->addrs[at] < end);
}

static int string_add(struct codes *codes, const char *text, uint32_t *ret_id)
{
	return strings_add(&codes->strings, text, strlen(text), ret_id);
}

static int add_rows(struct codes *codes, const struct jitdump *dump, const struct jit_code *in,
	const struct wanted *wanted)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < in->row_count; i++) {
		const struct jit_row *row = &dump->rows[in->first_row + i];
		uint64_t end = i + 1 < in->row_count ? row[1].offset : in->size;
		struct code_row out = {
			.offset = row->offset, .line = row->line, .column = row->column};

		if (!is_wanted(wanted, in->addr + row->offset, in->addr + end))
			continue;
		rc = string_add(codes, row->file, &out.file);
		if (rc == 0)
			rc = codes_add_row(codes, &out);
	}
	return rc;
}

static int add_codes(struct jit *jit, const struct jit_dump *from, const struct jitdump *dump,
	const struct wanted *wanted)
{
	bool no_time = jit->no_time || dump->arch_time;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < dump->code_count; i++) {
		const struct jit_code *in = &dump->codes[i];
		struct code code = {
			.pid = from->pid,
			.addr = in->addr,
			.size = in->size,
			.start_ns = no_time ? 0 : in->start_ns,
			.end_ns = in->end_ns,
			.key = in->key,
			.path = from->path,
			.sampled = !wanted->all,
		};

		if (!is_wanted(wanted, in->addr, in->addr + in->size) ||
			(no_time && in->end_ns != UINT64_MAX))
			continue;
		rc = string_add(&jit->own, in->name, &code.name);
		if (rc == 0)
			rc = codes_add(&jit->own, &code);
		if (rc == 0)
			rc = add_rows(&jit->own, dump, in, wanted);
	}
	return rc == -ENOSPC ? 0 : rc;
}

/* A copy: the compiler may cut or overwrite the file while we read it. */
static int read_file(int fd, struct strbuf *bytes)
{
	struct stat st;
	int64_t got;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		(uint64_t)st.st_size > JITDUMP_BYTES_MAX)
		return -EFBIG;
	if (!strbuf_reserve(bytes, (size_t)st.st_size))
		return -ENOMEM;
	got = fd_pread_all(fd, bytes->text, (size_t)st.st_size, 0);
	if (got < 0)
		return (int)got;
	bytes->len = (size_t)got;
	return 0;
}

static int dump_read(struct jit *jit, struct jit_dump *from, const struct profile *sampled)
{
	cleanup_with(strbuf_done) struct strbuf bytes = {0};
	struct wanted wanted = {.addrs = NULL};
	struct jitdump dump;
	int rc = make_wanted(sampled, from->pid, &wanted);

	if (rc == 0 && (wanted.all || wanted.count)) {
		rc = read_file(from->fd, &bytes);
		jit->unreadable += rc < 0;
		if (rc == 0)
			rc = jitdump_parse(strbuf_text(&bytes), bytes.len, &dump);
		if (rc == 0) {
			jit->torn += dump.cut;
			from->machine = (uint16_t)dump.machine;
			rc = add_codes(jit, from, &dump, &wanted);
			jitdump_done(&dump);
		}
	}
	free(wanted.addrs);
	return rc == -ENOMEM ? rc : 0; /* what is no dump names nothing */
}

int jit_read(struct jit *jit, const struct profile *sampled)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < jit->dump_count; i++) {
		struct jit_dump *dump = &jit->dumps[i];

		if (dump->read || jit->brought)
			continue;
		rc = dump_read(jit, dump, sampled);
		dump->read = true;
	}
	return rc;
}

int jit_code(const struct jit *jit, const struct profile *profile, uint32_t module,
	uint64_t key, uint32_t size, uint8_t **ret_bytes, uint16_t *ret_machine)
{
	const struct module *of = &profile->modules[module];
	const char *path = profile_text(profile, of->path);
	cleanup_free uint8_t *bytes = malloc(size + 1u);
	int rc = -ENOENT;

	if (!bytes)
		return -ENOMEM;
	for (uint32_t i = 0; rc < 0 && of->kind == MODULE_ANON && i < jit->dump_count; i++) {
		const struct jit_dump *dump = &jit->dumps[i];

		if (dump->pid != of->pid || !dump->machine || key > INT64_MAX ||
			strcmp(strings_get(&jit->own.strings, dump->path), path) != 0 ||
			fd_pread_all(dump->fd, bytes, size, (off_t)key) != (int64_t)size)
			continue;
		*ret_machine = dump->machine;
		rc = 0;
	}
	if (rc == 0)
		*ret_bytes = take_ptr(&bytes);
	return rc;
}

static void say(struct quality *quality, uint64_t count, const char *what)
{
	char text[160];

	if (!count)
		return;
	snprintf(text, sizeof(text), "%llu jitdump%s %s", (unsigned long long)count,
		count == 1 ? "" : "s", what);
	quality_note(quality, text);
}

void jit_say(const struct jit *jit, struct quality *quality)
{
	say(quality, jit->torn,
		"ended in the middle of a record: functions behind it have no names");
	say(quality, jit->unreadable, "could not be read: their functions have no names");
	say(quality, jit->refused, "too many: their functions have no names");
}

/* ---- unwinding */

int jit_update(struct jit *jit, int32_t pid)
{
	int rc = 0;

	for (uint32_t i = 0; rc >= 0 && i < jit->dump_count; i++) {
		struct jit_dump *dump = &jit->dumps[i];

		if (dump->pid != pid || !dump->frames)
			continue;
		if (jitcfi_update(dump->frames) < 0)
			return -ENOMEM;
		if (!dump->has_frames && jitcfi_count(dump->frames)) {
			dump->has_frames = true;
			rc = 1;
		}
	}
	return rc;
}

int jit_row(struct jit *jit, int32_t pid, uint16_t machine, uint64_t addr, uint64_t time_ns,
	struct cfi_row *ret_row)
{
	int rc = -ENODATA;

	for (uint32_t i = 0; i < jit->dump_count && rc != 0; i++) {
		struct jit_dump *dump = &jit->dumps[i];

		if (dump->pid != pid || !dump->has_frames ||
			jitcfi_machine(dump->frames) != machine)
			continue;
		rc = jitcfi_find(
			dump->frames, addr, jit->no_time ? UINT64_MAX : time_ns, ret_row);
	}
	return rc;
}

/* ---- frames */

static int module_of(
	struct jit *jit, struct profile *profile, const struct code *code, uint32_t *ret_module)
{
	struct module key = {.kind = MODULE_ANON, .pid = code->pid};
	int rc = profile_string(
		profile, strings_get(&jit->codes->strings, code->path), &key.path);

	return rc < 0 ? rc : profile_module(profile, &key, ret_module);
}

static int frame_resolve(struct jit *jit, struct profile *profile, const struct code *code,
	uint32_t module, uint32_t frame)
{
	uint64_t offset = frame_lookup_addr(&profile->frames[frame]) - code->key;
	const struct code_row *row = codes_row(jit->codes, code, offset);
	struct function function = {.module = module, .addr = code->key, .size = code->size};
	struct line line = {.line = row ? row->line : 0, .column = row ? row->column : 0};
	cleanup_with(strbuf_done) struct strbuf readable = {0};
	const char *name = strings_get(&jit->codes->strings, code->name);
	int rc = profile_string(profile, name, &function.linkage_name);

	function.name = function.linkage_name;
	if (rc == 0 && demangle(name, &readable))
		rc = profile_string(profile, strbuf_text(&readable), &function.name);
	if (rc == 0)
		rc = profile_function(profile, &function, &line.function);
	if (rc == 0 && row)
		rc = profile_string(
			profile, strings_get(&jit->codes->strings, row->file), &line.file);
	return rc < 0 ? rc : profile_resolve(profile, frame, &line, 1);
}

int jit_frame(struct jit *jit, struct profile *profile, int32_t pid, uint64_t ip, bool caller,
	uint64_t time_ns, uint32_t *ret_frame)
{
	struct code *code;
	uint32_t module;
	int rc;

	if (!jit->codes->count)
		return -ENODATA;
	code = codes_find(jit->codes, pid, ip - (caller && ip), time_ns);
	if (!code)
		return 0;
	code->sampled = true;
	rc = module_of(jit, profile, code, &module);
	if (rc == 0)
		rc = profile_frame(
			profile, module, code->key + (ip - code->addr), caller, ip, ret_frame);
	if (rc == 0 && !profile->frames[*ret_frame].resolved)
		rc = frame_resolve(jit, profile, code, module, *ret_frame);
	return rc < 0 ? rc : 1;
}
