/*
 * How: | "wick-kallsyms 1\n" | build id, 20 bytes | count | name bytes | symbols | names |,
 * numbers as this machine has them: who wrote it reads it. It is written beside its place and
 * renamed, so that nobody sees half of one; only a file of our own is believed.
 */
#include "symbolize/kernel_cache.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "symbolize/own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CACHE_BYTES_MAX = 1 << 28, PATH_ROOM = 4096 };

static const char magic[] = "wick-kallsyms 1\n";

enum { HEAD = sizeof(magic) - 1 + 20 + 8 };

static bool path_make(
	const char *dir, const struct kernel_id *id, const char *suffix, char ret[PATH_ROOM])
{
	int at = snprintf(ret, PATH_ROOM, "%s/kallsyms-", dir ? dir : "");

	if (!dir || !dir[0] || !id->len || at < 0 || at > PATH_ROOM - 128)
		return false;
	for (uint8_t i = 0; i < id->len; i++)
		at += snprintf(ret + at, (size_t)(PATH_ROOM - at), "%02x", id->bytes[i]);
	snprintf(ret + at, (size_t)(PATH_ROOM - at), "%s", suffix);
	return true;
}

static int open_own(const char *path, uint64_t *ret_bytes)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		st.st_size < HEAD || st.st_size > CACHE_BYTES_MAX)
		return -ENOENT;
	*ret_bytes = (uint64_t)st.st_size;
	return take_fd(&fd);
}

static bool read_all(int fd, void *to, size_t len)
{
	uint8_t *at = to;

	while (len) {
		ssize_t got = read(fd, at, len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		len -= (size_t)got;
	}
	return true;
}

/* Distances become addresses; false: this is no table. */
static bool table_check(struct symtab *table, uint64_t stext)
{
	if (!table->count || !table->names_bytes || table->names[table->names_bytes - 1])
		return false;
	for (uint32_t i = 0; i < table->count; i++) {
		table->symbols[i].addr += stext;
		if (table->symbols[i].name >= table->names_bytes ||
			(i && table->symbols[i].addr <= table->symbols[i - 1].addr))
			return false;
	}
	return true;
}

static int table_read(int fd, uint64_t file_bytes, const struct kernel_id *id, uint64_t stext,
	struct symtab *table)
{
	uint8_t head[HEAD];
	struct bytes b = bytes_of(head, sizeof(head));
	const uint8_t *start, *stored;

	if (!read_all(fd, head, sizeof(head)))
		return 0;
	start = bytes_take(&b, sizeof(magic) - 1);
	stored = bytes_take(&b, 20);
	table->count = bytes_u32(&b);
	table->names_bytes = bytes_u32(&b);
	if (memcmp(start, magic, sizeof(magic) - 1) != 0 ||
		memcmp(stored, id->bytes, id->len) != 0 ||
		file_bytes - HEAD !=
			(uint64_t)table->count * sizeof(struct symbol) + table->names_bytes)
		return 0;
	table->symbols = malloc((size_t)table->count * sizeof(struct symbol) + 1);
	table->names = malloc((size_t)table->names_bytes + 1);
	if (!table->symbols || !table->names)
		return -ENOMEM;
	return read_all(fd, table->symbols, (size_t)table->count * sizeof(struct symbol)) &&
	       read_all(fd, table->names, table->names_bytes) && table_check(table, stext);
}

int kernel_cache_load(
	const char *dir, const struct kernel_id *id, uint64_t stext, struct symtab *ret_table)
{
	cleanup_close int fd = -1;
	struct symtab table = {.count = 0};
	char path[PATH_ROOM];
	uint64_t bytes;
	int rc;

	if (!stext || !path_make(dir, id, "", path))
		return 0;
	fd = open_own(path, &bytes);
	if (fd < 0)
		return 0;
	rc = table_read(fd, bytes, id, stext, &table);
	if (rc > 0)
		*ret_table = table;
	else
		symtab_done(&table);
	return rc;
}

static int table_write(
	int fd, const struct kernel_id *id, uint64_t stext, const struct symtab *table)
{
	cleanup_free struct symbol *moved = malloc(table->count * sizeof(*moved));
	uint8_t head[HEAD];
	int rc;

	if (!moved)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->count; i++) {
		moved[i] = table->symbols[i];
		moved[i].addr -= stext;
	}
	memset(head, 0, sizeof(head));
	memcpy(head, magic, sizeof(magic) - 1);
	memcpy(head + sizeof(magic) - 1, id->bytes, id->len);
	memcpy(head + HEAD - 8, &table->count, 4);
	memcpy(head + HEAD - 4, &table->names_bytes, 4);
	rc = fd_write_all(fd, head, sizeof(head));
	if (rc == 0)
		rc = fd_write_all(fd, moved, table->count * sizeof(*moved));
	return rc == 0 ? fd_write_all(fd, table->names, table->names_bytes) : rc;
}

void kernel_cache_store(
	const char *dir, const struct kernel_id *id, uint64_t stext, const struct symtab *table)
{
	char path[PATH_ROOM], beside[PATH_ROOM];
	cleanup_close int fd = -1;

	if (!stext || !table->count || table->outer || !path_make(dir, id, "", path) ||
		!path_make(dir, id, ".new", beside) || !own_folder_make(dir))
		return;
	unlink(beside);
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (table_write(fd, id, stext, table) < 0 || rename(beside, path) < 0)
		unlink(beside);
}
