/*
 * How: the build id in /sys/kernel/notes says whether the running kernel is the recorded one.
 * With address randomisation the same kernel lies elsewhere after a reboot: the recorded
 * address of _stext against the present one is how far the kernel proper has moved. Modules
 * move by themselves, so they have names only when the kernel has not moved at all.
 *
 * The first lines of kallsyms say where _stext is; with that, the kernel proper comes out of
 * the cache. All of kallsyms is read when there is none, or when an address lies elsewhere: in
 * a module, or in a BPF program.
 */
#include "symbolize/kernel_names.h"

#include "base/cleanup.h"
#include "base/fileio.h"
#include "object/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { KALLSYMS_MAX = 1 << 28, NOTES_MAX = 1 << 20, HEAD_BYTES = 4096 };

void kernel_names_done(struct kernel_names *names)
{
	kallsyms_done(&names->kallsyms);
	free(names->path);
	names->path = NULL;
}

static uint8_t running_build_id(const char *path, uint8_t ret_id[20])
{
	struct strbuf notes = {0};
	uint8_t len = 0;

	if (!file_read(AT_FDCWD, path ? path : "/sys/kernel/notes", NOTES_MAX, &notes))
		len = elf_notes_build_id(bytes_of(notes.text, notes.len), 4, ret_id);
	strbuf_done(&notes);
	return len;
}

static uint64_t stext_read(const char *path);

static const char *kallsyms_path(const struct symbolizer_options *options)
{
	return options->kallsyms ? options->kallsyms : "/proc/kallsyms";
}

/*
 * Where kernels are linked to lie, on x86-64 and arm64, is 16 MB or nothing behind a multiple
 * of 128 MB; one that lies elsewhere was put there at random, when this machine started.
 */
static bool is_random(uint64_t stext)
{
	uint64_t low = stext & ((1u << 27) - 1);

	return low > 1 << 16 && (low < 1 << 24 || low > (1 << 24) + (1 << 16));
}

/* Without a build id: the same start of the same machine. */
static bool is_vouched_for(
	const struct symbolizer_options *options, const struct module *module)
{
	return options->live || (options->same_release && module->kind == MODULE_KERNEL &&
					is_random(module->reloc) &&
					stext_read(kallsyms_path(options)) == module->reloc);
}

static bool is_the_kernel(const struct symbolizer_options *options, const struct module *module)
{
	const uint8_t *recorded = options->kernel_build_id;
	uint8_t recorded_bytes = options->kernel_build_id_bytes, running[20], running_bytes;

	if (!recorded_bytes && module->kind != MODULE_KMODULE) {
		recorded = module->build_id;
		recorded_bytes = module->build_id_bytes;
	}
	if (!recorded_bytes)
		return is_vouched_for(options, module);
	running_bytes = running_build_id(options->kernel_notes, running);
	if (!running_bytes)
		return options->live;
	return running_bytes == recorded_bytes && !memcmp(running, recorded, running_bytes);
}

/* Where the kernel lies now; 0: hidden, or not in the first lines. */
static uint64_t stext_read(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct kallsyms head = {.stext = 0};
	char text[HEAD_BYTES];
	int64_t got = fd < 0 ? -1 : fd_pread_all(fd, text, sizeof(text), 0);
	uint64_t stext = 0;

	while (got > 0 && text[got - 1] != '\n')
		got--;
	if (got > 0 && kallsyms_parse(text, (size_t)got, &head) == 0) {
		stext = head.state == KALLSYMS_FULL ? head.stext : 0;
		kallsyms_done(&head);
	}
	return stext;
}

static int load_all(struct kernel_names *names)
{
	struct strbuf text = {0};
	int r = file_read(AT_FDCWD, names->path, KALLSYMS_MAX, &text);

	names->cached = false;
	kallsyms_done(&names->kallsyms);
	if (!r)
		r = kallsyms_parse(strbuf_text(&text), text.len, &names->kallsyms);
	strbuf_done(&text);
	names->usable = !r && names->kallsyms.state == KALLSYMS_FULL;
	return r == -ENOMEM ? r : 0;
}

int kernel_names_load(struct kernel_names *names, const struct symbolizer_options *options,
	const struct module *module)
{
	uint64_t stext;
	int r;

	if (names->tried)
		return 0;
	/* A module says less of the kernel than the kernel itself, which may come yet. */
	names->tried = module->kind == MODULE_KERNEL || !options->same_release;
	if (!is_the_kernel(options, module))
		return 0;
	names->tried = true;
	names->path = strdup(kallsyms_path(options));
	if (!names->path)
		return -ENOMEM;
	if (!options->kernel_cache)
		return load_all(names);
	names->id.len = running_build_id(options->kernel_notes, names->id.bytes);
	stext = stext_read(names->path);
	r = kernel_cache_load(
		options->kernel_cache, &names->id, stext, &names->kallsyms.kernel);
	if (r > 0) {
		names->kallsyms.state = KALLSYMS_FULL;
		names->kallsyms.stext = stext;
		names->cached = names->usable = true;
		return 0;
	}
	if (r == 0)
		r = load_all(names);
	if (r == 0 && names->usable && names->kallsyms.stext == stext)
		kernel_cache_store(
			options->kernel_cache, &names->id, stext, &names->kallsyms.kernel);
	return r;
}

/* "[ext4]" and "/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz" both are ext4; '-' reads '_'. */
static void module_name(const char *path, char *ret, size_t room)
{
	const char *slash = strrchr(path, '/');
	size_t len;
	char *dot;

	if (slash)
		path = slash + 1;
	if (path[0] == '[')
		path++;
	len = strcspn(path, "]");
	if (len >= room)
		len = room - 1;
	memcpy(ret, path, len);
	ret[len] = '\0';
	dot = strstr(ret, ".ko");
	if (dot)
		*dot = '\0';
	for (char *p = ret; *p; p++)
		if (*p == '-')
			*p = '_';
	if (!strncmp(ret, "bpf_prog_", 9))
		memcpy(ret, "bpf", 4);
}

static uint64_t slide(const struct kernel_names *names, const struct module *module)
{
	return module->reloc && names->kallsyms.stext ? module->reloc - names->kallsyms.stext
						      : 0;
}

bool kernel_names_find(struct kernel_names *names, const struct module *module,
	const char *path, uint64_t addr, struct kernel_hit *ret_hit)
{
	uint64_t moved = module->kind == MODULE_KERNEL ? slide(names, module) : 0;
	struct symtab *table = &names->kallsyms.kernel;
	const struct symbol *symbol = NULL;
	char name[sizeof(((struct kallsyms_module *)0)->name)];

	if (!names->usable)
		return false;
	if (module->kind == MODULE_KERNEL)
		symbol = symtab_find(table, addr - moved);
	if (!symbol && names->cached && load_all(names) < 0)
		return false;
	if (!symbol && !moved) {
		module_name(path, name, sizeof(name));
		symbol = kallsyms_find_in_modules(&names->kallsyms,
			module->kind == MODULE_KERNEL ? NULL : name, addr, &table);
	}
	if (!symbol)
		return false;
	*ret_hit = (struct kernel_hit){
		.name = symbol_name(table, symbol),
		.addr = symbol->addr + moved,
		.size = symbol->size,
	};
	return true;
}
