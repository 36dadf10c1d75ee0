/*
 * Names for the first functions of stacks in stripped files.
 *
 * A stack is complete when it ends at a known first function, but stripped files keep only
 * exported names, and no first function is exported: neither _start nor, in glibc, clone3,
 * start_thread and __libc_start_call_main. (A frame-pointer chain through glibc, which is built
 * without frame pointers, ends at the last two.) They are recognised by what they do:
 *
 *     _start        the entry point; clears the frame pointer, which is the ABI's mark of the
 *                   outermost frame, or hands the stack to the dynamic linker's own start
 *     __libc_start_call_main
 *                   call *%rax; mov %eax,%edi; call exit         exit(main(...))
 *     start_thread  mov A+8(%r),%rdi; call *A(%r)                A: in struct pthread
 *                   mov %fs:A+8,%rdi; call *%fs:A                the same, older
 *     clone3        mov %r8,%rdi; call *%rdx; mov %rax,%rdi; mov $SYS_exit,%eax; syscall
 *
 * Their extents come from the table of function starts in .eh_frame_hdr (DWARF's FDEs). When
 * two places look like the same function, or the table does not know it, it gets no name.
 */
#include "object/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	TEXT_MAX = 32 << 20,
	HDR_MAX = 64 << 20,
	ENTRY_BYTES = 64,    /* _start is 38 to 60 bytes long everywhere */
	FUNCTION_MAX = 4096, /* none of the others is longer */
	PTHREAD_LOW = 0x600, /* where struct pthread keeps the thread's function */
	PTHREAD_HIGH = 0x800,
};

struct first {
	const struct elf *elf;
	struct symtab_builder *builder;
	const struct elf_section *text, *hdr;
	struct elf_blob code, starts;
	uint64_t exit_vaddr;
};

static uint32_t u32_at(const struct first *f, size_t at)
{
	struct bytes b;

	if (at >= f->code.len)
		return 0;
	b = bytes_of(f->code.bytes + at, f->code.len - at);
	return bytes_u32(&b);
}

static bool matches(const struct first *f, size_t at, const char *bytes, size_t len)
{
	return at <= f->code.len && len <= f->code.len - at &&
	       !memcmp(f->code.bytes + at, bytes, len);
}

#define MATCHES(first, at, literal) matches(first, at, literal, sizeof(literal) - 1)

static inline bool is_start_call_main(const struct first *f, size_t at)
{
	uint64_t after = f->text->addr + at + 9;

	return MATCHES(f, at, "\xff\xd0\x89\xc7\xe8") &&
	       after + (uint64_t)(int64_t)(int32_t)u32_at(f, at + 5) == f->exit_vaddr;
}

static inline bool is_start_thread(const struct first *f, size_t at)
{
	uint32_t function, argument;

	if (MATCHES(f, at, "\x64\x48\x8b\x3c\x25") && MATCHES(f, at + 9, "\x64\xff\x14\x25")) {
		argument = u32_at(f, at + 5);
		function = u32_at(f, at + 13);
	} else if (MATCHES(f, at, "\x48\x8b") && at + 13 <= f->code.len &&
		   (f->code.bytes[at + 2] & 0xf8) == 0xb8 && f->code.bytes[at + 7] == 0xff &&
		   (f->code.bytes[at + 8] & 0xf8) == 0x90 &&
		   (f->code.bytes[at + 2] & 7) == (f->code.bytes[at + 8] & 7)) {
		argument = u32_at(f, at + 3);
		function = u32_at(f, at + 9);
	} else {
		return false;
	}
	return argument == function + 8 && function >= PTHREAD_LOW && function < PTHREAD_HIGH;
}

static inline bool is_clone3(const struct first *f, size_t at)
{
	return MATCHES(f, at, "\x4c\x89\xc7\xff\xd2\x48\x89\xc7\xb8\x3c\x00\x00\x00\x0f\x05");
}

/*
 * .eh_frame_hdr: version 1, three encodings, then (in the encoding that every linker writes)
 * eh_frame:4 count:4 and `count` times start:4 fde:4, sorted, relative to the section.
 */
static bool function_around(
	const struct first *f, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_size)
{
	static const uint8_t usual[] = {1, 0x1b, 0x03, 0x3b};
	uint64_t base = f->hdr->addr, start = 0, next = 0;
	struct bytes b = bytes_of(f->starts.bytes, f->starts.len);
	const uint8_t *head = bytes_take(&b, 4);
	uint32_t count;

	bytes_skip(&b, 4);
	count = bytes_u32(&b);
	if (!head || memcmp(head, usual, 4) != 0 || b.bad)
		return false;
	for (uint32_t i = 0; i < count && !b.bad && !next; i++) {
		uint64_t at = base + (uint64_t)(int64_t)(int32_t)bytes_u32(&b);

		bytes_skip(&b, 4);
		if (!b.bad && at <= vaddr)
			start = at;
		else if (!b.bad)
			next = at;
	}
	if (!start || !next || next - start > FUNCTION_MAX)
		return false;
	*ret_start = start;
	*ret_size = next - start;
	return true;
}

static int name_add(struct first *f, const char *name, uint64_t vaddr, uint64_t size)
{
	struct symbol_in in = {
		.addr = vaddr,
		.size = size,
		.limit = vaddr + size,
		.name = name,
		.name_len = (uint32_t)strlen(name),
		.rank = SYMBOL_LOCAL | SYMBOL_TYPED,
	};
	int r = symtab_add(f->builder, &in);

	return r == -ENOMEM ? r : 0;
}

/* One of glibc's functions: its pattern, and the distance from the pattern to its first 0xff
 * byte. */
struct pattern {
	const char *name;
	bool (*is_it)(const struct first *f, size_t at);
	size_t to_ff;
};

static const struct pattern patterns[] = {
	{"__libc_start_call_main", is_start_call_main, 0},
	{"start_thread", is_start_thread, 7},
	{"start_thread", is_start_thread, 10},
	{"clone3", is_clone3, 3},
};

struct match {
	uint64_t start, size; /* of the function around it; start 0: none */
	bool ambiguous;
};

/* Each pattern holds a call through a register or memory, so a 0xff: memchr() finds the
 * candidates. */
static void patterns_find(const struct first *f, struct match *ret)
{
	const uint8_t *at = f->code.bytes, *end = at + f->code.len;

	for (; at < end && (at = memchr(at, 0xff, (size_t)(end - at))); at++) {
		for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
			const struct pattern *p = &patterns[i];
			size_t offset = (size_t)(at - f->code.bytes);
			uint64_t start, size;

			if (offset < p->to_ff || !p->is_it(f, offset - p->to_ff))
				continue;
			if (!function_around(f, f->text->addr + offset, &start, &size) ||
				(ret[i].start && start != ret[i].start)) {
				ret[i].ambiguous = true;
				continue;
			}
			ret[i].start = start;
			ret[i].size = size;
		}
	}
}

static int glibc_names(struct first *f)
{
	struct match found[ARRAY_LEN(patterns)] = {{0}};
	const struct elf *elf = f->elf;
	uint64_t unused;
	int r;

	f->text = elf_section(elf, ".text");
	f->hdr = elf_section(elf, ".eh_frame_hdr");
	if (!f->text || !f->hdr || !symtab_added(f->builder, "exit", &f->exit_vaddr) ||
		!symtab_added(f->builder, "__libc_start_main", &unused))
		return 0;
	r = elf_load_section(elf, f->text, TEXT_MAX, &f->code);
	if (r >= 0)
		r = elf_load_section(elf, f->hdr, HDR_MAX, &f->starts);
	if (r >= 0)
		patterns_find(f, found);
	for (size_t i = 0; i < ARRAY_LEN(patterns) && r >= 0; i++)
		if (found[i].start && !found[i].ambiguous)
			r = name_add(f, patterns[i].name, found[i].start, found[i].size);
	elf_blob_done(&f->code);
	elf_blob_done(&f->starts);
	return r == -ENOMEM ? r : 0;
}

/*
 * A program's: xor %ebp,%ebp (behind endbr64); mov x29, #0 (behind bti c). The dynamic linker's
 * own: mov %rsp,%rdi; call _dl_start; the same with mov x0, sp; bl.
 */
static bool is_entry_code(const struct elf *elf, const uint8_t code[8])
{
	if (elf->machine == EM_X86_64)
		return !memcmp(code, "\x31\xed", 2) ||
		       !memcmp(code, "\xf3\x0f\x1e\xfa\x31\xed", 6) ||
		       !memcmp(code, "\x48\x89\xe7\xe8", 4);
	if (elf->machine == EM_AARCH64)
		return !memcmp(code, "\x1d\x00\x80\xd2", 4) ||
		       !memcmp(code + 4, "\x1d\x00\x80\xd2", 4) ||
		       !memcmp(code, "\xe0\x03\x00\x91", 4);
	return false;
}

static int entry_name(struct first *f)
{
	const struct elf *elf = f->elf;
	struct elf_blob blob = {0};
	uint64_t foff, exists;
	int r = 0;

	if (!elf->entry || symtab_added(f->builder, "_start", &exists) ||
		!elf_vaddr_to_foff(elf->segments, elf->segment_count, elf->entry, &foff) ||
		elf_load(elf, foff, 8, 8, &blob) < 0)
		return 0;
	if (is_entry_code(elf, blob.bytes))
		r = name_add(f, "_start", elf->entry, ENTRY_BYTES);
	elf_blob_done(&blob);
	return r;
}

int elf_first_functions_add(const struct elf *elf, struct symtab_builder *builder)
{
	struct first first = {.elf = elf, .builder = builder};
	int r = entry_name(&first);

	if (r >= 0 && elf->is64 && elf->machine == EM_X86_64)
		r = glibc_names(&first);
	return r;
}
