#include "symbolize/symbolize.h"

#include "base/cleanup.h"
#include "object/elf.h"
#include "symbolize/open_regular.h"
#include "tests/run_tool.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

/* A profile with one module, and the frames a test asks about. */
struct bench {
	struct profile profile;
	struct symbolizer *symbolizer;
	struct module module;
	uint32_t id;
	char dir[256], path[400];
};

static void bench_init(struct bench *b, enum module_kind kind, const char *path)
{
	memset(b, 0, offsetof(struct bench, dir)); /* a test makes several of one folder */
	b->module.kind = kind;
	assert_int_equal(profile_string(&b->profile, path, &b->module.path), 0);
}

static void bench_go(struct bench *b, const struct symbolizer_options *options)
{
	assert_int_equal(profile_module(&b->profile, &b->module, &b->id), 0);
	assert_int_equal(symbolizer_new(options, &b->symbolizer), 0);
}

static void bench_done(struct bench *b)
{
	symbolizer_free(b->symbolizer);
	profile_done(&b->profile);
}

/* "name+0xoffset", or "[unknown]". The text lives until the next call. */
static const char *name_at(struct bench *b, uint64_t addr, bool caller)
{
	static char text[512];
	const struct function *function;
	const struct frame *frame;
	uint32_t id;

	assert_int_equal(profile_frame(&b->profile, b->id, addr, caller, 0, &id), 0);
	assert_int_equal(symbolize_frame(b->symbolizer, &b->profile, id), 0);
	assert_int_equal(symbolize_frame(b->symbolizer, &b->profile, id), 0);
	frame = &b->profile.frames[id];
	assert_true(frame->resolved);
	if (!frame->line_count)
		return frame_name(&b->profile, id, 0);
	function = &b->profile.functions[b->profile.lines[frame->first_line].function];
	snprintf(text, sizeof(text), "%s+0x%" PRIx64, frame_name(&b->profile, id, 0),
		frame->addr - function->addr);
	return text;
}

/* By the symbol alone; the frame stays as it is. */
static const char *symbol_at(struct bench *b, uint64_t addr, bool caller)
{
	const char *name;
	uint32_t id;

	assert_int_equal(profile_frame(&b->profile, b->id, addr, caller, 0, &id), 0);
	name = symbolizer_symbol(b->symbolizer, &b->profile, id);
	assert_false(b->profile.frames[id].resolved);
	return name ? name : "";
}

static enum module_outcome outcome(const struct bench *b)
{
	return symbolizer_outcome(b->symbolizer, b->id);
}

static const char source[] =
	"int printf(const char *, ...);\n"
	"__attribute__((noinline)) int work(int n) { return n * 3; }\n"
	"static __attribute__((noinline)) int hidden(int n)\n"
	"{ return printf(\"%d\", n) + work(n); }\n"
	"int main(int argc, char **argv) { (void)argv; return hidden(argc); }\n";

/* Compiles `source` to dir/prog; false (said) where there is no compiler. */
static bool compile(struct bench *b, const char *extra)
{
	char c[400];

	assert_true(scratch_make(b->dir, sizeof(b->dir)));
	snprintf(c, sizeof(c), "%s/prog.c", b->dir);
	snprintf(b->path, sizeof(b->path), "%s/prog", b->dir);
	assert_true(write_text(c, source));
	if (run_tool((const char *const[]){
		    "cc", "-O1", "-Wl,--build-id", extra, c, "-o", b->path, NULL}))
		return true;
	print_message("no C compiler here: skipped\n");
	scratch_remove(b->dir);
	return false;
}

/* The file offset of a function, as `nm` of the unstripped program knows it. */
static uint64_t foff_of(const char *path, const char *name)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t vaddr = 0, foff = 0;
	char line[256], symbol[128];
	struct elf elf;
	pid_t pid = -1;
	FILE *nm;

	nm = tool_open((const char *const[]){"nm", path, NULL}, &pid);
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm)) {
		char *space = strrchr(line, ' ');

		snprintf(symbol, sizeof(symbol), "%s", space ? space + 1 : "");
		symbol[strcspn(symbol, "\n")] = '\0';
		if (!strcmp(symbol, name))
			vaddr = strtoull(line, NULL, 16);
	}
	assert_true(tool_close(nm, pid));
	assert_int_not_equal(vaddr, 0);
	assert_int_equal(elf_open_fd(fd, &elf, NULL), 0);
	assert_true(elf_vaddr_to_foff(elf.segments, elf.segment_count, vaddr, &foff));
	elf_close(&elf);
	return foff;
}

static void identify(struct bench *b)
{
	cleanup_close int fd = open(b->path, O_RDONLY | O_CLOEXEC);
	struct elf elf;

	assert_int_equal(elf_open_fd(fd, &elf, NULL), 0);
	assert_int_equal(elf.build_id_bytes, 20);
	memcpy(b->module.build_id, elf.build_id, 20);
	b->module.build_id_bytes = 20;
	elf_close(&elf);
}

static void functions_of_a_program_are_named(void **state)
{
	/* The last layout has p_offset != p_vaddr by far. */
	static const char *const layouts[] = {
		"-pie", "-no-pie", "-Wl,-Ttext-segment=0x7000000", "-Wl,-z,noseparate-code"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
		struct bench b;
		uint64_t work, hidden;

		bench_init(&b, MODULE_FILE, "");
		if (!compile(&b, layouts[i]))
			skip();
		assert_int_equal(profile_string(&b.profile, b.path, &b.module.path), 0);
		identify(&b);
		bench_go(&b, &(struct symbolizer_options){0});
		work = foff_of(b.path, "work");
		hidden = foff_of(b.path, "hidden");
		assert_string_equal(symbol_at(&b, work, false), "work");
		assert_string_equal(symbol_at(&b, 1 << 30, false), "");
		assert_string_equal(name_at(&b, work, false), "work+0x0");
		assert_string_equal(name_at(&b, work + 2, false), "work+0x2");
		assert_string_equal(name_at(&b, hidden + 3, true), "hidden+0x3");
		/* A return address just behind the last call of a function belongs to it. */
		assert_string_not_equal(name_at(&b, work, true), "work+0x0");
		assert_string_equal(name_at(&b, 1 << 30, false), "[unknown]");
		assert_int_equal(outcome(&b), MODULE_NAMED);
		bench_done(&b);
		scratch_remove(b.dir);
	}
}

static void another_file_never_lends_its_names(void **state)
{
	struct bench b;
	uint64_t work;
	int what;

	(void)state;
	for (what = 0; what < 4; what++) {
		struct stat st;

		bench_init(&b, MODULE_FILE, "");
		if (!compile(&b, "-O2"))
			skip();
		assert_int_equal(profile_string(&b.profile, b.path, &b.module.path), 0);
		work = foff_of(b.path, "work");
		assert_int_equal(stat(b.path, &st), 0);
		if (what < 2)
			identify(&b);
		b.module.ino = st.st_ino;
		if (what == 0)
			b.module.build_id[3] ^= 1;
		if (what == 1)
			b.module.ino++; /* the build id decides */
		if (what == 2)
			b.module.ino++;
		bench_go(&b, &(struct symbolizer_options){0});
		if (what == 0 || what == 2) {
			assert_string_equal(name_at(&b, work, false), "[unknown]");
			assert_int_equal(outcome(&b), MODULE_FILE_CHANGED);
		} else {
			assert_string_equal(name_at(&b, work, false), "work+0x0");
			assert_int_equal(outcome(&b), MODULE_NAMED);
		}
		bench_done(&b);
		scratch_remove(b.dir);
	}
}

static void a_stripped_program_has_its_debug_files_names(void **state)
{
	char debug[500], link[520], sysroot_debug[700], id[64] = "", folder[600];
	char nameless[64];
	struct bench b;
	uint64_t hidden;

	(void)state;
	for (int by_id = 0; by_id < 2; by_id++) {
		bench_init(&b, MODULE_FILE, by_id ? "/prog" : "");
		if (!compile(&b, "-g"))
			skip();
		hidden = foff_of(b.path, "hidden");
		identify(&b);
		if (!by_id)
			assert_int_equal(profile_string(&b.profile, b.path, &b.module.path), 0);
		for (int i = 1; i < 20; i++)
			snprintf(id + 2 * (i - 1), 3, "%02x", b.module.build_id[i]);
		snprintf(folder, sizeof(folder), "%s/usr/lib/debug/.build-id/%02x", b.dir,
			b.module.build_id[0]);
		snprintf(sysroot_debug, sizeof(sysroot_debug), "%s/%s.debug", folder, id);
		snprintf(debug, sizeof(debug), "%s/prog.debug", b.dir);
		snprintf(link, sizeof(link), "--add-gnu-debuglink=%s", debug);
		if (!run_tool((const char *const[]){
			    "objcopy", "--only-keep-debug", b.path, debug, NULL}) ||
			!run_tool((const char *const[]){"strip", b.path, NULL}) ||
			!run_tool((const char *const[]){"objcopy", link, b.path, NULL}))
			skip();
		if (by_id) {
			assert_true(
				run_tool((const char *const[]){"mkdir", "-p", folder, NULL}));
			assert_int_equal(rename(debug, sysroot_debug), 0);
		}
		bench_go(&b, &(struct symbolizer_options){.sysroot = by_id ? b.dir : NULL});
		assert_string_equal(name_at(&b, hidden + 1, false), "hidden+0x1");
		assert_int_equal(outcome(&b), MODULE_NAMED);
		bench_done(&b);

		/*
		 * Without it only exported names are left. None is made up: the function is
		 * known by where it begins, which its call frame information tells.
		 */
		unlink(by_id ? sysroot_debug : debug);
		bench_init(&b, MODULE_FILE, by_id ? "/prog" : b.path);
		bench_go(&b, &(struct symbolizer_options){.sysroot = by_id ? b.dir : NULL});
		snprintf(nameless, sizeof(nameless), "[prog+0x%" PRIx64 "]+0x1", hidden);
		assert_string_equal(name_at(&b, hidden + 1, false), nameless);
		assert_int_equal(b.profile.frame_count, 1);
		assert_false(frame_is_named(&b.profile, 0));
		assert_true(
			outcome(&b) == MODULE_DYNSYM_ONLY || outcome(&b) == MODULE_NO_SYMBOLS);
		bench_done(&b);
		scratch_remove(b.dir);
	}
}

static void no_files_and_odd_files_are_typed(void **state)
{
	char dir[256], path[300];
	static const struct {
		const char *path;
		enum module_outcome want;
	} cases[] = {
		{"/nonexistent/file", MODULE_FILE_MISSING},
		{"/dev/null", MODULE_FILE_CHANGED},
		{"/proc/self/status", MODULE_FILE_BROKEN},
		{"/usr", MODULE_FILE_CHANGED},
		{"relative", MODULE_FILE_MISSING},
		{"", MODULE_FILE_MISSING},
		{"/bin/sh (deleted)", MODULE_FILE_CHANGED},
	};
	struct bench b;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bench_init(&b, MODULE_FILE, cases[i].path);
		bench_go(&b, &(struct symbolizer_options){.live = i % 2});
		assert_string_equal(name_at(&b, 0x1000, false), "[unknown]");
		assert_int_equal(outcome(&b), cases[i].want);
		assert_true(module_outcome_text(outcome(&b))[0]);
		bench_done(&b);
	}
	/* Opening a FIFO for reading would wait for a writer, for ever. */
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	bench_init(&b, MODULE_FILE, path);
	bench_go(&b, &(struct symbolizer_options){0});
	assert_string_equal(name_at(&b, 0x1000, false), "[unknown]");
	assert_int_equal(outcome(&b), MODULE_FILE_CHANGED);
	bench_done(&b);
	scratch_remove(dir);
}

static void links_stay_inside_their_root(void **state)
{
	char dir[256], link[300], file[300];
	int fd;

	(void)state;
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(link, sizeof(link), "%s/link", dir);
	snprintf(file, sizeof(file), "%s/inside-only", dir);
	assert_true(write_text(file, "x"));
	assert_int_equal(symlink("/inside-only", link), 0);
	fd = open_regular(dir, "/link");
	if (fd < 0)
		print_message("no openat2() here\n");
	else
		close(fd);
	assert_int_equal(open_regular(NULL, link), -ENOENT);
	assert_int_equal(open_regular(dir, "/"), -ENOEXEC);
	scratch_remove(dir);
}

struct own_file {
	struct bench *bench;
	uint64_t foff;
	uintptr_t addr;
};

static int find_own(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct own_file *own = ctx;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD &&
			own->addr - info->dlpi_addr - p->p_vaddr < p->p_filesz)
			own->foff = own->addr - info->dlpi_addr - p->p_vaddr + p->p_offset;
	}
	return 1; /* the program itself is the first */
}

__attribute__((noinline)) static int a_function_of_this_test(int n)
{
	return n + 1;
}

static int own_fd(void *ctx, const struct profile *profile, uint32_t module)
{
	(void)profile, (void)module;
	return *(int *)ctx;
}

static void a_pinned_descriptor_needs_no_path(void **state)
{
	cleanup_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct own_file own = {.addr = (uintptr_t)a_function_of_this_test};
	struct bench b;

	(void)state;
	bench_init(&b, MODULE_FILE, "/gone/prog (deleted)");
	dl_iterate_phdr(find_own, &own);
	bench_go(&b, &(struct symbolizer_options){.pinned_fd = own_fd, .ctx = &fd});
	assert_string_equal(name_at(&b, own.foff, false), "a_function_of_this_test+0x0");
	assert_true(fcntl(fd, F_GETFD) >= 0); /* it stays the caller's */
	bench_done(&b);
}

static void a_deleted_file_of_a_live_process_is_found(void **state)
{
	char maps_line[512], copy[400], dir[256];
	uint64_t start = 0, end = 0;
	cleanup_fclose FILE *maps = NULL;
	cleanup_close int fd = -1;
	struct own_file own = {.addr = (uintptr_t)a_function_of_this_test};
	struct bench b;
	void *mapped;

	(void)state;
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(copy, sizeof(copy), "%s/copy", dir);
	if (!run_tool((const char *const[]){"cp", "/proc/self/exe", copy, NULL}) ||
		!run_tool((const char *const[]){"true", NULL}))
		skip();
	/* /proc/self/exe of cp is cp itself: take this test's own file by pid. */
	snprintf(maps_line, sizeof(maps_line), "/proc/%d/exe", getpid());
	assert_true(run_tool((const char *const[]){"cp", maps_line, copy, NULL}));
	fd = open(copy, O_RDONLY | O_CLOEXEC);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	scratch_remove(dir);
	maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(maps_line, sizeof(maps_line), maps))
		if (strstr(maps_line, "(deleted)") && strstr(maps_line, copy)) {
			start = strtoull(maps_line, NULL, 16);
			end = strtoull(strchr(maps_line, '-') + 1, NULL, 16);
		}
	assert_int_equal(start, (uintptr_t)mapped);
	snprintf(maps_line, sizeof(maps_line), "%s (deleted)", copy);
	bench_init(&b, MODULE_FILE, maps_line);
	b.module.pid = getpid();
	b.module.map_start = start;
	b.module.map_end = end;
	dl_iterate_phdr(find_own, &own);
	bench_go(&b, &(struct symbolizer_options){.live = true});
	if (strcmp(name_at(&b, own.foff, false), "[unknown]") != 0) {
		assert_string_equal(
			name_at(&b, own.foff + 1, false), "a_function_of_this_test+0x1");
	} else {
		print_message("no right to /proc/PID/map_files here: skipped\n");
		assert_int_equal(outcome(&b), MODULE_FILE_MISSING);
	}
	bench_done(&b);
	munmap(mapped, 4096);
}

static void the_vdso_is_named(void **state)
{
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	struct elf elf;
	uint64_t foff = 0;
	struct bench b;

	(void)state;
	if (!base) {
		print_message("no vdso here: skipped\n");
		skip();
	}
	assert_int_equal(elf_open_bytes((const void *)base, 4096, &elf, NULL) < 0, 1);
	bench_init(&b, MODULE_VDSO, "[vdso]");
	bench_go(&b, &(struct symbolizer_options){0});
	for (foff = 0; foff < 0x3000 && !strstr(name_at(&b, foff, false), "gettime"); foff += 4)
		;
	assert_true(foff < 0x3000);
	assert_int_equal(outcome(&b), MODULE_NAMED);
	bench_done(&b);
}

static const char kallsyms_text[] = "ffffffff81000000 T _stext\n"
				    "ffffffff81000100 T vfs_read\n"
				    "ffffffff81000200 D data\n"
				    "ffffffffc0a51000 t ext4_one\t[ext4]\n"
				    "ffffffffc0b51000 t xfs_one\t[xfs]\n";

/* One note: GNU, build id 01 02 ... 14 (hex). */
static void write_notes(const char *path)
{
	uint8_t note[36] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
	FILE *f = fopen(path, "we");

	for (uint8_t i = 0; i < 20; i++)
		note[16 + i] = (uint8_t)(i + 1);
	assert_non_null(f);
	assert_int_equal(fwrite(note, 1, sizeof(note), f), sizeof(note));
	assert_int_equal(fclose(f), 0);
}

/* No id, but the same host and release, and where it lay: only an address by chance is proof.
 */
static void vouched_for(struct symbolizer_options *options)
{
	static const struct {
		uint64_t now, then;
		bool same_release, named;
	} cases[] = {
		{0xffffffffa3600000, 0xffffffffa3600000, true, true},
		{0xffffffffa3600000, 0xffffffffa3600000, false, false},
		{0xffffffffa3600000, 0xffffffffb3600000, true, false},
		{0xffffffffa3600000, 0, true, false},
		{0xffffffff81000000, 0xffffffff81000000, true, false}, /* not moved at all */
		{0xffff800080010000, 0xffff800080010000, true, false},
		{0xffffb1c4d2a10000, 0xffffb1c4d2a10000, true, true},
	};
	struct bench b;
	char text[128];

	options->live = false;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%llx T _stext\n%llx T vfs_read\n",
			(unsigned long long)cases[i].now,
			(unsigned long long)cases[i].now + 0x100);
		assert_true(write_text(options->kallsyms, text));
		options->same_release = cases[i].same_release;
		bench_init(&b, MODULE_KERNEL, "[kernel.kallsyms]");
		b.module.reloc = cases[i].then;
		bench_go(&b, options);
		assert_string_equal(name_at(&b, cases[i].now + 0x104, false),
			cases[i].named ? "vfs_read+0x4" : "[unknown]");
		bench_done(&b);
	}
	options->same_release = false;
}

static void kernel_names_are_of_the_recorded_kernel(void **state)
{
	char dir[256], symbols[300], notes[300];
	struct symbolizer_options options = {
		.kallsyms = symbols, .kernel_notes = notes, .kernel_build_id_bytes = 20};
	struct bench b;

	(void)state;
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(symbols, sizeof(symbols), "%s/kallsyms", dir);
	snprintf(notes, sizeof(notes), "%s/notes", dir);
	assert_true(write_text(symbols, kallsyms_text));
	write_notes(notes);
	for (uint8_t i = 0; i < 20; i++)
		options.kernel_build_id[i] = (uint8_t)(i + 1);

	bench_init(&b, MODULE_KERNEL, "[kernel.kallsyms]");
	bench_go(&b, &options);
	assert_string_equal(name_at(&b, 0xffffffff81000104, false), "vfs_read+0x4");
	assert_string_equal(name_at(&b, 0xffffffff81000100, true), "_stext+0x100");
	assert_string_equal(name_at(&b, 0xffffffff81000204, false), "[unknown]");
	assert_string_equal(name_at(&b, 0xffffffffc0a51004, false), "ext4_one+0x4");
	bench_done(&b);

	/* It lay 16 MiB higher while recording. Modules move by themselves: no names for them.
	 */
	bench_init(&b, MODULE_KERNEL, "[kernel.kallsyms]");
	b.module.reloc = 0xffffffff82000000;
	bench_go(&b, &options);
	assert_string_equal(name_at(&b, 0xffffffff82000104, false), "vfs_read+0x4");
	assert_string_equal(name_at(&b, 0xffffffffc0a51004, false), "[unknown]");
	bench_done(&b);

	bench_init(&b, MODULE_KMODULE, "[ext4]");
	bench_go(&b, &options);
	assert_string_equal(name_at(&b, 0xffffffffc0a51008, false), "ext4_one+0x8");
	assert_string_equal(name_at(&b, 0xffffffffc0b51008, false), "[unknown]");
	bench_done(&b);
	bench_init(&b, MODULE_KMODULE, "/lib/modules/6.1/kernel/fs/xfs.ko.xz");
	bench_go(&b, &options);
	assert_string_equal(name_at(&b, 0xffffffffc0b51008, false), "xfs_one+0x8");
	bench_done(&b);

	options.kernel_build_id[7] ^= 1;
	options.live = true;
	bench_init(&b, MODULE_KERNEL, "[kernel.kallsyms]");
	bench_go(&b, &options);
	assert_string_equal(name_at(&b, 0xffffffff81000104, false), "[unknown]");
	assert_int_equal(outcome(&b), MODULE_HIDDEN);
	bench_done(&b);

	/* Not known which kernel it was: only right when it is running still. */
	options.kernel_build_id_bytes = 0;
	for (int live = 0; live < 2; live++) {
		options.live = live;
		bench_init(&b, MODULE_KERNEL, "[kernel.kallsyms]");
		bench_go(&b, &options);
		assert_string_equal(name_at(&b, 0xffffffff81000104, false),
			live ? "vfs_read+0x4" : "[unknown]");
		assert_int_equal(outcome(&b), live ? MODULE_NAMED : MODULE_HIDDEN);
		bench_done(&b);
	}
	vouched_for(&options);
	options.live = true;
	assert_true(write_text(symbols, "0000000000000000 T _stext\n0000000000000000 T x\n"));
	bench_init(&b, MODULE_KERNEL, "[kernel.kallsyms]");
	bench_go(&b, &options);
	assert_string_equal(name_at(&b, 0, false), "[unknown]");
	assert_int_equal(outcome(&b), MODULE_HIDDEN);
	bench_done(&b);
	scratch_remove(dir);
}

static void progressed(void *ctx, uint32_t done, uint32_t total)
{
	uint32_t *last = ctx;

	assert_true(done <= total && done >= *last);
	*last = done;
}

static void markers_and_anonymous_memory_have_no_file(void **state)
{
	uint32_t marker, last = 0;
	struct bench b;

	(void)state;
	bench_init(&b, MODULE_ANON, "//anon");
	bench_go(&b, &(struct symbolizer_options){0});
	assert_string_equal(name_at(&b, 0x7f0000001000, true), "[unknown]");
	assert_int_equal(outcome(&b), MODULE_NO_FILE);
	assert_int_equal(profile_marker(&b.profile, "[truncated: no CFI]", &marker), 0);
	assert_int_equal(symbolize_all(b.symbolizer, &b.profile, progressed, &last), 0);
	assert_int_equal(last, b.profile.frame_count);
	assert_string_equal(frame_name(&b.profile, marker, 0), "[truncated: no CFI]");
	assert_int_equal(symbolizer_outcome(b.symbolizer, 4000), MODULE_NOT_TRIED);
	bench_done(&b);
}

static void jit_code_is_named_by_its_perf_map(void **state)
{
	char dir[256], tmp[300], path[340];
	struct bench b;
	FILE *map;

	(void)state;
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(tmp, sizeof(tmp), "%s/tmp", dir);
	assert_int_equal(mkdir(tmp, 0700), 0);
	snprintf(path, sizeof(path), "%s/perf-4711.map", tmp);
	assert_true(write_text(path, "7f0000001000 100 LazyCompile:*fib /a b.js:1\n"));
	bench_init(&b, MODULE_ANON, "//anon");
	b.module.pid = 4711;
	bench_go(&b, &(struct symbolizer_options){.sysroot = dir});
	assert_string_equal(
		name_at(&b, 0x7f0000001010, true), "LazyCompile:*fib /a b.js:1+0x10");
	assert_string_equal(name_at(&b, 0x7f0000001100, false), "[unknown]");
	assert_int_equal(outcome(&b), MODULE_NAMED);
	bench_done(&b);
	/* Somebody else's file in /tmp does not count. */
	if (!geteuid() && !chown(path, 12345, 12345)) {
		bench_init(&b, MODULE_ANON, "//anon");
		b.module.pid = 4711;
		bench_go(&b, &(struct symbolizer_options){.sysroot = dir});
		assert_string_equal(name_at(&b, 0x7f0000001010, true), "[unknown]");
		assert_int_equal(outcome(&b), MODULE_MAP_REFUSED);
		bench_done(&b);
	}
	scratch_remove(dir);

	/* The live process: this one. */
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "wxe");
	if (!map)
		return;
	fprintf(map, "500000 20 compiled\n");
	fclose(map);
	bench_init(&b, MODULE_ANON, "//anon");
	b.module.pid = getpid();
	bench_go(&b, &(struct symbolizer_options){.live = true});
	assert_string_equal(name_at(&b, 0x500001, false), "compiled+0x1");
	/* It compiles more. */
	assert_string_equal(name_at(&b, 0x600001, false), "[unknown]");
	map = fopen(path, "ae");
	assert_non_null(map);
	fprintf(map, "600000 20 later\n");
	fclose(map);
	assert_string_equal(name_at(&b, 0x600002, false), "later+0x2");
	bench_done(&b);
	unlink(path);
}

/* What a recorder kept of process 4711. */
struct kept {
	struct map_folder folder;
};

static bool kept_folder(void *ctx, int32_t pid, struct map_folder *ret_folder)
{
	const struct kept *kept = ctx;

	if (pid != 4711)
		return false;
	*ret_folder = kept->folder;
	return true;
}

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void kept_map_is(
	struct kept *kept, uint64_t addr, const char *name, enum module_outcome wanted)
{
	struct bench b;

	bench_init(&b, MODULE_ANON, "//anon");
	b.module.pid = 4711;
	bench_go(&b, &(struct symbolizer_options){
			     .live = true, .map_folder = kept_folder, .ctx = kept});
	assert_string_equal(name_at(&b, addr, false), name);
	assert_int_equal(outcome(&b), wanted);
	bench_done(&b);
}

/* A map that stayed behind, of a process that had the same number before. */
static void maps_of_earlier_processes_do_not_count(void **state)
{
	char dir[256], path[340];
	struct kept kept = {{.who = {.own_pid = 7, .uid = geteuid()}, .map_fd = -1}};

	(void)state;
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(path, sizeof(path), "%s/perf-7.map", dir);
	assert_true(write_text(path, "1000 100 old\n"));
	kept.folder.fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	kept_map_is(&kept, 0x1000, "old+0x0", MODULE_NAMED); /* nobody knows */
	kept.folder.who.started_ns = wall_ns() - 5000000000u;
	kept_map_is(&kept, 0x1000, "old+0x0", MODULE_NAMED);
	kept.folder.who.started_ns = wall_ns() + 5000000000u;
	kept_map_is(&kept, 0x1000, "[unknown]", MODULE_MAP_REFUSED);
	close(kept.folder.fd);
	scratch_remove(dir);
}

/* It is gone, or written anew from its start, when it is asked for. */
static void maps_are_kept_and_read_as_they_are(void **state)
{
	char dir[256], path[340];
	struct kept kept = {{.who = {.own_pid = 7, .uid = geteuid()}}};

	(void)state;
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(path, sizeof(path), "%s/perf-7.map", dir);
	kept.folder.fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(perf_map_file_open(kept.folder.fd, 7) < 0);
	assert_int_equal(mkdir(path, 0700), 0); /* no file */
	assert_true(perf_map_file_open(kept.folder.fd, 7) < 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/proc/self/maps", path), 0); /* leads elsewhere */
	assert_true(perf_map_file_open(kept.folder.fd, 7) < 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0); /* blocks */
	assert_true(perf_map_file_open(kept.folder.fd, 7) < 0);
	assert_int_equal(unlink(path), 0);
	assert_true(write_text(path, "1000 100 first\n2000 100 second\n"));
	kept.folder.map_fd = perf_map_file_open(kept.folder.fd, 7);
	assert_true(kept.folder.map_fd >= 0);
	assert_true(write_text(path, "2000 100 anew\n")); /* cut, and written again */
	kept_map_is(&kept, 0x2000, "anew+0x0", MODULE_NAMED);
	kept_map_is(&kept, 0x1000, "[unknown]", MODULE_NAMED);
	assert_int_equal(unlink(path), 0);
	kept_map_is(&kept, 0x2000, "anew+0x0", MODULE_NAMED);
	assert_true(write_text(path, "3000 10 another file\n")); /* the name counts first */
	kept_map_is(&kept, 0x3000, "another file+0x0", MODULE_NAMED);
	close(kept.folder.map_fd);
	close(kept.folder.fd);
	scratch_remove(dir);
}

static void garbage_is_said(void **state)
{
	char dir[256], path[340], line[5] = "\1\2\3";
	struct kept kept = {{.who = {.own_pid = 7, .uid = geteuid()}, .map_fd = -1}};
	struct strbuf text = {0};

	(void)state;
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(path, sizeof(path), "%s/perf-7.map", dir);
	kept.folder.fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	kept_map_is(&kept, 0x1000, "[unknown]", MODULE_NO_FILE);
	strbuf_puts(&text, "1000 100 good\n");
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&text, "%s%d\n", line, i * 7919);
	assert_true(write_text(path, strbuf_text(&text)));
	kept_map_is(&kept, 0x1000, "good+0x0", MODULE_MAP_BAD);
	strbuf_done(&text);
	close(kept.folder.fd);
	scratch_remove(dir);
}

static void roots_are_known_by_name(void **state)
{
	static const char *const roots[] = {"_start", "__clone", "clone", "clone3", "__clone3",
		"__start_context", "runtime.goexit", "runtime.goexit.abi0", "runtime.mstart",
		"_rt0_amd64_linux", "ret_from_fork_asm"};
	static const char *const others[] = {"", "start", "main", "_start_foo", "clone_it",
		"runtime.goexit0", "runtime.main"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		assert_true(symbol_is_root(roots[i]) && symbol_is_start(roots[i]));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(symbol_is_root(others[i]) || symbol_is_start(others[i]));
	assert_true(symbol_is_start("start_thread") && !symbol_is_root("start_thread"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(functions_of_a_program_are_named),
	cmocka_unit_test(another_file_never_lends_its_names),
	cmocka_unit_test(a_stripped_program_has_its_debug_files_names),
	cmocka_unit_test(no_files_and_odd_files_are_typed),
	cmocka_unit_test(links_stay_inside_their_root),
	cmocka_unit_test(a_pinned_descriptor_needs_no_path),
	cmocka_unit_test(a_deleted_file_of_a_live_process_is_found),
	cmocka_unit_test(the_vdso_is_named),
	cmocka_unit_test(kernel_names_are_of_the_recorded_kernel),
	cmocka_unit_test(markers_and_anonymous_memory_have_no_file),
	cmocka_unit_test(jit_code_is_named_by_its_perf_map),
	cmocka_unit_test(maps_of_earlier_processes_do_not_count),
	cmocka_unit_test(maps_are_kept_and_read_as_they_are),
	cmocka_unit_test(garbage_is_said),
	cmocka_unit_test(roots_are_known_by_name),
};
UNIT_TESTS("symbolize", tests)
