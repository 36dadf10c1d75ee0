/* A file is read whole, once, and cut into lines; what is no text shows as what it is. */
#include "view/source_file.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "symbolize/open_regular.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 1 << 16, TAB = 8 };

void source_files_done(struct source_files *files)
{
	for (uint32_t i = 0; i < files->count; i++) {
		strbuf_done(&files->at[i].text);
		free(files->at[i].starts);
	}
	free(files->at);
	*files = (struct source_files){.root = files->root};
}

static void lines_cut(struct source_file *file)
{
	const char *text = strbuf_text(&file->text);
	uint32_t n = 0;

	for (size_t i = 0; i < file->text.len; i++)
		n += text[i] == '\n';
	file->starts = calloc(n + 2u, sizeof(*file->starts));
	if (!file->starts)
		return;
	for (size_t i = 0; i < file->text.len; i++)
		if (!i || text[i - 1] == '\n')
			file->starts[file->count++] = (uint32_t)i;
}

static void file_read_lines(struct source_file *file, const char *root, const char *path)
{
	cleanup_close int fd = path[0] == '/' ? open_regular(root, path) : -1;
	struct stat st;
	int64_t got;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > SOURCE_BYTES_MAX ||
		!strbuf_reserve(&file->text, (size_t)st.st_size))
		return;
	got = fd_pread_all(fd, file->text.text, (size_t)st.st_size, 0);
	if (got <= 0)
		return;
	file->text.len = (size_t)got;
	lines_cut(file);
}

const struct source_file *source_file_get(
	struct source_files *files, uint32_t name, const char *path)
{
	struct source_file *file;

	for (uint32_t i = 0; i < files->count; i++)
		if (files->at[i].name == name)
			return &files->at[i];
	if (array_reserve(&files->at, &files->cap, (uint64_t)files->count + 1,
		    sizeof(*files->at), FILES_MAX) < 0)
		return NULL;
	file = &files->at[files->count++];
	*file = (struct source_file){.name = name};
	file_read_lines(file, files->root, path);
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
