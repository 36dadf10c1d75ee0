#include "view/source_file.h"

#include "tests/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct folder {
	char path[64];
	char file[128];
};

static const char *file_of(struct folder *folder, const char *name)
{
	snprintf(folder->file, sizeof(folder->file), "%s/%s", folder->path, name);
	return folder->file;
}

static void folder_make(struct folder *folder)
{
	strcpy(folder->path, "/tmp/wick-sources-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
}

static void put(struct folder *folder, const char *name, const char *text)
{
	FILE *out = fopen(file_of(folder, name), "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void remove_file(struct folder *folder, const char *name)
{
	unlink(file_of(folder, name));
}

static void only_sources_are_read(void **state)
{
	static const char *const shown[] = {"/a/b.c", "/a/b.tar.rs", "/a.d/x.F90",
		"/x..y/b.hpp", "/usr/include/c++/12/vector",
		"/usr/include/c++/12/bits/stl_vector.h", "b.cc", "/build/../src/b.c"};
	static const char *const not_shown[] = {"/root/.ssh/id_rsa", "/etc/shadow",
		"/a/b.c/key", "/a/.c", "/a/b.", "/a/b.conf", "/a/..", "/a/b.c/..",
		"/a/../.ssh/id_rsa", "/usr/include/c++/../../../etc/shadow",
		"/usr/include/c++/", "/a/b.c\n", "", "/"};

	(void)state;
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		assert_true(source_name_is_one(shown[i]));
	for (size_t i = 0; i < sizeof(not_shown) / sizeof(not_shown[0]); i++)
		assert_false(source_name_is_one(not_shown[i]));
}

static void what_is_not_shown_says_why(void **state)
{
	struct source_files files = {0};
	struct strbuf line = {0};
	const struct source_file *file;
	struct folder folder;

	(void)state;
	folder_make(&folder);
	put(&folder, "a.c", "one\n\ttwo");
	put(&folder, "secret", "three\n");
	file = source_file_get(&files, 1, file_of(&folder, "a.c"));
	assert_int_equal(file->count, 2);
	assert_null(file->why);
	assert_true(source_line(file, 2, &line));
	assert_string_equal(strbuf_text(&line), "        two");
	assert_ptr_equal(source_file_get(&files, 1, file_of(&folder, "a.c")), file);
	file = source_file_get(&files, 2, file_of(&folder, "secret"));
	assert_int_equal(file->count, 0);
	assert_non_null(strstr(file->why, "not a source's name"));
	assert_false(source_line(file, 1, &line));
	file = source_file_get(&files, 3, file_of(&folder, "b.c"));
	assert_string_equal(file->why, "not found here");
	remove_file(&folder, "a.c");
	remove_file(&folder, "secret");
	rmdir(folder.path);
	strbuf_done(&line);
	source_files_done(&files);
}

static void all_of_them_have_a_limit(void **state)
{
	struct source_files files = {0};
	const struct source_file *file;
	struct folder folder;
	uint32_t name = 7;

	(void)state;
	folder_make(&folder);
	put(&folder, "a.c", "one\n");
	for (; name < 7 + SOURCES_MAX; name++)
		assert_int_equal(
			source_file_get(&files, name, file_of(&folder, "a.c"))->count, 1);
	file = source_file_get(&files, name, file_of(&folder, "a.c"));
	assert_int_equal(file->count, 0);
	assert_non_null(strstr(file->why, "too many"));
	assert_int_equal(source_file_get(&files, 8, file_of(&folder, "a.c"))->count, 1);
	source_files_done(&files);

	put(&folder, "b.c", "one\n"); /* the rest is a hole */
	assert_int_equal(truncate(file_of(&folder, "b.c"), SOURCE_BYTES_MAX), 0);
	for (name = 0; name < 20; name++)
		file = source_file_get(&files, name, file_of(&folder, "b.c"));
	assert_int_equal(file->count, 0);
	assert_true(files.bytes <= SOURCES_BYTES_MAX + 64);
	assert_int_equal(source_file_get(&files, 3, file_of(&folder, "b.c"))->count, 2);
	remove_file(&folder, "a.c");
	remove_file(&folder, "b.c");
	rmdir(folder.path);
	source_files_done(&files);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(only_sources_are_read),
	cmocka_unit_test(what_is_not_shown_says_why),
	cmocka_unit_test(all_of_them_have_a_limit),
};
UNIT_TESTS("source_file", tests)
