#include "object/elf_symbols.h"

#include "base/fileio.h"
#include "object/gopclntab.h"
#include "object/tiny_elf.h"
#include "tests/run_tool.h"
#include "tests/unit_test.h"
#include "tests/unwind_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loaded {
	struct elf elf;
	struct elf_symbols symbols;
	int fd;
};

static bool load(const char *path, struct loaded *l)
{
	l->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (l->fd < 0)
		return false;
	if (elf_open_fd(l->fd, &l->elf, NULL) < 0) {
		close(l->fd);
		return false;
	}
	assert_int_equal(elf_symbols_load(&l->elf, NULL, &l->symbols), 0);
	assert_false(l->symbols.damaged);
	return true;
}

static void unload(struct loaded *l)
{
	elf_symbols_done(&l->symbols);
	elf_close(&l->elf);
	close(l->fd);
}

static const char *name_at(struct loaded *l, uint64_t vaddr)
{
	const struct symbol *symbol = symtab_find(&l->symbols.table, vaddr);

	return symbol ? symbol_name(&l->symbols.table, symbol) : "-";
}

/* One line of nm: address, size (may be missing), type, name without a version. */
struct nm_line {
	uint64_t addr, size;
	char type, name[512];
};

static bool nm_parse(char *line, struct nm_line *ret)
{
	char *fields[4] = {NULL}, *save = NULL, *field;
	int n = 0;

	for (field = strtok_r(line, " \n", &save); field && n < 4;
		field = strtok_r(NULL, " \n", &save))
		fields[n++] = field;
	if (n < 3 || strlen(fields[n - 2]) != 1)
		return false;
	ret->addr = strtoull(fields[0], NULL, 16);
	ret->size = n == 4 ? strtoull(fields[1], NULL, 16) : 0;
	ret->type = fields[n - 2][0];
	snprintf(ret->name, sizeof(ret->name), "%s", fields[n - 1]);
	ret->name[1 + strcspn(ret->name + 1, "@")] = '\0';
	return true;
}

static bool is_in_code(const struct elf *elf, uint64_t vaddr)
{
	for (uint32_t i = 0; i < elf->section_count; i++) {
		const struct elf_section *s = &elf->sections[i];

		if (s->flags & SHF_EXECINSTR && vaddr - s->addr < s->bytes)
			return true;
	}
	return false;
}

/*
 * Each function of nm is found at its first, a middle and its last byte: under its own name,
 * under an alias that nm lists at the same address, or under a function nested inside. Returns
 * how many addresses agreed.
 */
static int compare_with_nm(const char *path, const char *option, struct loaded *l)
{
	const char *const argv[] = {"nm", option, "-S", "--defined-only", path, NULL};
	char line[2048];
	int agreed = 0;
	pid_t pid = -1;
	FILE *nm = tool_open(argv, &pid);

	while (nm && fgets(line, sizeof(line), nm)) {
		struct nm_line want;
		uint64_t probes[3];

		if (!nm_parse(line, &want) || !strchr("tTiuW", want.type) || !want.size ||
			!is_in_code(&l->elf, want.addr))
			continue;
		probes[0] = want.addr;
		probes[1] = want.addr + want.size / 2;
		probes[2] = want.addr + want.size - 1;
		for (int i = 0; i < 3; i++) {
			const struct symbol *found = symtab_find(&l->symbols.table, probes[i]);

			assert_non_null(found);
			/* Another start than nm's: only a nested function may be that. */
			assert_true(found->addr >= want.addr);
			if (found->addr == want.addr)
				agreed++;
		}
	}
	assert_true(tool_close(nm, pid));
	return agreed;
}

static void real_files_agree_with_nm(void **state)
{
	static const char *const paths[] = {"/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/python3",
		"/proc/self/exe", "/lib64/libc.so.6"};
	int files = 0;

	(void)state;
	if (!run_tool((const char *const[]){"nm", "--version", NULL})) {
		print_message("no nm here: skipped\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		char self[32];
		const char *path = paths[i];
		struct loaded l = {.fd = -1};

		if (!strcmp(path, "/proc/self/exe")) {
			snprintf(self, sizeof(self), "/proc/%d/exe", getpid());
			path = self;
		}
		if (!load(path, &l))
			continue;
		files++;
		if (l.symbols.has_symtab)
			assert_true(compare_with_nm(path, "-n", &l) > 100);
		else
			assert_true(compare_with_nm(path, "-D", &l) > 100);
		unload(&l);
	}
	assert_true(files > 0);
}

static const char plt_source[] =
	"int puts(const char *);\nint putchar(int);\nvoid *malloc(unsigned long);\n"
	"void free(void *);\nvoid *volatile kept;\n"
	"int main(void) { kept = free; puts(\"x\"); putchar(64); "
	"kept = malloc(3); free(kept); return 0; }\n";

/* Every stub that objdump calls <name@plt> has the same name here. */
static int compare_stubs(const char *objdump, const char *path)
{
	const char *const argv[] = {
		objdump, "-d", "-j", ".plt", "-j", ".plt.sec", "-j", ".plt.got", path, NULL};
	char line[1024];
	struct loaded l = {.fd = -1};
	int stubs = 0;
	pid_t pid = -1;
	FILE *f;

	assert_true(load(path, &l));
	f = tool_open(argv, &pid);
	while (f && fgets(line, sizeof(line), f)) {
		char *name = strstr(line, " <"), *end = strstr(line, "@plt>:");
		const char *got;

		if (!name || !end)
			continue;
		end[4] = '\0';
		got = name_at(&l, strtoull(line, NULL, 16) + 2);
		/* With IBT objdump calls the lazy half a stub too, by another name or none. */
		assert_string_equal(got, name + 2);
		stubs++;
	}
	assert_true(tool_close(f, pid));
	unload(&l);
	return stubs;
}

static void plt_stubs_are_named(void **state)
{
	static const struct {
		const char *cc, *objdump, *a, *b, *c;
		int least;
	} cases[] = {
		{"cc", "objdump", "-O1", "-Wl,-z,lazy", "-fcf-protection=none", 3},
		{"cc", "objdump", "-O1", "-Wl,-z,now", "-fcf-protection=none", 3},
		{"cc", "objdump", "-O1", "-Wl,-z,lazy", "-Wl,-z,ibtplt", 3},
		{"cc", "objdump", "-O1", "-Wl,-z,now", "-Wl,-z,ibtplt", 3},
		{"cc", "objdump", "-no-pie", "-Wl,-z,lazy", "-O1", 3},
		{"aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", "-O1", "-Wl,-z,lazy",
			"-O1", 3},
		{"aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", "-O1",
			"-Wl,-z,force-bti", "-mbranch-protection=standard", 3},
	};
	char dir[256], c[300], out[300];

	(void)state;
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(c, sizeof(c), "%s/plt.c", dir);
	snprintf(out, sizeof(out), "%s/plt", dir);
	assert_true(write_text(c, plt_source));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (!run_tool((const char *const[]){cases[i].cc, cases[i].a, cases[i].b,
			    cases[i].c, c, "-o", out, NULL})) {
			print_message("%s %s %s: not built here, skipped\n", cases[i].cc,
				cases[i].b, cases[i].c);
			continue;
		}
		assert_true(compare_stubs(cases[i].objdump, out) >= cases[i].least);
	}
	scratch_remove(dir);
}

/* The stripped program knows its entry, and nothing else is made up. */
static void a_stripped_program_has_a_start(void **state)
{
	char dir[256], c[300], out[300];
	struct loaded l = {.fd = -1};
	uint64_t start;

	(void)state;
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(c, sizeof(c), "%s/plt.c", dir);
	snprintf(out, sizeof(out), "%s/plt", dir);
	assert_true(write_text(c, plt_source));
	if (!run_tool((const char *const[]){"cc", "-O1", c, "-o", out, NULL}))
		skip();
	assert_true(load(out, &l));
	assert_true(symtab_find(&l.symbols.table, l.elf.entry) != NULL);
	start = symtab_find(&l.symbols.table, l.elf.entry)->addr;
	assert_string_equal(name_at(&l, start), "_start");
	unload(&l);
	assert_true(run_tool((const char *const[]){"strip", out, NULL}));
	assert_true(load(out, &l));
	assert_false(l.symbols.has_symtab);
	assert_int_equal(symtab_find(&l.symbols.table, start + 20)->addr, start);
	assert_string_equal(name_at(&l, start + 20), "_start");
	unload(&l);
	scratch_remove(dir);
}

/*
 * glibc's first functions: where the C library's debug symbols are installed they must begin
 * where these say, else their neighbours must be right: the call that main's caller makes is in
 * it.
 */
static void glibcs_first_functions_are_recognised(void **state)
{
	static const char *const names[] = {"__libc_start_call_main", "start_thread", "clone3"};
	char debug[128], id[64] = "";
	struct loaded l = {.fd = -1}, d = {.fd = -1};
	bool have_debug;

	(void)state;
	if (!load("/lib/x86_64-linux-gnu/libc.so.6", &l)) {
		print_message("no x86_64 glibc where Debian has it: skipped\n");
		skip();
	}
	for (int i = 1; i < l.elf.build_id_bytes; i++)
		snprintf(id + 2 * (i - 1), 3, "%02x", l.elf.build_id[i]);
	snprintf(debug, sizeof(debug), "/usr/lib/debug/.build-id/%02x/%s.debug",
		l.elf.build_id[0], id);
	have_debug = load(debug, &d);
	if (!have_debug)
		print_message("no libc6-dbg here: only that each is there once\n");
	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		const struct symbol *found = NULL;

		for (uint32_t i = 0; i < l.symbols.table.count; i++) {
			const struct symbol *s = &l.symbols.table.symbols[i];

			if (strcmp(symbol_name(&l.symbols.table, s), names[n]) != 0)
				continue;
			assert_null(found);
			found = s;
		}
		assert_non_null(found);
		if (!found || !have_debug)
			continue;
		assert_string_equal(name_at(&d, found->addr), names[n]);
		assert_string_equal(name_at(&d, found->addr + found->size / 2), names[n]);
	}
	if (have_debug)
		unload(&d);
	unload(&l);
}

static void compressed_sections_are_inflated(void **state)
{
	static const char *const kinds[] = {"zlib", "zstd"};
	char dir[256], c[300], plain[300], packed[300], option[64];

	(void)state;
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(c, sizeof(c), "%s/a.c", dir);
	snprintf(plain, sizeof(plain), "%s/plain", dir);
	snprintf(packed, sizeof(packed), "%s/packed", dir);
	assert_true(write_text(c, plt_source));
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct elf_blob a = {0}, b = {0};
		struct loaded l = {.fd = -1}, m = {.fd = -1};
		int r;

		snprintf(option, sizeof(option), "--compress-debug-sections=%s", kinds[i]);
		if (!run_tool((const char *const[]){"cc", "-g", c, "-o", plain, NULL}) ||
			!run_tool((const char *const[]){
				"objcopy", option, plain, packed, NULL})) {
			print_message("no cc, or no objcopy with %s: skipped\n", kinds[i]);
			continue;
		}
		assert_true(load(plain, &l));
		assert_true(load(packed, &m));
		assert_true(elf_section(&m.elf, ".debug_info")->flags & SHF_COMPRESSED);
		assert_int_equal(elf_load_section(&l.elf, elf_section(&l.elf, ".debug_info"),
					 1 << 24, &a),
			0);
		r = elf_load_section(&m.elf, elf_section(&m.elf, ".debug_info"), 1 << 24, &b);
		if (r != -EOPNOTSUPP) {
			assert_int_equal(r, 0);
			assert_int_equal(a.len, b.len);
			assert_memory_equal(a.bytes, b.bytes, a.len);
			elf_blob_done(&b);
			assert_int_equal(elf_load_section(&m.elf,
						 elf_section(&m.elf, ".debug_info"), 64, &b),
				-EFBIG);
		}
		elf_blob_done(&a);
		unload(&l);
		unload(&m);
	}
	scratch_remove(dir);
}

/* 32 and 64 bits, either byte order: files of machines that are not this one. */
static void symbols_of_every_class_and_byte_order(void **state)
{
	static struct tiny_elf tiny;

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct loaded l = {.fd = -1};
		uint64_t code;

		tiny_elf_make(&tiny, kind & 1, kind & 2);
		code = TINY_BASE + tiny.code;
		assert_int_equal(elf_open_bytes(tiny.bytes, tiny.len, &l.elf, NULL), 0);
		assert_int_equal(elf_symbols_load(&l.elf, NULL, &l.symbols), 0);
		assert_true(l.symbols.has_symtab && !l.symbols.damaged);
		assert_string_equal(name_at(&l, code), "main");
		assert_string_equal(name_at(&l, code + 15), "main");
		assert_string_equal(name_at(&l, code + 16), "_start");
		assert_string_equal(name_at(&l, code + 47), "_start");
		assert_string_equal(name_at(&l, code - 1), "-");
		elf_symbols_done(&l.symbols);
		elf_close(&l.elf);
	}
}

enum { GO_HEADER = 72, GO_RECORD = 44, GO_CODE = 16 };

static void go_put(uint8_t *bytes, size_t at, uint64_t value, size_t width)
{
	memcpy(bytes + at, &value, width);
}

/* header | "last" and a text without an end | index | a nameless function's record, last's */
static struct made_elf go_make(uint64_t nameless)
{
	size_t pcln = GO_HEADER + 8 + GO_NAME_MAX, records = (nameless + 1) * 8 + 4;
	struct made_part parts[] = {
		{".gopclntab", NULL, pcln + records + 2 * GO_RECORD, 0}, {NULL, NULL, 0, 0}};
	uint8_t *bytes = calloc(1, parts[0].len);
	struct made_elf made;

	assert_non_null(bytes);
	go_put(bytes, 0, 0x08010000fffffff1, 8); /* of Go 1.20, pointers of 8 bytes */
	go_put(bytes, 8, nameless + 1, 8);
	go_put(bytes, 24, MADE_BASE, 8);
	go_put(bytes, 32, GO_HEADER, 8); /* the names */
	go_put(bytes, 64, pcln, 8);
	memcpy(bytes + GO_HEADER, "last", 5);
	memset(bytes + GO_HEADER + 5, 'x', GO_NAME_MAX + 3);
	for (uint64_t i = 0; i <= nameless + 1; i++)
		go_put(bytes, pcln + i * 8, i * GO_CODE, 4);
	for (uint64_t i = 0; i <= nameless; i++)
		go_put(bytes, pcln + i * 8 + 4, records + (i == nameless ? GO_RECORD : 0), 4);
	go_put(bytes, pcln + records + 4, 5, 4);
	parts[0].bytes = bytes;
	assert_true(made_elf(parts, EM_X86_64, &made));
	free(bytes);
	return made;
}

/* The search for the ends of names costs, whether they are found or not. */
static void names_of_go_without_an_end_are_bounded(void **state)
{
	static const uint64_t nameless[] = {16, (256 << 20) / GO_NAME_MAX};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(nameless); i++) {
		struct made_elf made = go_make(nameless[i]);
		struct loaded l = {.fd = -1};

		assert_int_equal(elf_open_bytes(made.bytes, made.len, &l.elf, NULL), 0);
		assert_int_equal(elf_symbols_load(&l.elf, NULL, &l.symbols), 0);
		assert_true(l.symbols.has_symtab);
		assert_string_equal(
			name_at(&l, MADE_BASE + nameless[i] * GO_CODE), i ? "-" : "last");
		elf_symbols_done(&l.symbols);
		elf_close(&l.elf);
		free(made.bytes);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(symbols_of_every_class_and_byte_order),
	cmocka_unit_test(real_files_agree_with_nm),
	cmocka_unit_test(plt_stubs_are_named),
	cmocka_unit_test(a_stripped_program_has_a_start),
	cmocka_unit_test(glibcs_first_functions_are_recognised),
	cmocka_unit_test(compressed_sections_are_inflated),
	cmocka_unit_test(names_of_go_without_an_end_are_bounded),
};
UNIT_TESTS("elf_symbols", tests)
