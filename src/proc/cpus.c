/*
 * A list is parsed into a bitmap first, so ranges may overlap and come in any order; the bitmap
 * is CPU_LIST_LIMIT bits on the stack (8 KiB).
 */
#include "proc/cpus.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "proc/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64, FILE_LIMIT = 64 * 1024 * 1024 };

struct cpu_bits {
	uint64_t words[CPU_LIST_LIMIT / WORD_BITS];
};

void cpu_list_done(struct cpu_list *list)
{
	free(list->cpus);
	*list = (struct cpu_list){0};
}

static int list_from_bits(const struct cpu_bits *bits, struct cpu_list *list)
{
	uint32_t count = 0;
	int rc;

	for (uint32_t w = 0; w < ARRAY_LEN(bits->words); w++)
		count += (uint32_t)__builtin_popcountll(bits->words[w]);
	rc = array_reserve(&list->cpus, &list->cap, count, sizeof(*list->cpus), CPU_LIST_LIMIT);
	if (rc < 0)
		return rc;
	list->count = 0;
	for (uint32_t cpu = 0; cpu < CPU_LIST_LIMIT; cpu++) {
		if (bits->words[cpu / WORD_BITS] >> cpu % WORD_BITS & 1)
			list->cpus[list->count++] = cpu;
	}
	return 0;
}

static int range_parse(struct span *text, struct cpu_bits *bits)
{
	struct span item = *text;
	uint64_t first, last;

	while (text->at < text->end && *text->at != ',')
		text->at++;
	item.end = text->at;
	if (item.at == item.end || *item.at < '0' || *item.at > '9' ||
		!span_decimal(&item, &first))
		return -EINVAL;
	last = first;
	if (span_skip(&item, "-") &&
		(item.at == item.end || *item.at < '0' || !span_decimal(&item, &last)))
		return -EINVAL;
	if (item.at != item.end || last < first)
		return -EINVAL;
	if (last >= CPU_LIST_LIMIT)
		return -ERANGE;
	for (uint64_t cpu = first; cpu <= last; cpu++)
		bits->words[cpu / WORD_BITS] |= 1ull << cpu % WORD_BITS;
	return 0;
}

int cpu_list_parse(const char *text, size_t len, struct cpu_list *list)
{
	struct span rest = {text, text + len};
	struct cpu_bits bits = {0};

	if (len && text[len - 1] == '\n')
		rest.end--;
	while (rest.at < rest.end) {
		int rc = range_parse(&rest, &bits);

		if (rc < 0)
			return rc;
		if (span_skip(&rest, ",") && rest.at == rest.end)
			return -EINVAL;
	}
	return list_from_bits(&bits, list);
}

/* "cpu  1 2 3 ...", then "cpu0 1 2 ...", "cpu1 ...": one line for each that is online. */
static int cpus_of_stat(const struct proc *proc, struct cpu_list *list)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	struct cpu_bits bits = {0};
	struct span rest, line;
	uint64_t cpu;
	int rc = file_read(proc->root, "stat", FILE_LIMIT, &text);

	if (rc < 0)
		return rc;
	rest = span_of(&text);
	while (span_line(&rest, &line)) {
		if (!span_skip(&line, "cpu") || line.at == line.end || *line.at == ' ' ||
			!span_decimal(&line, &cpu) || cpu >= CPU_LIST_LIMIT)
			continue;
		bits.words[cpu / WORD_BITS] |= 1ull << cpu % WORD_BITS;
	}
	return list_from_bits(&bits, list);
}

static int cpus_of_file(const struct proc *proc, const char *path, struct cpu_list *list)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	int rc = proc->sys < 0 ? -ENOENT : file_read(proc->sys, path, FILE_LIMIT, &text);

	if (rc < 0)
		return cpus_of_stat(proc, list);
	return cpu_list_parse(strbuf_text(&text), text.len, list);
}

int cpus_online(const struct proc *proc, struct cpu_list *list)
{
	return cpus_of_file(proc, "devices/system/cpu/online", list);
}

int cpus_possible(const struct proc *proc, struct cpu_list *list)
{
	return cpus_of_file(proc, "devices/system/cpu/possible", list);
}
