#include "object/elf.h"

#include "base/cleanup.h"
#include "base/fileio.h"
#include "object/elf_symbols.h"
#include "object/tiny_elf.h"
#include "tests/run_tool.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything that can be asked of an ELF file, for broken ones. Returns what opening returned.
 */
static int ask_everything(const uint8_t *bytes, size_t len)
{
	cleanup_free uint8_t *exact = malloc(len ? len : 1); /* so that ASan sees its end */
	struct elf_symbols symbols;
	struct elf elf;
	int r;

	if (len)
		memcpy(exact, bytes, len);
	r = elf_open_bytes(exact, len, &elf, NULL);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < elf.section_count; i++) {
		struct elf_blob blob = {0};

		assert_true(strlen(elf.sections[i].name) < len);
		if (!elf_load_section(&elf, &elf.sections[i], 1 << 24, &blob))
			elf_blob_done(&blob);
	}
	assert_int_equal(elf_symbols_load(&elf, NULL, &symbols), 0);
	for (uint32_t i = 0; i < symbols.table.count; i++) {
		const struct symbol *s = &symbols.table.symbols[i];

		assert_true(strlen(symbol_name(&symbols.table, s)) < len);
		symtab_find(&symbols.table, s->addr + s->size);
	}
	elf_symbols_done(&symbols);
	elf_close(&elf);
	return 0;
}

static void every_class_and_byte_order_is_read(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct elf_symbols symbols;
		struct tiny_elf tiny;
		uint64_t vaddr, foff;
		struct elf elf;

		tiny_elf_make(&tiny, kind & 1, kind & 2);
		assert_int_equal(elf_open_bytes(tiny.bytes, tiny.len, &elf, NULL), 0);
		assert_int_equal(elf.is64, kind & 1);
		assert_int_equal(elf.big_endian, !!(kind & 2));
		assert_int_equal(elf.machine, kind & 1 ? EM_X86_64 : EM_386);
		assert_int_equal(elf.build_id_bytes, 20);
		assert_int_equal(elf.build_id[19], 0xb3);
		assert_int_equal(elf.segment_count, 1);
		assert_int_equal(elf.section_count, 6);
		assert_non_null(elf_section(&elf, ".note.gnu.build-id"));
		assert_null(elf_section(&elf, ".absent"));
		assert_true(elf_foff_to_vaddr(
			elf.segments, elf.segment_count, tiny.code + 20, &vaddr));
		assert_int_equal(vaddr, TINY_BASE + tiny.code + 20);
		assert_true(elf_vaddr_to_foff(elf.segments, elf.segment_count, vaddr, &foff));
		assert_int_equal(foff, tiny.code + 20);
		assert_false(
			elf_foff_to_vaddr(elf.segments, elf.segment_count, tiny.len, &vaddr));
		assert_int_equal(elf_symbols_load(&elf, NULL, &symbols), 0);
		assert_true(symbols.has_symtab);
		assert_false(symbols.damaged);
		assert_int_equal(symbols.table.count, 2);
		assert_string_equal(
			symbol_name(&symbols.table, symtab_find(&symbols.table, vaddr)),
			"_start");
		assert_string_equal(
			symbol_name(&symbols.table, symtab_find(&symbols.table, vaddr - 5)),
			"main");
		elf_symbols_done(&symbols);
		elf_close(&elf);
		elf_close(&elf);
	}
}

static void every_truncation_is_typed(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct tiny_elf tiny;

		tiny_elf_make(&tiny, kind & 1, kind & 2);
		assert_int_equal(ask_everything(tiny.bytes, tiny.len), 0);
		for (size_t len = 0; len < tiny.len; len++)
			assert_int_equal(ask_everything(tiny.bytes, len),
				len < EI_NIDENT ? -ENOEXEC : -ENODATA);
	}
}

static void every_flipped_bit_is_survived(void **state)
{
	struct tiny_elf tiny;
	int opened = 0;

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		tiny_elf_make(&tiny, kind & 1, kind & 2);
		for (size_t bit = 0; bit < tiny.len * 8; bit++) {
			tiny.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			opened += ask_everything(tiny.bytes, tiny.len) == 0;
			tiny.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
	assert_true(opened > 1000);
}

static void any_word_may_be_absurd(void **state)
{
	static const uint32_t words[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0};
	struct tiny_elf tiny, bad;

	(void)state;
	tiny_elf_make(&tiny, true, false);
	for (size_t at = 0; at + 8 <= tiny.len; at += 2)
		for (size_t w = 0; w < ARRAY_LEN(words); w++) {
			bad = tiny;
			memcpy(bad.bytes + at, &words[w], 4);
			ask_everything(bad.bytes, bad.len);
			memcpy(bad.bytes + at + 4, &words[w], 4);
			ask_everything(bad.bytes, bad.len);
		}
}

static void lying_headers_are_refused_before_memory_is_taken(void **state)
{
	struct error err;
	struct tiny_elf tiny;
	struct elf elf;

	(void)state;
	tiny_elf_make(&tiny, true, false);
	tiny.bytes[offsetof(Elf64_Ehdr, e_shentsize)] = 8;
	assert_int_equal(elf_open_bytes(tiny.bytes, tiny.len, &elf, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "damaged"));

	tiny_elf_make(&tiny, true, false);
	tiny.bytes[offsetof(Elf64_Ehdr, e_shnum)] = 0; /* the count stands in section 0 */
	tiny.bytes[tiny.sections + offsetof(Elf64_Shdr, sh_size) + 2] =
		0x0f; /* 983,040 of them */
	assert_int_equal(elf_open_bytes(tiny.bytes, tiny.len, &elf, &err), -ENODATA);
	tiny.bytes[tiny.sections + offsetof(Elf64_Shdr, sh_size) + 7] = 0x0f;
	assert_int_equal(elf_open_bytes(tiny.bytes, tiny.len, &elf, &err), -EBADMSG);

	tiny_elf_make(&tiny, true, false);
	tiny.bytes[offsetof(Elf64_Ehdr, e_shnum)] = 0; /* and here truly */
	tiny.bytes[tiny.sections + offsetof(Elf64_Shdr, sh_size)] = 6;
	assert_int_equal(elf_open_bytes(tiny.bytes, tiny.len, &elf, &err), 0);
	assert_int_equal(elf.section_count, 6);
	elf_close(&elf);

	assert_int_equal(elf_open_bytes("#!/bin/sh\n", 10, &elf, &err), -ENOEXEC);
	assert_string_equal(err.text, "not an ELF file");
	elf_close(&elf);
}

static void real_files_are_the_same_in_memory_and_by_descriptor(void **state)
{
	cleanup_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct strbuf file = {0};
	struct elf by_fd, by_bytes;

	(void)state;
	assert_int_equal(file_read(AT_FDCWD, "/proc/self/exe", 1 << 28, &file), 0);
	assert_int_equal(elf_open_fd(fd, &by_fd, NULL), 0);
	assert_int_equal(elf_open_bytes(file.text, file.len, &by_bytes, NULL), 0);
	assert_int_equal(by_fd.section_count, by_bytes.section_count);
	for (uint32_t i = 0; i < by_fd.section_count; i++) {
		struct elf_blob a = {0}, b = {0};
		int r = elf_load_section(&by_fd, &by_fd.sections[i], 1 << 28, &a);

		assert_string_equal(by_fd.sections[i].name, by_bytes.sections[i].name);
		assert_int_equal(
			elf_load_section(&by_bytes, &by_bytes.sections[i], 1 << 28, &b), r);
		if (!r) {
			assert_int_equal(a.len, b.len);
			if (a.len)
				assert_memory_equal(a.bytes, b.bytes, a.len);
		}
		elf_blob_done(&a);
		elf_blob_done(&b);
	}
	elf_close(&by_fd);
	elf_close(&by_bytes);
	strbuf_done(&file);
}

static void random_damage_to_a_real_file_is_survived(void **state)
{
	struct strbuf file = {0};
	uint64_t seed = 42;

	(void)state;
	assert_int_equal(file_read(AT_FDCWD, "/proc/self/exe", 1 << 28, &file), 0);
	for (int i = 0; i < 150; i++) {
		size_t at[8];
		char old[8];

		for (int n = 0; n < 8; n++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			/* Half of them in the headers, at either end. */
			at[n] = n % 2	? (seed >> 20) % file.len
				: n % 4 ? (seed >> 20) % 1024
					: file.len - 1 - (seed >> 20) % 2560;
			old[n] = file.text[at[n]];
			file.text[at[n]] ^= (char)(1 << (seed >> 61));
		}
		ask_everything((const uint8_t *)file.text, file.len);
		for (int n = 7; n >= 0; n--)
			file.text[at[n]] = old[n];
	}
	for (size_t len = 0; len < file.len; len += 1 + file.len / 200)
		assert_true(ask_everything((const uint8_t *)file.text, len) < 0);
	strbuf_done(&file);
}

static void a_file_that_shrinks_is_truncated_not_fatal(void **state)
{
	struct tiny_elf tiny;
	char dir[256], path[300];
	struct elf_blob blob;
	struct elf elf;
	int fd;

	(void)state;
	tiny_elf_make(&tiny, true, false);
	assert_true(scratch_make(dir, sizeof(dir)));
	snprintf(path, sizeof(path), "%s/elf", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fd_write_all(fd, tiny.bytes, tiny.len), 0);
	assert_int_equal(elf_open_fd(fd, &elf, NULL), 0);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(
		elf_load_section(&elf, elf_section(&elf, ".symtab"), 1 << 20, &blob), -ENODATA);
	elf_close(&elf);
	close(fd);
	scratch_remove(dir);
}

static void notes_are_found_among_others(void **state)
{
	const uint8_t notes[] = {4, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 'X', 'Y', 'Z', 0, 1, 2, 3,
		0, 4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd};
	uint8_t id[20];

	(void)state;
	assert_int_equal(elf_notes_build_id(bytes_of(notes, sizeof(notes)), 4, id), 2);
	assert_int_equal(id[0], 0xab);
	for (size_t len = 0; len < sizeof(notes); len++)
		assert_int_equal(elf_notes_build_id(bytes_of(notes, len), 4, id), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_class_and_byte_order_is_read),
	cmocka_unit_test(every_truncation_is_typed),
	cmocka_unit_test(every_flipped_bit_is_survived),
	cmocka_unit_test(any_word_may_be_absurd),
	cmocka_unit_test(lying_headers_are_refused_before_memory_is_taken),
	cmocka_unit_test(real_files_are_the_same_in_memory_and_by_descriptor),
	cmocka_unit_test(random_damage_to_a_real_file_is_survived),
	cmocka_unit_test(a_file_that_shrinks_is_truncated_not_fatal),
	cmocka_unit_test(notes_are_found_among_others),
};
UNIT_TESTS("elf", tests)
