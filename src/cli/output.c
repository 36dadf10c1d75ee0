/* Files are the same by device and inode: names may differ, and links lead anywhere. */
#include "cli/output.h"

#include "base/cleanup.h"
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool same_file(const char *path, const char *other)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino && S_ISREG(a.st_mode);
}

int output_check(const char *path, const char *const *inputs, uint32_t count)
{
	cleanup_free char *old = NULL;

	if (asprintf(&old, "%s.old", path) < 0)
		return cli_fail("%s: out of memory", path);
	for (uint32_t i = 0; i < count; i++) {
		if (!inputs[i] || !strcmp(inputs[i], "-"))
			continue;
		if (same_file(path, inputs[i]))
			return cli_fail("%s: that is the recording itself; choose another name "
					"with -o",
				path);
		if (same_file(old, inputs[i]))
			return cli_fail("%s: the file there now would be kept as %s, which is "
					"the recording; choose another name with -o",
				path, old);
	}
	return 0;
}

int output_open(
	const char *path, const char *const *inputs, uint32_t count, bool keep, FILE **ret_out)
{
	cleanup_free char *old = NULL;
	struct stat st;
	int status = output_check(path, inputs, count);

	if (status)
		return status;
	if (asprintf(&old, "%s.old", path) < 0)
		return cli_fail("%s: out of memory", path);
	/* Where it cannot be kept it is written over, as a shell would. */
	if (keep && lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		(void)rename(path, old);
	*ret_out = fopen(path, "we");
	if (!*ret_out)
		return cli_fail("%s: cannot be written: %s", path, strerror(errno));
	return 0;
}
