/* A directory of the unit tests that looks like /proc or /sys. Tests only, behind
 * tests/unit_test.h. */
#pragma once

#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fake_tree {
	char dir[64];
	char path[8192]; /* of the last file made */
};

static inline void fake_tree_init(struct fake_tree *tree)
{
	strcpy(tree->dir, "/tmp/wick-tree-XXXXXX");
	assert_non_null(mkdtemp(tree->dir));
}

static inline int fake_tree_remove_one(
	const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void fake_tree_done(struct fake_tree *tree)
{
	assert_int_equal(nftw(tree->dir, fake_tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* The path of a name in the tree, its folders made. */
static inline const char *fake_tree_path(struct fake_tree *tree, const char *name)
{
	(void)snprintf(tree->path, sizeof(tree->path), "%s/%s", tree->dir, name);
	for (char *p = tree->path + strlen(tree->dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(tree->path, 0700) < 0)
			assert_int_equal(errno, EEXIST);
		*p = '/';
	}
	return tree->path;
}

static inline void fake_tree_bytes(
	struct fake_tree *tree, const char *name, const void *bytes, size_t len)
{
	int fd = open(
		fake_tree_path(tree, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, bytes, len), 0);
	close(fd);
}

static inline void fake_tree_file(struct fake_tree *tree, const char *name, const char *text)
{
	fake_tree_bytes(tree, name, text, strlen(text));
}
