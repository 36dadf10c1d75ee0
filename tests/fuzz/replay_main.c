/*
 * Runs a fuzz harness over files, for compilers without libFuzzer and for the tests:
 *
 *     replay FILE|FOLDER...
 *
 * Each file is copied to a heap block of exactly its size, so that ASan sees a read behind it.
 * Says how many ran; fails when none did, when one cannot be read, or when the harness aborts.
 */
#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_LIMIT (64u << 20)

static int replay_file(const char *path)
{
	cleanup_fclose FILE *file = fopen(path, "re");
	cleanup_free uint8_t *data = NULL;
	struct stat st;
	size_t size;

	if (!file || fstat(fileno(file), &st) < 0)
		return -errno;
	if (st.st_size > INPUT_LIMIT)
		return -EFBIG;
	size = (size_t)st.st_size;
	data = malloc(size ? size : 1);
	if (!data)
		return -ENOMEM;
	if (fread(data, 1, size, file) != size)
		return -EIO;
	LLVMFuzzerTestOneInput(data, size);
	return 0;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Runs a file, or the files of a folder in the order of their names. */
static int replay(const char *path, unsigned *count)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, is_visible, alphasort), rc = 0;

	if (n < 0) {
		rc = replay_file(path);
		if (rc < 0)
			fprintf(stderr, "replay: %s: %s\n", path, strerror(-rc));
		else
			++*count;
		return rc;
	}
	for (int i = 0; i < n; i++) {
		char name[4096];
		int len = snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);

		if (rc == 0)
			rc = len < (int)sizeof(name) ? replay(name, count) : -ENAMETOOLONG;
		free(entries[i]);
	}
	free(entries);
	return rc;
}

int main(int argc, char **argv)
{
	unsigned count = 0;

	for (int i = 1; i < argc; i++)
		if (replay(argv[i], &count) < 0)
			return 1;
	printf("replayed %u inputs\n", count);
	return count ? 0 : 1;
}
