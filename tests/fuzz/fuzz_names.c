/*
 * The names section of a recording over any bytes: as they are where they begin as one, else as
 * what stands in it unpacked, which is where the decoder's work is.
 *
 * Checked: frames that get names have whole ones; what a profile got, written and read again,
 * gives an equal profile the same names; tables of JIT code are searched without harm.
 */
#include "profile/names.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static uint32_t module_of(
	struct profile *p, enum module_kind kind, const char *path, int32_t pid)
{
	struct module key = {.kind = kind, .pid = pid};
	uint32_t id;

	must(profile_string(p, path, &key.path) == 0);
	must(profile_module(p, &key, &id) == 0);
	return id;
}

/* The modules of the corpus, with frames at each of their first addresses. */
static void make_profile(struct profile *p)
{
	uint32_t modules[3], frame;

	*p = (struct profile){.module_count = 0};
	modules[0] = module_of(p, MODULE_FILE, "/bin/a", 0);
	modules[1] = module_of(p, MODULE_KERNEL, "[kernel.kallsyms]", 0);
	modules[2] = module_of(p, MODULE_ANON, "//anon", 7);
	for (int i = 0; i < 3; i++)
		for (uint64_t addr = 0; addr < 64; addr++)
			for (int caller = 0; caller < 2; caller++)
				must(profile_frame(p, modules[i], addr, caller, addr, &frame) ==
					0);
}

static uint32_t name_all(struct names *names, struct profile *p)
{
	uint32_t named = 0;

	for (uint32_t i = 0; i < p->frame_count; i++) {
		int rc = names_frame(names, p, i);

		must(rc >= 0);
		named += rc > 0;
		must(rc == 0 || p->frames[i].line_count);
		for (uint32_t k = 0; k < p->frames[i].line_count; k++) {
			const struct line *line = &p->lines[p->frames[i].first_line + k];

			must(line->function < p->function_count);
			must(frame_name(p, i, k)[0]);
			must(line->file < p->strings.count);
		}
	}
	for (uint32_t i = 0; i < p->module_count; i++)
		(void)names_outcome(names, p, i);
	return named;
}

static void search(struct codes *codes)
{
	for (uint32_t i = 0; i < codes->count && i < 256; i++) {
		struct code one = codes->at[i], *found;

		found = codes_find(codes, one.pid, one.addr, one.start_ns);
		if (!found)
			continue;
		must(found->pid == one.pid && one.addr - found->addr < found->size);
		found->sampled = true;
		(void)codes_row(codes, found, one.addr - found->addr);
	}
}

static void again(const struct profile *p, struct codes *codes)
{
	struct names_source source = {.profile = p, .codes = codes};
	struct strbuf bytes = {0};
	struct profile other;
	struct names *names;

	must(names_write(&source, &bytes) == 0);
	must(names_read(bytes.text, bytes.len, &names, NULL) == 0);
	make_profile(&other);
	name_all(names, &other);
	for (uint32_t i = 0; i < p->frame_count; i++) {
		must(other.frames[i].line_count == p->frames[i].line_count);
		for (uint32_t k = 0; k < p->frames[i].line_count; k++)
			must(!strcmp(frame_name(&other, i, k), frame_name(p, i, k)));
	}
	names_free(names);
	profile_done(&other);
	strbuf_done(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char start[] = "wick-names ";
	struct strbuf bytes = {0};
	struct error err = {.text = ""};
	struct profile profile;
	struct names *names;
	int rc;

	if (size < sizeof(start) || memcmp(data, start, sizeof(start) - 1) != 0) {
		uint64_t left = size;

		strbuf_puts(&bytes, "wick-names 1\n");
		strbuf_putc(&bytes, '\0');
		do {
			strbuf_putc(&bytes, (char)((left & 127) | (left > 127 ? 128 : 0)));
			left >>= 7;
		} while (left);
	}
	strbuf_add(&bytes, data, size);
	rc = names_read(strbuf_text(&bytes), bytes.len, &names, &err);
	must(rc == 0 || err.text[0]);
	if (rc == 0) {
		make_profile(&profile);
		must(name_all(names, &profile) <= names_count(names));
		search(names_codes(names));
		again(&profile, names_codes(names));
		profile_done(&profile);
		names_free(names);
	}
	strbuf_done(&bytes);
	return 0;
}
