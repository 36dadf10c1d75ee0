/*
 * A file is read whole, once, and cut into lines; what is no text shows as what it is. Which
 * files are read is up to the recording, and what is shown of them may be sent on to whoever
 * made it: so only those are opened whose names end as the names of sources do.
 */
#include "view/source_file.h"

#include "base/cleanup.h"
#include "base/fileio.h"
#include "symbolize/open_regular.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TAB = 8 };

static const char *const endings[] = {".c", ".h", ".cc", ".cpp", ".cxx", ".c++", ".C", ".hh",
	".hpp", ".hxx", ".h++", ".H", ".inl", ".ipp", ".tcc", ".tpp", ".txx", ".ixx", ".cppm",
	".inc", ".def", ".y", ".l", ".yy", ".ll", ".cu", ".cuh", ".cl", ".rs", ".go", ".s",
	".S", ".asm", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".tsx", ".java", ".kt",
	".kts", ".scala", ".cs", ".fs", ".f", ".for", ".f77", ".f90", ".f95", ".f03", ".f08",
	".F", ".F77", ".F90", ".F95", ".py", ".pyx", ".pxd", ".m", ".mm", ".swift", ".d",
	".zig", ".nim", ".cr", ".v", ".vala", ".ml", ".mli", ".hs", ".jl", ".lua", ".pas",
	".pp", ".adb", ".ads"};

/* The standard library's headers have names without a dot, and it must be there that they are;
 * of other names the end is enough: many builds call a source "/build/../src/a.c". */
#define HEADERS_WITHOUT_DOT "/usr/include/c++/"

static const struct source_file refused = {.why = "not shown: not a source's name"},
				too_many = {.why = "not read: there are too many"};

static bool has_parent_component(const char *path)
{
	for (const char *at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
		if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
			return true;
	return false;
}

bool source_name_is_one(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	if (!dot)
		return *name && !has_parent_component(path) &&
		       !strncmp(path, HEADERS_WITHOUT_DOT, strlen(HEADERS_WITHOUT_DOT));
	for (size_t i = 0; dot > name && i < sizeof(endings) / sizeof(endings[0]); i++)
		if (!strcmp(dot, endings[i]))
			return true;
	return false;
}

void source_files_done(struct source_files *files)
{
	for (uint32_t i = 0; i < files->count; i++) {
		strbuf_done(&files->at[i].text);
		free(files->at[i].starts);
	}
	free(files->at);
	*files = (struct source_files){.root = files->root};
}

/* The bytes that it takes. */
static size_t lines_cut(struct source_file *file)
{
	const char *text = strbuf_text(&file->text);
	uint32_t n = 0;

	for (size_t i = 0; i < file->text.len; i++)
		n += text[i] == '\n';
	file->starts = calloc(n + 2u, sizeof(*file->starts));
	if (!file->starts)
		return file->text.len;
	for (size_t i = 0; i < file->text.len; i++)
		if (!i || text[i - 1] == '\n')
			file->starts[file->count++] = (uint32_t)i;
	file->why = NULL;
	return file->text.len + (n + 2u) * sizeof(*file->starts);
}

static void file_read_lines(
	struct source_file *file, struct source_files *files, const char *path)
{
	cleanup_close int fd = path[0] == '/' ? open_regular(files->root, path) : -1;
	struct stat st;
	int64_t got;

	file->why = "not found here";
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > SOURCE_BYTES_MAX)
		return;
	if (files->bytes + (uint64_t)st.st_size > SOURCES_BYTES_MAX) {
		file->why = too_many.why;
		return;
	}
	if (!strbuf_reserve(&file->text, (size_t)st.st_size))
		return;
	got = fd_pread_all(fd, file->text.text, (size_t)st.st_size, 0);
	if (got <= 0)
		return;
	file->text.len = (size_t)got;
	files->bytes += lines_cut(file);
}

/* Its slot, or the free one where it belongs: there are more slots than files. */
static uint16_t *slot_of(struct source_files *files, uint32_t name)
{
	uint32_t at = name * 2654435761u >> 16;

	for (;; at++) {
		uint16_t *slot = &files->slots[at % SOURCE_SLOTS];

		if (!*slot || files->at[*slot - 1].name == name)
			return slot;
	}
}

const struct source_file *source_file_get(
	struct source_files *files, uint32_t name, const char *path)
{
	struct source_file *file;
	uint16_t *slot;

	if (!source_name_is_one(path))
		return &refused;
	if (!files->at)
		files->at = calloc(SOURCES_MAX, sizeof(*files->at));
	if (!files->at)
		return NULL;
	slot = slot_of(files, name);
	if (*slot)
		return &files->at[*slot - 1];
	if (files->count == SOURCES_MAX)
		return &too_many;
	file = &files->at[files->count++];
	*slot = (uint16_t)files->count;
	*file = (struct source_file){.name = name};
	file_read_lines(file, files, path);
	return file;
}

bool source_line(const struct source_file *file, uint32_t line, struct strbuf *out)
{
	const char *text = strbuf_text(&file->text);
	size_t at, columns = 0;

	if (!line || line > file->count)
		return false;
	for (at = file->starts[line - 1];
		at < file->text.len && text[at] != '\n' && columns < SOURCE_LINE_MAX; at++) {
		if (text[at] == '\0' || text[at] == '\r')
			continue;
		if (text[at] != '\t') {
			strbuf_putc(out, text[at]);
			columns++;
			continue;
		}
		do {
			strbuf_putc(out, ' ');
		} while (++columns % TAB);
	}
	return true;
}
