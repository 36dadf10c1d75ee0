/*
 * conformance EXPECTED [--write | --hardware [--kernel-only]]: runs every check on the core,
 * and on the kernel where its events are allowed, and compares with the file, which --write
 * takes from the kernel (but the answers of hardware.c, which stand at its end).
 * --hardware: the kernel has an ARMv8 PMU, and answers those, too.
 *
 *     == name of a check
 *     what it saw
 *
 * A line that begins with "core: " stands for a difference with a reason (behind #): the core
 * answers it in place of the line before. So does "kernel: " for kernels that differ.
 */
#include "side.h"

#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static const char *section(const char *text, const char *name, size_t *ret_len)
{
	char head[128];
	const char *at, *end;

	snprintf(head, sizeof(head), "== %s\n", name);
	at = strstr(text, head);
	if (!at)
		return NULL;
	at += strlen(head);
	end = strstr(at, "== ");
	*ret_len = end ? (size_t)(end - at) : strlen(at);
	return at;
}

/* What this side must say: a line marked with its name replaces the one before. */
static void expect(const char *text, size_t len, const char *side, struct strbuf *out)
{
	size_t mark = strlen(side), last = 0;

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) + 1 : len;
		bool marked = (n > 6 && !memcmp(text, "core: ", 6)) ||
			      (n > 8 && !memcmp(text, "kernel: ", 8));

		if (marked && !strncmp(text, side, mark)) {
			out->len = last;
			strbuf_add(out, text + mark + 2, n - mark - 2);
		} else if (!marked && text[0] != '#') {
			last = out->len;
			strbuf_add(out, text, n);
		}
		text += n;
		len -= n;
	}
}

/* The first line in which they differ. */
static void differ(const char *saw, const char *wanted)
{
	while (*saw && *wanted) {
		size_t a = strcspn(saw, "\n"), b = strcspn(wanted, "\n");

		if (a != b || memcmp(saw, wanted, a) != 0)
			printf("# saw: %.*s\n# not: %.*s\n", (int)a, saw, (int)b, wanted);
		saw += a + (saw[a] != '\0');
		wanted += b + (wanted[b] != '\0');
	}
	if (*saw || *wanted)
		printf("# saw at the end: %s\n# not: %s\n", saw, wanted);
}

/* The file's first line says whose answers it holds: "# Linux 6.18". */
static bool is_other_kernel(const char *expected)
{
	struct utsname host;
	char head[64] = "# Linux ";
	size_t n;

	uname(&host);
	n = strcspn(host.release, ".");
	n += 1 + strcspn(host.release + n + 1, ".");
	strncat(head, host.release, n);
	return strncmp(expected, head, strlen(head)) != 0;
}

static int run_checks(struct side *side, const char *expected, bool other_kernel,
	const struct check *list, uint32_t count)
{
	int failed = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct strbuf saw = {0}, wanted = {0};
		size_t len = 0;
		const char *text = section(expected, list[i].name, &len);
		bool same;

		side->skip = NULL;
		list[i].run(side, &saw);
		if (side->skip) {
			printf("ok - %s: %s # SKIP %s\n", side->name, list[i].name, side->skip);
			strbuf_done(&saw);
			continue;
		}
		if (text)
			expect(text, len, side->name, &wanted);
		same = text && !strcmp(strbuf_text(&saw), strbuf_text(&wanted));
		if (!same)
			differ(strbuf_text(&saw), strbuf_text(&wanted));
		failed += !same && !other_kernel;
		printf("%s - %s: %s%s\n", same || other_kernel ? "ok" : "not ok", side->name,
			list[i].name,
			same || !other_kernel ? "" : " # SKIP another Linux answers otherwise");
		fflush(stdout);
		strbuf_done(&saw);
		strbuf_done(&wanted);
	}
	return failed;
}

static int run_side(struct side *side, const char *expected, bool other_kernel)
{
	return run_checks(side, expected, other_kernel, checks, check_count);
}

/* The PMU's part: the model's always, the kernel's with --hardware. */
static int run_hardware(struct side *side, const char *expected)
{
	return run_checks(side, expected, false, hardware_checks, hardware_check_count);
}

static int write_all(struct side *side, const char *path)
{
	FILE *file = fopen(path, "w");
	struct utsname host;

	if (!file)
		return 1;
	uname(&host);
	fprintf(file, "# Linux %s\n", host.release);
	for (uint32_t i = 0; i < check_count; i++) {
		struct strbuf saw = {0};

		checks[i].run(side, &saw);
		if (side->skip)
			printf("# not written: %s: %s\n", checks[i].name, side->skip);
		side->skip = NULL;
		fprintf(file, "== %s\n%s", checks[i].name, strbuf_text(&saw));
		strbuf_done(&saw);
	}
	return fclose(file) != 0;
}

int main(int argc, char **argv)
{
	struct strbuf expected = {0};
	struct side side;
	int failed = 0, rc;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], SIDE_EXEC_CHILD)) {
		char *page = calloc(64, 4096);

		for (int i = 0; page && i < 64; i++)
			((volatile char *)page)[4096 * i] = 1;
		free(page);
		return 0;
	}
	rc = side_kernel(&side);
	if (argc > 2 && !strcmp(argv[2], "--write"))
		return rc < 0 || write_all(&side, argv[1]);
	if (file_read(AT_FDCWD, argv[1], 1 << 20, &expected) < 0) {
		printf("# %s cannot be read\nnot ok - the expected answers\n", argv[1]);
		return 1;
	}
	if (rc < 0)
		printf("ok - kernel # SKIP perf events are not allowed here: %s\n",
			strerror(-rc));
	else
		failed += run_side(
			&side, strbuf_text(&expected), is_other_kernel(strbuf_text(&expected)));
	if (rc >= 0 && argc > 2 && !strcmp(argv[2], "--hardware"))
		failed += run_hardware(&side, strbuf_text(&expected));
	if (argc > 3 && !strcmp(argv[3], "--kernel-only"))
		return failed != 0;
	if (side_core(&side) < 0)
		return 1;
	failed += run_side(&side, strbuf_text(&expected), false);
	failed += run_hardware(&side, strbuf_text(&expected));
	side_core_done(&side);
	strbuf_done(&expected);
	return failed != 0;
}
