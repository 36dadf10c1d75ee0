/*
 * What the symbolizer says of addresses in a file, in the words of llvm-symbolizer:
 *
 *     name-steps [-d DEBUG_DIR] FILE < addresses      (ELF addresses, 0x..., one a line)
 *     name-steps -k KALLSYMS                          (only reads it, and says how long it
 * took)
 *
 * For each: the address, then for each function, innermost first, its linkage name and
 * file:line. The time and memory of it all go to stderr.
 */
#include "base/cleanup.h"
#include "base/fileio.h"
#include "object/elf.h"
#include "object/kallsyms.h"
#include "symbolize/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct steps {
	struct profile profile;
	struct elf elf;
	uint32_t module;
	uint64_t *vaddrs;
	uint32_t *frames; /* PROFILE_NONE: in no segment */
	size_t count, cap;
};

static int address_add(struct steps *s, uint64_t vaddr)
{
	uint32_t frame = PROFILE_NONE;
	uint64_t foff;

	if (s->count == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 1024;
		s->vaddrs = reallocarray(s->vaddrs, s->cap, sizeof(*s->vaddrs));
		s->frames = reallocarray(s->frames, s->cap, sizeof(*s->frames));
		if (!s->vaddrs || !s->frames)
			return -ENOMEM;
	}
	if (elf_vaddr_to_foff(s->elf.segments, s->elf.segment_count, vaddr, &foff) &&
		profile_frame(&s->profile, s->module, foff, false, vaddr, &frame) < 0)
		return -ENOMEM;
	s->vaddrs[s->count] = vaddr;
	s->frames[s->count++] = frame;
	return 0;
}

static int read_all(struct steps *s, const char *path)
{
	struct module module = {.kind = MODULE_FILE};
	char line[64];
	int r = profile_string(&s->profile, path, &module.path);

	if (r >= 0)
		r = profile_module(&s->profile, &module, &s->module);
	while (r >= 0 && fgets(line, sizeof(line), stdin))
		r = address_add(s, strtoull(line, NULL, 16));
	return r;
}

static void print_all(const struct steps *s)
{
	const struct profile *p = &s->profile;

	for (size_t i = 0; i < s->count; i++) {
		const struct frame *frame =
			s->frames[i] == PROFILE_NONE ? NULL : &p->frames[s->frames[i]];

		printf("0x%" PRIx64 "\n", s->vaddrs[i]);
		for (uint32_t n = 0; frame && n < frame->line_count; n++) {
			const struct line *line = &p->lines[frame->first_line + n];
			const char *file = profile_text(p, line->file);

			printf("%s\n%s:%u\n",
				profile_text(p, p->functions[line->function].linkage_name),
				file[0] ? file : "??", line->line);
		}
	}
}

static double since(clockid_t clock, const struct timespec *start)
{
	struct timespec end;

	clock_gettime(clock, &end);
	return (double)(end.tv_sec - start->tv_sec) +
	       (double)(end.tv_nsec - start->tv_nsec) / 1e9;
}

static void print_cost(const struct timespec *start, const struct symbolizer *symbolizer,
	const struct steps *s)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "%u frames, %u functions, %.3f s, %ld MB, debug file %s\n",
		s->profile.frame_count, s->profile.function_count,
		since(CLOCK_MONOTONIC, start), usage.ru_maxrss / 1024,
		symbolizer_debug_file(symbolizer, s->module));
}

/* From the text in memory to the table; best of ten, since others may want the CPU. */
static int load_kallsyms(const char *path)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	double best = 0;
	uint32_t count = 0;

	if (file_read(AT_FDCWD, path, 1 << 28, &text) < 0)
		return 1;
	for (int i = 0; i < 10; i++) {
		struct kallsyms kallsyms = {.stext = 0};
		struct timespec start;
		double took;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
		if (kallsyms_parse(strbuf_text(&text), text.len, &kallsyms) < 0)
			return 1;
		took = since(CLOCK_PROCESS_CPUTIME_ID, &start);
		count = kallsyms.kernel.count;
		kallsyms_done(&kallsyms);
		best = !i || took < best ? took : best;
	}
	printf("%u symbols, %.1f ms\n", count, 1000 * best);
	return 0;
}

int main(int argc, char **argv)
{
	struct symbolizer_options options = {.live = false};
	struct symbolizer *symbolizer = NULL;
	struct steps s = {.module = 0};
	struct timespec start;
	int fd, r = 0;

	if (argc == 3 && !strcmp(argv[1], "-k"))
		return load_kallsyms(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "-d"))
		options.debug_dir = argv[2];
	else if (argc != 2)
		return 2;
	fd = open(argv[argc - 1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_open_fd(fd, &s.elf, NULL) < 0)
		return 1;
	r = read_all(&s, argv[argc - 1]);
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (r >= 0)
		r = symbolizer_new(&options, &symbolizer);
	if (r >= 0)
		r = symbolize_all(symbolizer, &s.profile, NULL, NULL);
	if (r >= 0) {
		print_cost(&start, symbolizer, &s);
		print_all(&s);
	}
	symbolizer_free(symbolizer);
	elf_close(&s.elf);
	close(fd);
	profile_done(&s.profile);
	free(s.vaddrs);
	free(s.frames);
	return r < 0;
}
